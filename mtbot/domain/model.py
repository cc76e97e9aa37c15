"""What is sent to a language model and what comes back, independent of any provider's dialect."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mtbot.domain.call import ToolSpec
from mtbot.domain.turn import Message, ToolCall, Usage

OnText = Callable[[str], None]
"""Is given an answer's text so far each time that it has grown, without what the model only thought.

An empty text takes back what was given: the answer begins anew, or turned out to be calls.
"""


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to the model: the whole context and the tools that it may call. ``temperature`` None: not sent."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer; ``refusal`` holds its own words when it declined.

    With ``finish`` LENGTH the arguments of ``calls`` may be cut and must not be used.
    """

    text: str
    calls: tuple[ToolCall, ...]
    finish: Finish
    usage: Usage = Usage()
    refusal: str = ""

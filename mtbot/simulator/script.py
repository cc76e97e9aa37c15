"""What a scripted model says next: answers, tool calls, failures, and the two ways to say nothing at all.

Steps are values, so a test reads as the conversation that it plays: `[call("exec", {"command": "id"}), say("done")]`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from mtbot.simulator.values import JsonObject


class Finish(StrEnum):
    """Values of finish_reason; AUTOMATIC lets the dialect choose, NULL sends null."""

    AUTOMATIC = "automatic"
    NULL = "null"
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Usage:
    """Token numbers of one answer."""

    prompt: int = 100
    completion: int = 20
    cached: int = 0

    def json(self) -> JsonObject:
        """The usage object of the wire format."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """One tool call. `arguments` is the raw JSON text, which a test may cut or spoil; id None is numbered."""

    name: str
    arguments: str
    id: str | None = None


class Break(StrEnum):
    """How a stream ends early: connection closed, an error event, no further byte until released, or a clean end."""

    CLOSE = "close"
    ERROR = "error"
    HANG = "hang"
    END = "end"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says. `cut_after` ends a stream after that many events, in the way that `cut_by` says.

    After each of `pauses` events a stream stands still until it is released; an answer that is not streamed waits once.
    """

    text: str | None = None
    calls: tuple[ProposedCall, ...] = ()
    finish: Finish = Finish.AUTOMATIC
    usage: Usage = Usage()
    reasoning: str = ""
    cut_after: int | None = None
    cut_by: Break = Break.CLOSE
    pauses: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP answer that is not a completion."""

    status: int
    body: str
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class Silence(StrEnum):
    """No answer: hang until released, or close at once."""

    HANG = "hang"
    REFUSE = "refuse"


Step: TypeAlias = Answer | Failure | Silence
HANG = Silence.HANG
REFUSE = Silence.REFUSE


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request as it came: JSON body, headers with lower-case names, time of the injected clock in seconds."""

    sequence: int
    at: float
    path: str
    body: JsonObject
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[JsonObject]:
        """The conversation; what is not an object is left out."""
        found = self.body.get("messages")
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    @property
    def last_user_text(self) -> str:
        """What the person said last."""
        return self._last("user")

    @property
    def last_tool_result(self) -> str:
        """The newest tool result since then; empty when there is none."""
        return self._last("tool")

    @property
    def turns_since_user(self) -> int:
        """How often the model has answered since the person spoke."""
        count = 0
        for message in reversed(self.messages):
            if message.get("role") == "user":
                break
            count += message.get("role") == "assistant"
        return count

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools on offer."""
        found = self.body.get("tools")
        functions = (
            [item.get("function") for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        )
        return tuple(str(function.get("name")) for function in functions if isinstance(function, dict))

    def _last(self, role: str) -> str:
        for message in reversed(self.messages):
            if message.get("role") == role:
                return text_of(message.get("content"))
            if message.get("role") == "user":
                break
        return ""


def text_of(content: object) -> str:
    """The text of a message content, plain or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


Script: TypeAlias = Callable[[ModelRequest], Step]


def say(
    text: str | None, *, finish: Finish = Finish.AUTOMATIC, usage: Usage | None = None, reasoning: str = ""
) -> Answer:
    """Say something; None, an empty text and blanks are the empty answers that real models give."""
    return Answer(text, (), finish, usage or Usage(), reasoning)


def call(name: str, arguments: Mapping[str, object] | str, *, id: str | None = None, text: str | None = None) -> Answer:  # noqa: A002 - the word of the wire format
    """Propose one tool call; arguments as text go out as they are, however broken."""
    raw = arguments if isinstance(arguments, str) else json.dumps(dict(arguments), ensure_ascii=False)
    return Answer(text, (ProposedCall(name, raw, id),))


def together(*answers: Answer) -> Answer:
    """Several calls in one answer."""
    texts = [answer.text for answer in answers if answer.text]
    return replace(
        answers[0],
        text="".join(texts) or answers[0].text,
        calls=tuple(proposed for answer in answers for proposed in answer.calls),
    )


def cut_call(name: str, beginning: str) -> Answer:
    """A call whose arguments end where the token limit struck: broken JSON, finish_reason length."""
    return replace(call(name, beginning), finish=Finish.LENGTH)


def broken_off(answer: Answer, after: int = 2, by: Break = Break.CLOSE) -> Answer:
    """The same answer, ended after so many events of a stream; half of the body when it is not streamed."""
    return replace(answer, cut_after=after, cut_by=by)


def paused(answer: Answer, *after: int) -> Answer:
    """The same answer, standing still after each of so many events until it is released."""
    return replace(answer, pauses=after)


def _error(status: int, message: str, kind: str, code: str | None, **extra: object) -> Failure:
    return Failure(status, json.dumps({"error": {"message": message, "type": kind, "code": code, **extra}}))


def unauthorized() -> Failure:
    """401, wrong key."""
    return _error(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")


def rate_limited(retry_after: float | None = None, *, body: bool = True) -> Failure:
    """429 with or without Retry-After, with or without a body."""
    found = _error(429, "Rate limit reached for requests", "requests", "rate_limit_exceeded")
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return replace(found, headers=headers, body=found.body if body else "")


def out_of_quota() -> Failure:
    """429 that no waiting will mend."""
    return _error(429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota")


def context_too_long(limit: int = 8192) -> Failure:
    """400, the conversation outgrew the window."""
    message = f"This model's maximum context length is {limit} tokens. Please reduce the length of the messages."
    return _error(400, message, "invalid_request_error", "context_length_exceeded", param="messages")


def unsupported(parameter: str, instead: str | None = None) -> Failure:
    """400, as reasoning models answer to temperature or max_tokens."""
    hint = f" Use '{instead}' instead." if instead else ""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model.{hint}"
    return _error(400, message, "invalid_request_error", "unsupported_parameter", param=parameter)


def invalid(message: str) -> Failure:
    """Any other 400."""
    return _error(400, message, "invalid_request_error", None)


def server_error() -> Failure:
    """500 with a JSON body."""
    return _error(500, "The server had an error while processing your request.", "server_error", None)


def bad_gateway() -> Failure:
    """502 with the HTML page of a proxy."""
    return Failure(502, "<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html")


def raw(status: int, body: str, content_type: str = "application/json") -> Failure:
    """Any body at all, a malformed completion with status 200 too."""
    return Failure(status, body, content_type)


@dataclass(frozen=True, slots=True)
class Rule:
    """Steps for a person's text that matches; in them {output} is the last tool result, {1} the first group."""

    pattern: str
    steps: tuple[Step, ...]


class Rulebook:
    """A script that needs no order of events: the last user text chooses a rule, the turns since then its step.

    It keeps no state, so restarts and parallel chats are played right.
    """

    def __init__(self, rules: Sequence[Rule], fallback: Answer | None = None) -> None:
        self._rules = [(re.compile(rule.pattern, re.IGNORECASE | re.DOTALL), rule.steps) for rule in rules]
        self._fallback = fallback or say("I have no rule for that.")

    def __call__(self, request: ModelRequest) -> Step:
        """The step that is due; the last one repeats."""
        for pattern, steps in self._rules:
            if (match := pattern.search(request.last_user_text)) is not None:
                step = steps[min(request.turns_since_user, len(steps) - 1)]
                return _filled(step, match, request.last_tool_result) if isinstance(step, Answer) else step
        return self._fallback


def _filled(answer: Answer, match: re.Match[str], output: str) -> Answer:
    groups = {f"{{{number}}}": text or "" for number, text in enumerate(match.groups(), 1)}
    calls = tuple(
        replace(
            proposed,
            arguments=_replaced(proposed.arguments, {key: json.dumps(text)[1:-1] for key, text in groups.items()}),
        )
        for proposed in answer.calls
    )
    # The output goes in last: what a tool printed is data and is not searched for placeholders.
    text = answer.text
    if text is not None:
        text = output.join(_replaced(part, groups) for part in text.split("{output}"))
    return replace(answer, text=text, calls=calls)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def rules_from_json(text: str) -> list[Rule]:
    """Rules from a file: [{"when": regex, "steps": [{"say": text} | {"call": tool, "arguments": {...}}, ...]}, ...].

    Raises ValueError that names the entry.
    """
    found = json.loads(text)
    if not isinstance(found, list):
        raise ValueError("rules: a list is expected")
    return [_rule(number, item) for number, item in enumerate(found, 1)]


def _rule(number: int, item: object) -> Rule:
    if not isinstance(item, dict) or not isinstance(item.get("when"), str) or not isinstance(item.get("steps"), list):
        raise ValueError(f"rule {number}: needs when (a regex) and steps (a list)")
    try:
        re.compile(item["when"])
    except re.error as error:
        raise ValueError(f"rule {number}: {error}") from error
    steps = tuple(_step(number, step) for step in item["steps"])
    if not steps:
        raise ValueError(f"rule {number}: at least one step is needed")
    return Rule(item["when"], steps)


def _step(number: int, step: object) -> Answer:
    if isinstance(step, dict) and isinstance(step.get("say"), str):
        return say(step["say"])
    if isinstance(step, dict) and isinstance(step.get("call"), str) and isinstance(step.get("arguments", {}), dict):
        return call(step["call"], step.get("arguments", {}))
    raise ValueError(f"rule {number}: a step is say (text), or call (tool) with arguments (an object)")

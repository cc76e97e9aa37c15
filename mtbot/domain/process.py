"""A child process as tools see it: what is asked for, how it ended, and the port in between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A program to run, with nothing inherited. ``argv`` is executed as it is; ``timeout`` is in seconds.

    ``id`` is unique among running children. ``profile`` names the containment. ``max_output`` bytes of standard output
    and error together are kept. ``stdin`` None is /dev/null.
    """

    id: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    max_output: int = 65_536
    profile: str = "host"
    stdin: bytes | None = None


class ChildStatus(StrEnum):
    """Why a child is over."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    NOT_STARTED = "not_started"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How it ended. ``output`` is harmless text (no control characters) but not masked; ``raw`` are the kept bytes.

    ``message`` is one line that explains anything but a plain exit. ``survivors`` describes what could not be ended.
    """

    status: ChildStatus
    exit_code: int | None
    duration_ms: int
    output: str
    raw: bytes = b""
    dropped: int = 0
    background_left: bool = False
    survivors: tuple[str, ...] = ()
    message: str = ""


class Children(Protocol):
    """Starts and ends child processes."""

    async def run(self, request: ChildRequest, on_output: Callable[[bytes], None] | None = None) -> ChildEnd:
        """Run to the end. Cancelling stops the child and raises CancelledError once that is under way."""
        ...

    async def stop(self, child: str) -> bool:
        """End a child and its tree, also one that is only about to start; True if there was one."""
        ...

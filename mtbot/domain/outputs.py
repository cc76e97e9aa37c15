"""The whole of an output that was too long to be shown: where it waits for somebody who asks for it."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import CallId
from mtbot.domain.process import Spool


@dataclass(frozen=True, slots=True)
class WholeOutput:
    """An output that is kept, masked. ``id`` is what people call it, ``size`` is in bytes, ``at_ms`` Unix time."""

    id: str
    call: CallId
    size: int
    at_ms: int


class WholeOutputs(Protocol):
    """Outputs that are kept for a while. All of it blocks, and may be called in any thread."""

    def spool(self) -> Spool | None:
        """Where a command's output may be written while it runs; None where nothing is kept. ``keep`` closes it."""
        ...

    def keep(self, spool: Spool, call: CallId, *, wanted: bool) -> tuple[str, str]:
        """Keep it, masked, if ``wanted``; its id, or an empty text and why not. Never raises."""
        ...

    def find(self, which: str) -> WholeOutput | None:
        """The output of that id, or of the call of that id. OSError."""
        ...

    def read(self, output: WholeOutput) -> bytes:
        """Its text as UTF-8. OSError."""
        ...

    def expire(self) -> int:
        """Remove what was kept for long enough; how many. OSError."""
        ...

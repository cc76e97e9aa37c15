"""What lies in the trash, and the ports through which the flow brings it back."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import CallId
from mtbot.domain.record import Approval, Via
from mtbot.domain.turn import Actor


@dataclass(frozen=True, slots=True)
class Trashed:
    """What one call put into the trash: where it came from, how much it is, until when it is kept.

    ``overwritten``: it is the old version of a file that was written over. Times are Unix milliseconds.
    """

    id: str
    call: CallId
    paths: tuple[str, ...]
    overwritten: bool
    files: int
    size: int
    at_ms: int
    until_ms: int


class TrashBin(Protocol):
    """Where tools put what they take away or overwrite. StateError says in a sentence why something cannot be done."""

    async def listed(self) -> tuple[Trashed, ...]:
        """Everything that is there, oldest first."""
        ...

    async def bring_back(self, ident: str) -> None:
        """Put an entry back to where it came from, never over something else."""
        ...

    async def remove(self, ident: str) -> None:
        """Delete an entry for good."""
        ...


class Undo(Protocol):
    """The way back of a call, as a button offers it."""

    async def undo(self, approval: Approval, by: Actor, via: Via) -> None:
        """Bring back what the call of ``approval`` took away, on record. NotAllowed, StateError."""
        ...

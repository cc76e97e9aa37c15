"""A call that a person runs at the host in their own terminal while its turn waits in the gateway.

The start is the consumption of the request and leaves the turn parked; how it ended is laid beside the turn, sealed,
until the process that serves the session takes both at once and goes on.
"""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.again import Keep
from mtbot.domain.call import Outcome
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import Approval, AuditEvent, EventDraft, OutboxItem, Ruling
from mtbot.domain.turn import TurnState


@dataclass(frozen=True, slots=True)
class Ran:
    """A parked turn whose call was run at the host, and how that ended."""

    state: TurnState
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Running:
    """A call that was begun at the host and has no end yet; ``dead``: its process is certainly gone."""

    approval: Approval
    dead: bool


@dataclass(frozen=True, slots=True)
class Beginning:
    """The two events of a start at the host: that the request was approved there, and that the call was started.

    ``keep`` is what is kept of the call.
    """

    ruling: Ruling
    resolved: EventDraft
    started: EventDraft
    keep: Keep | None = None


class HostRuns(Protocol):
    """Calls that are run at the host."""

    async def begin(self, approval: ApprovalId, begin: Beginning, *items: OutboxItem) -> tuple[Approval, AuditEvent]:
        """Rule and start in one transaction. AlreadyDecided, NotUsable, RecordUnavailable: then nothing may run."""
        ...

    async def end(self, approval: ApprovalId, draft: EventDraft, outcome: Outcome, started: int) -> None:
        """Write how the call of that start ended and lay it beside the parked turn, in one transaction. RecordUnavailable."""
        ...

    async def take(self, approval: ApprovalId) -> Ran | None:
        """The turn and the outcome, once; None if it did not end, or somebody took it. StorageError, SealError."""
        ...

    async def running(self) -> tuple[Running, ...]:
        """What was begun and has no end. StorageError."""
        ...

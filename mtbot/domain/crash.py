"""What a dead process left in the record, as the flow sees it: the port through which a start finds it."""

from typing import Protocol

from mtbot.domain.ids import CallId, SessionId
from mtbot.domain.record import AuditEvent


class CrashLog(Protocol):
    """What dead processes left behind in the record."""

    async def unfinished(self) -> tuple[AuditEvent, ...]:
        """STARTED events without an end whose instance belongs to this host and is provably dead."""
        ...

    async def cut_short(self) -> tuple[tuple[AuditEvent, AuditEvent], ...]:
        """Approved calls of such an instance that ended while their turn was never flushed: STARTED and the end."""
        ...

    async def ran_for(self, session: SessionId, message: int) -> tuple[AuditEvent, ...]:
        """STARTED events of the calls that were proposed for that message."""
        ...

    async def event(self, seq: int) -> AuditEvent | None:
        """The event of that number."""
        ...

    async def trail_of(self, call: CallId) -> tuple[AuditEvent, ...]:
        """Everything on record about one call, oldest first."""
        ...

"""Runs of scheduled jobs: how one ends, and the port behind which occurrences are kept."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import SessionId
from mtbot.domain.record import CronRun, CronStatus, OutboxItem


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How the newest open run of a session ends; ``error`` is masked, empty if all went well."""

    session: SessionId
    status: CronStatus
    error: str = ""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """What the last turn of a run leaves behind, written together with the turn: what is said, and the run's end."""

    items: tuple[OutboxItem, ...] = ()
    run: RunEnd | None = None


class CronRuns(Protocol):
    """Occurrences of jobs."""

    async def claim(self, job: str, due_ms: int, session: SessionId, now_ms: int) -> int | None:
        """Insert (job, due) as STARTED; its id, or None if that occurrence exists already."""
        ...

    async def finish(self, end: RunEnd, now_ms: int) -> bool:
        """Close the newest open run of the session; False if none was open."""
        ...

    async def skipped(self, job: str, due_ms: int, session: SessionId, now_ms: int, why: str) -> None:
        """Record an occurrence that did not run."""
        ...

    async def last(self, job: str) -> CronRun | None:
        """The latest occurrence of a job by start, then id."""
        ...

    async def begun(self, job: str) -> CronRun | None:
        """The latest occurrence that was not skipped."""
        ...

    async def sweep(self, now_ms: int) -> int:
        """STARTED runs of a dead process become INTERRUPTED, unless their turn waits for a person; how many."""
        ...

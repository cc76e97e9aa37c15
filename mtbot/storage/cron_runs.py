"""Occurrences of scheduled jobs: each happens once, whoever looks at the clock first."""

from sqlalchemy import update
from sqlmodel import Session, col, select

from mtbot.audit import storable
from mtbot.domain.ids import SessionId
from mtbot.domain.record import CronRun, CronStatus
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import CronRow


class CronRunStore:
    """Implements CronRuns."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def claim(self, job: str, due_ms: int, session: SessionId, now_ms: int) -> int | None:
        """Insert (job, due) as STARTED, durably; its id, or None if that occurrence exists already. StorageError."""
        row = CronRow(
            job=job,
            due_ms=due_ms,
            session=session,
            status=CronStatus.STARTED,
            instance=str(self._db.instance),
            started_ms=now_ms,
        )
        return await self._db.write(lambda look: row.id if insert_if_new(look, row) else None)

    async def finish(self, run: int, status: CronStatus, now_ms: int, error: str = "") -> None:
        """Close a run that is open; ``error`` is masked already. StorageError."""
        if status is CronStatus.STARTED:
            raise ValueError("a finished run is not started")
        statement = (
            update(CronRow)
            .where(col(CronRow.id) == run, col(CronRow.status) == CronStatus.STARTED)
            .values(status=status, finished_ms=now_ms, error=storable(error))
        )
        await self._db.write(lambda look: look.execute(statement))

    async def skipped(self, job: str, due_ms: int, session: SessionId, now_ms: int, why: str) -> None:
        """Record an occurrence that did not run, unless it is on record already. StorageError."""
        row = CronRow(
            job=job,
            due_ms=due_ms,
            session=session,
            status=CronStatus.SKIPPED,
            instance=str(self._db.instance),
            started_ms=now_ms,
            finished_ms=now_ms,
            error=storable(why),
        )
        await self._db.write(lambda look: insert_if_new(look, row))

    async def last(self, job: str) -> CronRun | None:
        """The latest run of a job by start, then id. StorageError."""
        statement = select(CronRow).where(CronRow.job == job)
        newest = statement.order_by(col(CronRow.started_ms).desc(), col(CronRow.id).desc()).limit(1)
        row = await self._db.read(lambda look: look.exec(newest).first())
        return None if row is None else _run(row)

    async def sweep(self, now_ms: int) -> int:
        """STARTED runs of a process that is certainly dead become INTERRUPTED; how many. StorageError."""

        def work(look: Session) -> int:
            swept = 0
            for row in look.exec(select(CronRow).where(CronRow.status == CronStatus.STARTED)).all():
                writer = Instance.parse(row.instance)
                if writer is not None and provably_dead(writer, self._db.instance):
                    row.status, row.finished_ms = CronStatus.INTERRUPTED, now_ms
                    row.error = "the process ended before the run did"
                    swept += 1
            return swept

        return await self._db.write(work)


def _run(row: CronRow) -> CronRun:
    return CronRun(
        id=row.id or 0,
        job=row.job,
        due_ms=row.due_ms,
        session=SessionId(row.session),
        status=CronStatus(row.status),
        started_ms=row.started_ms,
        finished_ms=row.finished_ms,
        error=row.error,
    )

"""Occurrences of scheduled jobs: each happens once, whoever looks at the clock first."""

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from mtbot.audit import storable
from mtbot.domain.ids import ApprovalId, SessionId
from mtbot.domain.jobs import RunEnd
from mtbot.domain.record import CronRun, CronStatus
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import ApprovalRow, CronRow, ParkedRow


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

    async def finish(self, end: RunEnd, now_ms: int) -> bool:
        """Close the newest open run of the session; False if none was open. StorageError."""
        return await self._db.write(lambda look: close_run(look, end, now_ms))

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
        """The latest occurrence of a job by start, then id. StorageError."""
        return await self._newest(select(CronRow).where(CronRow.job == job))

    async def begun(self, job: str) -> CronRun | None:
        """The latest occurrence that was not skipped. StorageError."""
        return await self._newest(select(CronRow).where(CronRow.job == job, CronRow.status != CronStatus.SKIPPED))

    async def _newest(self, rows: SelectOfScalar[CronRow]) -> CronRun | None:
        newest = rows.order_by(col(CronRow.started_ms).desc(), col(CronRow.id).desc()).limit(1)

        def work(look: Session) -> CronRun | None:
            row = look.exec(newest).first()
            return None if row is None else _run(look, row)

        return await self._db.read(work)

    async def sweep(self, now_ms: int) -> int:
        """STARTED runs of a process that is certainly dead become INTERRUPTED; how many. StorageError.

        A run whose turn is parked goes on with the answer, whoever began it.
        """

        def work(look: Session) -> int:
            swept = 0
            parked = set(look.exec(select(ParkedRow.session)).all())
            for row in look.exec(select(CronRow).where(CronRow.status == CronStatus.STARTED)).all():
                writer = Instance.parse(row.instance)
                dead = writer is not None and provably_dead(writer, self._db.instance)
                if dead and row.session not in parked:
                    row.status, row.finished_ms = CronStatus.INTERRUPTED, now_ms
                    row.error = "the process ended before the run did"
                    swept += 1
            return swept

        return await self._db.write(work)


def close_run(look: Session, end: RunEnd, now_ms: int) -> bool:
    """Close the newest open run of a session within a transaction; False if none was open."""
    if end.status is CronStatus.STARTED:
        raise ValueError("a finished run is not started")
    is_open = (CronRow.session == end.session, CronRow.status == CronStatus.STARTED)
    row = look.exec(select(CronRow).where(*is_open).order_by(col(CronRow.id).desc()).limit(1)).first()
    if row is None:
        return False
    row.status, row.finished_ms, row.error = end.status, now_ms, storable(end.error)
    return True


def _waiting(look: Session, session: str) -> ApprovalId | None:
    """The request that the session's parked turn waits for; one whose yes is used is none any more."""
    statement = (
        select(ApprovalRow.id)
        .join(ParkedRow, col(ParkedRow.approval) == col(ApprovalRow.id))
        .where(ParkedRow.session == session, col(ApprovalRow.used_seq).is_(None))
        .limit(1)
    )
    found = look.exec(statement).first()
    return None if found is None else ApprovalId(found)


def _run(look: Session, row: CronRow) -> CronRun:
    return CronRun(
        id=row.id or 0,
        job=row.job,
        due_ms=row.due_ms,
        session=SessionId(row.session),
        status=CronStatus(row.status),
        started_ms=row.started_ms,
        finished_ms=row.finished_ms,
        error=row.error,
        waiting=_waiting(look, row.session) if row.status == CronStatus.STARTED else None,
    )

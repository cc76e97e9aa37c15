"""What keeps a database in order over years: backups, removal of what is done and old, vacuum.

The record itself is pruned by ``Trail.prune``, which keeps its chain whole. Here go the rows that only a running gateway
needs: updates that were acted on, messages that were sent, requests that were decided, conversations nobody goes on with.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from sqlalchemy import ColumnElement, Select, delete, func, or_
from sqlalchemy.orm import Mapped
from sqlmodel import Session, SQLModel, col, select

from mtbot.audit import ChainReport
from mtbot.domain.errors import StorageError
from mtbot.domain.record import ApprovalState, CronStatus
from mtbot.storage import files
from mtbot.storage.connections import BUSY_S, explain_sqlite
from mtbot.storage.engine import Database
from mtbot.storage.grant_tables import GrantRow
from mtbot.storage.kept_tables import KeptRow
from mtbot.storage.place import SqlitePlace, sqlite_place
from mtbot.storage.tables import (
    ApprovalRow,
    CronRow,
    EditRow,
    InboxTable,
    LeaseRow,
    OutboxState,
    OutboxTable,
    ParkedRow,
    SessionRow,
)
from mtbot.storage.trail import Trail

BATCH = 2000
"""Rows that one transaction removes, so that nobody waits long for the lock."""

_PAGES = 256


@dataclass(frozen=True, slots=True)
class Removed:
    """How many rows of each kind were removed."""

    updates: int = 0
    messages: int = 0
    requests: int = 0
    job_runs: int = 0
    conversations: int = 0
    edits: int = 0
    grants: int = 0
    calls: int = 0

    def __str__(self) -> str:
        found = [f"{getattr(self, one.name)} {one.name.replace('_', ' ')}" for one in fields(self)]
        return ", ".join(found)


class Maintenance:
    """Works on one open database. ``trail`` reads the record of another one, for a copy to be checked."""

    def __init__(self, db: Database, trail: Callable[[Database], Trail]) -> None:
        self._db = db
        self._trail = trail

    async def backup(self, target: Path) -> ChainReport:
        """Copy the live SQLite database to ``target`` (0600, must not exist), check the copy, and say what it holds.

        StorageError: nothing is left at ``target``.
        """
        source = self._sqlite("pg_dump --format=custom --file FILE DATABASE makes a backup of it")
        if files.exists(target):
            raise StorageError(f"{target} exists already", hint="name a file that does not; nothing was overwritten")
        try:
            draft = files.draft_beside(target)
        except OSError as fault:
            raise files.cannot_write(target.parent, fault) from fault
        try:
            await asyncio.to_thread(_copy, source.path, draft)
            await asyncio.to_thread(_intact, draft)
            report = await self._whole(draft)
            await asyncio.to_thread(files.publish, draft, target)
        except FileExistsError as fault:
            raise StorageError(f"{target} exists already") from fault
        except OSError as fault:
            raise files.cannot_write(target.parent, fault) from fault
        finally:
            for ending in ("", "-wal", "-shm"):
                draft.with_name(f"{draft.name}{ending}").unlink(missing_ok=True)
        return report

    async def tidy(self, before_ms: int, now_ms: int) -> Removed:
        """Remove what is done and older than ``before_ms``: updates, sent messages, decided requests, runs of jobs,
        offers to use an edited text, grants, what was kept of calls that a crash cut off.

        Kept is what something still needs: the last update of each bot, a request whose turn goes on or whose grant
        holds, a job's last run.
        StorageError.
        """
        newest = select(func.max(InboxTable.id)).group_by(col(InboxTable.bot))
        last_runs = select(func.max(CronRow.id)).group_by(col(CronRow.job))
        parked = select(ParkedRow.approval)
        over = (OutboxState.SENT, OutboxState.DROPPED)
        return Removed(
            updates=await self._remove(
                InboxTable,
                col(InboxTable.id),
                col(InboxTable.done),
                col(InboxTable.received_ms) < before_ms,
                col(InboxTable.id).not_in(newest),
            ),
            messages=await self._remove(
                OutboxTable,
                col(OutboxTable.id),
                col(OutboxTable.state).in_(over),
                col(OutboxTable.created_ms) < before_ms,
            ),
            # before the requests, which would take them along uncounted
            grants=await self._remove(
                GrantRow,
                col(GrantRow.id),
                col(GrantRow.given_ms) < before_ms,
                or_(col(GrantRow.until_ms) <= now_ms, col(GrantRow.revoked_ms).is_not(None)),
            ),
            requests=await self._remove(
                ApprovalRow,
                col(ApprovalRow.id),
                col(ApprovalRow.state) != ApprovalState.PENDING,
                col(ApprovalRow.decided_ms) < before_ms,
                col(ApprovalRow.expires_ms) < now_ms,
                col(ApprovalRow.id).not_in(parked),
                col(ApprovalRow.id).not_in(select(GrantRow.id)),
            ),
            job_runs=await self._remove(
                CronRow,
                col(CronRow.id),
                col(CronRow.status) != CronStatus.STARTED,
                col(CronRow.finished_ms) < before_ms,
                col(CronRow.id).not_in(last_runs),
            ),
            edits=await self._remove(EditRow, col(EditRow.token), col(EditRow.offered_ms) < before_ms),
            calls=await self._remove(KeptRow, col(KeptRow.seq), col(KeptRow.at_ms) < before_ms),
        )

    async def forget(self, before_ms: int, now_ms: int) -> Removed:
        """Remove conversations that nobody went on with since ``before_ms`` and that nothing waits in. StorageError."""
        waiting = select(ApprovalRow.session).where(ApprovalRow.state == ApprovalState.PENDING)
        parked = select(ParkedRow.session)
        leased = select(LeaseRow.session).where(col(LeaseRow.until_ms) > now_ms)
        name = col(SessionRow.id)
        gone = await self._remove(
            SessionRow,
            name,
            col(SessionRow.updated_ms) < before_ms,
            name.not_in(waiting),
            name.not_in(parked),
            name.not_in(leased),
        )
        return Removed(conversations=gone)

    async def vacuum(self) -> tuple[int, int]:
        """Give the space of removed rows back to the disk; bytes before and after. StorageError while it is in use."""
        place = self._sqlite("its autovacuum does this by itself; vacuumdb does it now")
        return await asyncio.to_thread(_vacuum, place.path)

    async def _remove(
        self, table: type[SQLModel], key: Mapped[object], *which: ColumnElement[bool] | Mapped[bool]
    ) -> int:
        chosen: Select[tuple[object]] = select(key).where(*which).limit(BATCH)

        def work(session: Session) -> int:
            found = [row for (row,) in session.execute(chosen)]
            if found:
                session.execute(delete(table).where(key.in_(found)))
            return len(found)

        total = 0
        while removed := await self._db.write(work):
            total += removed
        return total

    async def _whole(self, draft: Path) -> ChainReport:
        """What the copy holds. StorageError if its record is not whole."""
        copy = await Database.open_read_only(sqlite_place(draft))
        try:
            report = await self._trail(copy).verify(anchored=False)
        finally:
            await copy.close()
        if report.fault is not None:
            hint = "`mtclaw audit acknowledge --reason ...` once you know why"
            raise StorageError(f"the record is not whole: {report.fault}", hint=hint)
        return report

    def _sqlite(self, instead: str) -> SqlitePlace:
        place = self._db.place
        if not isinstance(place, SqlitePlace):
            raise StorageError(f"{place.label} is kept by its server: {instead}")
        return place


def _copy(source: Path, draft: Path) -> None:
    """SQLite's own online copy: consistent, also while somebody writes."""
    with explain_sqlite(source):
        reading = sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=BUSY_S)
        writing = sqlite3.connect(draft)
        try:
            reading.backup(writing, pages=_PAGES)
            # one file, which any SQLite can read without a log beside it
            writing.execute("PRAGMA journal_mode = DELETE")
        finally:
            writing.close()
            reading.close()
    fd = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _intact(draft: Path) -> None:
    """StorageError if the copy is not sound."""
    with explain_sqlite(draft):
        connection = sqlite3.connect(f"{draft.as_uri()}?mode=ro", uri=True)
        try:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        finally:
            connection.close()
    if found != "ok":
        raise StorageError(f"the copy is not sound: {found}", hint="see mtclaw doctor")


def _vacuum(path: Path) -> tuple[int, int]:
    before = path.stat().st_size
    with explain_sqlite(path):
        connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_S, isolation_level=None)
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    return before, path.stat().st_size

"""Conversations: a turn is written in one transaction when it is over, and read back as a history that is well formed."""

import json
from collections.abc import Sequence

from sqlalchemy import bindparam, delete, func, update
from sqlmodel import Session, col, select

from mtbot.audit import storable
from mtbot.domain.ids import CallId, ChatId, SessionId, ThreadId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import SessionSummary
from mtbot.domain.turn import Message, Role, SurfaceName, ToolCall
from mtbot.storage import kept
from mtbot.storage.columns import ensure_session, queue
from mtbot.storage.cron_runs import close_run
from mtbot.storage.engine import Database
from mtbot.storage.inbox import closing
from mtbot.storage.memory_tables import SummaryRow
from mtbot.storage.tables import (
    OPEN_OUTBOX,
    ApprovalRow,
    LeaseRow,
    MessageRow,
    OutboxState,
    OutboxTable,
    ParkedRow,
    SessionRow,
)
from mtbot.storage.window import Entry, weight, window

_ROWS_PER_TURN = 8
_WIDENINGS = 5


_SPENT = (
    update(SessionRow)
    .where(col(SessionRow.id) == bindparam("session"))
    .values(
        prompt_tokens=col(SessionRow.prompt_tokens) + bindparam("prompt"),
        completion_tokens=col(SessionRow.completion_tokens) + bindparam("completion"),
        cost=col(SessionRow.cost) + bindparam("cost"),
        turn_prompt=bindparam("prompt"),
        turn_completion=bindparam("completion"),
        turn_cost=bindparam("cost"),
        updated_ms=bindparam("now_ms"),
    )
)
_UNSEEN = {"synchronize_session": False}
"""Objects that were loaded keep what they were loaded with: nobody looks at them again."""


class HistoryStore:
    """Implements History, and what ``sessions list|show|rm`` need. The content of messages is masked already."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def load(self, session: SessionId, turns: int, max_bytes: int) -> tuple[Message, ...]:
        """The last whole turns, well formed: starts with USER, every call answered by position, within the limits.

        What its summary stands for is left out. StorageError only when the database cannot be read; rows that make no sense are passed over.
        """
        entries = await self._db.read(lambda look: _newest(look, session, turns, max_bytes))
        return window(entries, turns, max_bytes)

    async def flush(self, flush: TurnFlush, now_ms: int) -> None:
        """Append the messages, add the usage, queue the items, delete the parked snapshot, close the inbox rows.

        The run of a job that ends with the turn is closed too. Durable, because it closes inbox rows and queues replies: lost in a power cut, the turn would be run again.
        """

        def work(session: Session) -> None:
            name, usage = ensure_session(session, flush.address, now_ms).id, flush.usage
            spent = {"prompt": usage.prompt, "completion": usage.completion, "cost": usage.cost}
            # it also locks the session's row, so that no other process numbers messages meanwhile
            session.execute(_SPENT, {"session": name, "now_ms": now_ms, **spent}, execution_options=_UNSEEN)
            last = session.scalar(select(func.max(MessageRow.seq)).where(MessageRow.session == name)) or 0
            session.add_all(
                _row(name, last + place, flush, message, now_ms) for place, message in enumerate(flush.messages, 1)
            )
            queue(session, self._db.seal, flush.items, now_ms)
            session.execute(delete(ParkedRow).where(col(ParkedRow.turn) == flush.turn))
            for bot, number in flush.inbox:
                session.execute(closing(bot, number))
            if flush.run is not None:
                close_run(session, flush.run, now_ms)

        await self._db.write(work)

    async def clear(self, session: SessionId) -> int:
        """Delete a session with its messages, approvals and parked turn, never its audit; how many messages it had.

        Questions of it that were not sent yet are dropped. StorageError.
        """

        def work(look: Session) -> int:
            count = look.exec(select(func.count()).select_from(MessageRow).where(MessageRow.session == session)).one()
            end_waiting(look, session)
            look.execute(delete(SessionRow).where(col(SessionRow.id) == session))
            return count

        return await self._db.write(work)

    async def summary(self, session: SessionId) -> SessionSummary | None:
        """The session in numbers; None if there is none. StorageError."""

        def work(look: Session) -> SessionSummary | None:
            row = look.get(SessionRow, session)
            return None if row is None else _summaries(look, [row])[0]

        return await self._db.read(work)

    async def sessions(self, limit: int | None = None) -> tuple[SessionSummary, ...]:
        """All sessions, the one that spoke last first. StorageError."""
        statement = select(SessionRow).order_by(col(SessionRow.updated_ms).desc(), col(SessionRow.id)).limit(limit)
        return await self._db.read(lambda look: tuple(_summaries(look, look.exec(statement).all())))

    async def messages(self, session: SessionId, after: int = 0, limit: int = 200) -> tuple[tuple[int, Message], ...]:
        """Entries with their numbers, oldest first, from behind number ``after``: a page of ``sessions show``."""
        statement = select(MessageRow).where(MessageRow.session == session, col(MessageRow.seq) > after)
        ordered = statement.order_by(col(MessageRow.seq)).limit(limit)
        rows = await self._db.read(lambda look: look.exec(ordered).all())
        return tuple((row.seq, message) for row in rows if (message := message_of(row)) is not None)


def end_waiting(look: Session, session: SessionId) -> None:
    """Drop what waits in a session that ends: questions that were not sent yet, what is kept of its calls, its lease."""
    asked = select(ApprovalRow.id).where(ApprovalRow.session == session)
    look.execute(
        update(OutboxTable)
        .where(col(OutboxTable.approval).in_(asked), col(OutboxTable.state).in_(OPEN_OUTBOX))
        .values(state=OutboxState.DROPPED, sealed=None, why="the session was cleared")
    )
    kept.clear(look, session)
    look.execute(delete(LeaseRow).where(col(LeaseRow.session) == session))


def _newest(look: Session, session: SessionId, turns: int, max_bytes: int) -> list[Entry]:
    """Enough of the newest entries, oldest first: fetched in steps that widen until they hold what may be needed."""
    entries: list[Entry] = []
    step, before = _ROWS_PER_TURN * turns, None
    through = select(func.max(SummaryRow.through)).where(SummaryRow.session == session).scalar_subquery()
    after = func.coalesce(through, 0)
    for _ in range(_WIDENINGS):
        statement = select(MessageRow).where(MessageRow.session == session, col(MessageRow.seq) > after)
        if before is not None:
            statement = statement.where(col(MessageRow.seq) < before)
        rows = look.exec(statement.order_by(col(MessageRow.seq).desc()).limit(step)).all()
        entries.extend((row.turn, message) for row in rows if (message := message_of(row)) is not None)
        begun = len({turn for turn, _ in entries})
        if len(rows) < step or begun > turns or (begun > 1 and weight([one for _, one in entries]) > max_bytes):
            break
        before, step = rows[-1].seq, step * 2
    return entries[::-1]


def _row(session: str, seq: int, flush: TurnFlush, message: Message, now_ms: int) -> MessageRow:
    return MessageRow(
        session=session,
        seq=seq,
        turn=flush.turn,
        role=message.role,
        content=storable(message.content),
        calls=json.dumps([[call.id, call.name, call.arguments] for call in message.calls], separators=(",", ":")),
        call_id=message.call_id,
        tool_name=storable(message.tool_name),
        created_ms=now_ms,
    )


def message_of(row: MessageRow) -> Message | None:
    """The entry of a row; None if it is none, and without its calls if they cannot be read."""
    try:
        role = Role(row.role)
    except ValueError:
        return None
    try:
        calls = tuple(ToolCall(CallId(str(id_)), str(name), str(args)) for id_, name, args in json.loads(row.calls))
    except (TypeError, ValueError):
        calls = ()
    return Message(role, row.content, calls, None if row.call_id is None else CallId(row.call_id), row.tool_name)


def _summaries(look: Session, rows: Sequence[SessionRow]) -> list[SessionSummary]:
    counted = (
        select(MessageRow.session, func.count())
        .where(col(MessageRow.session).in_([row.id for row in rows]))
        .group_by(MessageRow.session)
    )
    counts = dict(look.exec(counted).all())
    return [
        SessionSummary(
            id=SessionId(row.id),
            surface=SurfaceName(row.surface),
            chat=ChatId(row.chat),
            thread=None if row.thread is None else ThreadId(row.thread),
            messages=counts.get(row.id, 0),
            prompt_tokens=row.prompt_tokens,
            completion_tokens=row.completion_tokens,
            created_ms=row.created_ms,
            updated_ms=row.updated_ms,
        )
        for row in rows
    ]

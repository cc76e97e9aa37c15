"""What a conversation keeps beside its entries: its summary and its pinned notes, which go with it."""

from sqlalchemy import ColumnElement, LargeBinary, and_, cast, delete, func, or_
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from mtbot.audit import storable
from mtbot.domain.ids import SafeText, SessionId
from mtbot.domain.memory import MARKS, Keeps, Pin, Summary, TurnSize
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Actor, Address, Message
from mtbot.storage.columns import actor, ensure_session, queue
from mtbot.storage.engine import Database
from mtbot.storage.history import message_of
from mtbot.storage.memory_tables import PinRow, SummaryRow
from mtbot.storage.tables import MessageRow, SessionRow


class MemoryStore:
    """Implements Memories. ``looked`` turns behind the summary are looked at: what is older was out of sight before."""

    def __init__(self, db: Database, looked: int = 2000) -> None:
        self._db = db
        self._looked = looked

    async def look(self, session: SessionId) -> Keeps:
        """What is kept of a conversation. StorageError."""

        def work(look: Session) -> Keeps:
            row = look.get(SummaryRow, session)
            found = look.exec(select(PinRow).where(PinRow.session == session).order_by(col(PinRow.number))).all()
            pins = tuple(Pin(pin.number, pin.content, actor(pin.by_kind, pin.by_id, pin.by_name)) for pin in found)
            summary = None if row is None else Summary(row.content, row.through, row.turns, row.tainted)
            return Keeps(summary, pins)

        return await self._db.read(work)

    async def sizes(self, session: SessionId) -> tuple[TurnSize, ...]:
        """The turns behind the summary, oldest first; of very many the newest. StorageError."""
        return await self._db.read(lambda look: _sizes(look, session, self._looked))

    async def entries(self, session: SessionId, first: int, last: int) -> tuple[Message, ...]:
        """The entries of those numbers, as they are stored; rows that make no sense are passed over. StorageError."""
        statement = select(MessageRow).where(
            MessageRow.session == session, col(MessageRow.seq) >= first, col(MessageRow.seq) <= last
        )
        rows = await self._db.read(lambda look: look.exec(statement.order_by(col(MessageRow.seq))).all())
        return tuple(message for row in rows if (message := message_of(row)) is not None)

    async def marked(self, session: SessionId, last: int) -> bool:
        """Whether any entry behind the summary, up to number ``last``, is from outside. StorageError."""
        marks = (
            and_(col(MessageRow.role) == role, col(MessageRow.content).contains(mark, autoescape=True))
            for role, mark in MARKS.items()
        )

        def work(look: Session) -> bool:
            row = look.get(SummaryRow, session)
            statement = select(MessageRow.id).where(
                MessageRow.session == session,
                col(MessageRow.seq) > (0 if row is None else row.through),
                col(MessageRow.seq) <= last,
                or_(*marks),
            )
            return look.exec(statement.limit(1)).first() is not None

        return await self._db.read(work)

    async def sum_up(self, session: SessionId, summary: Summary, notice: OutboxItem | None, now_ms: int) -> bool:
        """Put ``summary`` in the place of the one before, and queue the notice, in one transaction. StorageError.

        False, and nothing is written, if the conversation is gone or has a summary that reaches as far already.
        """

        def work(look: Session) -> bool:
            owner = look.get(SessionRow, session)
            if owner is None:
                return False
            look.refresh(owner, with_for_update=True)
            row = look.get(SummaryRow, session)
            if row is not None and row.through >= summary.through:
                return False
            content = storable(summary.text)
            if row is None:
                row = SummaryRow(session=session, content=content, through=0, turns=0, tainted=False, made_ms=now_ms)
            row.content, row.through, row.turns = content, summary.through, summary.turns
            row.tainted, row.made_ms = summary.tainted, now_ms
            look.add(row)
            if notice is not None:
                queue(look, self._db.seal, (notice,), now_ms)
            return True

        return await self._db.write(work)

    async def pin(self, address: Address, text: SafeText, by: Actor, most: int, now_ms: int) -> int | None:
        """Keep a note; its number, None if there are ``most`` already. StorageError."""

        def work(look: Session) -> int | None:
            row = ensure_session(look, address, now_ms)
            look.refresh(row, with_for_update=True)
            taken = set(look.exec(select(PinRow.number).where(PinRow.session == row.id)).all())
            free = next((number for number in range(1, most + 1) if number not in taken), None)
            if free is None or len(taken) >= most:
                return None
            look.add(
                PinRow(
                    session=row.id,
                    number=free,
                    content=storable(text),
                    by_kind=by.kind,
                    by_id=by.id,
                    by_name=storable(by.name),
                    made_ms=now_ms,
                )
            )
            return free

        return await self._db.write(work)

    async def unpin(self, session: SessionId, number: int) -> bool:
        """Drop a note; whether there was one. StorageError."""
        gone = delete(PinRow).where(col(PinRow.session) == session, col(PinRow.number) == number)
        return await self._db.write(lambda look: look.execute(gone.returning(col(PinRow.number))).first() is not None)


def _sizes(look: Session, session: str, most: int) -> tuple[TurnSize, ...]:
    after = look.scalar(select(SummaryRow.through).where(SummaryRow.session == session)) or 0
    size = func.sum(_bytes(look, col(MessageRow.content)) + _bytes(look, col(MessageRow.calls)))
    first = func.min(MessageRow.seq)
    statement = (
        select(first, func.max(MessageRow.seq), size)
        .where(MessageRow.session == session, col(MessageRow.seq) > after)
        .group_by(col(MessageRow.turn))
        .order_by(first.desc())
        .limit(most)
    )
    return tuple(TurnSize(int(one), int(last), int(total)) for one, last, total in reversed(look.exec(statement).all()))


def _bytes(look: Session, column: Mapped[str]) -> ColumnElement[int]:
    """The UTF-8 length of a text; older SQLite has no name for it."""
    if look.get_bind().dialect.name == "sqlite":
        return func.length(cast(column, LargeBinary))
    return func.octet_length(column)

"""What is to be said, as rows in order: each is sent once, and one that may have been sent is never sent again."""

from collections.abc import Sequence

from sqlalchemy import bindparam, func, update
from sqlmodel import Session, col, select

from mtbot.audit import storable
from mtbot.domain.record import OutboxItem, OutboxRow, OutKind
from mtbot.storage.columns import Mask, queue, sealed, unqueue
from mtbot.storage.engine import Database
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import OPEN_OUTBOX, ApprovalRow, OutboxState, OutboxTable

# built once: putting it together takes longer than running it, and it runs several times in every turn
_HEADS = (
    select(func.min(OutboxTable.id))
    .where(col(OutboxTable.state).in_(OPEN_OUTBOX), col(OutboxTable.surface).in_(bindparam("surfaces", expanding=True)))
    .group_by(col(OutboxTable.surface), col(OutboxTable.bot), col(OutboxTable.chat), col(OutboxTable.label))
)
_NEXT = (
    select(OutboxTable)
    .where(col(OutboxTable.id).in_(_HEADS), OutboxTable.state == OutboxState.QUEUED)
    .where(col(OutboxTable.due_ms) <= bindparam("now_ms"))
    .order_by(col(OutboxTable.id))
    .limit(bindparam("most"))
)
_CLAIM = (
    update(OutboxTable)
    .where(col(OutboxTable.id) == bindparam("row"), col(OutboxTable.state) == OutboxState.QUEUED)
    .values(state=OutboxState.SENDING, sender=bindparam("by"))
    .returning(col(OutboxTable.id))
    .execution_options(synchronize_session=False)
)


class OutboxStore:
    """Implements Outbox; payloads are sealed until they are delivered, and pass ``mask`` on their way out."""

    def __init__(self, db: Database, mask: Mask) -> None:
        self._db = db
        self._mask = mask

    async def put(self, *items: OutboxItem, now_ms: int) -> None:
        """Queue items durably. StorageError."""
        await self._db.write(lambda session: queue(session, self._db.seal, items, now_ms))

    async def next(self, surfaces: Sequence[str], now_ms: int, limit: int = 50) -> tuple[OutboxRow, ...]:
        """The first open row of every chat of those surfaces, if it is due and nobody is sending it, oldest first.

        A row that waits or is being sent holds up those behind it, so that a chat reads in order.
        SealError, StorageError.
        """
        given = {"surfaces": list(surfaces), "now_ms": now_ms, "most": limit}
        rows = await self._db.read(lambda session: session.scalars(_NEXT, given).all())
        return tuple(unqueue(row, self._db.seal, self._mask) for row in rows)

    async def claim(self, row: int) -> bool:
        """Mark a row as being sent, so that a crash in between leaves it ambiguous and not repeated; False if taken."""
        given = {"row": row, "by": str(self._db.instance)}
        return await self._db.write(lambda session: session.execute(_CLAIM, given).first() is not None)

    async def sent(self, row: int, message: int | None) -> None:
        """Delivered: wipe the payload; a card's message id goes to its approval. StorageError."""

        def work(session: Session) -> None:
            found = session.get(OutboxTable, row)
            if found is None:
                return
            found.state, found.sealed, found.message, found.why = OutboxState.SENT, None, message, ""
            if found.kind == OutKind.CARD and found.approval is not None and message is not None:
                session.execute(
                    update(ApprovalRow).where(col(ApprovalRow.id) == found.approval).values(message=message)
                )

        await self._db.write(work)

    async def retry(self, row: int, due_ms: int, left: OutboxItem | None = None) -> None:
        """Not delivered for certain: put it back, to be tried again at ``due_ms``. StorageError.

        With ``left`` that is what is still to be sent of it, and the rest is there.
        """

        def work(session: Session) -> None:
            found = session.get(OutboxTable, row)
            if found is not None and found.sealed is not None:
                found.state, found.sender, found.due_ms = OutboxState.QUEUED, "", due_ms
                found.attempts += 1
                if left is not None:
                    found.sealed = sealed(self._db.seal, left, row)

        await self._db.write(work)

    async def drop(self, row: int, why: str) -> None:
        """Never to be delivered: keep the reason, wipe the payload. StorageError."""
        statement = update(OutboxTable).where(col(OutboxTable.id) == row)
        change = statement.values(state=OutboxState.DROPPED, sealed=None, why=storable(self._mask(why)))
        await self._db.write(lambda session: session.execute(change))

    async def ambiguous(self) -> tuple[OutboxRow, ...]:
        """Rows of which nobody knows whether they arrived, because their sender died while sending; oldest first.

        They hold up nobody, and none of them is sent again by itself: tell of them and ``drop`` them, or, where
        twice does no harm (an edit), ``retry``. SealError, StorageError.
        """

        def work(session: Session) -> Sequence[OutboxTable]:
            sending = session.exec(select(OutboxTable).where(OutboxTable.state == OutboxState.SENDING)).all()
            for row in sending:
                sender = Instance.parse(row.sender)
                if sender is not None and provably_dead(sender, self._db.instance):
                    row.state = OutboxState.AMBIGUOUS
            session.flush()
            statement = select(OutboxTable).where(OutboxTable.state == OutboxState.AMBIGUOUS)
            return session.exec(statement.order_by(col(OutboxTable.id))).all()

        rows = await self._db.write(work)
        return tuple(unqueue(row, self._db.seal, self._mask) for row in rows)

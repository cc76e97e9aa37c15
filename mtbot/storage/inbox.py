"""Updates of the chat service, on disk before they are confirmed and acted on once, for ever."""

from collections.abc import Sequence

from sqlalchemy import Update, update
from sqlmodel import Session, col, select

from mtbot.domain.errors import SealError
from mtbot.domain.ids import BotName, Digest, UserId
from mtbot.domain.record import InboxRow
from mtbot.storage.engine import Database
from mtbot.storage.tables import InboxTable


class InboxStore:
    """Implements Inbox; payloads are sealed until they are acted on."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def store(self, rows: Sequence[InboxRow], now_ms: int) -> tuple[InboxRow, ...]:
        """Commit (durably) those that are new by bot, update id and digest; returns the new ones in order.

        The digest is part of the identity, because Telegram numbers anew after a quiet week. StorageError: none of
        them is stored, and none may be confirmed.
        """

        def work(session: Session) -> tuple[InboxRow, ...]:
            return tuple(row for row in rows if self._insert(session, row, now_ms))

        return await self._db.write(work) if rows else ()

    async def take(self, bot: BotName, update: int, whose: UserId | None = None) -> None:
        """A turn of ``whose`` begins for it: from here on it is never acted on again by itself. StorageError."""
        values = {"taken": True} if whose is None else {"taken": True, "person": int(whose)}
        await self._db.write(lambda session: session.execute(_of(bot, update).values(**values)))

    async def turns_since(self, since_ms: int) -> tuple[tuple[UserId, int], ...]:
        """Whose turns began with what came in from then on, and when that was, the oldest first. StorageError."""
        statement = (
            select(InboxTable.person, InboxTable.received_ms)
            .where(col(InboxTable.person).is_not(None), col(InboxTable.received_ms) >= since_ms)
            .order_by(col(InboxTable.received_ms))
        )
        rows = await self._db.read(lambda session: session.exec(statement).all())
        return tuple((UserId(person), at) for person, at in rows if person is not None)

    async def done(self, bot: BotName, update: int) -> None:
        """Acted on: wipe the payload, keep the identity. StorageError."""
        await self._db.write(lambda session: session.execute(closing(bot, update)))

    async def waiting(self, bot: BotName) -> tuple[InboxRow, ...]:
        """Stored and not done, in the order of arrival: what a crash left. SealError, StorageError."""
        statement = select(InboxTable).where(InboxTable.bot == bot, ~col(InboxTable.done)).order_by(col(InboxTable.id))
        rows = await self._db.read(lambda session: session.exec(statement).all())
        return tuple(self._opened(row) for row in rows)

    async def offset(self, bot: BotName) -> int | None:
        """The update id stored last for ``bot``: the highest, except after Telegram began to number anew."""
        statement = select(InboxTable.update_id).where(InboxTable.bot == bot)
        newest = statement.order_by(col(InboxTable.id).desc()).limit(1)
        return await self._db.read(lambda session: session.exec(newest).first())

    def _insert(self, session: Session, row: InboxRow, now_ms: int) -> bool:
        known = select(InboxTable.id).where(
            InboxTable.bot == row.bot, InboxTable.update_id == row.update, InboxTable.digest == row.digest
        )
        if session.exec(known).first() is not None:
            return False
        box = self._db.seal.close(row.payload, "inbox", _name(row.bot, row.update, row.digest))
        session.add(InboxTable(bot=row.bot, update_id=row.update, digest=row.digest, sealed=box, received_ms=now_ms))
        session.flush()
        return True

    def _opened(self, row: InboxTable) -> InboxRow:
        if row.sealed is None:
            raise SealError(f"update {row.update_id} of {row.bot} has lost its payload")
        payload = self._db.seal.open(row.sealed, "inbox", _name(row.bot, row.update_id, row.digest))
        return InboxRow(BotName(row.bot), row.update_id, Digest(row.digest), payload, row.taken)


def closing(bot: str, number: int) -> Update:
    """The statement that closes an update, also as part of somebody else's transaction."""
    return _of(bot, number).values(sealed=None, done=True)


def _of(bot: str, number: int) -> Update:
    return update(InboxTable).where(col(InboxTable.bot) == bot, col(InboxTable.update_id) == number)


def _name(bot: str, number: int, digest: str) -> str:
    return f"{bot}\n{number}\n{digest}"

"""Edited texts that were offered to be used: sealed, one open offer for each message, each used once."""

from sqlalchemy import Update, or_, update
from sqlmodel import Session, col, select

from mtbot.domain.edits import Edited
from mtbot.domain.ids import UserId
from mtbot.domain.record import OutboxItem
from mtbot.storage.columns import address_columns, address_of, queue
from mtbot.storage.engine import Database
from mtbot.storage.tables import EditRow

_TABLE = "edits"


class EditStore:
    """Implements Edits."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def offer(self, edited: Edited, token: str, item: OutboxItem, now_ms: int) -> bool:
        """Keep the text under ``token`` and queue ``item``; False if an open offer took the text over. StorageError."""

        def work(session: Session) -> bool:
            address = edited.address
            open_one = (
                select(EditRow)
                .where(EditRow.bot == address.bot, EditRow.chat == address.chat, EditRow.message == edited.message)
                .where(col(EditRow.used).is_(None), EditRow.author == edited.author)
                .with_for_update()
            )
            row = session.exec(open_one).first()
            if row is not None:
                row.sealed = self._db.seal.close(edited.text, _TABLE, row.token)
                return False
            fresh = EditRow(
                token=token,
                message=edited.message,
                author=edited.author,
                sealed=self._db.seal.close(edited.text, _TABLE, token),
                offered_ms=now_ms,
                **address_columns(address),
            )
            session.add(fresh)
            queue(session, self._db.seal, (item,), now_ms)
            return True

        return await self._db.write(work)

    async def look(self, token: str) -> Edited | None:
        """The text under ``token``, used or not; None if there is none. SealError, StorageError."""
        row = await self._db.read(lambda session: session.get(EditRow, token))
        if row is None:
            return None
        text = self._db.seal.open(row.sealed, _TABLE, row.token)
        return Edited(address_of(row), row.message, UserId(row.author), text)

    async def use(self, token: str, update: int) -> bool:
        """Whether the press of ``update`` is the one that uses it. StorageError."""
        statement = (
            _of(token)
            .where(or_(col(EditRow.used).is_(None), col(EditRow.used) == update))
            .values(used=update)
            .returning(col(EditRow.token))
        )
        return await self._db.write(lambda session: session.execute(statement).first() is not None)

    async def release(self, token: str, update: int) -> None:
        """That press could not use it after all. StorageError."""
        statement = _of(token).where(col(EditRow.used) == update).values(used=None)
        await self._db.write(lambda session: session.execute(statement))


def _of(token: str) -> Update:
    return update(EditRow).where(col(EditRow.token) == token)

"""Which status messages stand in chats now. Not synced to disk: it is a courtesy, and a turn must not wait for it."""

from collections.abc import Collection

from sqlalchemy import delete
from sqlmodel import Session, col, select

from mtbot.domain.ids import BotName
from mtbot.domain.turn import Address
from mtbot.storage.columns import address_columns, address_of
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.status_tables import StatusRow


class StatusStore:
    """Implements StatusNotes."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def stands(self, address: Address, message: int) -> None:
        """It was sent. StorageError."""

        def work(session: Session) -> None:
            insert_if_new(session, StatusRow(message=message, **address_columns(address)))

        await self._db.write(work, durable=False)

    async def gone(self, address: Address, message: int) -> None:
        """It stands there no more. StorageError."""
        mine = delete(StatusRow).where(
            col(StatusRow.bot) == address.bot, col(StatusRow.chat) == address.chat, col(StatusRow.message) == message
        )

        def work(session: Session) -> None:
            session.execute(mine)

        await self._db.write(work, durable=False)

    async def left(self, bots: Collection[BotName]) -> tuple[tuple[Address, int], ...]:
        """Those of these bots that still stand. StorageError."""
        statement = select(StatusRow).where(col(StatusRow.bot).in_(bots)).order_by(col(StatusRow.message))
        rows = await self._db.read(lambda look: look.exec(statement).all())
        return tuple((address_of(row), row.message) for row in rows)

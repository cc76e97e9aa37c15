"""When a gateway last did its daily chores, so that a restart neither repeats nor forgets them."""

from mtbot.storage.engine import Database
from mtbot.storage.tables import MarkRow

_PREFIX = "daily:"


class LedgerStore:
    """Implements Ledger."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def last(self, chore: str) -> int | None:
        """When it was done last; None for never. StorageError."""
        row = await self._db.read(lambda session: session.get(MarkRow, _PREFIX + chore))
        return int(row.value) if row is not None and row.value.isdecimal() else None

    async def did(self, chore: str, at_ms: int) -> None:
        """It was done at that moment. StorageError."""
        await self._db.write(lambda session: session.merge(MarkRow(name=_PREFIX + chore, value=str(at_ms))))

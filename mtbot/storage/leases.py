"""Which process may run a session's turn now, so that gateway and command line never run two."""

from sqlalchemy import delete
from sqlmodel import Session, col

from mtbot.domain.ids import SessionId
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import LeaseRow


class LeaseStore:
    """Implements Leases. A holder that begins with an instance, as in ``INSTANCE/turn``, loses its lease by dying."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def acquire(self, session: SessionId, holder: str, now_ms: int, until_ms: int) -> bool:
        """Take or extend the lease; False if another holder has a live one. StorageError."""

        def work(look: Session) -> bool:
            row = look.get(LeaseRow, session, with_for_update=True)
            if row is None:
                return insert_if_new(look, LeaseRow(session=session, holder=holder, until_ms=until_ms))
            if row.holder != holder and row.until_ms > now_ms and not self._dead(row.holder):
                return False
            row.holder, row.until_ms = holder, until_ms
            return True

        return await self._db.write(work, durable=False)

    async def release(self, session: SessionId, holder: str) -> None:
        """Give it back; nothing happens if somebody else has it by now. StorageError."""
        mine = delete(LeaseRow).where(col(LeaseRow.session) == session, col(LeaseRow.holder) == holder)
        await self._db.write(lambda look: look.execute(mine), durable=False)

    def _dead(self, holder: str) -> bool:
        instance = Instance.parse(holder.partition("/")[0])
        return instance is not None and provably_dead(instance, self._db.instance)

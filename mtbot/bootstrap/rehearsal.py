"""What a first turn asks of the database, done once and undone: SQLAlchemy works out each statement when it first meets it.

That takes longer than all else that a turn of ours does, and would be waited for by whoever speaks first.
"""

import structlog

from mtbot.domain.errors import StorageError
from mtbot.domain.ids import Digest, TurnId, UserId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import InboxRow, OutboxItem
from mtbot.domain.turn import Message, Role, Usage
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.inbox import InboxStore
from mtbot.storage.leases import LeaseStore
from mtbot.storage.memory import MemoryStore
from mtbot.storage.spending import SpendingStore

_log = structlog.get_logger()

_UPDATE = 0
"""Telegram's own numbers are positive."""


async def rehearse(db: Database, item: OutboxItem, now_ms: int) -> None:
    """Go through a message that came in and a turn that answered it with ``item``, and undo all of it. Never fails."""
    stage, place, nobody = db.rehearsal(), item.address, "rehearsal"
    leases, inbox, history = LeaseStore(stage), InboxStore(stage), HistoryStore(stage)
    arrived = InboxRow(place.bot, _UPDATE, Digest("0" * 64), "{}")
    said = (Message(Role.USER, "rehearsed"), Message(Role.ASSISTANT, "rehearsed"))
    turn = TurnFlush(TurnId(nobody), place, said, Usage(), (item,), ((place.bot, _UPDATE),))
    try:
        await inbox.store([arrived], now_ms)
        await leases.acquire(place.session, nobody, now_ms, now_ms)
        await inbox.take(place.bot, _UPDATE, UserId(_UPDATE))
        await MemoryStore(stage).look(place.session)
        await history.load(place.session, 1, 1)
        await SpendingStore(stage).add(nobody, "1970-01-01", Usage())
        await history.flush(turn, now_ms)
        await leases.release(place.session, nobody)
    except StorageError as error:
        _log.warning("storage.not_rehearsed", error=str(error))

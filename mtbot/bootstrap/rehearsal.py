"""The writes of a first turn, done once and undone: SQLAlchemy works out each statement when it first meets it.

That takes longer than all else that a turn of ours does, and would be waited for by whoever speaks first.
"""

import structlog

from mtbot.domain.errors import StorageError
from mtbot.domain.ids import Digest, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import InboxRow, OutboxItem
from mtbot.domain.turn import Message, Role, Usage
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.inbox import InboxStore

_log = structlog.get_logger()

_UPDATE = 0
"""Telegram's own numbers are positive."""


async def rehearse(db: Database, item: OutboxItem, now_ms: int) -> None:
    """Write a message that came in and a turn that answered it with ``item``, and undo both. Never fails."""
    stage, place = db.rehearsal(), item.address
    arrived = InboxRow(place.bot, _UPDATE, Digest("0" * 64), "{}")
    said = (Message(Role.USER, "rehearsed"), Message(Role.ASSISTANT, "rehearsed"))
    turn = TurnFlush(TurnId("rehearsal"), place, said, Usage(), (item,), ((place.bot, _UPDATE),))
    try:
        await InboxStore(stage).store([arrived], now_ms)
        await HistoryStore(stage).flush(turn, now_ms)
    except StorageError as error:
        _log.warning("storage.not_rehearsed", error=str(error))

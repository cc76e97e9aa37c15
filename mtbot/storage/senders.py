"""Who was ignored lately, as one mark: so few that they are read and written together."""

import json
from collections.abc import Sequence

from sqlmodel import Session, col, select

from mtbot.domain.ids import BotName, ChatId, UserId
from mtbot.domain.senders import Sender, merged
from mtbot.storage.engine import Database
from mtbot.storage.tables import MarkRow

_NAME = "senders"


class SenderStore:
    """Implements SenderBook."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, senders: Sequence[Sender]) -> None:
        """These were ignored since the last time. StorageError."""

        def work(session: Session) -> None:
            row = session.exec(select(MarkRow).where(col(MarkRow.name) == _NAME).with_for_update()).one_or_none()
            whole = merged(() if row is None else _read(row.value), senders)
            session.merge(MarkRow(name=_NAME, value=_text(whole)))

        await self._db.write(work)

    async def all(self) -> tuple[Sender, ...]:
        """Everybody, the latest first. StorageError."""
        row = await self._db.read(lambda session: session.get(MarkRow, _NAME))
        return () if row is None else _read(row.value)


def _text(senders: Sequence[Sender]) -> str:
    return json.dumps([[one.bot, one.user, one.chat, one.name, one.why, one.times, one.last_ms] for one in senders])


def _read(text: str) -> tuple[Sender, ...]:
    """Those that make sense; nothing hangs on the others."""
    try:
        rows = json.loads(text)
        return tuple(
            Sender(BotName(bot), UserId(int(user)), ChatId(int(chat)), str(name), str(why), int(times), int(last))
            for bot, user, chat, name, why, times, last in rows
        )
    except (TypeError, ValueError):
        return ()

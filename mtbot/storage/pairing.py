"""The pairing of each bot, as a mark; every change is one transaction that locks it."""

import json
from collections.abc import Callable

from sqlmodel import Session, col, select

from mtbot.domain.ids import BotName, UserId
from mtbot.domain.pairing import Pairing, Standing
from mtbot.storage.engine import Database
from mtbot.storage.tables import MarkRow

_PREFIX = "pair:"


class PairingStore:
    """Implements Pairings."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def begin(self, pairing: Pairing) -> None:
        """Put it in place of an earlier one. StorageError."""
        row = MarkRow(name=_PREFIX + pairing.bot, value=_text(pairing))
        await self._db.write(lambda session: session.merge(row))

    async def find(self, bot: BotName) -> Pairing | None:
        """The pairing of that bot, however it stands. StorageError."""
        row = await self._db.read(lambda session: session.get(MarkRow, _PREFIX + bot))
        return None if row is None else _pairing(row)

    async def attempt(self, bot: BotName, code: str, user: UserId, called: str, now_ms: int) -> Pairing | None:
        """Somebody sent a code: the pairing afterwards; None if none was open. StorageError."""

        def change(row: MarkRow, found: Pairing) -> Pairing | None:
            after = found.tried(code, user, called, now_ms)
            if after is not None:
                row.value = _text(after)
            return after

        return await self._locked(bot, change)

    async def end(self, pairing: Pairing, standing: Standing | None) -> bool:
        """Set how it stands, or with None take it away; False if it is not the one that is there. StorageError."""

        def work(session: Session) -> bool:
            row = _row(session, pairing.bot)
            found = None if row is None else _pairing(row)
            if row is None or found is None or found.digest != pairing.digest:
                return False
            if standing is None:
                session.delete(row)
            else:
                row.value = json.dumps({**json.loads(row.value), "standing": standing.value})
            return True

        return await self._db.write(work)

    async def _locked(self, bot: BotName, change: Callable[[MarkRow, Pairing], Pairing | None]) -> Pairing | None:
        def work(session: Session) -> Pairing | None:
            row = _row(session, bot)
            found = None if row is None else _pairing(row)
            return None if row is None or found is None else change(row, found)

        return await self._db.write(work)


def _row(session: Session, bot: BotName) -> MarkRow | None:
    statement = select(MarkRow).where(col(MarkRow.name) == _PREFIX + bot).with_for_update()
    return session.exec(statement).one_or_none()


def _text(pairing: Pairing) -> str:
    return json.dumps(
        {
            "person": pairing.person,
            "salt": pairing.salt,
            "digest": pairing.digest,
            "until_ms": pairing.until_ms,
            "wrong": {str(user): tries for user, tries in pairing.wrong.items()},
            "standing": pairing.standing.value,
            "user": pairing.user,
            "called": pairing.called,
        }
    )


def _pairing(row: MarkRow) -> Pairing | None:
    """The pairing in a mark; None if it makes no sense, which is as good as none."""
    try:
        data = json.loads(row.value)
        user = data["user"]
        return Pairing(
            bot=BotName(row.name.removeprefix(_PREFIX)),
            person=str(data["person"]),
            salt=str(data["salt"]),
            digest=str(data["digest"]),
            until_ms=int(data["until_ms"]),
            wrong={UserId(int(one)): int(tries) for one, tries in dict(data["wrong"]).items()},
            standing=Standing(data["standing"]),
            user=None if user is None else UserId(int(user)),
            called=str(data["called"]),
        )
    except (KeyError, TypeError, ValueError):
        return None

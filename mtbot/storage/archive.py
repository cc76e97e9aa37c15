"""Conversations that were put away: sessions of their own, named after the place that they come from and a number.

What waits in a conversation (questions, parked turns, leases) ends with it as when it is deleted; what was said, summed up
and pinned moves along, marks of text from outside included. They age and are removed like any other conversation.
"""

from collections.abc import Sequence

from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from mtbot.domain.ids import SessionId
from mtbot.domain.memory import NO_PERSON, PutAway
from mtbot.domain.turn import Address, Role
from mtbot.storage.columns import address_columns
from mtbot.storage.engine import Database
from mtbot.storage.history import end_waiting
from mtbot.storage.memory_tables import PinRow, SummaryRow
from mtbot.storage.tables import MessageRow, SessionRow


class ArchiveStore:
    """Implements Archives."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def put_away(self, address: Address, keep: int) -> int | None:
        """Put the conversation of a place away; its number, None if nothing was said there. StorageError.

        The newest ``keep`` of a place are kept; with 0 this one is deleted, too.
        """
        return await self._db.write(lambda look: _put_away(look, address, keep))

    async def put_aways(self, session: SessionId) -> tuple[PutAway, ...]:
        """Those of a place, the one that was put away last first. StorageError."""

        def work(look: Session) -> tuple[PutAway, ...]:
            return tuple(_described(look, row) for row in reversed(_of(look, session)))

        return await self._db.read(work)

    async def bring_back(self, address: Address, number: int, keep: int, now_ms: int) -> bool:
        """Go on with a conversation that was put away, and put the one of now in its place. StorageError.

        False, and nothing changes, if there is none of that number.
        """

        def work(look: Session) -> bool:
            wanted = next((row for row in _of(look, address.session) if _number(row) == number), None)
            if wanted is None:
                return False
            # out of the way first: making room must not remove the very one that is wanted
            aside = SessionId(f"{wanted.id}<")
            _move(look, wanted, aside, address, now_ms)
            _put_away(look, address, max(1, keep))
            _move(look, look.get_one(SessionRow, aside), address.session, address, now_ms)
            return True

        return await self._db.write(work)

    async def forget(self, address: Address) -> int:
        """Delete the conversation of a place and all that were put away there; how many messages. StorageError."""

        def work(look: Session) -> int:
            end_waiting(look, address.session)
            names = [address.session, *(row.id for row in _of(look, address.session))]
            count = look.exec(
                select(func.count()).select_from(MessageRow).where(col(MessageRow.session).in_(names))
            ).one()
            look.execute(delete(SessionRow).where(col(SessionRow.id).in_(names)))
            return count

        return await self._db.write(work)


def _put_away(look: Session, address: Address, keep: int) -> int | None:
    row = look.get(SessionRow, address.session)
    if row is None:
        return None
    look.refresh(row, with_for_update=True)
    end_waiting(look, address.session)
    said = look.scalar(select(MessageRow.id).where(MessageRow.session == row.id).limit(1))
    pinned = look.scalar(select(PinRow.number).where(PinRow.session == row.id).limit(1))
    if said is None and pinned is None:
        look.delete(row)
        look.flush()
        return None
    older = _of(look, address.session)
    number = max((_number(one) for one in older), default=0) + 1
    _move(look, row, SessionId(f"{row.id}/{number}"), address, row.updated_ms)
    gone = [one.id for one in _of(look, address.session)[: max(0, len(older) + 1 - keep)]]
    look.execute(delete(SessionRow).where(col(SessionRow.id).in_(gone)))
    return number


def _of(look: Session, session: SessionId) -> Sequence[SessionRow]:
    """Those of a place, by number."""
    mine = col(SessionRow.id).startswith(f"{session}/", autoescape=True)
    rows = look.exec(select(SessionRow).where(mine)).all()
    return sorted((row for row in rows if row.id.rpartition("/")[2].isdecimal()), key=_number)


def _number(row: SessionRow) -> int:
    return int(row.id.rpartition("/")[2])


def _move(look: Session, row: SessionRow, name: SessionId, address: Address, at_ms: int) -> None:
    """Give a conversation another name, with all that is kept of it; what waited in it was ended before."""
    old = row.id
    kept = row.model_dump(exclude={"id", "updated_ms", *address_columns(address)})
    look.add(SessionRow(id=name, updated_ms=at_ms, **address_columns(address), **kept))
    look.flush()
    for table in (MessageRow, SummaryRow, PinRow):
        look.execute(update(table).where(col(table.session) == old).values(session=name))
    look.execute(delete(SessionRow).where(col(SessionRow.id) == old))


def _described(look: Session, row: SessionRow) -> PutAway:
    asked = select(MessageRow.content).where(
        MessageRow.session == row.id,
        MessageRow.role == Role.USER,
        ~col(MessageRow.content).startswith(NO_PERSON, autoescape=True),
    )
    first = look.exec(asked.order_by(col(MessageRow.seq)).limit(1)).first()
    count = look.exec(select(func.count()).select_from(MessageRow).where(MessageRow.session == row.id)).one()
    return PutAway(_number(row), count, first or "", row.updated_ms)

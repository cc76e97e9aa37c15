"""The book of what models took: one line per person and day, added to after every answer."""

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from mtbot.domain.ids import SessionId
from mtbot.domain.spending import DayOfPerson, Spent
from mtbot.domain.turn import Usage
from mtbot.storage.account_tables import SpendingRow
from mtbot.storage.engine import Database
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.tables import SessionRow


class SpendingStore:
    """Implements Ledger. Not synced to disk: a power cut may cost the book its last moment, a crash of ours nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, person: str, day: str, usage: Usage) -> None:
        """Add one answer to the day of a person, also beside another process that does. StorageError."""
        mine = (col(SpendingRow.day) == day, col(SpendingRow.person) == person)
        added = (
            update(SpendingRow)
            .where(*mine)
            .values(
                prompt_tokens=col(SpendingRow.prompt_tokens) + usage.prompt,
                completion_tokens=col(SpendingRow.completion_tokens) + usage.completion,
                cost=col(SpendingRow.cost) + usage.cost,
                answers=col(SpendingRow.answers) + 1,
            )
            .returning(col(SpendingRow.answers))
        )

        def work(look: Session) -> None:
            if look.execute(added).first() is None:
                insert_if_new(look, SpendingRow(day=day, person=person))
                look.execute(added)

        await self._db.write(work, durable=False)

    async def spent(self, session: SessionId, person: str, day: str) -> Spent:
        """The sums; zero where nothing was spent. StorageError."""

        def work(look: Session) -> Spent:
            row = look.get(SessionRow, session)
            own = look.get(SpendingRow, (day, person))
            statement = select(
                func.sum(SpendingRow.prompt_tokens),
                func.sum(SpendingRow.completion_tokens),
                func.sum(SpendingRow.cost),
            ).where(SpendingRow.day == day)
            everybody = Usage(*(int(one or 0) for one in look.exec(statement).one()))
            return Spent(
                Usage() if row is None else Usage(row.prompt_tokens, row.completion_tokens, row.cost),
                Usage() if own is None else _usage(own),
                everybody,
            )

        return await self._db.read(work)

    async def last(self, session: SessionId) -> Usage:
        """What the last finished turn of a conversation took. StorageError."""

        def work(look: Session) -> Usage:
            row = look.get(SessionRow, session)
            return Usage() if row is None else Usage(row.turn_prompt, row.turn_completion, row.turn_cost)

        return await self._db.read(work)

    async def days(self, since: str) -> tuple[DayOfPerson, ...]:
        """Every line from that day on, newest day first, then by person. StorageError."""
        statement = select(SpendingRow).where(col(SpendingRow.day) >= since)
        ordered = statement.order_by(col(SpendingRow.day).desc(), col(SpendingRow.person))
        rows = await self._db.read(lambda look: look.exec(ordered).all())
        return tuple(DayOfPerson(row.day, row.person, _usage(row), row.answers) for row in rows)


def _usage(row: SpendingRow) -> Usage:
    return Usage(row.prompt_tokens, row.completion_tokens, row.cost)

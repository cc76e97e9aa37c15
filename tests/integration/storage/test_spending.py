"""The book over real databases: it adds up, also beside another process, and survives a cleared conversation."""

import asyncio

from mtbot.domain.ids import TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.spending import DayOfPerson, Spent
from mtbot.domain.turn import Usage
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.spending import SpendingStore
from tests.integration.storage.samples import NOW, PRIVATE

MONDAY, TUESDAY = "2026-11-30", "2026-12-01"


async def test_days_and_people_add_up(db: Database) -> None:
    """Each line for itself, everybody's day over all of them."""
    book = SpendingStore(db)
    session = PRIVATE.session
    assert await book.spent(session, "telegram:1", MONDAY) == Spent(Usage(), Usage(), Usage())
    for person, day in (
        ("telegram:1", MONDAY),
        ("telegram:1", MONDAY),
        ("telegram:2", MONDAY),
        ("telegram:1", TUESDAY),
    ):
        await book.add(person, day, Usage(10, 2, 3))
    assert await book.spent(session, "telegram:1", MONDAY) == Spent(Usage(), Usage(20, 4, 6), Usage(30, 6, 9))
    assert await book.spent(session, "telegram:3", TUESDAY) == Spent(Usage(), Usage(), Usage(10, 2, 3))
    assert await book.days(MONDAY) == (
        DayOfPerson(TUESDAY, "telegram:1", Usage(10, 2, 3), 1),
        DayOfPerson(MONDAY, "telegram:1", Usage(20, 4, 6), 2),
        DayOfPerson(MONDAY, "telegram:2", Usage(10, 2, 3), 1),
    )
    assert len(await book.days(TUESDAY)) == 1


async def test_answers_that_come_at_once_are_all_entered(db: Database) -> None:
    """The first of a day too."""
    book = SpendingStore(db)
    await asyncio.gather(*(book.add("telegram:1", MONDAY, Usage(1, 1, 1)) for _ in range(20)))
    assert (await book.days(MONDAY))[0].usage == Usage(20, 20, 20)


async def test_a_conversation_knows_its_sum_and_its_last_turn(db: Database) -> None:
    """Cleared, it begins at nothing; the day does not."""
    book, history = SpendingStore(db), HistoryStore(db)
    session = PRIVATE.session
    assert await book.last(session) == Usage()
    for number, usage in enumerate((Usage(10, 2, 3), Usage(5, 1, 1))):
        await history.flush(TurnFlush(TurnId(f"t{number}"), PRIVATE, (), usage, ()), NOW)
    await book.add("telegram:1", MONDAY, Usage(15, 3, 4))
    assert (await book.spent(session, "telegram:1", MONDAY)).session == Usage(15, 3, 4)
    assert await book.last(session) == Usage(5, 1, 1)
    await history.clear(session)
    assert await book.spent(session, "telegram:1", MONDAY) == Spent(Usage(), Usage(15, 3, 4), Usage(15, 3, 4))

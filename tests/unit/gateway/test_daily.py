"""Chores are done once a day, counted over restarts, and none waits for another."""

from mtbot.domain.errors import StorageError
from mtbot.gateway.daily import DAY_MS, Chore, Daily


class Book:
    """When what was done."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}

    async def last(self, chore: str) -> int | None:
        """When it was done."""
        return self.done.get(chore)

    async def did(self, chore: str, at_ms: int) -> None:
        """Now."""
        self.done[chore] = at_ms


class Clock:
    """A clock that stands."""

    now = 1_700_000_000_000

    def now_ms(self) -> int:
        """Where it stands."""
        return self.now

    def clock_text(self, at_ms: int) -> str:
        """Never asked for here."""
        return str(at_ms)

    def day_text(self, at_ms: int) -> str:
        """Nor this."""
        return str(at_ms)


async def test_a_chore_is_due_a_day_after_it_was_done() -> None:
    """Not a moment before, and also when nobody was there when it was due."""
    book, clock, done = Book(), Clock(), []

    async def work() -> None:
        done.append(clock.now)

    begun = clock.now
    for at in (0, 1, DAY_MS - 1, DAY_MS, DAY_MS + 1, 5 * DAY_MS):
        clock.now = begun + at
        await Daily((Chore("sweep", work),), book, clock).look()
    assert [at - begun for at in done] == [0, DAY_MS, 5 * DAY_MS]


async def test_a_chore_that_fails_stays_due_and_holds_nothing_up() -> None:
    """The next one is done, and the failed one again at the next look."""
    book, clock, done = Book(), Clock(), []

    async def fail() -> None:
        raise StorageError("no")

    async def work() -> None:
        done.append("work")

    daily = Daily((Chore("fails", fail), Chore("works", work)), book, clock)
    await daily.look()
    await daily.look()
    assert done == ["work"]
    assert list(book.done) == ["works"]


async def test_a_moment_in_the_future_is_not_believed() -> None:
    """A clock that was wrong must not stop the chores for years."""
    book, clock, done = Book(), Clock(), []

    async def work() -> None:
        done.append("work")

    book.done["sweep"] = clock.now + 400 * DAY_MS
    await Daily((Chore("sweep", work),), book, clock).look()
    assert done == ["work"]

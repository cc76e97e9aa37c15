"""An exchange ends, whoever leaves it, and cleans up behind itself undisturbed."""

import asyncio
from functools import partial

import anyio
import pytest

from mtbot.net.ending import ended_well


class Exchange:
    """Something that takes until it is released, and cleans up as httpcore does."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.begun = asyncio.Event()
        self.cleaning = asyncio.Event()
        self.may_end = asyncio.Event()
        self.clean = False

    async def run(self) -> str:
        """Its result."""
        self.begun.set()
        try:
            await self.released.wait()
        finally:
            with anyio.CancelScope(shield=True):
                self.cleaning.set()
                await self.may_end.wait()
                self.clean = True
        return "done"


async def test_it_comes_to_what_the_work_comes_to() -> None:
    """A result or an error, as it is."""
    exchange = Exchange()
    exchange.released.set()
    exchange.may_end.set()
    assert await ended_well(exchange.run, 5) == "done"

    async def fails() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        await ended_well(fails)


@pytest.mark.parametrize("seconds", [0, 0.01])
async def test_it_ends_at_its_time(seconds: float) -> None:
    """With its cleaning done."""
    exchange = Exchange()
    exchange.may_end.set()
    with pytest.raises(TimeoutError):
        await ended_well(exchange.run, seconds)
    assert exchange.clean


@pytest.mark.parametrize("released", [False, True], ids=["under way", "at its end"])
async def test_whoever_is_cancelled_leaves_when_it_has_cleaned_up(released: bool) -> None:
    """asyncio's own cancellation would reach into the cleaning and break it off."""
    exchange = Exchange()
    waiting = asyncio.create_task(ended_well(exchange.run, 5))
    await exchange.begun.wait()
    if released:
        exchange.released.set()
        await exchange.cleaning.wait()
    waiting.cancel()
    await exchange.cleaning.wait()
    assert not waiting.done()
    exchange.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert exchange.clean


async def test_whoever_is_cancelled_twice_is_not_held(caplog: pytest.LogCaptureFixture) -> None:
    """The cleaning goes on without them; an error that comes of it is nobody's."""
    exchange = Exchange()
    waiting = asyncio.create_task(ended_well(exchange.run))
    await exchange.begun.wait()
    waiting.cancel()
    await exchange.cleaning.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    exchange.may_end.set()
    while not exchange.clean:
        await asyncio.sleep(0)
    assert caplog.records == []


async def test_an_error_at_the_end_of_what_was_left_is_swallowed() -> None:
    """Who would have been told is gone."""
    begun = asyncio.Event()

    async def breaks() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("while it closes")

    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    waiting = asyncio.create_task(ended_well(partial(breaks)))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    del waiting
    await asyncio.sleep(0)
    assert told == []

"""Blocking work has a bound, and its end is known even to a caller that was cancelled."""

import asyncio
import threading

import pytest

from mtbot.tools.blocking import off_loop


async def test_the_result_and_the_error_come_through() -> None:
    """As if the work had been called."""
    assert await off_loop(lambda: 7, 5.0) == 7
    with pytest.raises(FileNotFoundError):
        await off_loop(lambda: open("/nonexistent/x"), 5.0)  # noqa: PTH123, SIM115 - the error is the point


async def test_work_that_hangs_is_left_behind() -> None:
    """The caller goes on; a late failure of the thread disturbs nobody."""
    release = threading.Event()

    def hang() -> None:
        release.wait(10)
        raise OSError("late")

    with pytest.raises(TimeoutError):
        await off_loop(hang, 0.01)
    release.set()
    await asyncio.to_thread(lambda: None)


async def test_a_cancelled_caller_learns_how_it_ended() -> None:
    """A write that is under way when somebody presses Stop is reported as what it did."""
    begun, release = threading.Event(), threading.Event()

    def write() -> str:
        begun.set()
        release.wait(10)
        return "written"

    caller = asyncio.ensure_future(off_loop(write, 10.0))
    await asyncio.to_thread(begun.wait, 10)
    caller.cancel()
    await asyncio.sleep(0)
    release.set()
    assert await caller == "written"

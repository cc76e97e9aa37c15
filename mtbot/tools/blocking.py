"""Run blocking file work off the event loop, bounded in time, and learn how it ended even when the turn is stopped.

A file system can hang for minutes (a dead NFS server), and a write that was already under way when somebody pressed
Stop has an end that the record needs.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def off_loop(work: Callable[[], T], seconds: float) -> T:
    """The result of ``work``, run in a thread. TimeoutError after ``seconds``; the thread then goes on by itself.

    A cancelled caller waits for the end too, and gets the result: what was done is reported and not guessed.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        done, _ = await asyncio.wait({running}, timeout=seconds)
    except asyncio.CancelledError:
        done, _ = await asyncio.wait({running}, timeout=seconds)
    if not done:
        running.add_done_callback(_forget)
        raise TimeoutError
    return running.result()


def _forget(late: asyncio.Future[T]) -> None:
    """Take note of a late failure, so that asyncio does not report it as lost."""
    if not late.cancelled():
        late.exception()

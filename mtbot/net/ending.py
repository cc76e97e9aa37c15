"""An end to an exchange that leaves its connections whole.

httpcore cleans up behind a shield of anyio, which keeps off anyio's cancellation and not asyncio's own. A task that is
cancelled, or timed out, right there leaves a place of the pool taken for ever; after a hundred of them nothing is sent
any more. So an exchange has a task of its own here, which only anyio ever cancels.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

_ResultT = TypeVar("_ResultT")


async def ended_well(work: Callable[[], Awaitable[_ResultT]], seconds: float | None = None) -> _ResultT:
    """What ``work`` comes to. TimeoutError if it is not done after ``seconds``.

    Whoever is cancelled meanwhile is back once the exchange has ended, which takes no longer than to close a connection.
    """
    scope = anyio.CancelScope()

    async def within() -> _ResultT:
        with scope:
            if seconds is not None:
                scope.deadline = anyio.current_time() + seconds
            return await work()
        raise TimeoutError

    task = asyncio.create_task(within())
    task.add_done_callback(_heard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        scope.cancel()
        await asyncio.wait((task,))
        raise


def _heard(task: "asyncio.Task[_ResultT]") -> None:
    """An error that comes when nobody is left to be told is no news."""
    if not task.cancelled():
        task.exception()

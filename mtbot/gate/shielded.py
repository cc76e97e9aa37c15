"""What a cancelled turn must not leave half known: how a call ended that had begun, and whether a write was made."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

import structlog

from mtbot.domain.call import Call, Outcome, Permit, Status
from mtbot.domain.errors import ProcessesDown
from mtbot.domain.ports import Tool

_T = TypeVar("_T")
_log = structlog.get_logger()


async def perform(
    tool: Tool, call: Call, permit: Permit, said: Callable[[str, Status], Outcome]
) -> tuple[Outcome, bool]:
    """Have the tool perform; a cancelled turn still gets the call's end, because the record needs it."""
    work = asyncio.ensure_future(tool.perform(call, permit, lambda _text: None))
    stopped = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            if not stopped:
                work.cancel()
            stopped = True
    try:
        return work.result(), stopped
    except asyncio.CancelledError:
        return said("Stopped before it ended.", Status.STOPPED), True
    except ProcessesDown as error:
        return said(f"Not run: {error.message}.", Status.FAILED), stopped
    # Whatever a tool raises, its call is on record as started, so how it ended is written down like any failure.
    except Exception as error:  # noqa: BLE001  a tool may raise anything
        _log.exception("tool.crashed", tool=call.tool, call=call.id)
        failed = f"{call.tool} failed inside mtclaw ({type(error).__name__}); how far it came is unknown."
        return said(failed, Status.FAILED), stopped


async def to_the_end(work: Coroutine[None, None, _T]) -> tuple[_T, bool]:
    """Await a write that must not be left half known; True: the turn was cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    return task.result(), cancelled

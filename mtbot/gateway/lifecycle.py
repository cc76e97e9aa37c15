"""The order in which a gateway starts and stops, and what a signal means.

Start: what a crash left is swept before anything new is taken in. Stop: intake first, then running steps (they are
written down), then what is still to be said, then the children, then the store.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from mtbot.gateway.lanes import Lanes
from mtbot.gateway.outbox import OutboxWorker
from mtbot.gateway.turns import Turns

DRAIN_SECONDS = 30.0
REPLY_SECONDS = 5.0

_log = structlog.get_logger()


Service = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a gateway is made of. ``open`` connects and gives the services, which run until they are cancelled.

    A service that ends early ends the gateway. ``close`` is called in every case but one: something still writes.
    """

    lanes: Lanes
    turns: Turns
    outbox: OutboxWorker
    open: Callable[[], Awaitable[Sequence[Service]]]
    close: Callable[[], Awaitable[None]]


class Gateway:
    """Runs the parts until a signal comes or a service gives up."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stop = asyncio.Event()
        self._signal = 0
        self.failure: BaseException | None = None

    def stop(self, number: int = 0) -> None:
        """Begin to stop; a second call ends the process at once."""
        if self._stop.is_set() and number:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(signal.Signals(number))
        self._signal = self._signal or number
        self._stop.set()

    async def run(self) -> int:
        """Serve; the exit status is 0, 128 + the signal that stopped it, or 1 after a failure."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop, int(number))
        stopped = asyncio.create_task(self._stopped())
        tasks = await self._open(stopped)
        if tasks:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        self.failure = self.failure or _failure_of(tasks)
        clean = await self._down(tasks)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        if self.failure is not None or not clean:
            return 1
        return 128 + self._signal if self._signal else 0

    async def _stopped(self) -> None:
        await self._stop.wait()

    async def _open(self, stopped: "asyncio.Task[None]") -> list["asyncio.Future[None]"]:
        """Connect, as long as nobody stops it, and start what is served; nothing if that failed."""
        services: list[Service] = [self._parts.outbox.run]

        async def connect() -> None:
            services.extend(await self._parts.open())

        opening = asyncio.create_task(connect())
        await asyncio.wait([opening, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
            return []
        self.failure = opening.exception()
        return [] if self.failure is not None else [asyncio.ensure_future(service()) for service in services]

    async def _down(self, tasks: Sequence["asyncio.Future[None]"]) -> bool:
        """Stop in order; False if something did not end in time (then the store stays open for it)."""
        for task in tasks:
            task.cancel()
        self._parts.turns.closing = True
        drained = await self._parts.lanes.drain(DRAIN_SECONDS)
        said = await self._parts.outbox.close(REPLY_SECONDS)
        await asyncio.gather(*tasks, return_exceptions=True)
        if not drained:
            _log.error("gateway.drain_timed_out")
            return False
        if not said:
            _log.warning("gateway.not_all_said")
        await self._parts.close()
        return True


def _failure_of(tasks: Sequence["asyncio.Future[None]"]) -> BaseException | None:
    """What ended the first service that failed."""
    ended = (task.exception() for task in tasks if task.done() and not task.cancelled())
    return next((error for error in ended if error is not None), None)

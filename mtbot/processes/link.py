"""The gateway's end of one spawner: orders to it, reports from it, and its death.

One link lives as long as its spawner. What to do about a death is not decided here.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable

from mtbot.processes.command import Command
from mtbot.processes.ending import Survivor, read_survivors
from mtbot.processes.spawner import kernel, tree
from mtbot.processes.spawner.wire import ORDER_BYTES, BrokenFrame, FrameReader, Kind
from mtbot.processes.spawning import SpawnerProcess

_MOST_WAITING = 2
_BURY_SECONDS = 7.0
_SWEEP_SECONDS = 3.0
_TICK_SECONDS = 0.01

Lost = Callable[[int, str, tuple[Survivor, ...] | None], None]


class Link:
    """The main socket of one spawner: ``alive`` until it closes, when ``lived`` says for how many seconds it was."""

    def __init__(self, spawner: SpawnerProcess, on_lost: Lost, on_death: Callable[[], None]) -> None:
        """``on_lost`` hears of an order that nobody serves, why, and what is left of it (None if nothing ever started).

        ``on_death`` hears that the spawner is gone.
        """
        self._loop = asyncio.get_running_loop()
        self._process = spawner.process
        self._main = spawner.main
        self._on_lost = on_lost
        self._on_death = on_death
        self._frames = FrameReader()
        self._orders = 0
        self._waiting: list[Command] = []
        self._born = self._loop.time()
        self.alive = True
        self.lived = 0.0
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        self._main.settimeout(0)
        self._loop.add_reader(self._main, self._hear)
        self.order_ahead()

    @property
    def pid(self) -> int:
        """The spawner's pid."""
        return self._process.pid

    def order_ahead(self) -> None:
        """Have a supervisor forked for the next command, so that nobody waits for the fork."""
        if not self._waiting and self.alive:
            with contextlib.suppress(OSError):  # the next command will say so
                self._waiting.append(self._order())

    def take_supervisor(self) -> Command:
        """Return a supervisor that waits, or a new one; raises OSError if no order is taken."""
        while self._waiting:
            waiting = self._waiting.pop()
            if waiting.answers():
                return waiting
            waiting.close()
        return self._order()

    def give_back(self, command: Command) -> None:
        """Keep the supervisor of an ended command for another one, or let it go."""
        if self.alive and command.can_go_on and not command.closed.done() and len(self._waiting) < _MOST_WAITING:
            self._waiting.append(command.successor())
        else:
            command.close()

    def signal(self, number: signal.Signals) -> None:
        """Signal the spawner, as long as its number is its own."""
        if self.alive:
            self._process.send_signal(number)

    def close(self) -> None:
        """Close the socket, by which the spawner ends everything below it and then itself."""
        if not self.alive:
            return
        self.alive = False
        self.lived = self._loop.time() - self._born
        while self._waiting:
            self._waiting.pop().close()
        self._loop.remove_reader(self._main)
        self._main.close()
        if not self.ready.done():
            self.ready.set_result(False)

    async def bury(self) -> None:
        """Wait for the exit of a spawner whose socket is closed, and collect it."""
        for _ in range(int(_BURY_SECONDS / _TICK_SECONDS)):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(_TICK_SECONDS)
        self._process.kill()
        self._process.wait()

    def _order(self) -> Command:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._orders += 1
                socket.send_fds(self._main, [self._orders.to_bytes(ORDER_BYTES, "big")], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return Command(self._orders, ours)

    def _hear(self) -> None:
        try:
            data = self._main.recv(65536)
            if data:
                for kind, payload in self._frames.feed(data):
                    self._take(kind, payload)
                return
        except BlockingIOError:
            return
        except (OSError, BrokenFrame, ValueError, KeyError, TypeError):
            pass  # a spawner that cannot be understood is as good as dead: closing its socket ends it
        self.close()
        self._on_death()

    def _take(self, kind: Kind, payload: bytes) -> None:
        facts = json.loads(payload)
        if kind is Kind.READY and not self.ready.done():
            self.ready.set_result(bool(facts["hidden"]))
        elif kind is Kind.LOST:
            self._on_lost(int(facts["order"]), str(facts["how"]), read_survivors(facts["survivors"]))
        elif kind is Kind.REFUSED:
            self._on_lost(int(facts["order"]), str(facts["how"]), None)


async def sweep_orphans() -> tuple[Survivor, ...]:
    """End what a dead spawner left to this process as the last parent, and return what could not be ended.

    Only a hardened gateway is such a parent, and it has no children but its spawner: all that is there has to go.
    """
    if not kernel.adopts_orphans():
        return ()
    left: list[int] = []
    for _ in range(int(_SWEEP_SECONDS / _TICK_SECONDS)):
        left = tree.signal_tree(signal.SIGKILL)
        for pid in tree.children(os.getpid()):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not left:
            break
        await asyncio.sleep(_TICK_SECONDS)
    named = [process for process in map(tree.describe, left) if process is not None]
    return tuple(Survivor(process.pid, process.start, process.uid, tuple(process.argv)) for process in named)

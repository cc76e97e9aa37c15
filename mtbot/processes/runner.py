"""The gateway's client of the spawner: hand over a command, wait for its end, stop it, and never fork.

The runner trusts its supervisors to end what they started, and watches them nevertheless: one that is stopped is woken,
one that stays silent is killed, and when the spawner itself dies nothing is executed until another one stands.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable

from mtbot.processes.command import Command
from mtbot.processes.ending import EndStatus, ProcessEnd, Survivor, read_survivors
from mtbot.processes.request import SpawnRequest
from mtbot.processes.spawner import kernel, tree
from mtbot.processes.spawner.wire import ORDER_BYTES, BrokenFrame, FrameReader, Kind
from mtbot.processes.spawning import SpawnerProcess, start_spawner

TAIL_BYTES = 4096
_START_SECONDS = 10.0
_END_SECONDS = 8.0
_CHECK_SECONDS = 2.0
_REPORT_SECONDS = 7.0
_STOP_SECONDS = 7.0
_SETTLED_SECONDS = 2.0
_MAX_PAUSE_SECONDS = 30.0
_REMEMBERED_STOPS = 1024


class Runner:
    """Executes requests through one spawner and replaces it when it dies."""

    def __init__(self, spawner: SpawnerProcess, restart: Callable[[], SpawnerProcess] = start_spawner) -> None:
        """Take over ``spawner``; must be called while the event loop runs."""
        self._loop = asyncio.get_running_loop()
        self._restart = restart
        self._commands: dict[str, Command] = {}
        self._prevented: dict[str, None] = {}
        self._waiting: Command | None = None
        self._orders = 0
        self._closing = False
        self._pause = 0.0
        self._check: asyncio.TimerHandle | None = None
        self._replacing: asyncio.Task[None] | None = None
        self._attach(spawner)

    @property
    def alive(self) -> bool:
        """Whether a spawner stands and commands are accepted."""
        return self._alive and not self._closing

    def pid(self) -> int:
        """Return the pid of the current, or the last, spawner."""
        return self._spawner.process.pid

    async def ready(self) -> bool:
        """Wait until the spawner reports for duty; the answer is whether its memory is hidden from commands."""
        return await asyncio.shield(self._ready)

    async def run(self, request: SpawnRequest, on_output: Callable[[bytes], None] | None = None) -> ProcessEnd:
        """Execute ``request`` and return its end; whatever goes wrong is an end, too, and never an exception.

        ``on_output`` gets running output in order, leaving out what comes faster than about 160 kB/s. Cancelling stops the
        command; its tree is still ended in the background. Raises ValueError if a command of this id is running.
        """
        if request.id in self._commands:
            raise ValueError(f"a command with id {request.id} is already running")
        if request.id in self._prevented:
            del self._prevented[request.id]
            return ProcessEnd(EndStatus.STOPPED, message="stopped before it started")
        if not self.alive:
            return ProcessEnd(EndStatus.FAILED_TO_START, message=self._why_not())
        try:
            command = self._take_supervisor()
        except OSError as failed:
            return ProcessEnd(
                EndStatus.FAILED_TO_START, message=f"the process spawner takes no order: {failed.strerror}"
            )
        self._admit(request.id, command)
        try:
            await self._begin(command, request, on_output)
            self._order_ahead()
            return await asyncio.shield(command.end)
        except asyncio.CancelledError:
            command.ask_stop()
            raise

    async def _begin(self, command: Command, request: SpawnRequest, on_output: Callable[[bytes], None] | None) -> None:
        if request.stdin is None:
            await command.begin(request, on_output)
            return
        stdin = _in_memory(request.stdin)
        try:
            await command.begin(request, on_output, [stdin])
        finally:
            os.close(stdin)

    async def stop(self, command_id: str) -> bool:
        """End the command and return once its tree is dead, within seconds; True if there was one.

        Without one the id is remembered: a ``run`` that comes later with it ends as STOPPED and starts nothing.
        """
        command = self._commands.get(command_id)
        if command is None:
            self._prevented[command_id] = None
            while len(self._prevented) > _REMEMBERED_STOPS:
                del self._prevented[next(iter(self._prevented))]
            return False
        command.ask_stop()
        await asyncio.wait([command.end], timeout=_STOP_SECONDS)
        return True

    def tail(self, command_id: str) -> str:
        """Return the latest harmless output of a running command, empty if it is unknown; at most a tenth of a second old."""
        command = self._commands.get(command_id)
        return "" if command is None else command.tail(TAIL_BYTES)

    async def close(self) -> None:
        """End every command, then the spawner. Afterwards nothing that this runner started is alive but named survivors."""
        self._closing = True
        if self._replacing is not None:
            self._replacing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._replacing
        waiting = [command.end for command in self._commands.values()]
        for command in self._commands.values():
            command.ask_stop()
        if waiting:
            await asyncio.wait(waiting, timeout=_STOP_SECONDS)
        for command in list(self._commands.values()):
            command.lose("the gateway closed before it was told of the end")
        self._detach()
        await self._bury()
        if self._check is not None:
            self._check.cancel()
            self._check = None

    # handing over

    def _order_supervisor(self) -> Command:
        """Have the spawner fork a supervisor at the other end of a new socket; raises OSError if it takes no order."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._orders += 1
                socket.send_fds(self._spawner.main, [self._orders.to_bytes(ORDER_BYTES, "big")], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return Command(self._orders, ours)

    def _take_supervisor(self) -> Command:
        """Return the supervisor that was ordered in advance, or a new one if there is none."""
        waiting, self._waiting = self._waiting, None
        return waiting if waiting is not None and not waiting.closed.done() else self._order_supervisor()

    def _admit(self, command_id: str, command: Command) -> None:
        self._commands[command_id] = command
        command.closed.add_done_callback(lambda _: self._socket_closed(command))
        command.end.add_done_callback(lambda _: self._ended(command_id, command))
        if self._check is None:
            self._check = self._loop.call_later(_CHECK_SECONDS, self._look_after)

    def _order_ahead(self) -> None:
        if self._waiting is None and self.alive:
            with contextlib.suppress(OSError):  # the next command will say so
                self._waiting = self._order_supervisor()

    def _why_not(self) -> str:
        if self._closing:
            return "mtclaw is shutting down"
        if self._replacing is None or self._replacing.done():
            self._replacing = self._loop.create_task(self._replace())
        return "the process spawner died and is being replaced; try again in a few seconds"

    def _socket_closed(self, command: Command) -> None:
        """A socket that closed without an END: the spawner will name what the dead supervisor left, if it lives."""
        if not command.end.done() and self._alive:
            self._loop.call_later(_REPORT_SECONDS, command.lose, "its supervisor vanished")

    def _ended(self, command_id: str, command: Command) -> None:
        if self._commands.get(command_id) is command:
            del self._commands[command_id]
        command.close()

    # looking after

    def _look_after(self) -> None:
        """Wake, then kill, supervisors and spawner that should long have answered; one step per look."""
        self._check = None
        for command in list(self._commands.values()):
            if not command.overdue(_START_SECONDS, _END_SECONDS):
                continue
            command.overdue_checks += 1
            if command.overdue_checks == 1:
                self._signal(self._spawner.process.pid, signal.SIGCONT)
                self._signal(command.supervisor, signal.SIGCONT)
            elif command.overdue_checks == 3:
                self._signal(command.supervisor, signal.SIGKILL)
            elif command.overdue_checks == 7:
                self._signal(self._spawner.process.pid, signal.SIGKILL)
        if self._commands:
            self._check = self._loop.call_later(_CHECK_SECONDS, self._look_after)

    def _signal(self, pid: int | None, number: signal.Signals) -> None:
        # A supervisor's pid stays its own while its socket is open, and the spawner's until its exit is collected.
        if pid is not None and self._alive:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    # the spawner

    def _attach(self, spawner: SpawnerProcess) -> None:
        self._spawner = spawner
        self._frames = FrameReader()
        self._ready: asyncio.Future[bool] = self._loop.create_future()
        self._born = self._loop.time()
        self._alive = True
        spawner.main.settimeout(0)
        self._loop.add_reader(spawner.main, self._hear)
        self._order_ahead()

    def _detach(self) -> None:
        if self._alive:
            self._alive = False
            if self._waiting is not None:
                self._waiting.close()
                self._waiting = None
            self._loop.remove_reader(self._spawner.main)
            self._spawner.main.close()
            if not self._ready.done():
                self._ready.set_result(False)

    def _hear(self) -> None:
        try:
            data = self._spawner.main.recv(65536)
            if data:
                for kind, payload in self._frames.feed(data):
                    self._take(kind, payload)
                return
        except BlockingIOError:
            return
        except (OSError, BrokenFrame, ValueError, KeyError):
            pass  # a spawner that cannot be understood is as good as dead: closing its socket ends it
        self._spawner_gone()

    def _take(self, kind: Kind, payload: bytes) -> None:
        facts = json.loads(payload)
        if kind is Kind.READY and not self._ready.done():
            self._ready.set_result(bool(facts["hidden"]))
        elif kind is Kind.LOST:
            for command in list(self._commands.values()):
                if command.order == facts["order"]:
                    command.lose(str(facts["how"]), read_survivors(facts["survivors"]))

    def _spawner_gone(self) -> None:
        self._detach()
        if not self._closing:
            self._replacing = self._loop.create_task(self._replace())

    async def _replace(self) -> None:
        """Let the supervisors end what they watch, sweep up what nobody watches, and start another spawner."""
        orphaned = list(self._commands.values())
        if orphaned:
            await asyncio.wait([command.closed for command in orphaned], timeout=_STOP_SECONDS)
        await self._bury()
        survivors = await self._sweep()
        for command in orphaned:
            command.lose("the process spawner died", survivors)
        lived = self._loop.time() - self._born
        self._pause = 0.0 if lived > _SETTLED_SECONDS else min(_MAX_PAUSE_SECONDS, self._pause * 2 + 0.1)
        await asyncio.sleep(self._pause)
        with contextlib.suppress(OSError):  # the next run tries again
            self._attach(self._restart())

    async def _bury(self) -> None:
        """Collect the exit of the old spawner, which ends by itself once its socket is closed."""
        for _ in range(700):
            if self._spawner.process.poll() is not None:
                return
            await asyncio.sleep(0.01)
        self._spawner.process.kill()
        self._spawner.process.wait()

    async def _sweep(self) -> tuple[Survivor, ...]:
        """End what was left to the gateway as the last parent; a gateway has no children but its spawner."""
        if not kernel.adopts_orphans():
            return ()
        for _ in range(300):
            left = tree.signal_tree(signal.SIGKILL)
            for pid in tree.children(os.getpid()):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not left:
                return ()
            await asyncio.sleep(0.01)
        named = [process for process in map(tree.describe, left) if process is not None]
        return tuple(Survivor(process.pid, process.start, process.uid, tuple(process.argv)) for process in named)


def _in_memory(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds ``data``, at its start."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

"""The gateway's client of the spawner: hand over a command, wait for its end, stop it, and never fork.

The runner trusts its supervisors to end what they started, and watches them nevertheless: one that is stopped is woken,
one that stays silent is killed, and when the spawner itself dies nothing is executed until another one stands.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence

from mtbot.processes.command import Command
from mtbot.processes.conversation import Conversation, Pipes
from mtbot.processes.ending import EndStatus, ProcessEnd, Survivor
from mtbot.processes.link import Link, sweep_orphans
from mtbot.processes.request import SpawnRequest
from mtbot.processes.spawning import SpawnerProcess, start_spawner

LINE_BYTES = 16 * 1024 * 1024
_START_SECONDS = 10.0
_END_SECONDS = 8.0
_CHECK_SECONDS = 2.0
_WAKE_CHECK, _KILL_CHECK, _KILL_SPAWNER_CHECK = 1, 3, 7
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
        self._closing = False
        self._pause = 0.0
        self._check: asyncio.TimerHandle | None = None
        self._replacing: asyncio.Task[None] | None = None
        self._link = Link(spawner, self._lost, self._spawner_died)

    @property
    def alive(self) -> bool:
        """Whether a spawner stands and commands are accepted."""
        return self._link.alive and not self._closing

    def pid(self) -> int:
        """Return the pid of the current, or the last, spawner."""
        return self._link.pid

    async def ready(self) -> bool:
        """Wait until the spawner reports for duty; the answer is whether its memory is hidden from commands."""
        return await asyncio.shield(self._link.ready)

    async def run(self, request: SpawnRequest, on_output: Callable[[bytes], None] | None = None) -> ProcessEnd:
        """Execute ``request`` and return its end; whatever goes wrong is an end, too, and never an exception.

        ``on_output`` gets running output in order, leaving out what comes faster than about 160 kB/s. Cancelling stops the
        command; its tree is still ended in the background. Raises ValueError if a command of this id is running.
        """
        with contextlib.ExitStack() as held:
            streams = []
            if request.stdin is not None:
                streams.append(_in_memory(request.stdin))
                held.callback(os.close, streams[0])
            if request.spool is not None:
                streams.append(request.spool.descriptor)
            started = self._start(request, on_output, streams)
        if isinstance(started, ProcessEnd):
            return started
        try:
            return await asyncio.shield(started.end)
        except asyncio.CancelledError:
            started.ask_stop()
            raise

    async def converse(self, request: SpawnRequest) -> Conversation | ProcessEnd:
        """Start a child to talk to, or return why it could not be; ``stop`` and ``close`` end it like any other.

        The request's ``stdin`` is not used. Raises ValueError if a command of this id is running.
        """
        pipes = Pipes()
        started = self._start(request, None, pipes.theirs)
        pipes.close_theirs()
        if isinstance(started, ProcessEnd):
            pipes.close_ours()
            return started
        reader, writer = await pipes.streams(LINE_BYTES)
        return Conversation(reader, writer, started.end)

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
        """Return the latest harmless output of a running command, empty if it is unknown; at most a tenth of a second old.

        All that is kept of it, because a secret of many lines is known by its first one: mask it, then cut it.
        """
        command = self._commands.get(command_id)
        return "" if command is None else command.tail()

    async def close(self) -> None:
        """End every command, then the spawner. Afterwards nothing that this runner started is alive but named survivors."""
        self._closing = True
        if self._replacing is not None:
            self._replacing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._replacing
        commands = list(self._commands.values())
        for command in commands:
            command.ask_stop()
        if commands:
            await asyncio.wait([command.end for command in commands], timeout=_STOP_SECONDS)
        for command in commands:
            command.lose("the gateway closed before it was told of the end")
        self._link.close()
        await self._link.bury()

    def _start(
        self, request: SpawnRequest, on_output: Callable[[bytes], None] | None, streams: Sequence[int]
    ) -> Command | ProcessEnd:
        """Hand the request to a supervisor, or return why that cannot be."""
        if request.id in self._commands:
            raise ValueError(f"a command with id {request.id} is already running")
        if request.id in self._prevented:
            del self._prevented[request.id]
            return ProcessEnd(EndStatus.STOPPED, message="stopped before it started")
        if not self.alive:
            return ProcessEnd(EndStatus.FAILED_TO_START, message=self._why_not())
        try:
            command = self._link.take_supervisor()
        except OSError as failed:
            message = f"the process spawner takes no order: {failed.strerror}"
            return ProcessEnd(EndStatus.FAILED_TO_START, message=message)
        self._commands[request.id] = command
        command.closed.add_done_callback(lambda _: self._socket_closed(command))
        command.end.add_done_callback(lambda _: self._ended(request.id, command))
        command.begin(request, on_output, streams)
        self._link.order_ahead()
        if self._check is None:
            self._check = self._loop.call_later(_CHECK_SECONDS, self._look_after)
        return command

    def _why_not(self) -> str:
        if self._closing:
            return "mtclaw is shutting down"
        if self._replacing is None or self._replacing.done():
            self._replacing = self._loop.create_task(self._replace())
        return "the process spawner died and is being replaced; try again in a few seconds"

    def _socket_closed(self, command: Command) -> None:
        """A socket that closed without an END: the spawner will name what the dead supervisor left, if it lives."""
        if not command.end.done() and self._link.alive:
            self._loop.call_later(_REPORT_SECONDS, command.lose, "its supervisor vanished")

    def _ended(self, command_id: str, command: Command) -> None:
        if self._commands.get(command_id) is command:
            del self._commands[command_id]
        self._link.give_back(command)

    def _lost(self, order: int, how: str, survivors: tuple[Survivor, ...] | None) -> None:
        for command in list(self._commands.values()):
            if command.order == order and survivors is None:
                command.refuse(how)
            elif command.order == order:
                command.lose(how, survivors or ())

    def _look_after(self) -> None:
        """Wake, then kill, supervisors and spawner that should long have answered; one step per look."""
        self._check = None
        for command in list(self._commands.values()):
            if not command.overdue(_START_SECONDS, _END_SECONDS):
                continue
            command.overdue_checks += 1
            if command.overdue_checks == _WAKE_CHECK:
                self._link.signal(signal.SIGCONT)
                command.signal_supervisor(signal.SIGCONT)
            elif command.overdue_checks == _KILL_CHECK:
                command.signal_supervisor(signal.SIGKILL)
            elif command.overdue_checks == _KILL_SPAWNER_CHECK:
                self._link.signal(signal.SIGKILL)
        if self._commands:
            self._check = self._loop.call_later(_CHECK_SECONDS, self._look_after)

    def _spawner_died(self) -> None:
        if not self._closing:
            self._replacing = self._loop.create_task(self._replace())

    async def _replace(self) -> None:
        """Let the supervisors end what they watch, sweep up what nobody watches, and start another spawner."""
        orphaned = list(self._commands.values())
        for command in orphaned:
            command.signal_supervisor(signal.SIGCONT)  # a stopped one would never learn that it has to end
        if orphaned:
            await asyncio.wait([command.closed for command in orphaned], timeout=_STOP_SECONDS)
        await self._link.bury()
        survivors = await sweep_orphans()
        for command in orphaned:
            command.lose("the process spawner died", survivors)
        short_lived = self._link.lived < _SETTLED_SECONDS
        self._pause = min(_MAX_PAUSE_SECONDS, self._pause * 2 + 0.1) if short_lived else 0.0
        await asyncio.sleep(self._pause)
        with contextlib.suppress(OSError):  # the next run tries again
            self._link = Link(self._restart(), self._lost, self._spawner_died)


def _in_memory(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds ``data``, at its start."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

"""Run a command in the terminal of the person who sits there: their screen, their keyboard, their password.

The command stays in the foreground group of the terminal and gets it as standard input, so that Ctrl-C, a password prompt
and every question of a program work as if it had been typed. What it writes passes through here on its way to the screen
and is kept, like the output of any call. There is no time limit, because somebody is there.
"""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator

from mtbot.domain.errors import StateError
from mtbot.domain.process import HOST, ChildEnd, ChildRequest, ChildStatus
from mtbot.processes.output import Output

_READ_BYTES = 65_536
_LOOK_SECONDS = 0.1
_SILENCE_SECONDS = 0.3
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_LEFT_TO_IT = (signal.SIGINT, signal.SIGQUIT)


def require_terminal(stdin: int, stdout: int) -> None:
    """StateError unless a person sits at these descriptors: a terminal in whose foreground this process is."""
    hint = "run it by hand in a terminal on this host"
    if not (os.isatty(stdin) and os.isatty(stdout)):
        raise StateError("this needs a terminal for input and output", hint=hint)
    try:
        foreground = os.tcgetpgrp(stdin) == os.getpgrp()
    except OSError:
        foreground = False
    if not foreground:
        raise StateError("this terminal is not the one that this process is in the foreground of", hint=hint)


class _Kept:
    """The first and the last bytes of an output."""

    def __init__(self, limit: int) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_room, self._tail_room = limit - limit // 2, limit // 2
        self._size = 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        room = self._head_room - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._tail_room:
            del self._tail[: len(self._tail) - self._tail_room]

    def output(self) -> Output:
        kept = len(self._head) + len(self._tail)
        return Output(bytes(self._head), bytes(self._tail), self._size - kept)


class TerminalChildren:
    """Implements Children for the one command that a person runs. ``screen`` is the descriptor that it writes to."""

    def __init__(self, screen: int) -> None:
        self._screen = screen
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: signal.Signals | None = None

    async def run(self, request: ChildRequest, on_output: Callable[[bytes], None] | None = None) -> ChildEnd:
        """Run to the end, in the foreground of the terminal that this process has. Containment is refused."""
        del on_output
        if request.profile != HOST:
            return _not_started("a command that a person runs cannot be contained")
        loop = asyncio.get_running_loop()
        self._asked = None
        for number in _LEFT_TO_IT:  # the terminal sends them to the command, too, which decides what they mean
            loop.add_signal_handler(number, _nothing)
        for number in _PASSED_ON:
            loop.add_signal_handler(number, self._pass_on, number)
        try:
            return await asyncio.to_thread(self._run, request)
        finally:
            for number in (*_LEFT_TO_IT, *_PASSED_ON):
                loop.remove_signal_handler(number)

    async def stop(self, child: str) -> bool:
        """Ask it to end; what runs as another user does not have to listen."""
        del child
        return self._pass_on(signal.SIGTERM)

    def _pass_on(self, number: signal.Signals) -> bool:
        self._asked = number  # before the look, so that one of the two threads sees what the other one did
        if self._process is None:
            return False
        with contextlib.suppress(OSError):
            self._process.send_signal(number)
        return True

    def _run(self, request: ChildRequest) -> ChildEnd:
        began = time.monotonic()
        kept = _Kept(request.max_output)
        reading, writing = os.pipe()
        with _as_it_was(0):
            try:
                process = subprocess.Popen(  # noqa: S603 - exactly what was decided
                    request.argv, cwd=request.cwd, env=dict(request.environment), stdout=writing, stderr=writing
                )
            except OSError as error:
                os.close(reading)
                return _not_started(f"{error.strerror or error}: {error.filename or request.argv[0]}")
            finally:
                os.close(writing)
            self._process = process
            if self._asked is not None:
                self._pass_on(self._asked)
            with contextlib.closing(os.fdopen(reading, "rb", buffering=0)):
                left = self._show(process, reading, kept)
        return _ended(process.returncode, round((time.monotonic() - began) * 1000), kept.output(), left=left)

    def _show(self, process: "subprocess.Popen[bytes]", reading: int, kept: _Kept) -> bool:
        """Pass everything on until the command is over; True if something it started still holds its output."""
        poller = select.poll()
        poller.register(reading, select.POLLIN)
        quiet_since = time.monotonic()
        while True:
            if poller.poll(_LOOK_SECONDS * 1000):
                data = os.read(reading, _READ_BYTES)
                if not data:
                    process.wait()
                    return False
                kept.add(data)
                self._write(data)
                quiet_since = time.monotonic()
            elif process.poll() is not None and time.monotonic() - quiet_since > _SILENCE_SECONDS:
                return True

    def _write(self, data: bytes) -> None:
        """To the screen; a screen that is gone changes nothing about the command or its record."""
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._screen, data) :]


@contextlib.contextmanager
def _as_it_was(terminal: int) -> Iterator[None]:
    """Put the terminal back as it was, should a command leave it without echo."""
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _nothing() -> None:
    return


def _not_started(message: str) -> ChildEnd:
    return ChildEnd(ChildStatus.NOT_STARTED, None, 0, "", message=message)


def _ended(code: int, duration_ms: int, output: Output, *, left: bool) -> ChildEnd:
    note = "a person ran this at the host, in their own terminal"
    return ChildEnd(
        status=ChildStatus.SIGNALED if code < 0 else ChildStatus.EXITED,
        exit_code=None if code < 0 else code,
        duration_ms=duration_ms,
        output="" if output.empty else output.text(),
        raw=output.head + output.tail,
        dropped=output.dropped,
        message=f"{note}; something that it started still runs" if left else note,
    )

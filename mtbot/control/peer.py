"""Who is at the other end of the control socket, as the kernel tells it and not as they say.

A command that the bot runs must never decide for the person. So a peer is followed up through its parents: whoever
descends from the gateway, carries the mark of a call, or is gone before that could be looked at, is refused. The
kernel's pidfd of the connecting process is held meanwhile, so that no other process can have taken its number.
"""

import contextlib
import errno
import os
import select
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtbot.domain.errors import PeerRefused

SO_PEERPIDFD = 77
"""Linux 6.5; the socket module has no name for it."""

_PROC = Path("/proc")
_CREDENTIALS = struct.Struct("3i")
_DEEPEST = 256
_TRIES = 3
_GONE = "the process that connected is gone, so nobody can tell whose it was"


@dataclass(frozen=True, slots=True)
class Peer:
    """A process that may speak. ``terminal``: a person's terminal controls it, so it may decide."""

    pid: int
    uid: int
    terminal: bool


@dataclass(frozen=True, slots=True)
class _Process:
    """A process at one look: ``start`` (ticks since boot) tells it from another one of the same number."""

    pid: int
    parent: int
    start: int
    terminal: bool


@dataclass(frozen=True, slots=True)
class Watch:
    """What gives a command of the bot away: ``above`` are the processes that it descends from, ``mark`` the name of the
    environment variable that every command has."""

    above: frozenset[int]
    mark: str

    def identify(self, connection: socket.socket) -> Peer:
        """The peer of an accepted connection. PeerRefused names why it may not speak."""
        pid, uid, _gid = _CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        if uid not in (os.geteuid(), 0):
            raise PeerRefused(f"only the account that mtclaw runs as may speak here, not uid {uid}")
        if pid <= 0:
            raise PeerRefused(_GONE)
        with _held(connection, pid) as held:
            process = self.look(pid)
            if held is not None and _ended(held):
                raise PeerRefused(_GONE)
        return Peer(pid, uid, process.terminal)

    def look(self, pid: int) -> _Process:
        """The process of that number, if it is no command of the bot. PeerRefused."""
        for _ in range(_TRIES):
            line = _line_of(pid)
            if line == _line_of(pid):
                break
        else:
            raise PeerRefused(_GONE)
        if any(process.pid in self.above for process in line[1:]):
            raise PeerRefused("a command that the bot runs may not speak here")
        if any(_carries(process.pid, self.mark) for process in line):
            raise PeerRefused("a command that the bot started may not speak here")
        return line[0]


@dataclass(frozen=True, slots=True)
class Descent:
    """What a process comes from. ``ours``: from a command of the bot; ``whole``: everything above it could be seen.

    ``terminal``: a person's terminal controls it.
    """

    ours: bool
    whole: bool
    terminal: bool


@dataclass(frozen=True, slots=True)
class Signs:
    """What gives a command of any gateway away, to a process that no gateway looks at.

    ``mark`` is the name of the environment variable that every command has, which it can take from what it starts;
    ``spawner`` how an argument of its spawner ends, above which it cannot get.
    """

    mark: str
    spawner: str

    def descent(self, pid: int) -> Descent:
        """Where a process comes from, up to the first process of the system."""
        terminal, at = False, pid
        for _ in range(_DEEPEST):
            process = _process(at)
            if process is None:
                break
            terminal = terminal or (at == pid and process.terminal)
            if _carries(at, self.mark) or _is_started_from(at, self.spawner):
                return Descent(ours=True, whole=False, terminal=terminal)
            at = process.parent
            if at <= 1:
                return Descent(ours=False, whole=True, terminal=terminal)
        return Descent(ours=False, whole=False, terminal=terminal)

    def own_terminal(self) -> bool:
        """Whether a person's terminal controls this process. PeerRefused if it is a command of the bot, as far as one sees."""
        found = self.descent(os.getpid())
        if found.ours:
            raise PeerRefused("a command that the bot started may not do this")
        return found.terminal

    def require_no_command(self) -> None:
        """PeerRefused if this process comes from a command of the bot, or cannot be seen not to."""
        found = self.descent(os.getpid())
        if found.ours or not found.whole:
            raise PeerRefused(
                "this was started by a command of mtclaw, or cannot be seen not to be; no command decides for it"
            )


def _line_of(pid: int) -> tuple[_Process, ...]:
    """The process and everything above it, as far as there is anything. PeerRefused if one of them cannot be seen."""
    line: list[_Process] = []
    while pid > 0:
        process = _process(pid)
        if process is None or len(line) >= _DEEPEST:
            hint = "" if not line else "is /proc mounted with hidepid?"
            raise PeerRefused(_GONE if not line else f"a process above it (pid {pid}) cannot be seen", hint=hint)
        line.append(process)
        pid = process.parent
    return tuple(line)


def _process(pid: int) -> _Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # the name in parentheses may hold anything, so count from the last one: state is field 3
    fields = text.rpartition(b")")[2].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return _Process(pid, int(fields[1]), int(fields[19]), terminal=fields[4] != b"0")


def _carries(pid: int, mark: str) -> bool:
    """Whether the environment that ``pid`` was started with names the mark; what cannot be read does not count."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return any(entry.startswith(f"{mark}=".encode()) for entry in environment.split(b"\0"))


def _is_started_from(pid: int, program: str) -> bool:
    """Whether an argument of ``pid`` ends so; what cannot be read does not count."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(program.encode()) for word in words)


@contextlib.contextmanager
def _held(connection: socket.socket, pid: int) -> Iterator[int | None]:
    """A descriptor of the process that connected; None where the system has none. PeerRefused if it is gone."""
    held: int | None
    try:
        held = connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as fault:
        if fault.errno != errno.ENOPROTOOPT:
            raise PeerRefused(_GONE) from None
        held = _by_number(pid)
    try:
        yield held
    finally:
        if held is not None:
            os.close(held)


def _by_number(pid: int) -> int | None:
    """What an older kernel offers: a descriptor of whoever has that number now. PeerRefused if nobody has."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise PeerRefused(_GONE) from None
    except OSError:
        return None


def _ended(held: int) -> bool:
    """Whether the process behind a pidfd has ended."""
    poller = select.poll()
    poller.register(held, select.POLLIN)
    return bool(poller.poll(0))

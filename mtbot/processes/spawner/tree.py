"""Find, signal and name the descendants of a process, without ever signalling a stranger.

A pid is only a number: between looking and signalling, a process may end and its number be given away. A direct child
keeps its number until this process reaps it, so it is signalled by number; everything deeper is held by a pidfd while its
parent is looked at once more.
"""

# pathlib would double the start-up time of the spawner.
# ruff: noqa: PTH110, PTH115, PTH123, PTH208

import os
import signal
import time

_PROC = "/proc"
_ARGV_BYTES = 4096


class Process:
    """One process as the record names it: pid, start (clock ticks since boot), effective uid and argv."""

    __slots__ = ("argv", "pid", "start", "uid")

    def __init__(self, pid: int, start: int, uid: int, argv: list[str]) -> None:
        self.pid = pid
        self.start = start
        self.uid = uid
        self.argv = argv

    def as_json(self) -> list[object]:
        """Return the four facts in the order that the wire has them."""
        return [self.pid, self.start, self.uid, self.argv]


def own_children() -> list[int]:
    """Return the pids of this process's children, zombies included; for a process of one thread."""
    me = os.getpid()
    try:
        listing = os.open(f"{_PROC}/self/task/{me}/children", os.O_RDONLY)
    except OSError:
        return children(me)
    try:
        found = b""
        while piece := os.read(listing, 65536):
            found += piece
    finally:
        os.close(listing)
    return [int(pid) for pid in found.split()]


def children(pid: int) -> list[int]:
    """Return the pids of ``pid``'s children, zombies included; empty if it is gone or the system has no /proc."""
    found: list[int] = []
    try:
        threads = os.listdir(f"{_PROC}/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"{_PROC}/{pid}/task/{thread}/children", "rb", buffering=0) as listing:
                found += map(int, listing.read().split())
        except FileNotFoundError:
            if os.path.exists(f"{_PROC}/self/task"):
                found += _children_by_scan(pid)
                break
        except OSError:
            continue
    return found


def descendants(root: int, spare: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
    """Return (pid, parent) of everything below ``root``, parents first, leaving out ``spare`` and all below it."""
    found: list[tuple[int, int]] = []
    seen = {root, *spare}
    level = [root]
    while level:
        deeper: list[int] = []
        for parent in level:
            for pid in children(parent):
                if pid not in seen:
                    seen.add(pid)
                    found.append((pid, parent))
                    deeper.append(pid)
        level = deeper
    return found


def signal_tree(number: int, spare: frozenset[int] = frozenset(), spare_group: int = 0) -> list[int]:
    """Send ``number`` to every descendant of this process and return their pids, whether or not it could be sent.

    ``spare_group`` is a process group whose members got the signal already.
    """
    me = os.getpid()
    found = descendants(me, spare)
    kin = {me, *(pid for pid, _ in found)}
    for pid, parent in found:
        try:
            if spare_group and os.getpgid(pid) == spare_group:
                continue
            if parent == me:
                os.kill(pid, number)
            else:
                _signal_held(pid, number, kin)
        except OSError:
            continue  # gone, or not ours to signal: what is left at the end is named
    return [pid for pid, _ in found]


def describe(pid: int) -> Process | None:
    """Return what the record says of ``pid``, or None if it is gone or dead."""
    facts = _stat(pid)
    if facts is None or facts[0] in ("Z", "X"):
        return None
    try:
        with open(f"{_PROC}/{pid}/status", "rb") as status:
            uids = next(line.split() for line in status if line.startswith(b"Uid:"))
        with open(f"{_PROC}/{pid}/cmdline", "rb") as cmdline:
            words = cmdline.read(_ARGV_BYTES).rstrip(b"\0").split(b"\0")
        with open(f"{_PROC}/{pid}/comm", "rb") as comm:
            name = comm.read().rstrip(b"\n")
    except (OSError, StopIteration):
        return None
    argv = words if words != [b""] else [b"[" + name + b"]"]
    return Process(pid, facts[2], int(uids[2]), [os.fsdecode(word) for word in argv])


def ticks_now() -> int:
    """Return the present in clock ticks since boot, the measure of a process's start."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def start_time(pid: int) -> int:
    """Return when ``pid`` started, in clock ticks since boot, or 0 if that cannot be known."""
    facts = _stat(pid)
    return facts[2] if facts is not None else 0


def newer_holders(leader: int, since: int, pipe: int | None, mark: bytes) -> list[int]:
    """Return pids outside any tree that started at or after ``since`` and hold ``pipe`` (its inode) or carry ``mark``.

    This is how a process that was handed to another parent (a service manager, a daemon, a session of tmux) is found.
    ``mark`` is one NAME=value of the environment. ``leader`` is the command's pid: numbers are given in order, so only those above it need a look, unless they wrapped.
    """
    try:
        names = os.listdir(_PROC)
        with open(f"{_PROC}/loadavg", "rb", buffering=0) as load:
            newest = int(load.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return []
    wrapped = newest < leader
    found: list[int] = []
    for name in names:
        if not name.isdigit():
            continue
        pid = int(name)
        if pid == leader or (pid < leader and not (wrapped and pid <= newest)) or pid == os.getpid():
            continue
        if start_time(pid) >= since and (_holds(pid, pipe) or _carries(pid, mark)):
            found.append(pid)
    return found


def _signal_held(pid: int, number: int, kin: set[int]) -> None:
    if not hasattr(os, "pidfd_open"):
        return  # without pidfd only direct children are signalled; the rest become that as their parents end
    held = os.pidfd_open(pid)
    try:
        facts = _stat(pid)
        if facts is not None and facts[1] in kin:
            signal.pidfd_send_signal(held, number)
    finally:
        os.close(held)


def _stat(pid: int) -> tuple[str, int, int] | None:
    """Return state, parent and start time; the name before them may hold blanks and brackets."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as stat:
            fields = stat.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _children_by_scan(parent: int) -> list[int]:
    pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    return [pid for pid in pids if (facts := _stat(pid)) is not None and facts[1] == parent]


def _holds(pid: int, pipe: int | None) -> bool:
    if pipe is None:
        return False
    wanted = f"pipe:[{pipe}]"
    try:
        for name in os.listdir(f"{_PROC}/{pid}/fd"):
            if os.readlink(f"{_PROC}/{pid}/fd/{name}") == wanted:
                return True
    except OSError:
        return False
    return False


def _carries(pid: int, mark: bytes) -> bool:
    if not mark:
        return False
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as environ:
            return mark in environ.read().split(b"\0")
    except OSError:
        return False

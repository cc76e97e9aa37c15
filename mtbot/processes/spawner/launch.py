"""Execute one command exactly as ordered, in a session of its own, and say in one line why it could not start.

There are two ways to the same end. A command without limits and containment parts is started by ``posix_spawn``, which
copies no memory: that is the quick way, and most of the cost of a Python fork is copying. Parts have to be applied by the
child to itself between fork and exec, and so does the change to another user, so with them a real fork is needed; its
failures travel through a pipe that a successful exec closes. The order of the layers: limits, bubblewrap's namespaces
(which need what the rest takes away), the user, the parts.
"""

import errno
import os
import select
import signal
import time
from collections.abc import Callable

from . import box, tree
from .failure import PartFailed
from .order import Order
from .parts import apply_limits, apply_parts

_CANNOT_START = 127
_START_MILLISECONDS = 10_000
_END_SECONDS, _END_TICK_SECONDS = 2.0, 0.002


class CannotStart(Exception):
    """The command did not start; the text is one line that says why."""


def dispositions_to_reset() -> list[signal.Signals]:
    """Return the signals that this process does not treat as a fresh one would; exec keeps what is ignored."""
    settable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return [signal.Signals(number) for number in settable if signal.getsignal(number) != signal.SIG_DFL]


def launch(order: Order, output: int, fds: list[int], to_reset: list[signal.Signals]) -> int:
    """Start the command and return its pid; raises CannotStart.

    ``output`` becomes standard output and error. The first of ``fds`` becomes standard input instead of /dev/null, the
    second one standard output. The calling process moves to the command's folder.
    """
    _enter(order.cwd)
    stdout = fds[1] if len(fds) > 1 else output
    stdin = fds[0] if fds else os.open(os.devnull, os.O_RDONLY)
    try:
        if not order.parts and not order.limits and order.user is None and order.box is None:
            return _first_that_starts(order, lambda path: _spawn(path, order, (stdin, stdout, output), to_reset))
        return _fork(order, (stdin, stdout, output), to_reset)
    finally:
        if not fds:
            os.close(stdin)


def _spawn(path: str, order: Order, streams: tuple[int, int, int], to_reset: list[signal.Signals]) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(streams)]
    return os.posix_spawn(
        path, order.argv, order.env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=to_reset
    )


def _fork(order: Order, streams: tuple[int, int, int], to_reset: list[signal.Signals]) -> int:
    report, report_in = os.pipe()
    # No signal may reach a handler of the supervisor in its copy: it would be lost to the command.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _become(order, streams, report_in, to_reset)
    except OSError as refused:
        raise CannotStart(f"cannot fork: {refused.strerror}") from refused
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(report_in)
    try:
        poller = select.poll()
        poller.register(report, select.POLLIN)
        failure = os.read(report, 4096) if poller.poll(_START_MILLISECONDS) else b"it does not get to its start"
    finally:
        os.close(report)
    if failure:
        _end_attempt(pid)
        raise CannotStart(failure.decode("utf-8", "replace"))
    return pid


def _end_attempt(pid: int) -> None:
    """Kill what was to become the command, with whatever was built around it, until nothing is left or it takes too long."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until = time.monotonic() + _END_SECONDS
    while time.monotonic() < until:
        tree.signal_tree(signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(_END_TICK_SECONDS)
        except ChildProcessError:
            return


def _become(order: Order, streams: tuple[int, int, int], report: int, to_reset: list[signal.Signals]) -> None:
    """Never returns: ends in the command or in _exit."""
    try:
        os.setsid()
        for number in to_reset:
            signal.signal(number, signal.SIG_DFL)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        apply_limits(order.limits)
        if order.box is not None:
            box.enter(order.box)
            _enter(order.cwd)
        if order.user is not None:
            _become_user(order.user, order.cwd)
        apply_parts(order.parts)
        _first_that_starts(order, lambda path: os.execve(path, order.argv, order.env))  # noqa: S606 - argv as decided
    except (PartFailed, CannotStart) as failed:
        _report(report, str(failed))
    except BaseException as failed:  # noqa: BLE001 - nothing may climb out of a forked copy of the supervisor
        _report(report, f"cannot start: {type(failed).__name__}: {failed}")
    finally:
        os._exit(_CANNOT_START)


def _become_user(user: tuple[int, int, list[int]], cwd: str) -> None:
    """Give up being root for good: groups, gid and uid, each of real, effective and saved. Enters ``cwd`` anew, as that user."""
    uid, gid, groups = user
    try:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as refused:
        raise CannotStart(f"cannot become uid {uid}: {refused.strerror}") from refused
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid) or set(os.getgroups()) != set(groups):
        raise CannotStart(f"did not become uid {uid}")
    _enter(cwd)


def _report(report: int, line: str) -> None:
    os.write(report, line.replace("\n", " ").encode("utf-8", "backslashreplace")[:2000])


def _enter(cwd: str) -> None:
    try:
        os.chdir(cwd)
    except FileNotFoundError:
        raise CannotStart(f"working directory does not exist: {cwd}") from None
    except NotADirectoryError:
        raise CannotStart(f"working directory is not a directory: {cwd}") from None
    except OSError as refused:
        raise CannotStart(f"working directory cannot be entered: {cwd}: {refused.strerror}") from None


def _first_that_starts(order: Order, start: Callable[[str], int]) -> int:
    """Try the program in every folder of the command's own PATH, as a shell would; a name with a slash is a path."""
    program = order.argv[0]
    candidates = [program]
    if "/" not in program:
        candidates = [f"{folder or '.'}/{program}" for folder in order.env.get("PATH", os.defpath).split(":")]
    worst: int = errno.ENOENT
    for candidate in candidates:
        try:
            return start(candidate)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as refused:
            worst = refused.errno or errno.EIO
            if worst != errno.EACCES:
                break
    raise CannotStart(_why_not(program, worst))


def _why_not(program: str, number: int) -> str:
    if number == errno.ENOENT:
        if "/" in program and os.path.exists(program):  # noqa: PTH110 - pathlib is not loaded here
            return f"the interpreter that {program} names does not exist"
        return f"program not found: {program}"
    if number == errno.EACCES:
        return f"program may not be executed: {program}"
    if number == errno.ENOEXEC:
        return f"not a program that this system can execute: {program}"
    if number == errno.E2BIG:
        return "arguments and environment are too long for the kernel"
    return f"cannot execute {program}: {os.strerror(number)}"

"""Fork and execute one command exactly as ordered, and say in one line why it could not start.

Between fork and exec the child is a copy of the supervisor. Everything that copy may not leave to the command is undone
here: signal dispositions, masks, descriptors, session. The failure of any step travels through a pipe that a successful
exec closes, so an empty pipe at its end is the proof of the start.
"""

import errno
import os
import signal

from . import kernel
from .order import Order
from .parts import PartFailed, apply_limits, apply_parts

_STDERR = 2
_CANNOT_START = 127


def launch(order: Order, stdin: int | None, output: int, report: int, to_reset: list[signal.Signals]) -> int:
    """Start the command in a new session and return its pid; ``report`` gets one line if it could not start.

    ``output`` becomes standard output and error, ``stdin`` standard input (/dev/null if None). Raises OSError if the fork
    itself fails.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _become(order, stdin, output, report, to_reset)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def dispositions_to_reset() -> list[signal.Signals]:
    """Return the signals that this process does not treat as a fresh one would; exec keeps what is ignored."""
    settable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return [signal.Signals(number) for number in settable if signal.getsignal(number) != signal.SIG_DFL]


def _become(order: Order, stdin: int | None, output: int, report: int, to_reset: list[signal.Signals]) -> None:
    """Never returns: ends in the command or in _exit."""
    try:
        os.setsid()
        kernel.signal_on_parent_death(signal.SIGKILL)
        for number in to_reset:
            signal.signal(number, signal.SIG_DFL)
        source = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
        os.dup2(source, 0)
        os.dup2(output, 1)
        os.dup2(output, _STDERR)
        _enter(order.cwd)
        apply_limits(order.limits)
        apply_parts(order.parts)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _execute(order)
    except PartFailed as failed:
        _report(report, f"containment failed: {failed}")
    except OSError as failed:
        _report(report, failed.args[-1] if len(failed.args) == 1 else f"cannot start: {failed.strerror}")
    except BaseException as failed:  # noqa: BLE001 - nothing may climb out of a forked copy of the supervisor
        _report(report, f"cannot start: {type(failed).__name__}: {failed}")
    finally:
        os._exit(_CANNOT_START)


def _enter(cwd: str) -> None:
    try:
        os.chdir(cwd)
    except FileNotFoundError:
        raise OSError(f"working directory does not exist: {cwd}") from None
    except NotADirectoryError:
        raise OSError(f"working directory is not a directory: {cwd}") from None
    except OSError as refused:
        raise OSError(f"working directory cannot be entered: {cwd}: {refused.strerror}") from None


def _execute(order: Order) -> None:
    program = order.argv[0]
    candidates = [program]
    if "/" not in program:
        candidates = [f"{folder or '.'}/{program}" for folder in order.env.get("PATH", os.defpath).split(":")]
    worst: OSError | None = None
    for candidate in candidates:
        try:
            os.execve(candidate, order.argv, order.env)  # noqa: S606 - argv is exactly what was decided
        except (FileNotFoundError, NotADirectoryError) as missing:
            worst = worst or missing
        except OSError as refused:
            worst = refused
            if refused.errno != errno.EACCES:
                break
    raise OSError(_why_not(program, worst))


def _why_not(program: str, failed: OSError | None) -> str:
    number = (failed.errno if failed is not None else None) or errno.ENOENT
    if number in (errno.ENOENT, errno.ENOTDIR):
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


def _report(report: int, line: str) -> None:
    os.write(report, line.replace("\n", " ").encode("utf-8", "backslashreplace")[:2000])

"""Have bubblewrap build namespaces, and move a command into them before its other parts are applied.

Bubblewrap cannot come last: it starts a program, and Landlock, the filter and the change of the user must be applied by
the process that becomes the command, in the supervisor's own copy. It cannot come first and be left either, since below
Landlock and the filter it could mount nothing. So it builds a house with nobody but a shell in it that waits, and the
copy enters that house (setns): one process stays outside as the command's leader, hands its end on exactly as it was, and
ends the waiting shell; the other one is inside, hangs the curtains, and goes on.

The end of the waiting shell ends the house once nothing else is in it, and the death of the house's first process ends
whatever is. All of them are descendants of the supervisor like any other process of the command.
"""

import ctypes
import json
import os
import resource
import select
import signal
from collections.abc import Mapping

from . import curtains, kernel
from .failure import PartFailed

_libc = ctypes.CDLL(None, use_errno=True)

_NAMESPACES = {"user": 0x10000000, "mnt": 0x00020000, "pid": 0x20000000}
"""In the order in which they are joined: the rights to join the others come with the first."""
_WAITING = ("/bin/sh", "-c", "echo; read _")


def enter(settings: Mapping[str, object]) -> None:
    """Return inside, in a session of one's own and in ``/``; the process that called stays outside and never returns.

    ``program`` is bubblewrap, ``args`` its options, ``curtains`` pairs of kind and path, ``wait_ms`` how many milliseconds
    it may take. PartFailed says why not.
    """
    program, options, hung = str(settings["program"]), _words(settings["args"]), settings["curtains"]
    everything = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    hold_in, hold = os.pipe()
    house = _build(program, options, hold_in, int(str(settings["wait_ms"])))
    os.close(hold_in)
    _move_in(house)
    inside = os.fork()
    if inside:
        _stay_outside(inside, hold)
    os.close(hold)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, everything)
    curtains.hang([(kind, path) for kind, path in hung] if isinstance(hung, list) else [])


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list | tuple) else []


def _build(program: str, options: list[str], hold_in: int, wait: int) -> int:
    """Start bubblewrap and wait until its shell waits; the pid of the first process of the house."""
    ready, ready_in = os.pipe()
    info, info_in = os.pipe()
    said = os.memfd_create("bubblewrap", os.MFD_CLOEXEC)
    builder = os.fork()
    if builder == 0:
        _become_bubblewrap(program, options, (hold_in, ready_in, said), info_in)
    os.close(ready_in)
    os.close(info_in)
    try:
        if not _readable(ready, wait):
            raise PartFailed(f"bubblewrap does not answer ({program})")
        if os.read(ready, 1) != b"\n":
            lines = os.pread(said, 4096, 0).decode("utf-8", "replace").strip().splitlines()
            raise PartFailed(f"bubblewrap failed: {lines[-1] if lines else 'it ended without a word'}")
        return _first_process(info, wait)
    except PartFailed:
        os.kill(builder, signal.SIGKILL)
        raise
    finally:
        for descriptor in (ready, info, said):
            os.close(descriptor)


def _readable(descriptor: int, wait: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(wait))


def _first_process(info: int, wait: int) -> int:
    try:
        return int(json.loads(os.read(info, 4096) if _readable(info, wait) else b"")["child-pid"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise PartFailed("bubblewrap does not say what it started") from wrong


def _become_bubblewrap(program: str, options: list[str], streams: tuple[int, int, int], info: int) -> None:
    """Never returns. What ends the command by TERM must not end the house around it, so all of that is ignored here."""
    try:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        kernel.refuse_new_privileges()  # so that one with a setuid bit has no more rights than we have
        arguments = os.memfd_create("arguments", 0)
        os.write(arguments, b"".join(os.fsencode(word) + b"\0" for word in (*options, "--info-fd", str(info))))
        os.lseek(arguments, 0, os.SEEK_SET)
        os.set_inheritable(info, True)  # noqa: FBT003 - positional only
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.execve(program, [program, "--args", str(arguments), "--", *_WAITING], {})  # noqa: S606 - no shell is wanted
    except BaseException as failed:  # noqa: BLE001 - nothing may climb out of a forked copy of the supervisor
        os.write(streams[2], str(failed).encode("utf-8", "backslashreplace"))
    finally:
        os._exit(127)


def _move_in(house: int) -> None:
    """Join the namespaces of the process ``house``; of the pids only what is forked from now on does."""
    held = []
    try:
        for name, kind in _NAMESPACES.items():
            there = os.open(f"/proc/{house}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
            held.append((there, kind))
            if os.fstat(there).st_ino == os.stat(f"/proc/self/ns/{name}").st_ino:  # noqa: PTH116 - pathlib is not loaded here
                if name != "user":  # of users root needs none of its own
                    raise PartFailed(f"bubblewrap made no namespace of its own ({name})")
                held.pop()
                os.close(there)
        for there, kind in held:  # only now: afterwards /proc/self is another one's
            if _libc.setns(there, kind) != 0:
                raise PartFailed(f"what bubblewrap made cannot be entered: {os.strerror(ctypes.get_errno())}")
    except OSError as refused:
        raise PartFailed(f"what bubblewrap made cannot be entered: {refused.strerror}") from refused
    finally:
        for there, _ in held:
            os.close(there)


def _stay_outside(inside: int, hold: int) -> None:
    """Never returns. Wait for the command and end as it did. Holds nothing but the pipe of the shell that keeps the house."""
    try:
        os.closerange(0, hold)
        os.closerange(hold + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        ended, status = 0, 0
        while ended != inside:
            ended, status = os.waitpid(-1, 0)
        if os.WIFSIGNALED(status):
            _end_by(os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))
    finally:
        os._exit(127)


def _end_by(number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})

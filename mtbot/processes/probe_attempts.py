"""What a contained child tries to do and should not be able to; it writes the names of what it managed as JSON.

A program of its own, standard library only, which runs contained at the start of a gateway. It does no harm where it
succeeds: what it writes to and talks to was made for it. ``allowed`` in its answer is what containment must leave alone.
"""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

_IO_URING_SETUP = 425
_PTRACE_ATTACH, _PTRACE_DETACH = 16, 17


def attempts(target: dict[str, str]) -> dict[str, Callable[[], object]]:
    """Every attempt by its name; one that returns without an OSError was made."""
    outside, place, inside, gateway = target["file"], target["directory"], target["inside"], int(target["gateway"])
    boxed = _boxed(target, inside, outside) if "start" in target else {}
    return boxed | {
        "read": lambda: _read(outside),
        "read_through_link": lambda: _through_link(outside, f"{inside}/link"),
        "read_through_hard_link": lambda: _through_hard_link(outside, f"{inside}/hard"),
        "list": lambda: list(os.scandir(place)),
        "write": lambda: os.close(os.open(outside, os.O_WRONLY)),
        "create": lambda: os.close(os.open(f"{place}/new", os.O_CREAT | os.O_WRONLY, 0o600)),
        "truncate": lambda: os.truncate(outside, 0),
        "truncate_by_reading": lambda: os.close(os.open(outside, os.O_RDONLY | os.O_TRUNC)),
        "attributes": lambda: Path(outside).chmod(0o644),
        "move_in": lambda: Path(outside).rename(f"{inside}/moved"),
        "move_out": lambda: Path(_made(f"{inside}/out")).rename(f"{place}/out"),
        "remove": lambda: Path(outside).unlink(),
        "environment": lambda: _read(f"/proc/{gateway}/environ"),
        "memory": lambda: os.close(os.open(f"/proc/{gateway}/mem", os.O_RDONLY)),
        "tcp": lambda: socket.create_connection(("127.0.0.1", int(target["tcp"])), 1).close(),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(target["udp"]))),
        "unix": lambda: socket.socket(socket.AF_UNIX).connect(target["unix"]),
        "unix_datagram": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", target["unix"]),
        "unix_abstract": lambda: socket.socket(socket.AF_UNIX).connect("\0" + target["abstract"]),
        "io_uring": lambda: _call(_IO_URING_SETUP, 1, ctypes.create_string_buffer(256)),
        "signal": lambda: os.kill(_seen(target), 0),
        "ptrace": lambda: _trace(_seen(target)),
    }


def _boxed(target: dict[str, str], inside: str, outside: str) -> dict[str, Callable[[], object]]:
    """What only bubblewrap keeps from a command."""
    return {
        "processes": lambda: _seen(target),
        "hooks": lambda: _made(f"{inside}/.git/hooks/pre-commit"),
        "repository": lambda: Path(f"{inside}/.git").rename(f"{inside}/moved.git"),
        "secret": lambda: _not_empty(_read(f"{inside}/.env")),
        "time": lambda: os.utime(outside, (1, 1)),
    }


def _seen(target: dict[str, str]) -> int:
    """The gateway's pid; where pids are a command's own, the same number is another process, which started at another time."""
    pid = int(target["gateway"])
    if "start" in target:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        if fields[19].decode() != target["start"]:
            raise ProcessLookupError(pid)
    return pid


def _not_empty(data: bytes) -> None:
    if not data:
        raise FileNotFoundError


def allowed(target: dict[str, str]) -> bool:
    """Whether it can still do what it was granted: write, read back, and read a system file."""
    path = _made(f"{target['inside']}/mine")
    return _read(path) == b"mine" and bool(_read(os.path.realpath(sys.executable)))


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(64)


def _made(path: str) -> str:
    Path(path).write_bytes(b"mine")
    return path


def _through_link(outside: str, link: str) -> bytes:
    Path(link).symlink_to(outside)
    return _read(link)


def _through_hard_link(outside: str, link: str) -> bytes:
    Path(link).hardlink_to(outside)
    return _read(link)


def _call(*words: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _trace(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(_PTRACE_ATTACH, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    libc.ptrace(_PTRACE_DETACH, pid, None, None)


def main() -> None:
    """Try everything and say what went through."""
    target: dict[str, str] = json.loads(sys.argv[1])
    made = []
    try:
        works = allowed(target)
    except OSError:
        works = False
    for name, attempt in attempts(target).items():
        try:
            attempt()
        except OSError:
            continue
        made.append(name)
    sys.stdout.write(json.dumps({"allowed": works, "made": made}))


if __name__ == "__main__":
    main()

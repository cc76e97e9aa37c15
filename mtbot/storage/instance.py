"""Which process wrote something, told so exactly that another one can prove it dead.

A pid alone comes back after a reboot or a wrap-around; together with the boot and the start time of the process it
never does. A process of another host, or one that cannot be looked at, counts as alive.
"""

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class Instance:
    """One run of one process: ``host:boot:pid:start``, where boot has 8 characters and start is in clock ticks."""

    host: str
    boot: str
    pid: int
    start: str

    def __str__(self) -> str:
        return f"{self.host}:{self.boot}:{self.pid}:{self.start}"

    @classmethod
    def parse(cls, text: str) -> "Instance | None":
        """Read what ``str`` wrote; None for anything else."""
        parts = text.split(":")
        if len(parts) != 4 or not parts[2].isdecimal():
            return None
        return cls(parts[0], parts[1], int(parts[2]), parts[3])


def this_instance() -> Instance:
    """The identity of the running process."""
    pid = os.getpid()
    host = os.uname().nodename.replace(":", "_") or "localhost"
    return Instance(host, _boot(), pid, _start(pid) or _UNKNOWN)


def provably_dead(other: Instance, here: Instance) -> bool:
    """Whether ``other`` ran on the host of ``here`` and certainly runs no more.

    Certain is: the host has booted since, there is no process of that pid, another process has it now, or it has
    ended and only waits to be collected.
    """
    if other.host != here.host:
        return False
    if _UNKNOWN not in (other.boot, here.boot) and other.boot != here.boot:
        return True
    try:
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass  # it exists and belongs to somebody else, or the number is no pid at all: look, prove nothing
    start = _start(other.pid)
    return start is not None and other.start not in (_UNKNOWN, start)


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        return _UNKNOWN


def _start(pid: int) -> str | None:
    """The start time of ``pid`` in ticks since boot, ``dead`` for one that has ended; None if it cannot be seen."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # the name in parentheses may hold anything, so count from the last parenthesis: state is field 3, start field 22
    fields = stat.rpartition(")")[2].split()
    return "dead" if fields[0] in ("Z", "X") else fields[19]

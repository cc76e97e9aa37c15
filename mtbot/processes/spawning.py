"""Start the spawner: the only fork that the gateway ever does.

It belongs at the very start of the program, before configuration, secrets and heavy imports, so that the copy of the
process that lives for a moment between fork and exec holds nothing worth having.
"""

import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mtbot.processes.spawner import kernel

_PROGRAM = Path(__file__).with_name("child.py")
SPAWNER = "/".join(_PROGRAM.parts[-3:])
"""How an argument of every spawner ends, of whichever gateway."""


@dataclass(frozen=True, slots=True)
class SpawnerProcess:
    """A started spawner: its process and the gateway's end of its main socket, whose closing ends everything below."""

    process: subprocess.Popen[bytes]
    main: socket.socket


def start_spawner() -> SpawnerProcess:
    """Start a spawner with an empty environment and return at once; it reports readiness over its socket.

    Raises OSError if no process can be started.
    """
    if not sys.platform.startswith("linux"):
        raise OSError("commands can be executed on Linux only")
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and program, no outside input
                [sys.executable, "-I", "-S", "-E", "-X", "utf8", str(_PROGRAM), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return SpawnerProcess(process, ours)


def harden_gateway() -> bool:
    """Hide this process's memory and environment from commands of the same user; False if the system cannot.

    It also makes the gateway the last parent of whatever a killed spawner leaves, so that it can be found and ended, and
    gives its threads one heap.
    """
    kernel.adopt_orphans()
    kernel.share_one_heap()
    return kernel.hide_memory()

"""A listening socket and processes that connect to it."""

import fcntl
import os
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mtbot.control.place import NAME, Listening

MARK = "MTCLAW_CALL"

CONNECT = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'here\\n'); "
    "print('in', flush=True); sys.stdin.read()"
)
"""Connects, says so, and stays until its input closes."""


@contextmanager
def listening(directory: Path) -> Iterator[Listening]:
    """A socket at ``directory`` that blocks."""
    found = Listening(directory)
    found.socket.settimeout(20)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def connected(
    at: Listening, *before: str, environment: Mapping[str, str] | None = None, terminal: int | None = None
) -> Iterator[socket.socket]:
    """The server's end of a connection that another process made; ``before`` are words that start it."""
    process = subprocess.Popen(
        [*before, sys.executable, "-c", CONNECT, str(at.directory / NAME)],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=terminal is not None,
        preexec_fn=None if terminal is None else lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - nothing else can give a child a terminal
    )
    with process:
        connection, _ = at.socket.accept()
        with connection:
            yield connection
        assert process.stdin is not None
        process.stdin.close()

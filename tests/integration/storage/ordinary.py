"""Run a piece of a test as somebody whom file permissions stop, also when the tests run as root."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[int]:
    """Inside, the effective user is not root; its number."""
    if os.geteuid() != 0:
        yield os.geteuid()
        return
    os.seteuid(NOBODY)
    try:
        yield NOBODY
    finally:
        os.seteuid(0)


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that every user can reach, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix="mtclaw-test-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)

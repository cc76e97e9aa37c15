"""One gateway per database: a lock that the kernel drops with its holder, on a file that is never removed.

The file lies beside the database, so that two accounts with different homes see the same lock. Its text (the pid) is
for people; only the lock itself counts. Looking is done with a shared lock, so that a look never makes a start fail.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from mtbot.domain.errors import InUseError, StorageError

_TRIES = 5
_PAUSE_S = 0.025


class InstanceLock:
    """The right to be the one gateway of a database, held from ``acquire`` to ``release`` or to the process's end."""

    def __init__(self, path: Path, pause: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._pause = pause
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock. InUseError names the pid of the holder; StorageError if the file cannot be used."""
        fd = self._open(os.O_RDWR | os.O_CREAT)
        try:
            if not self._locked(fd, fcntl.LOCK_EX):
                pid = _pid(fd)
                raise InUseError(
                    f"another mtclaw gateway (pid {pid}) holds {self._path}",
                    hint=f"stop it first, or wait until it has ended: kill {pid}",
                )
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def holder(self) -> str | None:
        """The pid (as text) of whoever holds the lock now; None if nobody does. Creates nothing."""
        try:
            fd = self._open(os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return None if self._locked(fd, fcntl.LOCK_SH) else _pid(fd)
        finally:
            os.close(fd)

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self, flags: int) -> int:
        try:
            return os.open(self._path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            if flags & os.O_CREAT:
                raise StorageError(f"the directory of {self._path} does not exist") from None
            raise
        except OSError as fault:
            raise StorageError(f"the lock file {self._path} cannot be opened: {fault.strerror}") from fault

    def _locked(self, fd: int, kind: int) -> bool:
        """Try a few times, because a look of somebody else holds a shared lock for a moment."""
        for attempt in range(_TRIES):
            if attempt:
                self._pause(_PAUSE_S)
            try:
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            except OSError as fault:
                # only EWOULDBLOCK means that somebody holds it; anything else says that this place cannot lock
                raise StorageError(f"{self._path} cannot be locked: {fault.strerror}") from fault
            return True
        return False


def _pid(fd: int) -> str:
    return os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"

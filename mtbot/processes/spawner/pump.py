"""Drain one output pipe for as long as anything writes, and keep only its head and its tail.

The pipe is read whether or not anyone listens, so a command never stalls because the gateway is slow or stopped, and
memory never grows with what is written: the middle is counted and thrown away. If there is a spool, an output of which
something would be thrown away goes into it, from its first byte, as far as there is room; a spool that takes no more costs
the command nothing.
"""

import fcntl
import os

_READ_BYTES = 256 * 1024
_PIPE_BYTES = 1024 * 1024
_LIVE_BYTES = 16 * 1024


class Pump:
    """The read end of a command's output; ``keep`` bytes survive, half from the start and half from the end."""

    __slots__ = (
        "_head_room",
        "_live",
        "_live_skipped",
        "_spool",
        "_spool_room",
        "_tail",
        "_tail_room",
        "_total",
        "ended",
        "fd",
        "head",
        "inode",
    )

    def __init__(self, fd: int, keep: int, spool: int | None = None, room: int = 0) -> None:
        self.fd = fd
        self.inode = os.fstat(fd).st_ino
        self.ended = False
        self.head = bytearray()
        self._head_room = keep - keep // 2
        self._tail = bytearray()
        self._tail_room = keep // 2
        self._total = 0
        self._live = bytearray()
        self._live_skipped = 0
        self._spool = spool
        self._spool_room = room
        os.set_blocking(fd, False)

    @property
    def tail(self) -> bytes:
        """The last bytes that do not belong to the head."""
        return bytes(self._tail[-self._tail_room :]) if self._tail_room else b""

    @property
    def dropped(self) -> int:
        """How many bytes lie between head and tail and were not kept."""
        return self._total - len(self.head) - len(self.tail)

    def read(self) -> bool:
        """Take what is there, at most one buffer of it; False if nothing was."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.ended = True
            return False
        self._keep(data)
        if len(data) == _READ_BYTES // 4:
            widen(self.fd)
        return True

    def take_live(self) -> tuple[int, bytes]:
        """Return what came since the last call as (bytes skipped, latest bytes)."""
        skipped, live = self._live_skipped, bytes(self._live)
        self._live_skipped = 0
        self._live.clear()
        return skipped, live

    @property
    def has_live(self) -> bool:
        """Whether ``take_live`` has something to return."""
        return bool(self._live)

    def release(self) -> None:
        """Close the pipe and the spool."""
        os.close(self.fd)
        if self._spool is not None:
            os.close(self._spool)
            self._spool = None

    def _spool_more(self, data: bytes) -> None:
        """Write ``data`` to the spool, and before the first of it what was kept so far, which then is all there was."""
        if self._spool is None or self._spool_room <= 0:
            return
        keep = self._head_room + self._tail_room
        if self._total + len(data) <= keep:
            return
        if self._total <= keep:
            data = bytes(self.head + self._tail) + data
        data = data[: self._spool_room]
        self._spool_room -= len(data)
        try:
            while data:
                data = data[os.write(self._spool, data) :]
        except OSError:
            self._spool_room = 0

    def _keep(self, data: bytes) -> None:
        self._spool_more(data)
        self._total += len(data)
        self._live += data[-_LIVE_BYTES:]
        self._live_skipped += max(0, len(data) - _LIVE_BYTES)
        if (excess := len(self._live) - _LIVE_BYTES) > 0:
            del self._live[:excess]
            self._live_skipped += excess
        if (room := self._head_room - len(self.head)) > 0:
            self.head += data[:room]
            data = data[room:]
        self._tail += data[-self._tail_room :] if self._tail_room else b""
        if len(self._tail) > 2 * self._tail_room + _READ_BYTES:
            del self._tail[: -self._tail_room]


def widen(fd: int) -> None:
    """Give a busy pipe a larger buffer where the system has one to give."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (OSError, AttributeError):
        return

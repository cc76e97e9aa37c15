"""What this host remembers of the end of the record, in a file outside the database: it betrays a tail cut off.

The file only ever moves forward, under its own lock, after a commit; a crash in between leaves it behind, which is
harmless. It is one short line that is written in place, so no reader ever meets half of it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mtbot.audit import Mark
from mtbot.domain.errors import StorageError

_WIDTH = 86  # twenty digits, a blank, 64 hex digits, a newline


class AnchorDamaged(StorageError):
    """The file is there and can be read, but makes no sense: what was remembered is lost."""


class Anchor:
    """The file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Mark | None:
        """The remembered place; None if there is no file. AnchorDamaged; StorageError if it cannot be read."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                return self._parse(os.pread(fd, _WIDTH + 1, 0))
            finally:
                os.close(fd)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise self._unusable(fault) from fault

    def advance(self, mark: Mark) -> None:
        """Remember ``mark``, unless something later is remembered already. StorageError if it cannot be written."""
        with self._locked() as fd:
            old = self._parse(os.pread(fd, _WIDTH + 1, 0))
            if old is None or old.seq < mark.seq:
                os.pwrite(fd, _line(mark), 0)

    def restart(self, mark: Mark) -> None:
        """Remember ``mark`` whatever was there: the chain itself now reports what was remembered before."""
        with self._locked() as fd:
            os.pwrite(fd, _line(mark), 0)
            os.ftruncate(fd, _WIDTH)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                # whoever holds this writes 86 bytes and lets go
                fcntl.flock(fd, fcntl.LOCK_EX)
                yield fd
            finally:
                os.close(fd)
        except OSError as fault:
            raise self._unusable(fault) from fault

    def _parse(self, line: bytes) -> Mark | None:
        if not line:
            return None  # just made by somebody who has not written yet
        seq, _, tail = line.partition(b" ")
        if len(line) != _WIDTH or not seq.isdigit() or line[-1:] != b"\n":
            raise AnchorDamaged(f"the audit anchor {self.path} is damaged")
        return Mark(int(seq), tail[:-1].decode("ascii", "replace"))

    def _unusable(self, fault: OSError) -> StorageError:
        return StorageError(f"the audit anchor {self.path} cannot be used: {fault.strerror}")


def _line(mark: Mark) -> bytes:
    return f"{mark.seq:020d} {mark.hash}\n".encode()

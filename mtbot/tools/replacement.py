"""Write a file whole or not at all: a temporary file beside it, flushed to disk, takes its name.

Whoever opens the file meanwhile finds the old text or the new one and never half of it; a full disk costs nothing.
Renaming makes a new file, so what belonged to the old one (mode, owner, extended attributes, lists of rights) is carried
over, and where that cannot be done the write is refused with the reason.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mtbot.tools import roots
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp

MAX_APPENDED_TO = 64 * 1024 * 1024
"""The largest file that is appended to: the whole of it is copied."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_CHANGED = "changed while it was written; read it again, then write"


class WriteMode(StrEnum):
    """What happens to a file that exists already."""

    OVERWRITE = "overwrite"
    APPEND = "append"
    CREATE_NEW = "create_new"


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the file's new state, whether there was none before, and what the old one is kept as."""

    stamp: Stamp
    created: bool
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Keep:
    """What is done with an old version before it is overwritten: ``take`` an open file, which gives a name, or ``drop`` it."""

    take: Callable[[int], str]
    drop: Callable[[str], None]


def write(path: str, data: bytes, mode: WriteMode, known: Stamp | None, keep: Keep | None = None) -> Written:
    """Put ``data`` into the file at a resolved path; missing directories are made.

    ``known`` is the state in which the writer has read the file; overwriting needs it, and the file must still be in it.
    What is overwritten is given to ``keep`` first, and stays there only if it was overwritten indeed.
    PathRefused says what speaks against the write; OSError is the machine's. In both cases the file is as it was.
    """
    parent, name = roots.parted(path)
    with roots.directory(parent, create=True) as held:
        old = _status(held, name)
        if old is None:
            return Written(_new(held, name, data), created=True)
        _object(old, mode, known)
        if not os.access(name, os.W_OK, dir_fd=held, effective_ids=os.access in os.supports_effective_ids):
            raise PathRefused("is write-protected")
        with roots.regular_file(path) as before:
            if Stamp.of(os.fstat(before)) != Stamp.of(old):
                raise PathRefused(_CHANGED)
            if mode is WriteMode.APPEND or keep is None:
                return Written(_replace(held, name, old, before, data, mode), created=False)
            kept = keep.take(before)
            try:
                return Written(_replace(held, name, old, before, data, mode), created=False, kept=kept)
            except BaseException:
                keep.drop(kept)
                raise


def content(opened: int, most: int, known: Stamp) -> bytes:
    """The whole of an open file of at most ``most`` bytes, which must be in the state that its reader knows."""
    status = os.fstat(opened)
    if Stamp.of(status) != known:
        raise PathRefused("has changed since it was read in this turn; read it again, then write")
    if status.st_size > most:
        raise PathRefused(f"is over {most // (1024 * 1024)} MiB, too large to be held in memory")
    pieces, left = [], status.st_size
    while left > 0 and (piece := os.read(opened, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _object(old: os.stat_result, mode: WriteMode, known: Stamp | None) -> None:
    """Say what speaks against writing to a file that exists."""
    if not stat.S_ISREG(old.st_mode):
        raise PathRefused(f"is {roots.kind_of(old.st_mode)}, not a regular file")
    if mode is WriteMode.CREATE_NEW:
        raise PathRefused("exists already")
    if old.st_nlink > 1:
        raise PathRefused(f"has {old.st_nlink} names (hard links), and the others would not get the change")
    if old.st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise PathRefused("runs with the rights of its owner or group, which a write would take away")
    if mode is WriteMode.OVERWRITE and known is None:
        raise PathRefused("exists and was not read in this turn; read it first, then write")
    if mode is WriteMode.OVERWRITE and known != Stamp.of(old):
        raise PathRefused("has changed since it was read in this turn; read it again, then write")
    if mode is WriteMode.APPEND and old.st_size > MAX_APPENDED_TO:
        raise PathRefused(f"is over {MAX_APPENDED_TO // (1024 * 1024)} MiB, too large to be appended to safely")


def _new(held: int, name: str, data: bytes) -> Stamp:
    """Make a file that did not exist. The name is taken first, so that nothing which appears meanwhile is replaced."""
    with _Temporary(held, 0o644) as temporary:
        roots.share(held, temporary.descriptor)
        temporary.fill(data)
        temporary.flush()
        try:
            os.close(os.open(name, _CREATE, 0o600, dir_fd=held))
        except FileExistsError:
            raise PathRefused("appeared while it was written") from None
        try:
            return temporary.take(name)
        except OSError:
            os.unlink(name, dir_fd=held)
            raise


def _replace(held: int, name: str, old: os.stat_result, before: int, data: bytes, mode: WriteMode) -> Stamp:
    with _Temporary(held, 0o600) as temporary:
        carry_over(before, temporary.descriptor, old)
        if mode is WriteMode.APPEND:
            temporary.copy(before)
        temporary.fill(data)
        temporary.flush()
        now = _status(held, name)
        if now is None or Stamp.of(now) != Stamp.of(old) or now.st_nlink > 1:
            raise PathRefused(_CHANGED)
        return temporary.take(name)


def carry_over(old: int, new: int, status: os.stat_result) -> None:
    """Give a new file what belongs to the old one: owner, extended attributes and lists of rights, mode."""
    fresh = os.fstat(new)
    if (fresh.st_uid, fresh.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(new, status.st_uid, status.st_gid)
        except OSError as error:
            raise PathRefused(
                f"belongs to uid {status.st_uid}, gid {status.st_gid}, which a write as uid {os.geteuid()} cannot keep"
            ) from error
    if hasattr(os, "listxattr"):
        for attribute in _attributes(old):
            value = os.getxattr(old, attribute)
            try:
                if attribute not in _attributes(new) or os.getxattr(new, attribute) != value:
                    os.setxattr(new, attribute, value)
            except OSError as error:
                raise PathRefused(f"has the attribute {attribute}, which a write cannot keep") from error
    os.fchmod(new, stat.S_IMODE(status.st_mode))


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def _status(held: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=held, follow_symlinks=False)
    except FileNotFoundError:
        return None


class _Temporary:
    """A file of a name that nobody can guess, in the directory of the one that it will become; gone if it does not."""

    def __init__(self, held: int, mode: int) -> None:
        self._held = held
        self._name = f".mtclaw-{secrets.token_hex(8)}.tmp"
        self._taken = False
        self.descriptor = os.open(self._name, _CREATE, mode, dir_fd=held)

    def __enter__(self) -> "_Temporary":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        if not self._taken:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._held)

    def copy(self, source: int) -> None:
        """Take over the content of another file."""
        while piece := os.read(source, _CHUNK):
            self.fill(piece)

    def fill(self, data: bytes) -> None:
        """Write all of ``data``."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def flush(self) -> None:
        """Have the content on disk; a disk that turns out to be full says so here at the latest."""
        os.fsync(self.descriptor)

    def take(self, name: str) -> Stamp:
        """Become ``name``, durably."""
        os.rename(self._name, name, src_dir_fd=self._held, dst_dir_fd=self._held)
        self._taken = True
        with contextlib.suppress(OSError):  # a directory that may not be read cannot be flushed; the file itself was
            self._flush_directory()
        return Stamp.of(os.fstat(self.descriptor))

    def _flush_directory(self) -> None:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._held)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""Move a file or a tree by descriptors: by name within a file system, else by a copy that is flushed and compared first.

Whatever happens in between, one whole version exists: the source goes only when the copy is on disk and the source is
as it was when it was copied. Links are moved as links and never followed. What a copy cannot keep is refused.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from mtbot.domain.call import Weight
from mtbot.tools import roots
from mtbot.tools.replacement import carry_over
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp

MAX_DEPTH = 100
"""Directories inside each other; a tree that is deeper was made to break something."""

_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024


def weigh(held: int, name: str, most: int) -> Weight:
    """How much ``name`` in the open directory ``held`` is; not whole where it has over ``most`` entries.

    PathRefused for a tree that holds another file system or is too deep; OSError for what cannot be looked at.
    """
    count = _Count(most)
    status = os.stat(name, dir_fd=held, follow_symlinks=False)
    whole = count.add(held, name, status, 1)
    return Weight(count.files, count.size, whole)


class _Count:
    """Adds up one tree."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.files = 0
        self.size = 0

    def add(self, held: int, name: str, status: os.stat_result, depth: int) -> bool:
        """Count an entry with all below it; False when there was too much."""
        self._left -= 1
        if self._left < 0:
            return False
        if not stat.S_ISDIR(status.st_mode):
            self.files += 1
            self.size += status.st_size
            return True
        if depth > MAX_DEPTH:
            raise PathRefused("has too many directories inside each other")
        with _entered(held, name) as inside:
            for below in _names(inside):
                found = os.stat(below, dir_fd=inside, follow_symlinks=False)
                if found.st_dev != status.st_dev:
                    raise PathRefused("holds a directory of another file system")
                if not self.add(inside, below, found, depth + 1):
                    return False
        return True


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in an open directory."""

    held: int
    name: str


def move(source: Spot, target: Spot) -> None:
    """Give what is at ``source`` the name ``target``, which must be free. FileExistsError if it is not.

    PathRefused and OSError leave everything at ``source``.
    """
    try:
        _take(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _carry(source, target)


def _take(source: Spot, target: Spot) -> None:
    """Rename without ever replacing: the free name is taken by a link, or by a directory that is empty, first."""
    status = os.stat(source.name, dir_fd=source.held, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        os.mkdir(target.name, 0o700, dir_fd=target.held)
        try:
            os.rename(source.name, target.name, src_dir_fd=source.held, dst_dir_fd=target.held)
        except OSError:
            os.rmdir(target.name, dir_fd=target.held)
            raise
        return
    try:
        os.link(source.name, target.name, src_dir_fd=source.held, dst_dir_fd=target.held, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
            raise
        # a file system without hard links, or a file that its owner alone may link: the look and the rename are two steps
        with contextlib.suppress(FileNotFoundError):
            os.stat(target.name, dir_fd=target.held, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(source.name, target.name, src_dir_fd=source.held, dst_dir_fd=target.held)
        return
    try:
        os.unlink(source.name, dir_fd=source.held)
    except OSError:
        os.unlink(target.name, dir_fd=target.held)
        raise


def _carry(source: Spot, target: Spot) -> None:
    """Copy to another file system, then remove. The source is set aside first, so that nobody changes it by its name."""
    aside = Spot(source.held, f".mtclaw-{secrets.token_hex(8)}.moving")
    part = Spot(target.held, f".mtclaw-{secrets.token_hex(8)}.part")
    os.rename(source.name, aside.name, src_dir_fd=source.held, dst_dir_fd=source.held)
    try:
        stamps = copy_tree(aside, part)
        if stamps != _stamps(aside):
            raise PathRefused("changed while it was moved")
        _take(part, target)
    except BaseException:
        os.rename(aside.name, source.name, src_dir_fd=source.held, dst_dir_fd=source.held)
        with contextlib.suppress(FileNotFoundError):
            remove_tree(part.held, part.name)
        raise
    remove_tree(aside.held, aside.name)


def copy_tree(source: Spot, target: Spot) -> dict[str, Stamp]:
    """Copy with mode, owner, times and attributes, flushed to disk; the state of every file and directory copied.

    PathRefused for what a copy cannot keep: other names of a file (hard links), sockets, pipes, devices.
    """
    stamps: dict[str, Stamp] = {}
    _copy(source, target, "", stamps, 1)
    return stamps


def _copy(source: Spot, target: Spot, path: str, stamps: dict[str, Stamp], depth: int) -> None:
    status = os.stat(source.name, dir_fd=source.held, follow_symlinks=False)
    stamps[path] = Stamp.of(status)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source.name, dir_fd=source.held), target.name, dir_fd=target.held)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, target)
    elif stat.S_ISDIR(status.st_mode) and depth <= MAX_DEPTH:
        os.mkdir(target.name, 0o700, dir_fd=target.held)
        with _entered(source.held, source.name) as inside, _entered(target.held, target.name) as made:
            for name in sorted(_names(inside)):
                _copy(Spot(inside, name), Spot(made, name), f"{path}/{name}", stamps, depth + 1)
            _finish(inside, made, status)
    else:
        raise PathRefused(f"holds {roots.kind_of(status.st_mode)}, which cannot be moved to another file system")


def _copy_file(source: Spot, target: Spot) -> None:
    old = os.open(source.name, _READ, dir_fd=source.held)
    try:
        copy_open_file(old, target, alone=True)
    finally:
        os.close(old)


def copy_open_file(old: int, target: Spot, *, alone: bool = False) -> None:
    """Copy an open regular file; with ``alone`` it must have no other name, because the copy would be another file."""
    status = os.fstat(old)
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused("became something else while it was moved")
    if alone and status.st_nlink > 1:
        raise PathRefused("holds a file with several names (hard links), which a copy cannot keep")
    new = os.open(target.name, _CREATE, 0o600, dir_fd=target.held)
    try:
        at = 0
        while piece := os.pread(old, _CHUNK, at):
            at += len(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(new, view) :]
        _finish(old, new, status)
    finally:
        os.close(new)


def _finish(old: int, new: int, status: os.stat_result) -> None:
    """Give the copy what belongs to the original, and have it on disk."""
    carry_over(old, new, status)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.fsync(new)


def _stamps(spot: Spot, path: str = "") -> dict[str, Stamp]:
    """The state of every file and directory of a tree now."""
    status = os.stat(spot.name, dir_fd=spot.held, follow_symlinks=False)
    found = {path: Stamp.of(status)}
    if stat.S_ISDIR(status.st_mode):
        with _entered(spot.held, spot.name) as inside:
            for name in _names(inside):
                found |= _stamps(Spot(inside, name), f"{path}/{name}")
    return found


def remove_tree(held: int, name: str) -> None:
    """Remove ``name`` with all below it, links as links; also out of directories that may not be written."""
    status = os.stat(name, dir_fd=held, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=held)
        return
    with _entered(held, name) as inside:
        if status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(inside, 0o700)
        for below in _names(inside):
            remove_tree(inside, below)
    os.rmdir(name, dir_fd=held)


def _names(opened: int) -> list[str]:
    return os.listdir(opened)


@contextlib.contextmanager
def _entered(held: int, name: str) -> Iterator[int]:
    """A descriptor of the directory ``name``, which must not be a link."""
    opened = os.open(name, _ENTER, dir_fd=held)
    try:
        yield opened
    finally:
        os.close(opened)

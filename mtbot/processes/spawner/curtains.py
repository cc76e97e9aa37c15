"""Mounts inside a command's own namespace: what is hidden from it, what it cannot change, what it cannot move.

Each is put on a descriptor that was reached without following a link, never on a path: between the look at a directory
and the mount on it somebody may have put a link there. So nothing is mounted, and nothing is made, anywhere else.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Sequence

from .failure import PartFailed

_libc = ctypes.CDLL(None, use_errno=True)

HIDDEN, FIXED, KEPT = "hidden", "fixed", "kept"
"""Reads as nothing; is read-only with all below it; cannot be renamed or removed (each of them cannot)."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _RECURSIVE = 32, 4096, 16384
_SAME_IN_STATVFS = 1 | 2 | 4 | 8 | 1024 | 2048
_STATVFS_RELATIME, _RELATIME = 4096, 1 << 21


def hang(wanted: Sequence[tuple[str, str]]) -> None:
    """Put up ``wanted`` in its order, pairs of kind and absolute path. What is gone is left out.

    PartFailed where a link stands in the way, or the kernel refuses.
    """
    for device in DEVICES:  # a device is written to as before; its mode and times stay what they are
        descriptor = os.open(device, os.O_PATH | os.O_CLOEXEC)
        _seal(descriptor, device)
        os.close(descriptor)
    for kind, path in wanted:
        _hang(kind, path)


def _hang(kind: str, path: str) -> None:
    *folders, name = [part for part in path.split("/") if part]
    folder = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            deeper = _step(folder, part, path)
            os.close(folder)
            folder = deeper
        place = _step(folder, name, path)
    except FileNotFoundError:
        os.close(folder)
        return
    try:
        _cover(kind, path, (folder, name), place)
    except FileNotFoundError:  # removed between that step and the mount
        return
    finally:
        os.close(place)
        os.close(folder)


def _cover(kind: str, path: str, entry: tuple[int, str], place: int) -> None:
    """Mount on ``place``, which is what ``entry`` (a folder and a name) was a moment ago."""
    here = f"/proc/self/fd/{place}"
    if kind == HIDDEN and stat.S_ISDIR(os.fstat(place).st_mode):
        _mount("tmpfs", here, "tmpfs", _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXEC, path, "size=4k,mode=555")
    elif kind == HIDDEN:
        _mount(os.devnull, here, None, _BIND, path)
    else:
        _mount(here, here, None, _BIND | _RECURSIVE, path)
    if kind == FIXED:
        mounted = _step(*entry, path)
        try:
            _seal(mounted, path)
        finally:
            os.close(mounted)


def _step(folder: int, name: str, path: str) -> int:
    """Open an entry of a folder, no link."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise PartFailed(f"a link stands in the way of {path}; it was put there a moment ago")
    return found


def _seal(descriptor: int, path: str) -> None:
    """Make the mount whose root ``descriptor`` is read-only; what else it forbids stays forbidden."""
    flags = os.fstatvfs(descriptor).f_flag
    kept = flags & _SAME_IN_STATVFS | (_RELATIME if flags & _STATVFS_RELATIME else 0)
    _mount(None, f"/proc/self/fd/{descriptor}", None, _REMOUNT | _BIND | _READ_ONLY | kept, path)


def _mount(source: str | None, target: str, kind: str | None, flags: int, path: str, data: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, data)]
    if _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]) != 0:
        number = ctypes.get_errno()
        if number == errno.ENOENT:
            raise FileNotFoundError(number, os.strerror(number), path)
        raise PartFailed(f"{path} cannot be closed to the command: {os.strerror(number)}")

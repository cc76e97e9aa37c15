"""Files by Landlock: what a command may read, execute and write, as paths; everything else is out of reach.

The kernel is asked by trying: rights that it does not know are left out, and whether what is left is enough is for the
probe to find out by doing, not for a version number to tell.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Mapping

_libc = ctypes.CDLL(None, use_errno=True)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_RULE_SIZE = 12

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
_MAKES = sum(1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | _MAKES | REFER | TRUNCATE
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_LADDER = (
    (6, READ | WRITE | IOCTL_DEV, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS),
    (5, READ | WRITE | IOCTL_DEV, 0),
    (3, READ | WRITE, 0),
    (2, (READ | WRITE) & ~TRUNCATE, 0),
    (1, (READ | WRITE) & ~(TRUNCATE | REFER), 0),
)
"""What to handle, from everything to what every Landlock knows, with the version that brought it.

Nobody asks for the version: the kernel says EINVAL to what it does not know, and the next step is tried.
"""


class LandlockMissing(OSError):
    """This kernel has no Landlock, or it is switched off."""


class _Attributes(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def restrict(settings: Mapping[str, object]) -> None:
    """Confine this process for good: ``read``, ``names`` and ``write`` are lists of paths with all that lies below.

    What is in ``names`` may be listed and not read. A path that does not exist is left out, and in ``write`` one with a
    link in it: another command may have put it there. ``newest`` makes do with what Landlock was in that version; nothing
    sets it but a test of how much an older kernel holds. Needs no_new_privs.
    LandlockMissing, or OSError when a rule is refused.
    """
    newest = settings.get("newest")
    ruleset, handled = _ruleset(newest if isinstance(newest, int) else _LADDER[0][0])
    try:
        for path in _paths(settings.get("read")):
            _allow(ruleset, path, READ & handled)
        for path in _paths(settings.get("names")):
            _allow(ruleset, path, READ_DIR & handled)
        for path in _paths(settings.get("write")):
            _allow(ruleset, path, (READ | WRITE | IOCTL_DEV) & handled, follow=False)
        if _libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(ruleset)


def _paths(value: object) -> Iterable[str]:
    return [path for path in value if isinstance(path, str)] if isinstance(value, list | tuple) else []


def _ruleset(newest: int) -> tuple[int, int]:
    """A rule set that handles as much as the kernel knows, and the rights of files that it handles."""
    for version, rights, scoped in _LADDER:
        if version > newest:
            continue
        attributes = _Attributes(rights, 0, scoped)
        size = ctypes.sizeof(attributes) if scoped else 8
        ruleset: int = _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
        if ruleset >= 0:
            return ruleset, rights
        if ctypes.get_errno() not in (errno.EINVAL, errno.E2BIG):
            break
    raise LandlockMissing(ctypes.get_errno(), "landlock_create_ruleset")


def _allow(ruleset: int, path: str, rights: int, *, follow: bool = True) -> None:
    """Grant ``rights`` on a path and everything below it; unless ``follow`` only where no link leads there."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not follow and os.readlink(f"/proc/self/fd/{place}") != path:  # noqa: PTH115 - pathlib is not loaded here
            return
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = _Beneath(rights, place)
        if _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_add_rule", path)
    finally:
        os.close(place)

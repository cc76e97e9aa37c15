"""Ask the kernel and the C library for what the standard library has no name for.

Everything here is a wish: on a system without the call the functions return False and the caller goes on with less.
"""

import ctypes
import sys

_SET_PARENT_DEATH_SIGNAL = 1
_GET_DUMPABLE = 3
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37
_SET_NO_NEW_PRIVILEGES = 38

_MOST_ARENAS = -8
"""M_ARENA_MAX of glibc's malloc.h."""

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_prctl = getattr(_libc, "prctl", None)
_mallopt = getattr(_libc, "mallopt", None)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends (child subreaper)."""
    return _set(_SET_CHILD_SUBREAPER, 1)


def adopts_orphans() -> bool:
    """Tell whether this process is a child subreaper."""
    flag = ctypes.c_int(0)
    return _prctl is not None and _prctl(_GET_CHILD_SUBREAPER, ctypes.byref(flag), 0, 0, 0) == 0 and flag.value == 1


def signal_on_parent_death(number: int) -> bool:
    """Have the kernel send ``number`` to this process when the *thread* that forked it ends; a fork clears it."""
    return _set(_SET_PARENT_DEATH_SIGNAL, number)


def hide_memory() -> bool:
    """Forbid core dumps, ptrace and the reading of /proc/PID/environ and mem by processes of the same user."""
    return _set(_SET_DUMPABLE, 0)


def memory_is_hidden() -> bool:
    """Tell whether ``hide_memory`` is in force."""
    return _prctl is not None and _prctl(_GET_DUMPABLE, 0, 0, 0, 0) == 0


def share_one_heap() -> bool:
    """Have all threads to come take memory from one heap.

    glibc gives each a heap of its own, for which Python's lock leaves little use, and what is freed in one is lost to the others.
    """
    return _mallopt is not None and _mallopt(_MOST_ARENAS, 1) == 1


def refuse_new_privileges() -> bool:
    """Make setuid bits and file capabilities void for this process and all that it starts."""
    return _set(_SET_NO_NEW_PRIVILEGES, 1)


def _set(option: int, value: int) -> bool:
    return _prctl is not None and _prctl(option, value, 0, 0, 0) == 0

"""No capability is left, now or after any exec, whoever the user is.

What an exec can give back is bounded by no_new_privs, which comes first: it never gives more than there is, to root and
to programs with capabilities of their own alike. So the bounding set can stay, and an ordinary user could not change it.
"""

import ctypes
import struct
from collections.abc import Mapping

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 28, 47
_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
_NO_ROOT_LOCKED = 0b11101111
"""Root is nobody special: noroot, no_setuid_fixup, no_cap_ambient_raise, each with its lock, and keep_caps locked off."""


def drop_all(_settings: Mapping[str, object]) -> None:
    """Empty every capability set of this process. OSError if the kernel keeps one."""
    _libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("Ii", _VERSION_3, 0), 8)
    nothing = ctypes.create_string_buffer(24)
    if _libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")

"""No capability is left, now or after any exec, whoever the user is.

An ordinary user has none to begin with and may not touch the bounding set; no_new_privs keeps both of them from ever
getting one, so a wish that the kernel does not grant here takes nothing away from that.
"""

import ctypes
import struct
from collections.abc import Mapping

_libc = ctypes.CDLL(None, use_errno=True)

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 23, 24, 28, 47
_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
_NO_ROOT_LOCKED = 0b11101111
"""Root is nobody special: noroot, no_setuid_fixup, no_cap_ambient_raise, each with its lock, and keep_caps locked off."""


def drop_all(_settings: Mapping[str, object]) -> None:
    """Empty every capability set. OSError if the kernel keeps one."""
    for number in range(64):
        if _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("Ii", _VERSION_3, 0), 8)
    nothing = ctypes.create_string_buffer(24)
    if _libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")

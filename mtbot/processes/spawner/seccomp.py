"""System calls that a contained command may not make: sockets to the outside, new namespaces, other ways around.

A filter sees numbers and plain arguments, never what a pointer leads to. So unix sockets are refused when they are made
(a pair is fine), and openat2 and clone3, whose arguments hide behind a pointer, look as if the kernel had none.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Mapping

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_LOAD, _EQUAL, _MASKED, _AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x45, 0x35, 0x06, 0x54
_NUMBER, _ARCH = 0, 4

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
_NEW_NAMESPACES = 0x7E020000 | 0x00000080
_O_TRUNC, _O_ACCMODE = 0o1000, 3


class _Machine:
    """The numbers of one architecture."""

    def __init__(self, audit: int, calls: Mapping[str, int]) -> None:
        self.audit = audit
        self.calls = calls


_EVERYWHERE = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435, "openat2": 437}

_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        {
            **_EVERYWHERE,
            "socket": 41,
            "clone": 56,
            "open": 2,
            "openat": 257,
            "truncate": 76,
            "ptrace": 101,
            "unshare": 272,
            "setns": 308,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "chroot": 161,
            "bpf": 321,
            "perf_event_open": 298,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "kexec_load": 246,
            "init_module": 175,
            "finit_module": 313,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "userfaultfd": 323,
            "open_by_handle_at": 304,
            "pidfd_getfd": 438,
        },
    ),
    "aarch64": _Machine(
        0xC00000B7,
        {
            **_EVERYWHERE,
            "socket": 198,
            "clone": 220,
            "openat": 56,
            "truncate": 45,
            "ptrace": 117,
            "unshare": 97,
            "setns": 268,
            "mount": 40,
            "umount2": 39,
            "pivot_root": 41,
            "chroot": 51,
            "bpf": 280,
            "perf_event_open": 241,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "kexec_load": 104,
            "init_module": 105,
            "finit_module": 273,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "userfaultfd": 282,
            "open_by_handle_at": 265,
            "pidfd_getfd": 438,
        },
    ),
}

_AS_IF_MISSING = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")
_FORBIDDEN = [
    "ptrace",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "bpf",
    "perf_event_open",
    "process_vm_readv",
    "process_vm_writev",
    "kexec_load",
    "init_module",
    "finit_module",
    "add_key",
    "request_key",
    "keyctl",
    "userfaultfd",
    "open_by_handle_at",
    "pidfd_getfd",
    "truncate",
]


class SeccompMissing(OSError):
    """This machine has no filter that we know."""


def filter_calls(settings: Mapping[str, object]) -> None:
    """Put the filter on this process for good; ``network`` true leaves IPv4 and IPv6. Needs no_new_privs."""
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        raise SeccompMissing(errno.ENOSYS, f"no filter for {os.uname().machine}")
    code = program(machine, network=settings.get("network") is True)
    buffer = ctypes.create_string_buffer(code, len(code))
    holder = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.create_string_buffer(holder, len(holder)), 0, 0) != 0:
        raise SeccompMissing(ctypes.get_errno(), "PR_SET_SECCOMP")


def program(machine: _Machine, *, network: bool) -> bytes:
    """The filter as BPF: a block for each call, each ending in a verdict or falling through to the next."""
    calls = machine.calls
    code = [_step(_LOAD, _ARCH), _step(_EQUAL, machine.audit, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, _NUMBER)]
    # numbers from the x32 world name the same calls by another number
    code += [_step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, _refuse(errno.ENOSYS))]
    for name in _AS_IF_MISSING:
        code += [_step(_EQUAL, calls[name], 0, 1), _step(_RETURN, _refuse(errno.ENOSYS))]
    for name in _FORBIDDEN:
        code += [_step(_EQUAL, calls[name], 0, 1), _step(_RETURN, _refuse(errno.EPERM))]
    code += _block(
        calls["clone"], [_step(_LOAD, 16), _step(_MASKED, _NEW_NAMESPACES, 0, 1), _step(_RETURN, _refuse(errno.EPERM))]
    )
    families = [AF_NETLINK, *((AF_INET, AF_INET6) if network else ())]
    allowed = [one for family in families for one in (_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW))]
    code += _block(calls["socket"], [_step(_LOAD, 16), *allowed, _step(_RETURN, _refuse(errno.EAFNOSUPPORT))])
    for name, flags in (("open", 24), ("openat", 32)):
        if name in calls:
            code += _block(calls[name], _no_truncating_read(flags))
    code.append(_step(_RETURN, _ALLOW))
    return b"".join(code)


def _no_truncating_read(flags: int) -> list[bytes]:
    """Refuse to open for reading with O_TRUNC, which empties a file without a right to write on older kernels."""
    return [
        _step(_LOAD, flags),
        _step(_MASKED, _O_TRUNC, 0, 4),
        _step(_AND, _O_ACCMODE),
        _step(_EQUAL, 0, 0, 1),
        _step(_RETURN, _refuse(errno.EACCES)),
        _step(_RETURN, _ALLOW),
    ]


def _block(number: int, steps: list[bytes]) -> list[bytes]:
    """``steps`` for one call; afterwards the number is in the register again."""
    body = [*steps, _step(_LOAD, _NUMBER)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _refuse(code: int) -> int:
    return 0x00050000 | code


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)

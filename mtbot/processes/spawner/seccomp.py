"""System calls that a contained command may not make: sockets to the outside, new namespaces, other ways around.

A filter sees numbers and plain arguments, never what a pointer leads to. So unix sockets are refused when they are made
(a connected pair is fine), and openat2 and clone3, whose arguments hide behind a pointer, look as if the kernel had none:
the C libraries then take the older calls.

A program of another architecture (i386 on x86_64) is killed at its first call: the same number means another call there,
and with an error for every call it could not even end.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Mapping, Sequence

from .call_numbers import MACHINES, Machine

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
ALLOW, KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x45, 0x35, 0x06, 0x54
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT, _FOURTH_ARGUMENT = 0, 4, 16, 24, 32, 40
_X32_NUMBERS = 0x40000000

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCKET_KIND = 1, 5, 0xF
_NETLINK_ROUTE, _NETLINK_SOCK_DIAG = 0, 4
_NEW_NAMESPACES = 0x7E020000
_O_ACCMODE, _O_CREAT, _O_TRUNC, _O_TMPFILE = 3, 0o100, 0o1000, 0o20000000
_S_ISUID = 0o4000

_AS_IF_MISSING = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")
_FORBIDDEN = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "perf_event_open", "bpf", "userfaultfd"),
    *("unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "move_mount", "fsopen", "fsmount", "fspick"),
    *("mount_setattr", "open_by_handle_at", "add_key", "request_key", "keyctl"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module"),
    # Landlock knows it only since its third version; what programs use to shorten a file has a descriptor.
    "truncate",
)
_ATTRIBUTES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""Landlock does not look at these, so they reach every file that the user owns."""
_MODES = {
    "chmod": _SECOND_ARGUMENT,
    "fchmod": _SECOND_ARGUMENT,
    "fchmodat": _THIRD_ARGUMENT,
    "fchmodat2": _THIRD_ARGUMENT,
    "creat": _SECOND_ARGUMENT,
    "mknod": _SECOND_ARGUMENT,
    "mknodat": _THIRD_ARGUMENT,
}


class SeccompMissing(OSError):
    """This machine has no filter that we know."""


def filter_calls(settings: Mapping[str, object]) -> None:
    """Put the filter on this process for good. Needs no_new_privs.

    ``network`` true leaves IPv4 and IPv6; ``attributes`` true leaves modes, owners and times of files to be changed.
    """
    if not _HERE:
        raise SeccompMissing(errno.ENOSYS, f"no filter for {os.uname().machine}")
    code = _HERE[settings.get("network") is True, settings.get("attributes") is True]
    buffer = ctypes.create_string_buffer(code, len(code))
    holder = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.create_string_buffer(holder, len(holder)), 0, 0) != 0:
        raise SeccompMissing(ctypes.get_errno(), "PR_SET_SECCOMP")


def program(machine: Machine, *, network: bool, attributes: bool) -> bytes:
    """The filter as BPF: a block for each call, each ending in a verdict or falling through to the next."""
    code = [_step(_LOAD, _ARCH), _step(_EQUAL, machine.audit, 1, 0), _step(_RETURN, KILL), _step(_LOAD, _NUMBER)]
    code += [_step(_AT_LEAST, _X32_NUMBERS, 0, 1), _refuse(errno.ENOSYS)]
    for name in _AS_IF_MISSING:
        code += _on_call(machine, name, [_refuse(errno.ENOSYS)])
    for name in (*_FORBIDDEN, *(() if attributes else _ATTRIBUTES)):
        code += _on_call(machine, name, [_refuse(errno.EPERM)])
    code += _on_call(
        machine, "clone", [_step(_LOAD, _FIRST_ARGUMENT), *_if_any_bit(_NEW_NAMESPACES, [_refuse(errno.EPERM)])]
    )
    code += _on_call(machine, "socket", _socket(network=network))
    code += _on_call(machine, "socketpair", _socket_pair())
    code += _on_call(machine, "open", _open(_SECOND_ARGUMENT, _THIRD_ARGUMENT))
    code += _on_call(machine, "openat", _open(_THIRD_ARGUMENT, _FOURTH_ARGUMENT))
    for name, mode in _MODES.items():
        code += _on_call(machine, name, [_step(_LOAD, mode), *_no_setuid()])
    code.append(_step(_RETURN, ALLOW))
    return b"".join(code)


def _socket(*, network: bool) -> list[bytes]:
    """Netlink to look at interfaces and sockets, and the internet where it is granted."""
    netlink = [_step(_LOAD, _THIRD_ARGUMENT), *_allow_one_of(_NETLINK_ROUTE, _NETLINK_SOCK_DIAG)]
    return [
        _step(_LOAD, _FIRST_ARGUMENT),
        *(_allow_one_of(_AF_INET, _AF_INET6) if network else ()),
        *_if_equal(_AF_NETLINK, [*netlink, _refuse(errno.EAFNOSUPPORT)]),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _socket_pair() -> list[bytes]:
    """Unix sockets whose peer is fixed; a pair of datagram sockets could be pointed at any other one afterwards."""
    fixed = [_step(_LOAD, _SECOND_ARGUMENT), _step(_AND, _SOCKET_KIND), *_allow_one_of(_SOCK_STREAM, _SOCK_SEQPACKET)]
    return [
        _step(_LOAD, _FIRST_ARGUMENT),
        *_if_equal(_AF_UNIX, [*fixed, _refuse(errno.EAFNOSUPPORT)]),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _open(flags: int, mode: int) -> list[bytes]:
    """No opening for reading with O_TRUNC, which older Landlocks do not see; no new file with the setuid bit."""
    reading = [_step(_AND, _O_ACCMODE), *_if_equal(0, [_refuse(errno.EACCES)])]
    return [
        _step(_LOAD, flags),
        *_if_any_bit(_O_TRUNC, reading),
        _step(_LOAD, flags),
        *_if_any_bit(_O_CREAT | _O_TMPFILE, [_step(_LOAD, mode), *_no_setuid()]),
    ]


def _no_setuid() -> list[bytes]:
    """A setuid file would give the user's rights to whoever else can start it."""
    return _if_any_bit(_S_ISUID, [_refuse(errno.EPERM)])


def _on_call(machine: Machine, name: str, steps: Sequence[bytes]) -> list[bytes]:
    """``steps`` for one call, nothing where the machine has not got it; afterwards the number is loaded again."""
    number = machine.calls.get(name)
    return [] if number is None else _if_equal(number, [*steps, _step(_LOAD, _NUMBER)])


def _if_equal(value: int, steps: Sequence[bytes]) -> list[bytes]:
    return [_step(_EQUAL, value, 0, len(steps)), *steps]


def _if_any_bit(bits: int, steps: Sequence[bytes]) -> list[bytes]:
    return [_step(_ANY_BIT, bits, 0, len(steps)), *steps]


def _allow_one_of(*values: int) -> list[bytes]:
    return [step for value in values for step in (_step(_EQUAL, value, 0, 1), _step(_RETURN, ALLOW))]


def _refuse(code: int) -> bytes:
    return _step(_RETURN, _REFUSE | code)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _programs_here() -> dict[tuple[bool, bool], bytes]:
    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        return {}
    choices = [(network, attributes) for network in (False, True) for attributes in (False, True)]
    return {
        (network, attributes): program(machine, network=network, attributes=attributes)
        for network, attributes in choices
    }


_HERE = _programs_here()
"""This machine's filters, made once in the spawner, so that no command waits for them; empty: no machine that we know."""

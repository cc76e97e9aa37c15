"""The filter, executed step by step as the kernel would, for machines that these tests do not run on, too."""

import errno
import struct
from collections.abc import Sequence

import pytest

from mtbot.processes.spawner.call_numbers import AARCH64, MACHINES, X86_64, Machine
from mtbot.processes.spawner.seccomp import ALLOW, KILL, program

_BOTH = (X86_64, AARCH64)
_UNIX, _INET, _INET6, _NETLINK, _PACKET, _VSOCK = 1, 2, 10, 16, 17, 40
_STREAM, _DGRAM, _RAW, _SEQPACKET = 1, 2, 3, 5
_NON_BLOCKING = 0o4000


def verdict(code: bytes, machine: Machine, number: int, arguments: Sequence[int] = (), audit: int | None = None) -> int:
    """What the kernel would do with a call: BPF over the call's number, architecture and arguments."""
    data = struct.pack("<IIQ6Q", number, machine.audit if audit is None else audit, 0, *(*arguments, *[0] * 6)[:6])
    steps = list(struct.iter_unpack("<HBBI", code))
    at = register = 0
    while True:
        operation, yes, no, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                (register,) = struct.unpack_from("<I", data, value)
            case 0x54:
                register &= value
            case 0x15:
                at += yes if register == value else no
            case 0x45:
                at += yes if register & value else no
            case 0x35:
                at += yes if register >= value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no filter may hold the step {operation:#x}")


def answer(
    name: str, *arguments: int, machine: Machine = X86_64, network: bool = False, attributes: bool = True
) -> int | None:
    """The error number that a call gets, None if it is made."""
    found = verdict(program(machine, network=network, attributes=attributes), machine, machine.calls[name], arguments)
    if found == ALLOW:
        return None
    assert found & 0xFFFF0000 == 0x00050000
    return found & 0xFFFF


@pytest.mark.parametrize("machine", _BOTH)
@pytest.mark.parametrize(
    "name",
    [
        *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "perf_event_open", "bpf", "userfaultfd"),
        *("unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "move_mount", "fsopen", "fsmount", "fspick"),
        *("mount_setattr", "open_by_handle_at", "add_key", "request_key", "keyctl"),
        *("kexec_load", "kexec_file_load", "init_module", "finit_module", "truncate"),
    ],
)
def test_ways_around_are_forbidden(machine: Machine, name: str) -> None:
    """Whatever the grants, these calls get EPERM."""
    assert answer(name, machine=machine, network=True) == errno.EPERM


@pytest.mark.parametrize("machine", _BOTH)
@pytest.mark.parametrize("name", ["clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"])
def test_what_hides_its_arguments_is_as_if_missing(machine: Machine, name: str) -> None:
    """Libraries fall back to an older call on ENOSYS and on nothing else."""
    assert answer(name, machine=machine, network=True) == errno.ENOSYS


@pytest.mark.parametrize("machine", _BOTH)
@pytest.mark.parametrize("family", [_UNIX, _INET, _INET6, _PACKET, _VSOCK, 0, 30, 38])
def test_no_family_reaches_out_without_the_network(machine: Machine, family: int) -> None:
    """Without a grant there is no socket that leads out of the command."""
    assert answer("socket", family, _STREAM, machine=machine) == errno.EAFNOSUPPORT


@pytest.mark.parametrize("machine", _BOTH)
def test_the_network_is_the_internet_and_nothing_else(machine: Machine) -> None:
    """A grant opens IPv4 and IPv6; unix sockets, packets and virtual machines stay closed."""
    families = {
        family: answer("socket", family, _STREAM, machine=machine, network=True)
        for family in (_INET, _INET6, _UNIX, _PACKET, _VSOCK)
    }
    closed = dict.fromkeys((_UNIX, _PACKET, _VSOCK), errno.EAFNOSUPPORT)
    assert families == {_INET: None, _INET6: None, **closed}


@pytest.mark.parametrize("machine", _BOTH)
def test_netlink_looks_at_interfaces_and_sockets_only(machine: Machine) -> None:
    """Of netlink's protocols only routing and socket diagnosis are there."""
    found = [answer("socket", _NETLINK, _RAW, protocol, machine=machine) for protocol in (0, 4, 2, 9, 15, 16)]
    assert found == [None, None, *[errno.EAFNOSUPPORT] * 4]


@pytest.mark.parametrize("machine", _BOTH)
def test_only_a_pair_with_a_fixed_peer(machine: Machine) -> None:
    """A datagram pair (raw means datagram here) could be connected to any socket of the host afterwards."""
    kinds = {
        (family, kind): answer("socketpair", family, kind | _NON_BLOCKING, machine=machine)
        for family, kind in ((_UNIX, _STREAM), (_UNIX, _SEQPACKET), (_UNIX, _DGRAM), (_UNIX, _RAW), (30, _STREAM))
    }
    assert kinds == {
        (_UNIX, _STREAM): None,
        (_UNIX, _SEQPACKET): None,
        (_UNIX, _DGRAM): errno.EAFNOSUPPORT,
        (_UNIX, _RAW): errno.EAFNOSUPPORT,
        (30, _STREAM): errno.EAFNOSUPPORT,
    }


@pytest.mark.parametrize("machine", _BOTH)
@pytest.mark.parametrize("flag", [1 << bit for bit in (17, 25, 26, 27, 28, 29, 30)])
def test_no_new_namespace(machine: Machine, flag: int) -> None:
    """clone makes threads and processes and none of the seven namespaces that its flags can name."""
    assert answer("clone", flag | 17, machine=machine) == errno.EPERM
    assert answer("clone", 0x003D0F00, machine=machine) is None
    assert answer("clone", 17, machine=machine) is None


def test_opening_for_reading_cannot_empty_a_file() -> None:
    """O_TRUNC goes with a way to write, or not at all; everything else is for Landlock to judge."""
    truncate, read, write, both = 0o1000, 0, 1, 2
    assert [answer("openat", 3, 0, mode | truncate) for mode in (read, write, both)] == [errno.EACCES, None, None]
    assert [answer("open", 0, mode | truncate) for mode in (read, write, both)] == [errno.EACCES, None, None]
    assert answer("openat", 3, 0, read | truncate, machine=AARCH64) == errno.EACCES
    assert [answer("openat", 3, 0, mode) for mode in (read, write, both)] == [None, None, None]


def test_no_file_gets_the_setuid_bit() -> None:
    """By no call that gives a mode; a mode that is only garbage in a register counts for nothing."""
    create, temporary = 0o101, 0o20200001
    setuid = {
        "chmod": (0, 0o4755),
        "fchmod": (3, 0o4755),
        "fchmodat": (3, 0, 0o6755),
        "fchmodat2": (3, 0, 0o4700),
        "creat": (0, 0o4755),
        "mknod": (0, 0o104755),
        "mknodat": (3, 0, 0o104755),
        "open": (0, create, 0o4755),
        "openat": (3, 0, temporary, 0o4755),
    }
    assert {name: answer(name, *arguments) for name, arguments in setuid.items()} == dict.fromkeys(setuid, errno.EPERM)
    plain = {name: tuple(0o755 if one > 0o4000 else one for one in setuid[name]) for name in ("chmod", "fchmodat")}
    assert {name: answer(name, *arguments) for name, arguments in plain.items()} == dict.fromkeys(plain)
    assert answer("open", 0, 0, 0o4755) is None


@pytest.mark.parametrize("machine", _BOTH)
def test_attributes_are_closed_to_what_only_looks(machine: Machine) -> None:
    """Landlock does not see modes, owners, times and extended attributes, so the filter does."""
    names = [
        *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
        *("utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
        *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
    ]
    there = [name for name in names if name in machine.calls]
    assert [answer(name, machine=machine, attributes=False) for name in there] == [errno.EPERM] * len(there)
    assert [answer(name, machine=machine) for name in there] == [None] * len(there)


@pytest.mark.parametrize("machine", _BOTH)
def test_another_architecture_ends_and_other_numberings_are_missing(machine: Machine) -> None:
    """i386 numbers mean other calls, so such a program is killed; x32 ones name the same calls by another number."""
    code = program(machine, network=True, attributes=True)
    assert verdict(code, machine, machine.calls["socket"], audit=0x40000003) == KILL
    assert verdict(code, machine, 0x40000000 | machine.calls["socket"]) == 0x00050000 | errno.ENOSYS


@pytest.mark.parametrize("machine", _BOTH)
def test_everything_else_is_made(machine: Machine) -> None:
    """Ordinary calls pass, whatever is granted."""
    code = program(machine, network=False, attributes=False)
    judged = set(machine.calls.values())
    assert {verdict(code, machine, number) for number in range(460) if number not in judged} == {ALLOW}


def test_the_machines_are_named_as_the_kernel_names_them() -> None:
    """``uname -m`` finds them."""
    assert dict(MACHINES) == {"x86_64": X86_64, "aarch64": AARCH64}

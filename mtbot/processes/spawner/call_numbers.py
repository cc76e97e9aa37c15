"""The numbers of the system calls that the filter speaks about, for each machine that it knows.

A name that a machine has not is a call that it does not have: aarch64 never had the calls without a directory.
"""

from collections.abc import Mapping


class Machine:
    """One architecture: its mark in the audit numbering, and its calls by name."""

    __slots__ = ("audit", "calls")

    def __init__(self, audit: int, calls: Mapping[str, int]) -> None:
        self.audit = audit
        self.calls = calls


_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
}

X86_64 = Machine(
    0xC000003E,
    {
        **_EVERYWHERE,
        "open": 2,
        "socket": 41,
        "socketpair": 53,
        "clone": 56,
        "truncate": 76,
        "creat": 85,
        "chmod": 90,
        "fchmod": 91,
        "chown": 92,
        "fchown": 93,
        "lchown": 94,
        "ptrace": 101,
        "utime": 132,
        "mknod": 133,
        "pivot_root": 155,
        "chroot": 161,
        "mount": 165,
        "umount2": 166,
        "init_module": 175,
        "setxattr": 188,
        "lsetxattr": 189,
        "fsetxattr": 190,
        "removexattr": 197,
        "lremovexattr": 198,
        "fremovexattr": 199,
        "utimes": 235,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "openat": 257,
        "mknodat": 259,
        "fchownat": 260,
        "futimesat": 261,
        "fchmodat": 268,
        "unshare": 272,
        "utimensat": 280,
        "perf_event_open": 298,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
)

AARCH64 = Machine(
    0xC00000B7,
    {
        **_EVERYWHERE,
        "setxattr": 5,
        "lsetxattr": 6,
        "fsetxattr": 7,
        "removexattr": 14,
        "lremovexattr": 15,
        "fremovexattr": 16,
        "mknodat": 33,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "truncate": 45,
        "chroot": 51,
        "fchmod": 52,
        "fchmodat": 53,
        "fchownat": 54,
        "fchown": 55,
        "openat": 56,
        "utimensat": 88,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "ptrace": 117,
        "socket": 198,
        "socketpair": 199,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "clone": 220,
        "perf_event_open": 241,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
)

MACHINES: Mapping[str, Machine] = {"x86_64": X86_64, "aarch64": AARCH64}
"""By the name that ``uname`` gives; both are little-endian, so the low half of an argument comes first."""

"""Deny rules about disks: file systems made anew, signatures wiped, devices written to."""

from __future__ import annotations

from itertools import pairwise

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.rule import Rule
from mtbot.policy.rules.arguments import asks_for_help, has_long, is_device, letters, operands
from mtbot.policy.words import words

_MAKERS = words(
    "mkfs mke2fs mkswap mkntfs mkdosfs mkexfatfs newfs mkreiserfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs "
    "mkfs.btrfs mkfs.vfat mkfs.fat mkfs.msdos mkfs.ntfs mkfs.exfat mkfs.f2fs mkfs.jfs mkfs.minix mkfs.reiserfs "
    "mkfs.bcachefs mkfs.gfs2 mkfs.ocfs2 mkfs.nilfs2 mkfs.udf mkudffs mkfs.erofs"
)
_EXT = ("nV", "bCdeEgGiIJlLmMNoOrtTUz")
_NTFS = ("nhV", "spHLcz")
_ONLY_SHOW = {
    **dict.fromkeys(("mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4"), _EXT),
    **dict.fromkeys(("mkntfs", "mkfs.ntfs"), _NTFS),
    "mkfs.xfs": ("NV", "bdilmnprs"),
}
"""Letters of the options with which nothing is written, and of those with a value; to others -n is a name or a size."""
_TABLES = {
    "sfdisk": ("ldJsVFxTn", "NoOXYbuCHSwW"),
    "fdisk": ("lxs", "bBcCHLoStuwW"),
    "gdisk": ("l", ""),
    "cfdisk": ("", "Lb"),
}
"""Editors of partition tables: letters with which they only show, and letters with a value."""
_VOLUMES = frozenset({"pvremove", "vgremove", "lvremove", "vgreduce", "pvcreate"})
_COPIERS = frozenset({"cp", "mv", "install", "rsync", "ddrescue", "dd_rescue", "partclone", "pv"})


def _makes(command: SimpleCommand) -> bool:
    shown, values = _ONLY_SHOW.get(command.program, ("", ""))
    if letters(command.arguments, values) & frozenset(shown) or asks_for_help(command.arguments):
        return False
    return bool(operands(command.arguments))


def _partitions(command: SimpleCommand) -> bool:
    arguments = command.arguments
    program = command.program
    if program in _VOLUMES:
        return not asks_for_help(arguments) and bool(operands(arguments))
    if program == "parted":
        return any(word in ("mklabel", "mktable", "rm", "mkpart", "resizepart") for word in arguments)
    if program == "sgdisk":
        return bool(letters(arguments) & {"Z", "z", "o", "d"}) or has_long(arguments, "--zap-all", 5)
    if program in _TABLES:
        shown, values = _TABLES[program]
        shows = letters(arguments, values) & frozenset(shown) or asks_for_help(arguments)
        listed = any(has_long(arguments, name, 5) for name in ("--list", "--list-free", "--dump", "--json", "--no-act"))
        return not shows and not listed and any(map(is_device, operands(arguments)))
    if program == "cryptsetup":
        return any(word in ("luksFormat", "erase", "luksErase", "reencrypt") for word in arguments)
    if program == "mdadm":
        named = any(has_long(arguments, name, 5) for name in ("--zero-superblock", "--stop", "--create"))
        return named or bool(letters(arguments) & {"S", "C"})
    if program == "badblocks":
        return "w" in letters(arguments)
    if program == "hdparm":
        return any(word.startswith(("--security-erase", "--trim-sector", "--write-sector")) for word in arguments)
    if program == "nvme":
        return any(word in ("format", "sanitize", "write-zeroes") for word in arguments)
    return any(word in ("destroy", "labelclear") for word in arguments[:1])


def _wipes(command: SimpleCommand) -> bool:
    flags = letters(command.arguments, "Oto")
    return (
        bool(flags & {"a", "o"}) or has_long(command.arguments, "--all") or has_long(command.arguments, "--offset", 5)
    )


def _any_operand(command: SimpleCommand) -> bool:
    return not asks_for_help(command.arguments) and bool(operands(command.arguments))


def _dd(command: SimpleCommand) -> bool:
    return any(word.startswith("of=") and is_device(word[3:]) for word in command.arguments)


def _raw(command: SimpleCommand) -> bool:
    if any(redirect.writes and is_device(redirect.target.text) for redirect in command.redirects):
        return True
    program, arguments = command.program, command.arguments
    if program in ("tee", "truncate", "shred", "sponge"):
        return any(is_device(word) for word in operands(arguments))
    if program in _COPIERS:
        words = operands(arguments)
        named = [word.partition("=")[2] for word in arguments if word.startswith(("--target-directory=", "--output="))]
        return any(is_device(word) for word in words[1:] + named) or (program == "pv" and _pv(arguments))
    if program == "qemu-img":
        return any(is_device(word) for word in arguments[-1:]) and "convert" in arguments
    return program == "dcfldd" and _dd(command)


def _pv(arguments: tuple[str, ...]) -> bool:
    return any(before == "-o" and is_device(word) for before, word in pairwise(arguments))


DISKS: tuple[Rule, ...] = (
    Rule(
        id="disk.mkfs",
        reason="makes a new file system over what is there",
        hardline=True,
        programs=_MAKERS,
        matches=_makes,
        refuses=(
            "mkfs.ext4 /dev/sda",
            "mkfs -t xfs /dev/sdb1",
            "mkswap /dev/vdb",
            "/sbin/mkfs.vfat -F32 /dev/mmcblk0p1",
        ),
        permits=("mkfs.ext4 -V", "mkfs --help", "man mkfs.ext4", "blkid /dev/sda1", "echo mkfs.ext4 /dev/sda"),
    ),
    Rule(
        id="disk.volumes",
        reason="removes partitions, volumes or their keys",
        hardline=True,
        programs=_VOLUMES
        | frozenset(_TABLES)
        | {"parted", "sgdisk", "sfdisk", "cryptsetup", "mdadm", "badblocks", "hdparm", "nvme", "zpool", "zfs"},
        matches=_partitions,
        refuses=(
            "parted /dev/sda mklabel gpt",
            "sgdisk --zap-all /dev/sda",
            "cryptsetup luksFormat /dev/sda",
            "pvremove /dev/sda",
            "lvremove -f data/root",
            "mdadm --zero-superblock /dev/sda",
            "badblocks -w /dev/sda",
            "zpool destroy tank",
        ),
        permits=("parted -l", "fdisk -l", "sgdisk -p /dev/sda", "cryptsetup status data", "zfs list", "lsblk"),
    ),
    Rule(
        id="disk.wipefs",
        reason="wipes the signatures of a disk",
        better="wipefs without -a, which only lists them",
        hardline=True,
        programs=frozenset({"wipefs"}),
        matches=_wipes,
        refuses=("wipefs -a /dev/sda", "wipefs --all /dev/sda", "wipefs -fa /dev/sdb", "wipefs -o 0x438 /dev/sda"),
        permits=("wipefs /dev/sda", "wipefs -n /dev/sda", "wipefs --help"),
    ),
    Rule(
        id="disk.blkdiscard",
        reason="discards every block of a device",
        hardline=True,
        programs=frozenset({"blkdiscard"}),
        matches=_any_operand,
        refuses=("blkdiscard /dev/nvme0n1", "blkdiscard -f /dev/sda"),
        permits=("blkdiscard --help", "echo blkdiscard /dev/sda"),
    ),
    Rule(
        id="disk.dd-device",
        reason="dd writes over a device",
        better="dd to a file",
        hardline=True,
        programs=frozenset({"dd"}),
        matches=_dd,
        refuses=(
            "dd of=/dev/sda if=/dev/zero",
            "dd if=image.iso of=/dev/sdb bs=4M",
            "dd if=x of=//dev//nvme0n1",
            "dd if=x 'of=/dev/mapper/data'",
        ),
        permits=("dd if=/dev/sda of=backup.img", "dd if=/dev/zero of=/dev/null count=1", "dd if=a of=b"),
    ),
    Rule(
        id="disk.raw-device",
        reason="writes over a device",
        better="write to a file",
        hardline=True,
        programs=_COPIERS | {"tee", "truncate", "shred", "sponge", "qemu-img", "dcfldd"},
        redirects=True,
        matches=_raw,
        refuses=(
            "cat x > /dev/sda",
            "cat x >| /dev/vda1",
            "> /dev/sda",
            "{ cat a; cat b; } > /dev/nvme0n1",
            "printf data | tee /dev/mapper/data",
            "cp disk.img /dev/nvme0n1",
            "shred -n 1 /dev/sdb",
            "truncate -s 0 /dev/mapper/data",
            "qemu-img convert -O raw a.qcow2 /dev/sdb",
        ),
        permits=(
            "cat x > /dev/null",
            "cat /dev/sda > /dev/null",
            "echo hi > /dev/stderr",
            "cp /dev/sda backup.img",
            "echo x > /dev/shm/x",
            "tee /dev/tty",
            "echo 'cat x > /dev/sda'",
        ),
    ),
    Rule(
        id="disk.shred",
        reason="destroys the content of files for good",
        better="the trash tool",
        programs=frozenset({"shred", "wipe"}),
        matches=_any_operand,
        refuses=("shred -u key.pem", "shred notes.txt", "wipe -f x"),
        permits=("shred --help", "grep shred notes.txt"),
    ),
)

"""How rules look at a command's words: options in any spelling and order, operands, and where a path leads.

Options are read as the GNU programs do: clusters, options behind operands, abbreviated long names. A wrong guess
here refuses a little more; a narrower reading would be a way around every rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.words import words

WRITERS = words(
    "rm unlink mv cp tee sed ed ex ln install rsync truncate touch chmod chown dd sqlite3 shred sponge patch perl trash"
)
"""Programs that write, move or remove the files that they are given."""
EVERYTHING = frozenset({".", ".*", "", "^", ".+"})
"""Patterns of pkill that every process matches."""
_LAST_OPERAND_IS_WRITTEN = frozenset({"cp", "install", "rsync"})
_DEVICE = re.compile(
    r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|md\d|md/|dm-\d|mapper/|disk/|disk\d|rdisk\d|loop\d"
    r"|nbd\d|zd\d|drbd\d|bcache\d|pmem\d|mtd\w*\d|ram\d|sr\d|sg\d|dasd[a-z]|ubd[a-z]|rbd\d|n?st\d|mem$|kmem$|port$"
    r"|(?!(?:shm|fd|pts|input|net|snd|dri|tcp|udp|mqueue|cpu|bus|usb|vfio|hugepages|serial|v4l|infiniband|dma_heap|char)/)"
    r"[\w.+-]+/[\w.+-])"
).match
_TOP = (
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr "
    "/usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var /var/lib /var/log /Users /Library /System /Applications "
    "/Volumes /private /etc/ssh /snap"
)
TOP_DIRECTORIES = words(_TOP)
"""Roots of the file system: losing one of them means installing the host again or losing every home."""
"""A disk, or a volume: those of a volume group lie in a directory that has the group's name."""
_HOME = re.compile(r"~[\w.-]*|/home/[^/]+|/Users/[^/]+").fullmatch
_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|sbin|sys|usr)(?:/.*)?|~|/|/(?:home|root|var|opt|srv|run)"
).fullmatch


def letters(arguments: Sequence[str], values: str = "") -> frozenset[str]:
    """All letters of short options; a letter in `values` takes the rest of its cluster or the next word."""
    found: set[str] = set()
    skip = False
    for argument in arguments:
        if skip:
            skip = False
            continue
        if argument == "--":
            break
        if argument.startswith("-") and not argument.startswith("--"):
            for index, letter in enumerate(argument[1:], start=1):
                found.add(letter)
                if letter in values:
                    skip = index == len(argument) - 1
                    break
    return frozenset(found)


def has_long(arguments: Sequence[str], name: str, shortest: int = 3) -> bool:
    """Whether the long option `name` (with its dashes) is given, in full, abbreviated, or with a value."""
    for argument in arguments:
        if argument == "--":
            return False
        if argument.startswith("--"):
            given = argument.partition("=")[0]
            if len(given) >= shortest and name.startswith(given):
                return True
    return False


def operands(arguments: Sequence[str], values: str = "") -> list[str]:
    """The words that are no options; a short option that ends in a letter of `values` also takes the next word."""
    found: list[str] = []
    skip = only = False
    for argument in arguments:
        if skip:
            skip = False
        elif only or not argument.startswith("-") or argument == "-":
            found.append(argument)
        elif argument == "--":
            only = True
        elif not argument.startswith("--"):
            skip = argument[-1] in values
    return found


def options(arguments: Sequence[str]) -> Sequence[str]:
    """The words before `--`, behind which nothing is an option."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether the program only prints about itself."""
    given = options(arguments)
    return "--help" in given or "--version" in given


def path(word: str) -> str:
    """`word` without doubled or trailing slashes, `.` and `..`; nothing is looked up."""
    if "/" not in word:
        return word
    kept: list[str] = []
    for part in word.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and kept and kept[-1] != ".." and not kept[-1].startswith("~"):
            kept.pop()
        elif part != ".." or not word.startswith("/"):
            kept.append(part)
    joined = "/".join(kept)
    return "/" + joined if word.startswith("/") else joined or "."


def is_root(word: str) -> bool:
    """Whether the word names a top directory, a whole home, or everything in one of them (`/*`, `~/.*`)."""
    place = path(word)
    for tail in ("/*", "/.*", "/.[!.]*", "/{*,.*}", "/?*", "/**"):
        if place.endswith(tail):
            place = place.removesuffix(tail) or "/"
            break
    return place in TOP_DIRECTORIES or _HOME(place) is not None


def is_system(word: str) -> bool:
    """Whether the word leads into directories that belong to the system, or is a root."""
    place = path(word).removesuffix("/*") or "/"
    return _SYSTEM(place) is not None


def is_device(word: str) -> bool:
    """Whether the word names a disk, a volume or memory itself."""
    return _DEVICE(path(word)) is not None


def writes(command: SimpleCommand, is_target: Callable[[str], bool]) -> bool:
    """Whether one of WRITERS is given a file to change for which `is_target` holds."""
    if command.program not in WRITERS:
        return False
    arguments = command.arguments
    if command.program == "dd":
        return any(word.startswith("of=") and is_target(word[3:]) for word in arguments)
    given = operands(arguments)
    if command.program in ("sed", "perl"):
        in_place = "i" in letters(arguments, "e") or has_long(arguments, "--in-place", 4)
        return in_place and any(map(is_target, given))
    if command.program == "sqlite3":
        return not any(word.lstrip("-") == "readonly" for word in arguments) and any(map(is_target, given))
    if command.program in _LAST_OPERAND_IS_WRITTEN:
        return len(given) > 1 and is_target(given[-1])
    return any(map(is_target, given))

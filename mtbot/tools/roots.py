"""Find where a written path leads, and open exactly that: no link is followed after the decision was made.

Looking and opening are two moments, and whoever can swap a directory for a link between them would decide what is
opened. So links are followed once, while resolving; the resolved path is what policy judges; and opening walks it from
the root directory, one descriptor after the other, refusing every link. Names are compared byte by byte: another case,
another Unicode form, a trailing blank or dot is another name.
"""

import errno
import os
import posixpath
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from mtbot.domain.call import TargetKind

MAX_LINKS = 40
"""Links followed in one path, as many as Linux follows."""

_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_PSEUDO = ("/proc", "/sys", "/dev")
_DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY)
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class PathRefused(Exception):
    """The path will not be used; ``reason`` completes the sentence "Not read: PATH ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a written path leads: absolute, every link followed. ``why`` says what is wrong with kind OTHER."""

    path: str
    kind: TargetKind
    why: str = ""


def resolve(written: str, cwd: str, home: str) -> Resolved:
    """Follow ``written`` from ``cwd`` (absolute); ``~`` and ``~/...`` are ``home``. Never raises, opens nothing.

    MISSING is a path whose last parts do not exist yet, below an existing directory. A link that leads nowhere, a loop,
    a directory that may not be searched and ``..`` behind something missing are OTHER: nobody can say where they lead.
    """
    text = _absolute(written, cwd, home)
    if not _is_name(text):
        return Resolved(_printable(text), TargetKind.OTHER, "is not a valid path")
    found = _Walk(text).end()
    if not _is_name(found.path):
        return Resolved(_printable(found.path), TargetKind.OTHER, "leads to a name that is not valid text")
    return found


def lexical(written: str, cwd: str, home: str) -> str:
    """What ``resolve`` would say if there were no links; for when nobody could look."""
    return posixpath.normpath("/" + _printable(_absolute(written, cwd, home)).lstrip("/"))


def _absolute(written: str, cwd: str, home: str) -> str:
    text = home + written[1:] if written == "~" or written.startswith("~/") else written
    return text if text.startswith("/") else f"{cwd}/{text}"


class _Walk:
    """One pass over a path, in the order in which the kernel would go."""

    def __init__(self, text: str) -> None:
        self._pending = deque((part, False) for part in text.split("/") if part)
        self._done = ""
        self._links = 0
        self._last: os.stat_result | None = None

    def end(self) -> Resolved:
        while self._pending:
            part, from_link = self._pending.popleft()
            stopped = self._step(part, from_link)
            if stopped is not None:
                return stopped
        return self._found()

    def _step(self, part: str, from_link: bool) -> Resolved | None:
        if self._last is not None and not stat.S_ISDIR(self._last.st_mode):
            return self._stuck(part, "goes through something that is not a directory")
        if part == ".":
            return None
        if part == "..":
            self._done = self._done.rpartition("/")[0]
            return None
        here = f"{self._done}/{part}"
        try:
            status = os.lstat(here)
            if stat.S_ISLNK(status.st_mode):
                return self._follow(part, os.readlink(here))  # noqa: PTH115 - Path would tidy the target up
        except FileNotFoundError:
            return self._missing(part, from_link)
        except OSError as error:
            return self._stuck(part, f"cannot be looked at ({(error.strerror or 'unknown reason').lower()})")
        self._done, self._last = here, status
        return None

    def _follow(self, part: str, target: str) -> Resolved | None:
        self._links += 1
        if self._links > MAX_LINKS:
            return self._stuck(part, "goes through too many links, or a loop of them")
        if target.startswith("/"):
            self._done, self._last = "", None
        self._pending.extendleft((piece, True) for piece in reversed(target.split("/")) if piece)
        return None

    def _missing(self, part: str, from_link: bool) -> Resolved:
        if from_link:
            return self._stuck(part, "is a link that leads nowhere")
        if any(name == ".." for name, _ in self._pending):
            return self._stuck(part, "goes up from a directory that does not exist")
        return Resolved(self._joined(part), TargetKind.MISSING)

    def _stuck(self, part: str, why: str) -> Resolved:
        return Resolved(self._joined(part), TargetKind.OTHER, why)

    def _joined(self, part: str) -> str:
        """What was found, and lexically what was not."""
        parts = self._done.split("/")[1:]
        for name in (part, *(name for name, _ in self._pending)):
            if name == "..":
                del parts[-1:]
            elif name != ".":
                parts.append(name)
        return "/" + "/".join(parts)

    def _found(self) -> Resolved:
        path = self._done or "/"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return Resolved(path, TargetKind.OTHER, "vanished while it was looked at")
        if stat.S_ISREG(mode):
            return Resolved(path, TargetKind.FILE)
        if stat.S_ISDIR(mode):
            return Resolved(path, TargetKind.DIRECTORY)
        return Resolved(path, TargetKind.OTHER, f"is {kind_of(mode)}, not a regular file")


def kind_of(mode: int) -> str:
    """What a file mode says in words, with an article."""
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something unknown")


def share(held: int, new: int) -> None:
    """As root, give what was just made to whom the directory around it belongs, so that its owner's commands can use it."""
    around = os.fstat(held)
    if os.geteuid() == 0 and os.fstat(new).st_uid == 0 and around.st_uid != 0:
        os.fchown(new, around.st_uid, around.st_gid)


def _share_directory(held: int, name: str) -> None:
    """The same for a directory; one that is not empty is not the one that was made."""
    if os.geteuid() != 0:
        return
    made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=held)
    try:
        with os.scandir(made) as entries:
            empty = next(entries, None) is None
        if empty:
            share(held, made)
    finally:
        os.close(made)


@contextmanager
def directory(path: str, *, create: bool = False) -> Iterator[int]:
    """A descriptor of the directory at a resolved path; with ``create`` its missing parts are made (0755 less umask).

    PathRefused if any part is a link or no directory any more. OSError for everything else. The descriptor may be good
    for nothing but opening what lies in it (Linux O_PATH).
    """
    held = os.open("/", _DIRECTORY)
    try:
        for name in _parts(path):
            following = _enter(held, name, create=create)
            os.close(held)
            held = following
        yield held
    finally:
        os.close(held)


def _enter(held: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=held)
    except FileNotFoundError:
        if not create:
            raise
    except OSError as error:
        raise _as_refusal(error, "leads through a link or a file where there was a directory") from error
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=held)
        _share_directory(held, name)
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=held)
    except OSError as error:
        raise _as_refusal(error, "leads through a link or a file where there was a directory") from error


@contextmanager
def regular_file(path: str) -> Iterator[int]:
    """A descriptor for reading the regular file at a resolved path; it never waits for a writer or a device.

    PathRefused for links, pipes, devices, directories and kernel files, before they are opened. OSError for the rest.
    """
    parent, name = parted(path)
    with directory(parent) as held, regular_at(held, name) as opened:
        yield opened


@contextmanager
def regular_at(held: int, name: str) -> Iterator[int]:
    """As ``regular_file``, for a name in an open directory."""
    before = os.stat(name, dir_fd=held, follow_symlinks=False)
    if not stat.S_ISREG(before.st_mode):
        raise PathRefused(f"is {kind_of(before.st_mode)}, not a regular file")
    try:
        opened = os.open(name, _REGULAR, dir_fd=held)
    except OSError as error:
        raise _as_refusal(error, "became a link while it was opened") from error
    try:
        after = os.fstat(opened)
        if (after.st_dev, after.st_ino) != (before.st_dev, before.st_ino):
            raise PathRefused("was replaced while it was opened")
        yield opened
    finally:
        os.close(opened)


def parted(path: str) -> tuple[str, str]:
    """The directory and the name of a file at a resolved path. PathRefused if there can be no file on a disk."""
    if not path.startswith("/"):
        raise PathRefused("is not a resolved path")
    if is_pseudo(path):
        raise PathRefused("is not a file on a disk")
    parts = _parts(path)
    if not parts:
        raise PathRefused("is a directory")
    return "/" + "/".join(parts[:-1]), parts[-1]


def is_pseudo(path: str) -> bool:
    """Whether a resolved path lies among what the kernel makes up: processes, settings, devices."""
    return any(path == place or path.startswith(f"{place}/") for place in _PSEUDO)


def _as_refusal(error: OSError, reason: str) -> Exception:
    """A link or a non-directory is refused; anything else stays the error that it is."""
    return PathRefused(reason) if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) else error


def _parts(path: str) -> list[str]:
    """The parts of a resolved path. PathRefused for one that is not absolute or not resolved."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/") or any(part in (".", "..") for part in parts) or not _is_name(path):
        raise PathRefused("is not a resolved path")
    return parts


def _is_name(text: str) -> bool:
    """Whether the kernel and the record can both take the text as a path."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _printable(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)

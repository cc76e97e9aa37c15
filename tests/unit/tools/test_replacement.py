"""A file is written whole or not at all, and keeps what belongs to it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mtbot.tools import replacement
from mtbot.tools.replacement import WriteMode, Written, write
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp
from tests.unit.tools.builders import state_of

OVERWRITE, APPEND, CREATE_NEW = WriteMode.OVERWRITE, WriteMode.APPEND, WriteMode.CREATE_NEW


def _stamp(path: Path) -> Stamp:
    return Stamp.of(path.stat())


def _put(path: Path, text: str, mode: WriteMode = OVERWRITE, known: Stamp | None = None) -> Written:
    return write(str(path), text.encode(), mode, known)


def _names(place: Path) -> list[str]:
    return sorted(one.name for one in place.iterdir())


@pytest.mark.parametrize("mode", list(WriteMode))
def test_a_new_file_is_created_with_its_directories(workspace: Path, mode: WriteMode) -> None:
    """In every mode a missing file comes into being, readable for others as far as the umask lets it."""
    path = workspace / "new/dir/a.txt"
    done = _put(path, "hello", mode)
    assert done == Written(_stamp(path), created=True)
    assert path.read_text() == "hello"
    assert path.stat().st_mode & 0o777 | 0o022 == 0o666
    assert path.parent.stat().st_mode & 0o777 | 0o022 == 0o777
    assert _names(path.parent) == ["a.txt"]


def test_an_existing_file_is_replaced_by_a_new_one(workspace: Path) -> None:
    """Whoever has the old file open keeps the old text."""
    path = workspace / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        done = _put(path, "new", known=_stamp(path))
        assert reader.read() == "old"
    assert (path.read_text(), done) == ("new", Written(_stamp(path), created=False))
    assert _names(workspace) == ["a.txt"]


def test_text_is_appended_to_a_copy(workspace: Path) -> None:
    """Appending needs no reading before, and keeps what was there."""
    path = workspace / "a.txt"
    path.write_text("one\n")
    inode = path.stat().st_ino
    assert _put(path, "two\n", APPEND).created is False
    assert path.read_text() == "one\ntwo\n"
    assert path.stat().st_ino != inode


def test_mode_and_attributes_are_kept(workspace: Path) -> None:
    """A script stays executable, and extended attributes stay."""
    path = workspace / "run.sh"
    path.write_text("old")
    path.chmod(0o751)
    os.setxattr(path, "user.origin", b"chief")
    _put(path, "new", known=_stamp(path))
    assert (path.stat().st_mode & 0o7777, os.getxattr(path, "user.origin")) == (0o751, b"chief")


def test_the_owner_is_kept_or_the_write_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of somebody else does not silently become ours."""
    path = workspace / "a.txt"
    path.write_text("old")
    asked: list[tuple[int, int]] = []

    def refuse(_descriptor: int, uid: int, gid: int) -> None:
        asked.append((uid, gid))
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    really_stat = os.fstat

    def other_owner(descriptor: int) -> os.stat_result:
        found = really_stat(descriptor)
        if found.st_size:
            return found
        values = list(found)
        values[4] = found.st_uid + 1
        return os.stat_result(values)

    monkeypatch.setattr(os, "fstat", other_owner)
    before = path.stat()
    with pytest.raises(PathRefused, match="belongs to uid"):
        replacement.carry_over(os.open(path, os.O_RDONLY), os.open(workspace / "b", os.O_CREAT | os.O_WRONLY), before)
    assert asked == [(before.st_uid, before.st_gid)]


def test_an_attribute_that_cannot_be_kept_refuses_the_write(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losing a list of rights would change who may read the file."""
    path = workspace / "a.txt"
    path.write_text("old")
    os.setxattr(path, "user.origin", b"chief")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(PathRefused, match=r"attribute user\.origin, which a write cannot keep"):
        _put(path, "new", known=_stamp(path))
    assert (path.read_text(), _names(workspace)) == ("old", ["a.txt"])


def _unread(_path: Path) -> Stamp | None:
    return None


def _read(path: Path) -> Stamp | None:
    return Stamp.of(path.lstat())


def _linked(path: Path) -> Stamp | None:
    os.link(path, path.with_name("other"))
    return _read(path)


def _changed(path: Path) -> Stamp | None:
    known = _read(path)
    path.write_text("changed!")
    return known


def _touched(path: Path) -> Stamp | None:
    known = _read(path)
    os.utime(path, ns=(1, 1))
    return known


def _protected(path: Path) -> Stamp | None:
    path.chmod(0o444)
    return _read(path)


def _setuid(path: Path) -> Stamp | None:
    path.chmod(0o4755)
    return _read(path)


def _pipe(path: Path) -> Stamp | None:
    path.unlink()
    os.mkfifo(path)
    return _read(path)


def _link(path: Path) -> Stamp | None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")
    return _read(path)


@pytest.mark.parametrize(
    ("prepare", "mode", "reason"),
    [
        (_unread, OVERWRITE, "was not read in this turn"),
        (_changed, OVERWRITE, "has changed since it was read"),
        (_touched, OVERWRITE, "has changed since it was read"),
        (_linked, OVERWRITE, "has 2 names"),
        (_linked, APPEND, "has 2 names"),
        (_setuid, OVERWRITE, "rights of its owner"),
        (_read, CREATE_NEW, "exists already"),
        (_pipe, OVERWRITE, "is a named pipe"),
        (_pipe, APPEND, "is a named pipe"),
        (_link, OVERWRITE, "is a link"),
    ],
)
def test_what_speaks_against_a_write_refuses_it(
    workspace: Path, prepare: Callable[[Path], Stamp | None], mode: WriteMode, reason: str
) -> None:
    """The reason is said, and nothing in the directory is other than before."""
    path = workspace / "a.txt"
    path.write_text("old")
    known = prepare(path)
    before = state_of(workspace)
    with pytest.raises(PathRefused, match=reason):
        _put(path, "new", mode, known)
    assert state_of(workspace) == before


def test_a_write_protected_file_is_not_replaced(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing needs rights on the directory only, but the owner of the file has said no."""
    path = workspace / "a.txt"
    path.write_text("old")
    known = _protected(path)
    really = os.access

    def as_anybody(name: str, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False) -> bool:
        assert (name, mode, effective_ids) == ("a.txt", os.W_OK, True)
        return really(name, os.R_OK, dir_fd=dir_fd) and bool(os.stat(name, dir_fd=dir_fd).st_mode & 0o222)

    monkeypatch.setattr(os, "access", as_anybody)
    monkeypatch.setattr(os, "supports_effective_ids", {as_anybody})
    with pytest.raises(PathRefused, match="write-protected"):
        _put(path, "new", known=known)
    assert path.read_text() == "old"


def test_a_huge_file_is_not_appended_to(workspace: Path) -> None:
    """The whole of it would have to be copied."""
    path = workspace / "big"
    with path.open("wb") as file:
        file.truncate(replacement.MAX_APPENDED_TO + 1)
    with pytest.raises(PathRefused, match="too large to be appended to"):
        _put(path, "x", APPEND)


def test_a_full_disk_costs_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the caller's, the old file stays and no debris is left."""
    path = workspace / "a.txt"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        _put(path, "new", known=_stamp(path))
    with pytest.raises(OSError, match="No space left"):
        _put(workspace / "new.txt", "new")
    assert (path.read_text(), _names(workspace)) == ("old", ["a.txt"])


def test_a_name_that_is_taken_meanwhile_is_not_replaced(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the end of the write somebody else may create the file."""
    path = workspace / "a.txt"
    really = os.fsync

    def busy(descriptor: int) -> None:
        path.write_text("theirs")
        really(descriptor)

    monkeypatch.setattr(os, "fsync", busy)
    with pytest.raises(PathRefused, match="appeared while it was written"):
        _put(path, "ours")
    assert (path.read_text(), _names(workspace)) == ("theirs", ["a.txt"])


def test_a_file_that_changes_meanwhile_is_not_replaced(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look is right before the rename."""
    path = workspace / "a.txt"
    path.write_text("old")
    really = os.fsync

    def busy(descriptor: int) -> None:
        path.write_text("theirs")
        really(descriptor)

    monkeypatch.setattr(os, "fsync", busy)
    with pytest.raises(PathRefused, match="changed while it was written"):
        _put(path, "ours", known=_stamp(path))
    assert (path.read_text(), _names(workspace)) == ("theirs", ["a.txt"])


def test_a_second_name_that_appears_meanwhile_keeps_the_file(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link made while the write was under way would be left with the old text."""
    path = workspace / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _descriptor: (workspace / "b").hardlink_to(path))
    with pytest.raises(PathRefused, match="changed while it was written"):
        _put(path, "ours", known=_stamp(path))
    assert (path.read_text(), _names(workspace)) == ("old", ["a.txt", "b"])


def test_a_file_that_is_swapped_only_for_a_moment_is_not_copied(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is appended to must be the file that was looked at, not one that stood there in between."""
    path, other, aside = workspace / "a.txt", workspace / "b.txt", workspace / "aside"
    path.write_text("ours\n")
    other.write_text("theirs\n")
    really = os.access

    def swap_in(name: str, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False) -> bool:
        path.rename(aside)
        other.rename(path)
        return really(name, mode, dir_fd=dir_fd, effective_ids=effective_ids)

    def swap_out(_descriptor: int) -> None:
        path.rename(other)
        aside.rename(path)

    monkeypatch.setattr(os, "access", swap_in)
    monkeypatch.setattr(os, "supports_effective_ids", {swap_in})
    monkeypatch.setattr(os, "fsync", swap_out)
    with pytest.raises(PathRefused, match="changed while it was written"):
        _put(path, "more\n", APPEND)


def test_a_name_that_was_taken_is_given_back_if_the_write_fails(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No empty file is left where there was none."""

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(OSError, match="Input/output error"):
        _put(workspace / "a.txt", "x")
    assert _names(workspace) == []


def test_nothing_is_written_among_what_the_kernel_makes_up() -> None:
    """A kernel setting is no file on a disk."""
    with pytest.raises(PathRefused, match="not a file on a disk"):
        write("/proc/self/comm", b"x", OVERWRITE, None)
    with pytest.raises(PathRefused, match="is a directory"):
        write("/", b"x", OVERWRITE, None)

"""Moving and weighing trees by descriptors, within a file system and by a copy where a rename cannot do it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtbot.domain.call import Weight
from mtbot.tools import moving
from mtbot.tools.moving import Spot
from mtbot.tools.roots import PathRefused


@contextmanager
def held(place: Path) -> Iterator[int]:
    """A descriptor of a directory."""
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)


def move(source: Path, target: Path) -> None:
    """Move by descriptors."""
    with held(source.parent) as one, held(target.parent) as other:
        moving.move(Spot(one, source.name), Spot(other, target.name))


@pytest.fixture
def tree(workspace: Path) -> Path:
    """Files, a directory for reading only, an empty one, links to the inside, the outside and nowhere."""
    place = workspace / "tree"
    (place / "closed").mkdir(parents=True)
    (place / "empty").mkdir()
    (place / "a.txt").write_text("a\n")
    (place / "closed" / "run.sh").write_text("#!/bin/sh\n")
    (place / "closed" / "run.sh").chmod(0o750)
    (place / "in").symlink_to("a.txt")
    (place / "out").symlink_to(workspace.parent / "outside" / "notes.txt")
    (place / "nowhere").symlink_to("/nowhere/at/all")
    os.utime(place / "a.txt", ns=(1_000_000_000, 2_000_000_000))
    (place / "closed").chmod(0o550)
    os.utime(place / "closed", ns=(3_000_000_000, 4_000_000_000))
    return place


def told(place: Path) -> dict[str, tuple[object, ...]]:
    """Every entry of a tree with its mode, time of change and content."""
    found: dict[str, tuple[object, ...]] = {}
    for one in sorted(place.rglob("*")):
        status = one.lstat()
        name = str(one.relative_to(place))
        if one.is_symlink():
            found[name] = ("link", str(one.readlink()))
        elif one.is_dir():
            found[name] = ("dir", status.st_mode, status.st_mtime_ns)
        else:
            found[name] = ("file", status.st_mode, status.st_mtime_ns, one.read_text())
    return found


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Path:
    """A directory to which nothing can be renamed or linked from elsewhere, as if it lay on another disk."""
    other = workspace.parent / "other"
    other.mkdir()
    real_rename, real_link = os.rename, os.link

    def crosses(one: int, two: int) -> bool:
        places = [str(Path(f"/proc/self/fd/{fd}").readlink()) for fd in (one, two)]
        return len({place.startswith(str(other)) for place in places}) == 2

    def rename(src: str, dst: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if crosses(src_dir_fd, dst_dir_fd):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real_rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def link(src: str, dst: str, *, src_dir_fd: int = -1, dst_dir_fd: int = -1, follow_symlinks: bool = True) -> None:
        if src_dir_fd < 0:
            real_link(src, dst)
            return
        if crosses(src_dir_fd, dst_dir_fd):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real_link(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "link", link)
    return other


def test_a_tree_is_weighed_without_following_links(tree: Path, outside: Path) -> None:
    """Names that are no directories are counted; a link weighs its own text and not what it leads to."""
    links = sum(len(str(one.readlink())) for one in (tree / "in", tree / "out", tree / "nowhere"))
    with held(tree.parent) as place:
        assert moving.weigh(place, "tree", 100) == Weight(5, 2 + 10 + links)
        assert moving.weigh(place, "tree", 3).whole is False
    assert outside.exists()


def test_a_tree_that_is_too_deep_is_refused(workspace: Path) -> None:
    """Nobody has a hundred directories inside each other by accident."""
    place = workspace / "d"
    for _ in range(moving.MAX_DEPTH + 1):
        place.mkdir()
        place = place / "d"
    with held(workspace) as inside, pytest.raises(PathRefused, match="too many directories"):
        moving.weigh(inside, "d", 10_000)


def test_what_lies_on_another_file_system_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mounted disk is not what anybody means by a directory."""
    (workspace / "tree" / "mounted").mkdir(parents=True)
    real = os.stat

    def stat(name: str, *, dir_fd: int, follow_symlinks: bool) -> os.stat_result:
        found = real(name, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        values = list(found)
        values[2] += name == "mounted"
        return os.stat_result(values)

    with held(workspace) as inside:
        monkeypatch.setattr(os, "stat", stat)
        with pytest.raises(PathRefused, match="another file system"):
            moving.weigh(inside, "tree", 100)
        monkeypatch.undo()


@pytest.mark.parametrize("name", ["a.txt", "closed", "in", "nowhere"])
def test_a_move_never_replaces(tree: Path, workspace: Path, name: str) -> None:
    """Whatever lies at the target, even an empty directory or a dangling link, stops the move, and nothing is lost."""
    (workspace / "taken").mkdir()
    (workspace / "link").symlink_to("/nowhere")
    before = told(tree)
    for target in (workspace / "taken", workspace / "link"):
        with pytest.raises(FileExistsError):
            move(tree / name, target)
    assert told(tree) == before


def test_a_move_within_a_disk_keeps_everything(tree: Path, workspace: Path) -> None:
    """The very same files under another name."""
    before, inode = told(tree), (tree / "a.txt").stat().st_ino
    move(tree, workspace / "moved")
    assert not tree.exists()
    assert told(workspace / "moved") == before
    assert (workspace / "moved" / "a.txt").stat().st_ino == inode


def test_a_file_without_hard_links_is_renamed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have none, and some kernels forbid them for other people's files."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "link", refuse)
    (workspace / "a").write_text("a")
    move(workspace / "a", workspace / "b")
    assert [one.name for one in workspace.iterdir()] == ["b"]
    (workspace / "a").write_text("new")
    with pytest.raises(FileExistsError):
        move(workspace / "a", workspace / "b")
    assert ((workspace / "a").read_text(), (workspace / "b").read_text()) == ("new", "a")


def test_a_move_to_another_disk_keeps_everything(tree: Path, two_disks: Path) -> None:
    """Content, modes, times and links arrive, and the source is gone with no trace of the work."""
    before = told(tree)
    move(tree, two_disks / "moved")
    assert told(two_disks / "moved") == before
    assert list(tree.parent.iterdir()) == []
    assert [one.name for one in two_disks.iterdir()] == ["moved"]


def test_a_move_to_another_disk_never_replaces(tree: Path, two_disks: Path) -> None:
    """The target is looked at last, and the source is back under its name."""
    (two_disks / "moved").mkdir()
    before = told(tree)
    with pytest.raises(FileExistsError):
        move(tree, two_disks / "moved")
    assert told(tree) == before
    assert [one.name for one in (*tree.parent.iterdir(), *two_disks.iterdir())] == ["tree", "moved"]


def test_what_a_copy_cannot_keep_stays(tree: Path, two_disks: Path) -> None:
    """Other names of a file and pipes cannot go to another disk; everything is where it was."""
    (tree / "pipe").hardlink_to(tree / "a.txt")
    before = told(tree)
    with pytest.raises(PathRefused, match="several names"):
        move(tree, two_disks / "moved")
    assert told(tree) == before
    (tree / "pipe").unlink()
    os.mkfifo(tree / "pipe")
    with pytest.raises(PathRefused, match="a named pipe"):
        move(tree, two_disks / "moved")
    assert (tree / "pipe").is_fifo()
    assert list(two_disks.iterdir()) == []


def test_a_source_that_changes_meanwhile_stays(tree: Path, two_disks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has a file open still writes: the copy would be old, so it is dropped."""
    real = moving.copy_tree

    def copy_and_write(source: Spot, target: Spot) -> object:
        found = real(source, target)
        with (tree.parent / source.name / "a.txt").open("a") as file:
            file.write("more\n")
        return found

    monkeypatch.setattr(moving, "copy_tree", copy_and_write)
    with pytest.raises(PathRefused, match="changed while it was moved"):
        move(tree, two_disks / "moved")
    assert (tree / "a.txt").read_text() == "a\nmore\n"
    assert list(two_disks.iterdir()) == []


def test_a_file_that_cannot_leave_has_no_second_name(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that may not be changed keeps its file, and the target is free again."""
    (workspace / "a").write_text("a")
    real = os.unlink

    def unlink(name: str, *, dir_fd: int) -> None:
        if name == "a":
            raise PermissionError(errno.EACCES, "no")
        real(name, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        with pytest.raises(PermissionError):
            move(workspace / "a", workspace / "b")
    assert [one.name for one in workspace.iterdir()] == ["a"]


def test_directories_for_reading_only_are_opened_before_they_are_emptied(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root could do without; the directory itself is changed, by its descriptor."""
    opened: list[tuple[str, int]] = []
    real = os.fchmod

    def fchmod(descriptor: int, mode: int) -> None:
        opened.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), mode))
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)
    with held(tree.parent) as place:
        moving.remove_tree(place, "tree")
    assert opened == [(f"{tree}/closed", 0o700)]


def test_a_tree_is_removed_with_its_links_and_nothing_behind_them(tree: Path, outside: Path) -> None:
    """Also what lies in a directory that may not be written."""
    with held(tree.parent) as place:
        moving.remove_tree(place, "tree")
    assert list(tree.parent.iterdir()) == []
    assert (outside / "notes.txt").read_text() == "not yours\n"

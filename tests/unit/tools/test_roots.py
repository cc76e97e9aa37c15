"""A path is resolved once, link by link, and opened without following any."""

import os
import socket
from pathlib import Path

import pytest

from mtbot.domain.call import TargetKind
from mtbot.tools import roots
from mtbot.tools.roots import PathRefused, Resolved

FILE, DIRECTORY, MISSING, OTHER = TargetKind.FILE, TargetKind.DIRECTORY, TargetKind.MISSING, TargetKind.OTHER


def _read(path: Path | str) -> bytes:
    with roots.regular_file(str(path)) as descriptor:
        return os.read(descriptor, 100)


@pytest.mark.parametrize(
    ("written", "leads_to", "kind"),
    [
        ("a.txt", "ws/a.txt", FILE),
        ("./dir//../a.txt", "ws/a.txt", FILE),
        (".", "ws", DIRECTORY),
        ("", "ws", DIRECTORY),
        ("..", "", DIRECTORY),
        ("../outside/notes.txt", "outside/notes.txt", FILE),
        ("~", "home", DIRECTORY),
        ("~/b", "home/b", MISSING),
        ("~deploy/b", "ws/~deploy/b", MISSING),
        ("new/deep/file", "ws/new/deep/file", MISSING),
        ("new/./file", "ws/new/file", MISSING),
        ("a.txt.", "ws/a.txt.", MISSING),
        ("a.txt ", "ws/a.txt ", MISSING),
        ("A.TXT", "ws/A.TXT", MISSING),
        ("in/a.txt", "ws/a.txt", FILE),
        ("in/new", "ws/new", MISSING),
        ("out/notes.txt", "outside/notes.txt", FILE),
        ("out/../a.txt", "a.txt", MISSING),
        ("absolute", "outside/notes.txt", FILE),
        ("dangling", "outside/none", OTHER),
        ("dangling/deeper", "outside/none/deeper", OTHER),
        ("half/more", "ws/none/x/more", OTHER),
        ("loop", "ws/loop", OTHER),
        ("none/../a.txt", "ws/a.txt", OTHER),
        ("a.txt/below", "ws/a.txt/below", OTHER),
        ("a.txt/..", "ws", OTHER),
        ("pipe", "ws/pipe", OTHER),
        ("socket", "ws/socket", OTHER),
        ("caf\u00e9", "ws/caf\u00e9", DIRECTORY),
        ("cafe\u0301", "ws/cafe\u0301", MISSING),
    ],
)
def test_every_path_leads_where_the_kernel_would_go(
    workspace: Path, outside: Path, written: str, leads_to: str, kind: TargetKind
) -> None:
    """Links are followed, names are compared byte by byte, and what leads nowhere is of no kind."""
    base = workspace.parent
    (base / "home").mkdir()
    (workspace / "a.txt").write_text("a")
    (workspace / "dir").mkdir()
    (workspace / "caf\u00e9").mkdir()
    (workspace / "in").symlink_to(".")
    (workspace / "out").symlink_to("../outside")
    (workspace / "absolute").symlink_to(outside / "notes.txt")
    (workspace / "dangling").symlink_to("../outside/none")
    (workspace / "half").symlink_to("none/x")
    (workspace / "loop").symlink_to("loop")
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(workspace / "socket"))
    found = roots.resolve(written, str(workspace), str(base / "home"))
    assert (found.path, found.kind, bool(found.why)) == (str(base / leads_to).rstrip("/"), kind, kind is OTHER)


@pytest.mark.parametrize("written", ["a\0b", "a\ud800b", "/\0"])
def test_what_is_no_path_leads_nowhere(written: str) -> None:
    """NUL and lone surrogates are shown as replaced, so that the result can be recorded."""
    found = roots.resolve(written, "/ws", "/home")
    assert found == Resolved(
        roots.lexical(written, "/ws", "/home") if written != "/\0" else "/\ufffd", OTHER, "is not a valid path"
    )
    assert "\ufffd" in found.path
    found.path.encode()


def test_a_link_to_a_name_that_is_no_text_leads_nowhere(workspace: Path) -> None:
    """A name that no record could hold is not a place."""
    (workspace / os.fsdecode(b"\xff")).mkdir()
    (workspace / "link").symlink_to(os.fsdecode(b"\xff"))
    assert roots.resolve("link", str(workspace), "/").kind is OTHER


def test_what_cannot_be_looked_at_leads_nowhere(workspace: Path) -> None:
    """It may be a link to anywhere, so an error is not taken for something missing."""
    found = roots.resolve("x" * 300, str(workspace), "/")
    assert found == Resolved(f"{workspace}/{'x' * 300}", OTHER, "cannot be looked at (file name too long)")


def test_links_are_followed_forty_times_and_no_more(workspace: Path) -> None:
    """A chain as long as the kernel follows still leads somewhere."""
    (workspace / "l0").write_text("end")
    for number in range(1, 42):
        (workspace / f"l{number}").symlink_to(f"l{number - 1}")
    assert roots.resolve("l40", str(workspace), "/") == Resolved(str(workspace / "l0"), FILE)
    assert roots.resolve("l41", str(workspace), "/").kind is OTHER


def test_a_process_has_no_door_to_the_root(workspace: Path) -> None:
    """/proc/self/root leads to the root, and is judged as that."""
    (workspace / "a.txt").write_text("a")
    assert roots.resolve(f"/proc/self/root{workspace}/a.txt", "/", "/") == Resolved(str(workspace / "a.txt"), FILE)


def test_a_lexical_path_is_absolute_and_tidy() -> None:
    """Where nobody could look, the written path is all that is known."""
    assert roots.lexical("~/a/../b", "/ws", "/home/chief") == "/home/chief/b"
    assert roots.lexical("//x/./y", "/ws", "/") == "/x/y"
    assert roots.lexical("x", "/ws", "/") == "/ws/x"


def test_a_regular_file_is_opened(workspace: Path) -> None:
    """The descriptor reads the file at the path."""
    (workspace / "a.txt").write_text("hello")
    assert _read(workspace / "a.txt") == b"hello"


@pytest.mark.parametrize("name", ["link", "through/notes.txt", "pipe", "dir", "../ws/a.txt", "a.txt/x", ".", "a\0b"])
def test_what_is_not_exactly_a_regular_file_is_not_opened(workspace: Path, outside: Path, name: str) -> None:
    """Links at any place, pipes, directories and unresolved paths are refused at once."""
    (workspace / "a.txt").write_text("a")
    (workspace / "dir").mkdir()
    (workspace / "link").symlink_to(outside / "notes.txt")
    (workspace / "through").symlink_to(outside)
    os.mkfifo(workspace / "pipe")
    with pytest.raises(PathRefused):
        _read(f"{workspace}/{name}")


@pytest.mark.parametrize("path", ["/proc/self/status", "/dev/null", "/sys/kernel/uevent_seqnum", "/", "relative"])
def test_what_the_kernel_makes_up_is_not_opened(path: str) -> None:
    """Kernel files and devices are no files on a disk."""
    with pytest.raises(PathRefused):
        _read(path)


def test_a_missing_file_stays_an_error_of_the_system(workspace: Path) -> None:
    """Nothing speaks against the path; it is only not there."""
    with pytest.raises(FileNotFoundError):
        _read(workspace / "none")


def test_a_directory_swapped_for_a_link_after_the_decision_is_not_entered(workspace: Path, outside: Path) -> None:
    """What was decided about is not what lies there now."""
    (workspace / "dir").mkdir()
    (workspace / "dir/notes.txt").write_text("mine")
    decided = roots.resolve("dir/notes.txt", str(workspace), "/").path
    (workspace / "dir").rename(workspace / "moved")
    (workspace / "dir").symlink_to(outside)
    with pytest.raises(PathRefused, match="link or a file where there was a directory"):
        _read(decided)


def test_a_file_swapped_between_look_and_opening_is_not_read(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opened file must be the one that was looked at."""
    (workspace / "a.txt").write_text("mine")
    (workspace / "b.txt").write_text("other")
    really_open = os.open

    def swapping(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.txt":
            (workspace / "b.txt").replace(workspace / "a.txt")
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(PathRefused, match="was replaced while it was opened"):
        _read(workspace / "a.txt")


def test_a_file_swapped_for_a_link_between_look_and_opening_is_not_read(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last name is never followed, whenever it becomes a link."""
    (workspace / "a.txt").write_text("mine")
    really_open = os.open

    def swapping(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.txt":
            (workspace / "a.txt").unlink()
            (workspace / "a.txt").symlink_to(outside / "notes.txt")
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(PathRefused, match="became a link"):
        _read(workspace / "a.txt")


def test_missing_directories_are_made_only_where_asked(workspace: Path) -> None:
    """Opening creates nothing by itself, and never through a file."""
    with pytest.raises(FileNotFoundError), roots.directory(str(workspace / "a/b")):
        pass
    assert list(workspace.iterdir()) == []
    with roots.directory(str(workspace / "a/b"), create=True):
        assert (workspace / "a/b").is_dir()
    assert oct((workspace / "a").stat().st_mode & 0o777 | 0o022) == "0o777"
    (workspace / "file").write_text("x")
    with pytest.raises(PathRefused), roots.directory(str(workspace / "file/b"), create=True):
        pass


def test_no_descriptor_is_left_open(workspace: Path) -> None:
    """Refusals and reads close what they opened."""
    (workspace / "a.txt").write_text("a")
    (workspace / "link").symlink_to("a.txt")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        _read(workspace / "a.txt")
        with pytest.raises(PathRefused):
            _read(workspace / "link")
        with pytest.raises(FileNotFoundError):
            _read(workspace / "none/x")
    assert len(list(Path("/proc/self/fd").iterdir())) == before

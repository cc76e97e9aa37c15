"""list_dir: names, types and sizes, and no way out through a link."""

import os
from pathlib import Path

import pytest

from mtbot.domain.call import Status
from mtbot.tools import listing
from mtbot.tools.files import FileSettings
from mtbot.tools.listing import ListDirTool
from tests.unit.tools.builders import SECRET, Desk


async def _lines(desk: Desk, path: str = ".", depth: int = 1) -> list[str]:
    outcome = await desk.use(ListDirTool, path, depth=depth)
    assert outcome.status is Status.OK
    return outcome.text.splitlines()


@pytest.fixture
def tree(workspace: Path, outside: Path) -> Path:
    """One entry of every kind."""
    (workspace / "b.txt").write_text("12345")
    (workspace / "a dir/deep/deeper").mkdir(parents=True)
    (workspace / "a dir/deep/x.py").write_text("1")
    (workspace / "link").symlink_to(outside)
    os.mkfifo(workspace / "pipe")
    return workspace


async def test_entries_are_listed_by_name_with_type_and_size(desk: Desk, tree: Path) -> None:
    """One level, unless more are asked for."""
    assert await _lines(desk) == [
        f"path: {tree}",
        "dir - a dir/",
        "file 5 b.txt",
        f"link - link -> {tree.with_name('outside')}",
        "pipe - pipe",
    ]


async def test_depth_shows_what_is_below_each_directory(desk: Desk, tree: Path) -> None:
    """Links are named and not followed, at any depth."""
    assert (await _lines(desk, depth=2))[1:4] == ["dir - a dir/", "dir - a dir/deep/", "file 5 b.txt"]
    deep = await _lines(desk, depth=8)
    assert deep[1:5] == ["dir - a dir/", "dir - a dir/deep/", "dir - a dir/deep/deeper/", "file 1 a dir/deep/x.py"]
    assert not any("notes.txt" in line for line in deep)


async def test_an_empty_directory_is_said_to_be_empty(desk: Desk, workspace: Path) -> None:
    """No lines must not look like a failure."""
    assert await _lines(desk) == [f"path: {workspace}", "(the directory is empty)"]


async def test_a_listing_ends_at_its_limit_and_says_so(
    desk: Desk, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first names are shown, also where the limit is reached further down."""
    monkeypatch.setattr(listing, "MAX_ENTRIES", 5)
    (workspace / "a").mkdir()
    for number in range(4):
        (workspace / f"a/f{number}").touch()
        (workspace / f"z{number}").touch()
    assert (await _lines(desk, depth=2))[1:] == [
        "dir - a/",
        *(f"file 0 a/f{number}" for number in range(4)),
        "[truncated: only the first 5 entries are shown]",
    ]
    assert (await _lines(desk, path="a"))[-1] == "file 0 f3"


async def test_what_is_closed_is_named_and_not_entered(workspace: Path) -> None:
    """A directory that needs a decision of its own does not come out through the one above it."""
    (workspace / "keys/below").mkdir(parents=True)
    desk = Desk(workspace)
    desk.settings = FileSettings(desk.settings.roots, closed=lambda path: path == f"{workspace}/keys")
    assert (await _lines(desk, depth=3))[1:] == ["dir - keys/ (what is in it is not listed)"]


async def test_names_cannot_forge_lines_or_show_secrets(desk: Desk, workspace: Path) -> None:
    """Line breaks and bytes that are no text are made visible, and secrets are masked."""
    (workspace / "a\nfile 1 b").touch()
    (workspace / os.fsdecode(b"x\xff")).touch()
    (workspace / f"k-{SECRET}").touch()
    lines = await _lines(desk)
    assert len(lines) == 4
    assert "\n".join(lines).encode()
    assert not any(SECRET in line for line in lines)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("pipe", "is a named pipe"),
        ("b.txt", "is not a directory"),
        ("none", "does not exist"),
        ("..", "lies outside"),
        ("link", "lies outside"),
    ],
)
async def test_what_is_no_directory_inside_is_not_listed(desk: Desk, tree: Path, path: str, reason: str) -> None:
    """Each refusal is one sentence."""
    outcome = await desk.use(ListDirTool, path)
    assert outcome.status is Status.REFUSED
    assert outcome.text.startswith(f"Not listed: {path} {reason}")


async def test_a_directory_that_becomes_a_link_is_not_entered(
    desk: Desk, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at an entry and its opening it may be swapped."""
    really_open = os.open

    def swapping(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a dir":
            (tree / "a dir").rename(tree.with_name("moved"))
            (tree / "a dir").symlink_to(tree.with_name("outside"))
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    assert (await _lines(desk, depth=3))[1:3] == ["dir - a dir/ (cannot be listed)", "file 5 b.txt"]


async def test_no_descriptor_is_left_open(desk: Desk, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the listing ends in the middle."""
    await _lines(desk, depth=8)
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(listing, "MAX_ENTRIES", 3)
    await _lines(desk, depth=8)
    assert len(list(Path("/proc/self/fd").iterdir())) == before

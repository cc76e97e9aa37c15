"""search: lines of text files below a root, as a reader would see them, and never without end."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.domain.call import Outcome, Status
from mtbot.domain.ports import Masker, Tool
from mtbot.tools.file_access import FileSettings
from mtbot.tools.search import MAX_MATCHES, Bounds, SearchTool
from tests.unit.tools.builders import SECRET, Desk


@pytest.fixture
def tree(workspace: Path) -> Path:
    """A little project."""
    (workspace / "src" / "deep").mkdir(parents=True)
    (workspace / "src" / "main.py").write_text("import os\n\nprint('Hello')\n")
    (workspace / "src" / "deep" / "a.txt").write_text("hello\nworld\n")
    (workspace / "b.txt").write_text("say hello\n")
    return workspace


def lines(outcome: Outcome) -> list[str]:
    """The matches."""
    assert outcome.status is Status.OK, outcome.text
    return [line for line in outcome.text.splitlines() if ": " in line and line.split(":")[1].isdigit()]


async def test_matches_come_with_file_line_and_text_in_order(desk: Desk, tree: Path) -> None:
    """And with how much was looked at."""
    outcome = await desk.use(SearchTool, ".", pattern="(?i)hello")
    assert outcome.text.splitlines() == [
        f"path: {tree}",
        "files searched: 3",
        "matches: 3",
        "b.txt:1: say hello",
        "src/deep/a.txt:1: hello",
        "src/main.py:3: print('Hello')",
    ]


@pytest.mark.parametrize(
    ("pattern", "glob", "found"),
    [
        ("hello", "", ["b.txt:1: say hello", "src/deep/a.txt:1: hello"]),
        ("^hello", "", ["src/deep/a.txt:1: hello"]),
        ("hello$", "*.py", []),
        ("Hello", "*.py", ["src/main.py:3: print('Hello')"]),
        ("hello", "src/*", ["src/deep/a.txt:1: hello"]),
        ("hello.world", "", []),
        ("nothing", "", []),
    ],
)
async def test_an_expression_is_for_one_line_and_a_glob_for_names(
    desk: Desk, tree: Path, pattern: str, glob: str, found: list[str]
) -> None:
    """A slash in the glob makes it one for paths."""
    assert lines(await desk.use(SearchTool, ".", pattern=pattern, glob=glob)) == found


async def test_one_file_can_be_searched(desk: Desk, tree: Path) -> None:
    """Its name stands before the match."""
    assert lines(await desk.use(SearchTool, "src/deep/a.txt", pattern="world")) == ["a.txt:2: world"]


async def test_a_guess_does_not_find_what_stands_under_a_mask(desk: Desk, tree: Path) -> None:
    """Not by any piece of it, while the line is found by what can be read of it, and shown masked."""
    (tree / "b.txt").write_text(f"before\nkey = {SECRET} # hello\n")
    for piece in (SECRET, SECRET[:6], "key = c", "e # h"):
        assert lines(await desk.use(SearchTool, "b.txt", pattern=piece)) == []
    (found,) = lines(await desk.use(SearchTool, "b.txt", pattern="# hello"))
    assert found.startswith("b.txt:2: key = ‹secret:")
    assert SECRET not in found


async def test_what_needs_its_own_decision_is_passed_by(desk: Desk, tree: Path, outside: Path) -> None:
    """Closed paths, links, files with other names, git's own, pipes: nothing of them is read."""
    (tree / "keys").mkdir()
    for place in (tree / "keys" / "a", tree / "closed.txt", tree / "two"):
        place.write_text("hello\n")
    (tree / "one").hardlink_to(tree / "two")
    (tree / "link.txt").symlink_to(outside / "notes.txt")
    (tree / "linked").symlink_to(outside)
    (tree / ".git").mkdir()
    (tree / ".git" / "x").write_text("hello\n")
    os.mkfifo(tree / "pipe")
    closed = {f"{tree}/keys", f"{tree}/closed.txt"}
    desk.settings = replace(desk.settings, closed=closed.__contains__)
    outcome = await desk.use(SearchTool, ".", pattern="hello|not yours")
    assert lines(outcome) == ["b.txt:1: say hello", "src/deep/a.txt:1: hello"]
    assert "passed by: 4 (" in outcome.text


async def test_binary_and_broken_text(desk: Desk, workspace: Path) -> None:
    """A NUL makes a file binary; what is no UTF-8 is searched as far as it goes; what steers a terminal is shown."""
    (workspace / "bin").write_bytes(b"hello\0")
    (workspace / "latin").write_bytes(b"hello \xe4\x1b[2J\n")
    (found,) = lines(await desk.use(SearchTool, ".", pattern="hello"))
    assert found.startswith("latin:1: hello �")
    assert "\x1b" not in found


@pytest.mark.parametrize(
    ("bounds", "note"),
    [
        (Bounds(entries=2), "there are more than 2 entries"),
        (Bounds(size=12), "there is more than 0 MiB of text"),
        (Bounds(seconds=-1.0), "it took longer than -1 s"),
    ],
)
async def test_a_search_has_an_end_and_says_so(desk: Desk, tree: Path, bounds: Bounds, note: str) -> None:
    """What was found until then is told."""

    def bounded(settings: FileSettings, masker: Masker) -> Tool:
        return SearchTool(settings, masker, bounds)

    outcome = await desk.use(bounded, ".", pattern="o")
    assert outcome.status is Status.OK
    assert outcome.text.splitlines()[-1] == f"[not everything was searched: {note}]"


async def test_a_search_goes_so_deep_and_no_deeper(desk: Desk, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies below is not looked at."""
    monkeypatch.setattr("mtbot.tools.search.MAX_DEPTH", 2)
    found = lines(await desk.use(SearchTool, ".", pattern="(?i)hello"))
    assert found == ["b.txt:1: say hello", "src/main.py:3: print('Hello')"]


async def test_matches_and_lines_and_files_are_bounded(desk: Desk, workspace: Path) -> None:
    """Many matches end the search, a long line is cut, a large file is passed by."""
    (workspace / "a").write_text("x\n" * (MAX_MATCHES + 1))
    outcome = await desk.use(SearchTool, ".", pattern="x")
    assert len(lines(outcome)) == MAX_MATCHES
    assert f"more than {MAX_MATCHES} matches" in outcome.text
    (workspace / "a").write_text("y" * 5000)
    assert lines(await desk.use(SearchTool, ".", pattern="y")) == [f"a:1: {'y' * 300}…"]

    def small(settings: FileSettings, masker: Masker) -> Tool:
        return SearchTool(settings, masker, Bounds(file_size=4999))

    assert "passed by: 1 (" in (await desk.use(small, ".", pattern="y")).text


@pytest.mark.parametrize(
    ("path", "pattern", "said"),
    [
        (".", "(", "[Invalid] Not searched: the pattern is no RE2 expression: missing )."),
        (".", r"(a)\1", "[Invalid] Not searched: the pattern is no RE2 expression: invalid escape sequence."),
        ("none", "a", "Not searched: none does not exist."),
        ("../outside", "a", "Not searched: ../outside lies outside the directories that file tools may use."),
    ],
)
async def test_what_cannot_be_searched_is_named(
    desk: Desk, tree: Path, outside: Path, path: str, pattern: str, said: str
) -> None:
    """An expression that RE2 does not read, nothing, and what lies elsewhere."""
    outcome = await desk.use(SearchTool, path, pattern=pattern)
    assert (outcome.status, outcome.text) == (Status.REFUSED, said)

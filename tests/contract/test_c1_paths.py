"""C1.3: a path that leads outside stays outside: while somebody swaps what lies there, and in every way to spell a name."""

import itertools
import os
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtbot.domain.call import Status
from mtbot.simulator.script import call, say
from mtbot.tools import roots
from mtbot.tools.files import ReadFileTool, WriteFileTool
from mtbot.tools.listing import ListDirTool
from tests.contract.stage import open_stage
from tests.contract.surfaces import Way, on_every_surface
from tests.unit.tools.builders import Desk

ROUNDS = 400
MINE, THEIRS = "mine\n", "not yours\n"


@contextmanager
def swapping(workspace: Path, outside: Path, leaf: str) -> Iterator[None]:
    """While this lasts, a thread renames: ``dir`` is ours, then a link to outside; ``file`` is ours, then a link."""
    (workspace / "ours").mkdir()
    (workspace / "ours" / leaf).write_text(MINE)
    (workspace / "file-ours").write_text(MINE)
    (workspace / "link").symlink_to(outside)
    (workspace / "file-link").symlink_to(outside / leaf)
    over = threading.Event()
    junk = itertools.count()

    def move(one: str, other: str) -> None:
        while True:
            try:
                os.rename(workspace / one, workspace / other)  # noqa: PTH104 - as fast as it goes
            except OSError:
                # a write has made the directory while there was none
                os.rename(workspace / other, workspace / f"junk-{next(junk)}")  # noqa: PTH104 - as above
            else:
                return

    def swap() -> None:
        while not over.is_set():
            for real, link, name in (("ours", "link", "dir"), ("file-ours", "file-link", "file")):
                for one, other in ((real, name), (name, real), (link, name), (name, link)):
                    move(one, other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace, and beside it what nobody may touch."""
    workspace, outside = tmp_path.resolve() / "ws", tmp_path.resolve() / "outside"
    workspace.mkdir()
    outside.mkdir()
    (outside / "notes.txt").write_text(THEIRS)
    return workspace, outside


@pytest.mark.parametrize("path", ["dir/notes.txt", "file"])
async def test_what_is_swapped_between_check_and_open_is_never_followed_outside(
    places: tuple[Path, Path], path: str
) -> None:
    """Hundreds of reads, listings and writes in a race: at most an error, never a byte of the other side."""
    workspace, outside = places
    desk = Desk(workspace)
    before = (outside / "notes.txt").stat()
    statuses = set()
    with swapping(workspace, outside, "notes.txt"):
        for number in range(ROUNDS):
            read = await desk.use(ReadFileTool, path, turn=f"t{number}")
            assert THEIRS.strip() not in read.text
            listed = await desk.use(ListDirTool, "dir", turn=f"t{number}")
            assert "not yours" not in listed.text
            # decided while it was ours, performed whatever lies there by then
            settled = str(workspace / path)
            wrote = await desk.use(WriteFileTool, settled, turn=f"t{number}", content="by the model\n")
            statuses |= {read.status, wrote.status}
    after = (outside / "notes.txt").stat()
    assert (outside / "notes.txt").read_text() == THEIRS
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert sorted(one.name for one in outside.iterdir()) == ["notes.txt"]
    assert Status.REFUSED in statuses or Status.FAILED in statuses


COMPOSED = unicodedata.normalize("NFC", "café.txt")
DECOMPOSED = unicodedata.normalize("NFD", "café.txt")


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        (COMPOSED, DECOMPOSED),
        (DECOMPOSED, COMPOSED),
        ("notes.txt", "Notes.txt"),
        ("notes.txt", "NOTES.TXT"),
        ("notes.txt", "notes.txt."),
        ("notes.txt", "notes.txt "),
        ("notes.txt", " notes.txt"),
        ("notes.txt", "notes.txt\t"),
    ],
    ids=["nfd", "nfc", "capital", "capitals", "dot", "blank", "blank before", "tab"],
)
async def test_another_spelling_is_another_name(places: tuple[Path, Path], there: str, asked: str) -> None:
    """What is not there under exactly that name is missing, and written beside and never over."""
    workspace, _ = places
    (workspace / there).write_text(MINE)
    desk = Desk(workspace)
    assert roots.resolve(asked, str(workspace), "/nowhere").path == str(workspace / asked)
    read = await desk.use(ReadFileTool, asked)
    assert (read.status, MINE.strip() in read.text) == (Status.FAILED, False)
    await desk.use(WriteFileTool, asked, content="new\n")
    assert (workspace / there).read_text() == MINE


@on_every_surface
async def test_no_spelling_leads_out_or_past_the_sensitive_set(tmp_path: Path, way: Way) -> None:
    """Through the whole of mtclaw: outside is refused without a question, a case variant of a secret is one."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "outside.txt").write_text(THEIRS)
    (workspace / "dangling").symlink_to(tmp_path / "made.txt")
    (workspace / "door").symlink_to(tmp_path)
    paths = ("../outside.txt", "door/outside.txt", "dangling", "/proc/self/root/etc/hostname")
    steps = [call("write_file", {"path": path, "content": "x\n"}) for path in paths]
    async with open_stage(tmp_path, [*steps, say("Through.")]) as stage:
        heard = await way.turn(stage, "Through.")
        assert "Run this on" not in heard
        assert (tmp_path / "outside.txt").read_text() == THEIRS
        assert not (tmp_path / "made.txt").exists()
        assert {line.decision for line in await stage.lines()} == {"denied_rule"}


@pytest.mark.parametrize("path", [".ENV", "ID_RSA", "Credentials", ".Git/Hooks/pre-commit", "a/.SSH/config"])
async def test_a_case_variant_of_a_sensitive_name_is_sensitive(tmp_path: Path, path: str) -> None:
    """Some file systems tell no difference, so mtclaw does not either: by night it is refused."""
    file = tmp_path / "workspace" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious\n")
    async with open_stage(tmp_path, [call("read_file", {"path": path}), say("Through.")]) as stage:
        await stage.run_job()
        assert "precious" not in stage.model.requests[-1].last_tool_result
        assert [line.decision for line in await stage.lines()] == ["expired"]

"""edit_file: what was read and stands there as often as was said, and nothing under a mask."""

from pathlib import Path

import pytest

from mtbot.domain.call import Outcome, Status
from mtbot.domain.ids import CallId, TurnId
from mtbot.tools.edit import MAX_COUNT, EditFileTool
from mtbot.tools.files import FileSettings, ReadFileTool, WriteFileTool
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp
from mtbot.tools.trash_store import Bin, Limits, Trash
from tests.unit.tools.builders import MASK, SECRET, Desk, state_of


async def edit(desk: Desk, old: str, new: str, *, read: bool = True, count: int = 1) -> Outcome:
    """Read the file, then edit it."""
    if read:
        assert (await desk.use(ReadFileTool, "a.txt")).status is Status.OK
    return await desk.use(EditFileTool, "a.txt", old=old, new=new, count=count)


@pytest.fixture
def file(workspace: Path) -> Path:
    """A small file with a line that stands there twice."""
    path = workspace / "a.txt"
    path.write_bytes("eins\r\nzwei ä\nzwei ä\n".encode())
    path.chmod(0o640)
    return path


async def test_a_unique_text_is_replaced_and_nothing_else(desk: Desk, file: Path) -> None:
    """Line ends and mode stay; the answer says how often."""
    outcome = await edit(desk, "eins", "one")
    assert outcome.text.splitlines() == [f"edited: {file}", "replaced: 1", "size now: 21 bytes"]
    assert file.read_bytes() == "one\r\nzwei ä\nzwei ä\n".encode()
    assert file.stat().st_mode & 0o777 == 0o640


async def test_two_edits_follow_each_other_after_one_read(desk: Desk, file: Path) -> None:
    """The tool knows the state that it has left itself."""
    await edit(desk, "eins", "one")
    assert (await edit(desk, "one", "two", read=False)).status is Status.OK
    assert file.read_text().startswith("two")


@pytest.mark.parametrize(
    ("old", "count", "said"),
    [
        ("drei", 1, "old does not stand in {} as you read it, and count is 1."),
        (
            "zwei",
            1,
            "old stands 2 times in {} as you read it, and count is 1; give more of its surroundings, or that count.",
        ),
        (
            "eins",
            2,
            "old stands 1 times in {} as you read it, and count is 2; give more of its surroundings, or that count.",
        ),
        ("eins\n", 1, "old does not stand in {} as you read it, and count is 1."),
    ],
)
async def test_another_number_of_places_changes_nothing(
    desk: Desk, file: Path, old: str, count: int, said: str
) -> None:
    """A blank or a line end that differs is another text."""
    before = state_of(file.parent)
    outcome = await edit(desk, old, "x", count=count)
    assert (outcome.status, outcome.text) == (Status.REFUSED, f"[Invalid] Not edited: {said.format(file)}")
    assert state_of(file.parent) == before


async def test_all_places_are_replaced_where_their_number_is_said(desk: Desk, file: Path) -> None:
    """Also by nothing."""
    assert (await edit(desk, "zwei ä\n", "", count=2)).status is Status.OK
    assert file.read_bytes() == b"eins\r\n"


async def test_places_that_overlap_are_not_unique(desk: Desk, file: Path) -> None:
    """Which of them is meant nobody can say, whatever count says."""
    file.write_text("aaa")
    for count, said in ((1, "stands 2 times"), (2, "overlap")):
        outcome = await edit(desk, "aa", "b", count=count)
        assert said in outcome.text
    assert file.read_text() == "aaa"


async def test_an_edit_needs_a_read_in_this_turn_and_an_unchanged_file(desk: Desk, file: Path) -> None:
    """Neither another turn's read counts, nor one from before somebody else wrote."""
    outcome = await edit(desk, "eins", "one", read=False)
    assert outcome.text == "Not edited: a.txt was not read in this turn; read it first, then edit."
    await desk.use(ReadFileTool, "a.txt", turn="t0")
    assert (await edit(desk, "eins", "one", read=False)).status is Status.REFUSED
    await desk.use(ReadFileTool, "a.txt")
    file.write_text("eins, changed\n")
    outcome = await edit(desk, "eins", "one", read=False)
    assert "has changed since it was read in this turn" in outcome.text
    assert file.read_text() == "eins, changed\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "x", "old is empty"),
        ("eins", "eins", "old and new are the same"),
        (MASK, "x", "holds a mask"),
        ("eins", MASK, "holds a mask"),
        ("eins", "x" * 1025, "larger than one write may be (1024 bytes)"),
    ],
)
async def test_what_makes_no_sense_is_named(desk: Desk, file: Path, old: str, new: str, said: str) -> None:
    """And changes nothing."""
    before = file.read_bytes()
    outcome = await edit(desk, old, new)
    assert outcome.status is Status.REFUSED
    assert said in outcome.text
    assert file.read_bytes() == before


async def test_the_limit_counts_every_place(desk: Desk, file: Path) -> None:
    """A small text in many places is a large one."""
    assert "larger than one write" in (await edit(desk, "zwei", "x" * 513, count=2)).text


async def test_a_guess_does_not_tell_what_stands_under_a_mask(desk: Desk, file: Path) -> None:
    """A right and a wrong guess of a piece get the same answer, with and without a visible place beside it."""
    half = SECRET[:9]
    for old in (half, f"key: {half}", half[0:3]):
        answers = []
        for secret in (SECRET, "nothing"):
            file.write_text(f"key: {secret}\n")
            answers.append((await edit(desk, old, "x")).text)
        assert answers[0] == answers[1]
        assert "does not stand" in answers[0]
    file.write_text(f"key: {SECRET}\n{half}\n")
    assert (await edit(desk, half, "x")).status is Status.OK
    assert file.read_text() == f"key: {SECRET}\nx\n"


async def test_text_beside_a_secret_can_be_edited(desk: Desk, file: Path) -> None:
    """The secret stays as it is."""
    file.write_text(f"user: chief\nkey: {SECRET}\n")
    assert (await edit(desk, "chief", "deploy")).status is Status.OK
    assert file.read_text() == f"user: deploy\nkey: {SECRET}\n"


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe eins"])
async def test_what_is_no_text_is_not_edited(desk: Desk, file: Path, data: bytes) -> None:
    """Bytes that a model never saw as they are cannot be kept by it."""
    file.write_bytes(data)
    found = file.stat()
    desk.settings.seen.remember(TurnId("t1"), str(file), Stamp.of(found))
    outcome = await edit(desk, "a", "b", read=False)
    assert outcome.status is Status.REFUSED
    assert "text" in outcome.text
    assert file.read_bytes() == data


async def test_more_places_than_can_be_replaced_are_too_many(desk: Desk, file: Path) -> None:
    """The count ends there."""
    file.write_text("a\n" * (MAX_COUNT + 20))
    outcome = await edit(desk, "a\n", "b\n", count=MAX_COUNT)
    assert f"stands {MAX_COUNT + 1} times" in outcome.text


async def test_looking_under_masks_has_an_end(desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file full of secrets is not masked a million times."""
    monkeypatch.setattr("mtbot.tools.edit.MAX_LOOKS", 3)
    file.write_text(f"{SECRET}\n" * 4)
    assert "old stands in too many places" in (await edit(desk, "horse", "x")).text


async def test_a_file_that_is_too_large_is_not_edited(desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is held in memory as a whole."""
    monkeypatch.setattr("mtbot.tools.edit.MAX_EDITED", file.stat().st_size - 1)
    assert "too large to be held in memory" in (await edit(desk, "eins", "one")).text
    monkeypatch.setattr("mtbot.tools.edit.MAX_EDITED", file.stat().st_size)
    assert (await edit(desk, "eins", "one")).status is Status.OK


async def test_what_was_not_overwritten_after_all_is_not_kept(
    workspace: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write fails behind the copy: the trash is as it was. Nor is anything kept of what is only appended to."""
    trash = Trash(workspace.parent / "trash", lambda: 0)
    desk = Desk(workspace)
    desk.settings = FileSettings(desk.settings.roots, bin=Bin(trash, Limits()))

    def refuse(*_: object) -> None:
        raise PathRefused("has an owner that cannot be kept")

    with monkeypatch.context() as patch:
        patch.setattr("mtbot.tools.replacement.carry_over", refuse)
        assert (await edit(desk, "eins", "one")).status is Status.REFUSED
    assert (await desk.use(WriteFileTool, "a.txt", content="more\n", mode="append")).status is Status.OK
    assert trash.entries() == ()


async def test_the_old_version_goes_to_the_trash(workspace: Path, file: Path) -> None:
    """With the name of its entry in the answer and in the outcome; a refused edit leaves nothing there."""
    trash = Trash(workspace.parent / "trash", lambda: 0)
    desk = Desk(workspace)
    desk.settings = FileSettings(desk.settings.roots, bin=Bin(trash, Limits()))
    outcome = await edit(desk, "eins", "one")
    (entry,) = trash.entries()
    assert (outcome.undo, entry.call, entry.paths) == (entry.id, CallId("c1"), (str(file),))
    assert outcome.text.endswith(f"the old version is kept in the trash: {entry.id}")
    await edit(desk, "nothing", "one")
    assert trash.entries() == (entry,)

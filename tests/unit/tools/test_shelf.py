"""Received files: new ones only, in one directory of the workspace, never through a link."""

import asyncio
from pathlib import Path

import pytest

from mtbot.domain.received import FileRefused, Full
from mtbot.tools.shelf import WorkspaceShelf
from tests.unit.approvals.samples import PRIVATE


def shelf(workspace: Path, most: int = 1_000_000) -> WorkspaceShelf:
    """The shelf of one workspace."""
    return WorkspaceShelf(lambda _address: workspace, most)


async def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    """Nothing is ever written over; the directory is made at need."""
    assert await shelf(tmp_path).put(PRIVATE, "a.txt", b"one") == "inbox/a.txt"
    assert await shelf(tmp_path).put(PRIVATE, "a.txt", b"two") == "inbox/a-2.txt"
    (tmp_path / "inbox" / "a-3.txt").symlink_to("/nowhere")
    assert await shelf(tmp_path).put(PRIVATE, "a.txt", b"four") == "inbox/a-4.txt"
    assert [(tmp_path / "inbox" / name).read_bytes() for name in ("a.txt", "a-2.txt", "a-4.txt")] == [
        b"one",
        b"two",
        b"four",
    ]


async def test_a_directory_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """A command may have put it there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "inbox").symlink_to(outside)
    with pytest.raises(FileRefused, match="inbox in the workspace"):
        await shelf(workspace).put(PRIVATE, "a.txt", b"one")
    assert list(outside.iterdir()) == []


async def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """In words, with no path of the host."""
    (tmp_path / "inbox").write_text("a file")
    with pytest.raises(FileRefused) as refused:
        await shelf(tmp_path).put(PRIVATE, "a.txt", b"one")
    assert str(tmp_path) not in str(refused.value)


async def test_the_directory_holds_no_more_than_its_share(tmp_path: Path) -> None:
    """To the byte, however many come at once, also after a restart; what lies below it counts, what links lead to does not."""
    puts = [shelf(tmp_path, 40)]
    first = await asyncio.gather(*(puts[0].put(PRIVATE, "a", b"x" * 9) for _ in range(6)), return_exceptions=True)
    assert [str(one) for one in first if not isinstance(one, str)] == [str(Full(40))] * 2
    inbox = tmp_path / "inbox"
    assert sum(path.stat().st_size for path in inbox.iterdir()) == 36
    again = shelf(tmp_path, 40)
    assert await again.room(PRIVATE) == 4
    (inbox / "link").symlink_to("/")
    assert await again.room(PRIVATE) == 3
    assert await again.put(PRIVATE, "b", b"123") == "inbox/b"
    with pytest.raises(Full, match="would hold more than 40 bytes"):
        await again.put(PRIVATE, "c", b"1")
    for path in inbox.iterdir():
        path.unlink()
    (inbox / "d").mkdir()
    (inbox / "d" / "deep").write_bytes(b"x" * 30)
    assert await again.room(PRIVATE) <= 10


async def test_room_is_found_where_there_is_nothing_yet(tmp_path: Path) -> None:
    """And a place that is a link holds nothing of ours; to write there is refused."""
    assert await shelf(tmp_path / "none", 7).room(PRIVATE) == 7
    (tmp_path / "inbox").symlink_to("/usr")
    assert await shelf(tmp_path, 7).room(PRIVATE) == 7

"""Received files: new ones only, in one directory of the workspace, never through a link."""

from pathlib import Path

import pytest

from mtbot.domain.received import FileRefused
from mtbot.tools.shelf import WorkspaceShelf
from tests.unit.approvals.samples import PRIVATE


def shelf(workspace: Path) -> WorkspaceShelf:
    """The shelf of one workspace."""
    return WorkspaceShelf(lambda _address: workspace)


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

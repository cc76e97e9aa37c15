"""A workspace and, beside it, what nobody may touch."""

from pathlib import Path

import pytest

from tests.unit.tools.builders import Desk


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty directory that file tools may read and write."""
    place = tmp_path.resolve() / "ws"
    place.mkdir()
    return place


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the workspace with a file of its own."""
    place = tmp_path.resolve() / "outside"
    place.mkdir()
    (place / "notes.txt").write_text("not yours\n")
    return place


@pytest.fixture
def desk(workspace: Path) -> Desk:
    """The file tools of the workspace."""
    return Desk(workspace)

"""A database and a desk for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mtbot.bootstrap.stores import stores_of
from mtbot.storage.engine import Database
from mtbot.storage.place import SqlitePlace, sqlite_place
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import (
    REDACTOR,
    Clock,
    people,
)


@pytest.fixture
def place(tmp_path: Path) -> SqlitePlace:
    """Where the database lies."""
    return sqlite_place(tmp_path / "state" / "mtclaw.db")


@pytest.fixture
async def office(place: SqlitePlace) -> AsyncIterator[Office]:
    """An open database and a desk where anybody listed may decide."""
    db = await Database.open_for_writing(place)
    yield Office(db, stores_of(db, REDACTOR.mask), people(), Clock())
    await db.close()

"""Every store is tried on SQLite and on PostgreSQL; both are real."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from mtbot.storage.engine import Database
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace, sqlite_place
from tests.integration.storage import cluster

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[cluster.Cluster]:
    """A PostgreSQL server; what needs it is skipped by name where there is none."""
    lacking = cluster.lacking()
    if lacking:
        pytest.skip(lacking)
    running = cluster.start()
    yield running
    cluster.stop(running)


@pytest.fixture
def sqlite(tmp_path: Path) -> SqlitePlace:
    """Where a SQLite database may be made."""
    return sqlite_place(tmp_path / "state" / "mtclaw.db")


@pytest.fixture
def postgres_place(postgres: cluster.Cluster, tmp_path: Path) -> PostgresPlace:
    """An empty PostgreSQL database and a state directory."""
    return PostgresPlace(postgres.create(f"t{next(_numbers)}"), tmp_path / "state")


@pytest.fixture(params=["sqlite", "postgres_place"], ids=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """A place for a database of either kind."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, SqlitePlace | PostgresPlace)
    return found


@pytest.fixture
async def db(place: Place) -> AsyncIterator[Database]:
    """A fresh database of either kind."""
    database = await Database.open_for_writing(place)
    yield database
    await database.close()

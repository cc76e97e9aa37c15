"""Every store is tried on SQLite and on PostgreSQL; both are real."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine

from mtbot.storage import schema
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace, sqlite_place
from mtbot.storage.trail import Trail
from tests.integration.storage import cluster
from tests.integration.storage.samples import safe

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[cluster.Cluster]:
    """A PostgreSQL server; what needs it is skipped by name where there is none."""
    lacking = cluster.lacking()
    if lacking:
        pytest.skip(f"needs: {lacking}")
    running = cluster.start()
    yield running
    cluster.stop(running)


@pytest.fixture(scope="session")
def migrated(postgres: cluster.Cluster) -> str:
    """A database with our tables and nothing else, to be copied: that is faster than migrating for every test."""
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(postgres.create("migrated")))
    with engine.connect() as connection:
        schema.migrate(connection)
    engine.dispose()
    return "migrated"


@pytest.fixture
def sqlite(tmp_path: Path) -> SqlitePlace:
    """Where a SQLite database may be made."""
    return sqlite_place(tmp_path / "state" / "mtclaw.db")


@pytest.fixture
def postgres_blank(postgres: cluster.Cluster, tmp_path: Path) -> PostgresPlace:
    """An empty PostgreSQL database and a state directory."""
    return PostgresPlace(postgres.create(f"t{next(_numbers)}"), tmp_path / "state")


@pytest.fixture
def postgres_place(postgres: cluster.Cluster, migrated: str, tmp_path: Path) -> PostgresPlace:
    """A PostgreSQL database with our tables in it and a state directory."""
    return PostgresPlace(postgres.create(f"t{next(_numbers)}", migrated), tmp_path / "state")


def _place(request: pytest.FixtureRequest) -> Place:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, SqlitePlace | PostgresPlace)
    return found


@pytest.fixture(params=["sqlite", "postgres_place"], ids=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """A place for a database of either kind."""
    return _place(request)


@pytest.fixture(params=["sqlite", "postgres_blank"], ids=["sqlite", "postgres"])
def blank(request: pytest.FixtureRequest) -> Place:
    """The same, certainly without tables."""
    return _place(request)


@pytest.fixture
async def db(place: Place) -> AsyncIterator[Database]:
    """A fresh database of either kind."""
    database = await Database.open_for_writing(place)
    yield database
    await database.close()


@pytest.fixture
def chain(db: Database) -> Chain:
    """The chain of the database."""
    return Chain(db)


@pytest.fixture
def trail(db: Database, chain: Chain) -> Trail:
    """The record of the database."""
    return Trail(db, chain)


@pytest.fixture
def consents(db: Database, chain: Chain) -> ConsentStore:
    """The requests of the database."""
    return ConsentStore(db, chain, safe)

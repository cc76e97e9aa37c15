"""What only a server can do wrong, and what is told of it."""

from pathlib import Path

import psycopg

from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.place import PostgresPlace
from mtbot.storage.trail import Trail
from tests.integration.storage.cluster import Cluster
from tests.integration.storage.openings import refusal
from tests.integration.storage.samples import draft


class TestPostgres:
    """What only a server can do wrong."""

    async def test_a_server_that_is_not_there_is_said_without_the_password(self, tmp_path: Path) -> None:
        """One line."""
        place = PostgresPlace(f"postgresql://mtclaw:hunter2@/{'db'}?host={tmp_path}", tmp_path / "state")
        line = await refusal(place)
        assert line.startswith("the PostgreSQL database refused: connection")
        assert "hunter2" not in line + repr(place)

    async def test_a_connection_string_that_makes_no_sense_is_said_without_it(self, tmp_path: Path) -> None:
        """It may hold a password."""
        line = await refusal(PostgresPlace("host password=hunter2", tmp_path / "state"))
        assert line == "the PostgreSQL connection string cannot be read (see storage.dsn)"

    async def test_every_spelling_of_a_connection_string_works(self, postgres: Cluster, tmp_path: Path) -> None:
        """As libpq's words, as a URL, and as SQLAlchemy writes it, with options of its own."""
        postgres.create("spelling")
        url = f"//{postgres.user}@/spelling?host={postgres.directory}"
        for dsn in (
            postgres.dsn("spelling"),
            f"postgresql:{url}",
            f"postgresql+psycopg:{url}&connect_timeout=3&options=-c%20work_mem%3D4MB",
        ):
            db = await Database.open_for_writing(PostgresPlace(dsn, tmp_path / "state"))
            assert (await Trail(db, Chain(db)).verify()).whole
            await db.close()

    def test_what_a_host_keeps_lies_in_its_state_directory(self, tmp_path: Path) -> None:
        """There is no file of the database to lie beside."""
        place = PostgresPlace("dbname=x", tmp_path)
        names = [one.name for one in (place.lock, place.key, place.anchor) if one.parent == tmp_path]
        assert names == ["mtclaw.lock", "mtclaw.key", "mtclaw.anchor"]

    async def test_a_lost_connection_is_made_again(self, postgres_place: PostgresPlace, postgres: Cluster) -> None:
        """The server was restarted; the next piece of work goes through."""
        db = await Database.open_for_writing(postgres_place)
        trail = Trail(db, Chain(db))
        await trail.append(draft())
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mtclaw'"

        with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
            connection.execute(end)
        await trail.append(draft())
        assert (await trail.verify()).events == 2
        await db.close()

"""The schema: migrations equal the models, older databases come up with their rows, newer ones are left alone."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex
from sqlmodel import Session

from mtbot.domain.errors import SchemaError, StorageError
from mtbot.storage import schema
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace
from mtbot.storage.tables import Base
from mtbot.storage.trail import Trail
from tests.integration.storage.cluster import Cluster
from tests.integration.storage.samples import draft

ROOT = Path(__file__).parents[3]


async def set_revision(db: Database, revision: str) -> None:
    """Pretend that another version of mtclaw made this database."""
    change = text(f"UPDATE {schema.VERSION_TABLE} SET version_num = :revision").bindparams(revision=revision)
    await db.write(lambda session: session.connection().execute(change))


def described(connection: Connection) -> dict[str, object]:
    """Everything that a database says of our tables."""
    inspector = inspect(connection)
    return {
        name: (
            [(one["name"], str(one["type"]), one["nullable"]) for one in inspector.get_columns(name)],
            inspector.get_pk_constraint(name),
            sorted(inspector.get_foreign_keys(name), key=str),
            sorted(inspector.get_unique_constraints(name), key=str),
            sorted(_plain(one) for one in inspector.get_indexes(name)),
            sorted(inspector.get_check_constraints(name), key=str),
        )
        for name in Base.metadata.tables
    }


def _plain(index: ReflectedIndex) -> str:
    """An index as text; its condition is an object that equals only itself."""
    options = {key: str(value) for key, value in index.get("dialect_options", {}).items()}
    return f"{index['name']} {index['column_names']} {index['unique']} {sorted(options.items())}"


class TestModels:
    """Blank to head equals the models."""

    async def test_nothing_would_be_generated(self, db: Database) -> None:
        """Alembic itself finds no difference."""

        def differences(session: Session) -> list[object]:
            context = MigrationContext.configure(
                session.connection(), opts={"version_table": schema.VERSION_TABLE, "compare_type": True}
            )
            return list(compare_metadata(context, Base.metadata))

        assert await db.read(differences) == []

    async def test_what_alembic_does_not_compare_is_equal_too(
        self, db: Database, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        """Check constraints, conditions of indices, types and names, against tables made from the models."""
        engine: Engine
        if isinstance(db.place, SqlitePlace):
            engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
        else:
            cluster: Cluster = request.getfixturevalue("postgres")
            cluster.create("models")
            engine = create_engine(f"postgresql+psycopg://{cluster.user}@/models?host={cluster.directory}")
        with engine.connect() as connection:
            Base.metadata.create_all(connection)
            wanted = described(connection)
        engine.dispose()
        assert await db.read(lambda session: described(session.connection())) == wanted

    def test_the_tuple_of_revisions_is_alembics(self) -> None:
        """One line of descent, every number once, every file with one, and ours is the head."""
        config = Config()
        config.set_main_option("script_location", str(schema.migrations_directory()))
        script = ScriptDirectory.from_config(config)
        assert tuple(one.revision for one in script.walk_revisions())[::-1] == schema.REVISIONS
        assert tuple(script.get_heads()) == (schema.REVISIONS[-1],)
        named = sorted(one.name[:4] for one in (schema.migrations_directory() / "versions").glob("*.py"))
        assert tuple(named) == schema.REVISIONS


NEXT = "0999"
NEWEST = schema.REVISIONS[-1]
SECOND = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{NEWEST}"


def upgrade() -> None:
    with op.batch_alter_table("sessions") as table:
        table.add_column(sa.Column("title", sa.Text(), nullable=False, server_default=""))
"""


class TestVersions:
    """Older and newer."""

    @pytest.fixture
    def second(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program that is one revision further."""
        directory = tmp_path / "100% migrations"
        shutil.copytree(schema.migrations_directory(), directory)
        (directory / "versions" / f"{NEXT}_titles.py").write_text(SECOND)
        monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, NEXT))
        monkeypatch.setattr(schema, "migrations_directory", lambda: directory)

    async def test_an_older_database_comes_up_with_its_rows(
        self, place: Place, db: Database, request: pytest.FixtureRequest
    ) -> None:
        """Opening for writing migrates, the record stays whole."""
        await Trail(db, Chain(db)).append(draft(), draft())
        request.getfixturevalue("second")
        newer = await Database.open_for_writing(place)
        columns = await newer.read(lambda session: inspect(session.connection()).get_columns("sessions"))
        report = await Trail(newer, Chain(newer)).verify()
        await newer.close()
        reader = await Database.open_read_only(place)
        await reader.close()
        assert (newer.current, reader.current) == (True, True)
        assert "title" in {column["name"] for column in columns}
        assert (report.events, report.fault) == (2, None)

    async def test_an_older_database_is_read_as_it_is(
        self, place: Place, db: Database, request: pytest.FixtureRequest
    ) -> None:
        """A read-only command migrates nothing under a live gateway."""
        await Trail(db, Chain(db)).append(draft())
        request.getfixturevalue("second")
        reader = await Database.open_read_only(place)
        assert reader.current is False
        assert (await Trail(reader, Chain(reader)).head()).seq == 1
        columns = await reader.read(lambda session: inspect(session.connection()).get_columns("sessions"))
        with pytest.raises(StorageError, match="is of an older mtclaw") as caught:
            await reader.read(lambda session: session.connection().exec_driver_sql("SELECT title FROM sessions").all())
        await reader.close()
        assert "mtclaw db prune" in caught.value.hint
        assert "title" not in {column["name"] for column in columns}

    async def test_a_newer_database_is_left_alone(self, place: Place, db: Database) -> None:
        """Neither read nor written."""
        await set_revision(db, "9999")
        for opening in (Database.open_for_writing, Database.open_read_only):
            with pytest.raises(SchemaError, match="was written by a newer mtclaw"):
                await opening(place)
        await set_revision(db, NEWEST)

    async def test_a_migration_that_fails_leaves_everything_as_it_was(
        self, place: Place, db: Database, request: pytest.FixtureRequest
    ) -> None:
        """One transaction, also on SQLite."""
        request.getfixturevalue("second")
        (schema.migrations_directory() / "versions" / f"{NEXT}_titles.py").write_text(
            SECOND + '    op.execute("INSERT INTO nowhere VALUES (1)")\n'
        )
        with pytest.raises(StorageError):
            await Database.open_for_writing(place)
        columns = await db.read(lambda session: inspect(session.connection()).get_columns("sessions"))
        found = await db.read(
            lambda session: session.connection().exec_driver_sql(f"SELECT * FROM {schema.VERSION_TABLE}").scalar()
        )
        assert "title" not in {column["name"] for column in columns}
        assert found == NEWEST

    async def test_a_version_table_without_a_version_is_an_empty_database(self, place: Place, db: Database) -> None:
        """There is nothing to read in it."""
        await db.write(lambda session: session.connection().exec_driver_sql(f"DELETE FROM {schema.VERSION_TABLE}"))
        with pytest.raises(StorageError, match="no database yet"):
            await Database.open_read_only(place)

    async def test_a_version_that_cannot_be_read_is_an_error_and_no_empty_database(
        self, place: Place, db: Database
    ) -> None:
        """Nothing is migrated over a table that somebody changed."""
        rename = f"ALTER TABLE {schema.VERSION_TABLE} RENAME COLUMN version_num TO num"
        await db.write(lambda session: session.connection().exec_driver_sql(rename))
        with pytest.raises(StorageError, match="version_num"):
            await Database.open_read_only(place)

    async def test_first_starts_at_once_make_one_database(self, blank: Place) -> None:
        """A gateway and a prompt, started together on nothing: one schema, one key, one record."""
        opened = await asyncio.gather(*(Database.open_for_writing(blank) for _ in range(4)))
        for db in opened:
            await Trail(db, Chain(db)).append(draft())
        assert len({db.seal.fingerprint for db in opened}) == 1
        report = await Trail(opened[0], Chain(opened[0])).verify()
        for db in opened:
            await db.close()
        assert (report.events, report.fault) == (4, None)

    async def test_a_migration_of_another_host_is_waited_for(
        self, postgres: Cluster, postgres_blank: PostgresPlace
    ) -> None:
        """Two hosts that come up at once do not build the same tables side by side."""
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with psycopg.connect(postgres_blank.dsn, autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", (schema._ADVISORY_LOCK,))
            opening = asyncio.create_task(Database.open_for_writing(postgres_blank))
            while not opening.done() and other.execute(waiting).fetchone() != (1,):
                await asyncio.sleep(0)
            assert not opening.done()
            other.execute("SELECT pg_advisory_unlock_all()")
        db = await opening
        assert (await Trail(db, Chain(db)).verify()).whole
        await db.close()

    async def test_a_database_without_tables_is_filled(self, blank: Place) -> None:
        """On a server somebody else makes the database; a SQLite file may have been made by hand."""
        if isinstance(blank, SqlitePlace):
            blank.path.parent.mkdir()
            by_hand = sqlite3.connect(blank.path)
            by_hand.execute("CREATE TABLE x (y)")
            by_hand.execute("DROP TABLE x")
            by_hand.close()
        db = await Database.open_for_writing(blank)
        await Trail(db, Chain(db)).append(draft())
        await db.close()
        again = await Database.open_for_writing(blank, create=False)
        assert (await Trail(again, Chain(again)).verify()).events == 1
        await again.close()

    async def test_tables_of_others_beside_ours_are_fine_on_a_server(self, postgres: Cluster, tmp_path: Path) -> None:
        """A schema may be shared, unless the names clash."""
        place = PostgresPlace(postgres.create("shared"), tmp_path / "state")
        engine = create_engine(f"postgresql+psycopg://{postgres.user}@/shared?host={postgres.directory}")
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE others (id integer)")
        await (await Database.open_for_writing(place)).close()
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP TABLE {schema.VERSION_TABLE}")
        engine.dispose()
        with pytest.raises(SchemaError, match="holds tables that are not mtclaw's"):
            await Database.open_for_writing(place)


class TestWheel:
    """What is installed."""

    def test_an_installed_package_brings_its_migrations(self, tmp_path: Path) -> None:
        """Blank to head from the wheel alone, far from the source tree."""
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
        subprocess.run(build, cwd=ROOT, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (wheel,) = tmp_path.glob("*.whl")
        site = tmp_path / "site"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        code = (
            "import asyncio, sys\n"
            "from mtbot.storage import schema\n"
            "from mtbot.storage.engine import Database\n"
            "from mtbot.storage.place import sqlite_place\n"
            "async def main():\n"
            "    await (await Database.open_for_writing(sqlite_place('x.db'))).close()\n"
            "    await (await Database.open_read_only(sqlite_place('x.db'))).close()\n"
            "asyncio.run(main())\n"
            "print(schema.migrations_directory())\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={"PYTHONPATH": str(site)},
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
        )
        assert ran.stdout.strip() == str(site / "mtbot" / "_migrations")

    def test_an_installation_without_migrations_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line instead of Alembic's traceback."""
        monkeypatch.setattr(schema, "__file__", str(tmp_path / "mtbot" / "storage" / "schema.py"))
        with pytest.raises(SchemaError, match="lacks its migrations"):
            schema.migrations_directory()

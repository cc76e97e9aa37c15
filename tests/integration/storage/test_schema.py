"""The schema: migrations equal the models, older databases come up with their rows, newer ones are left alone."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex

from mtbot.domain.errors import SchemaError, StorageError
from mtbot.storage import schema
from mtbot.storage.chain import Chain
from mtbot.storage.connections import Mode, connect
from mtbot.storage.engine import Database
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace
from mtbot.storage.tables import Base
from mtbot.storage.trail import Trail
from tests.integration.storage.cluster import Cluster
from tests.integration.storage.samples import draft

ROOT = Path(__file__).parents[3]
_models = count(1)


async def set_revision(db: Database, revision: str) -> None:
    """Pretend that another version of mtclaw made this database."""
    change = text(f"UPDATE {schema.VERSION_TABLE} SET version_num = :revision").bindparams(revision=revision)
    await db.write(lambda session: session.connection().execute(change))


def described(connection: Connection) -> dict[str, object]:
    """Everything that a database says of its tables."""
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
        for name in inspector.get_table_names()
    }


def contents(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, Alembic's own among them."""
    return {
        name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]
        for name in sorted(inspect(connection).get_table_names())
    }


def _plain(index: ReflectedIndex) -> str:
    """An index as text; its condition is an object that equals only itself."""
    options = {key: str(value) for key, value in index.get("dialect_options", {}).items()}
    return f"{index['name']} {index['column_names']} {index['unique']} {sorted(options.items())}"


class TestModels:
    """Blank to head equals the models."""

    @pytest.fixture(params=["sqlite", "postgres"])
    def server(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
        """Makes empty databases of one kind."""
        made: list[Engine] = []

        def make() -> Engine:
            if request.param == "sqlite":
                path = tmp_path / f"{len(made)}.db"
                path.touch()
                made.append(connect(SqlitePlace(path), Mode.WRITING).durable)
            else:
                cluster: Cluster = request.getfixturevalue("postgres")
                place = PostgresPlace(cluster.create(f"models{next(_models)}"), tmp_path)
                made.append(connect(place, Mode.WRITING).durable)
            return made[-1]

        yield make
        for engine in made:
            engine.dispose()

    def test_nothing_would_be_generated(self, server: Callable[[], Engine]) -> None:
        """Alembic itself finds no difference between what its revisions made and the models."""
        with server().connect() as connection:
            schema.migrate(connection)
            context = MigrationContext.configure(
                connection, opts={"version_table": schema.VERSION_TABLE, "compare_type": True}
            )
            assert compare_metadata(context, Base.metadata) == []

    def test_a_new_database_is_what_the_migrations_make(self, server: Callable[[], Engine]) -> None:
        """What Alembic does not compare too: check constraints, conditions of indices, names, and the first rows."""
        with server().connect() as migrated, server().connect() as built:
            schema.migrate(migrated)
            schema.build(built)
            assert described(built) == described(migrated)
            assert contents(built) == contents(migrated)
            assert contents(built)[schema.VERSION_TABLE] == [(NEWEST,)]

    def test_building_leaves_alone_what_another_process_built(self, server: Callable[[], Engine]) -> None:
        """Whoever comes second finds the tables there and goes on with them."""
        with server().connect() as connection:
            schema.build(connection)
            schema.build(connection)
            assert schema.standing(connection) is schema.Standing.CURRENT

    def test_a_new_database_needs_neither_alembic_nor_the_other_server(self, tmp_path: Path) -> None:
        """They would cost the first start a third of a second, and the gateway megabytes for as long as it lives."""
        code = (
            "import asyncio, sys\n"
            "from mtbot.storage.engine import Database\n"
            "from mtbot.storage.place import sqlite_place\n"
            "asyncio.run(Database.open_for_writing(sqlite_place('x.db')))\n"
            "print({'alembic', 'sqlalchemy.dialects.postgresql'} & set(sys.modules))\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True
        )
        assert ran.stdout.strip() == "set()"

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
            "from sqlalchemy import create_engine\n"
            "from mtbot.storage import schema\n"
            "from mtbot.storage.engine import Database\n"
            "from mtbot.storage.place import sqlite_place\n"
            "async def main():\n"
            "    await (await Database.open_for_writing(sqlite_place('x.db'))).close()\n"
            "    await (await Database.open_read_only(sqlite_place('x.db'))).close()\n"
            "asyncio.run(main())\n"
            "engine = create_engine('sqlite:///y.db')\n"
            "with engine.connect() as connection: schema.migrate(connection)\n"
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

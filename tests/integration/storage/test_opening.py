"""Opening: created whole and private, checked, and refused in one line that says what to do."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mtbot.domain.errors import SchemaError, SealError, StateError, StorageError
from mtbot.domain.ids import BotName
from mtbot.storage import connections, files
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace, sqlite_place
from mtbot.storage.trail import Trail
from tests.integration.storage.cluster import Cluster
from tests.integration.storage.ordinary import open_directory, ordinary_user
from tests.integration.storage.samples import NOW, draft, update


@pytest.fixture
def no_umask() -> Iterator[None]:
    """The most careless umask, under which a mode that is not set shows."""
    before = os.umask(0)
    yield
    os.umask(before)


async def made(place: Place) -> None:
    """A database with something in it, closed again."""
    db = await Database.open_for_writing(place)
    await Trail(db, Chain(db)).append(*(draft(call=f"c{n}") for n in range(300)))
    await db.close()


async def refusal(place: Place, kind: type[StateError] = StorageError, *, create: bool = True) -> str:
    """The one line with which opening for writing is refused."""
    with pytest.raises(kind) as refused:
        await Database.open_for_writing(place, create=create)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def content(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(one.relative_to(directory)): one.read_bytes() for one in directory.rglob("*") if one.is_file()}


class TestCreate:
    """A new database."""

    @pytest.mark.usefixtures("no_umask")
    async def test_everything_is_private_whatever_the_umask(self, sqlite: SqlitePlace) -> None:
        """Database, log, shared memory, key, anchor 0600; new directories 0700."""
        deep = sqlite_place(sqlite.path.parent / "a" / "b" / "mtclaw.db")
        db = await Database.open_for_writing(deep)
        await Trail(db, Chain(db)).append(draft())
        modes = {one.name: one.stat().st_mode & 0o777 for one in deep.path.parent.iterdir()}
        await db.close()
        assert modes == {
            "mtclaw.db": 0o600,
            "mtclaw.db-wal": 0o600,
            "mtclaw.db-shm": 0o600,
            "mtclaw.db.key": 0o600,
            "mtclaw.db.anchor": 0o600,
        }
        for directory in (deep.path.parent, deep.path.parent.parent, sqlite.path.parent):
            assert directory.stat().st_mode & 0o777 == 0o700

    async def test_rights_of_an_existing_database_are_narrowed(self, sqlite: SqlitePlace) -> None:
        """A copy that everybody can read does not stay so."""
        await made(sqlite)
        sqlite.path.chmod(0o644)
        db = await Database.open_for_writing(sqlite)
        await db.close()
        assert sqlite.path.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("name", ["a#b.db", "a?mode=ro.db", "100%41.db", "a b&c.db", "ü.db"])
    async def test_a_path_is_taken_literally(self, tmp_path: Path, name: str) -> None:
        """Nothing in a file name is a parameter."""
        place = sqlite_place(tmp_path / name)
        await made(place)
        reader = await Database.open_read_only(place)
        assert len(await Trail(reader, Chain(reader)).page(limit=500)) == 300
        await reader.close()
        assert {one.name for one in tmp_path.iterdir()} >= {name, f"{name}.key", f"{name}.anchor"}
        assert place.lock == tmp_path / f"{name}.lock"

    async def test_an_empty_path_is_refused(self) -> None:
        """SQLite would take it for a database that vanishes at the end."""
        for path in ("", "  "):
            with pytest.raises(StorageError, match="is empty"):
                sqlite_place(path)

    async def test_two_names_of_one_file_are_one_place(self, tmp_path: Path) -> None:
        """Otherwise two gateways would hold two locks."""
        (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
        assert sqlite_place(tmp_path / "link.db") == sqlite_place(tmp_path / "real.db")

    async def test_a_crash_while_creating_leaves_nothing(
        self, sqlite: SqlitePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A database appears whole or not at all, so an empty file is always an accident."""

        def crash(_draft: Path, _path: Path) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files, "publish", crash)
        assert "no space is left" in await refusal(sqlite)
        monkeypatch.undo()
        assert [one.name for one in sqlite.path.parent.iterdir()] == ["mtclaw.db.key"]
        await made(sqlite)

    async def test_whoever_creates_second_opens_what_is_there(
        self, sqlite: SqlitePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two first starts at once make one database."""
        await made(sqlite)
        first = sqlite.path.read_bytes()
        kept = tmp_path / "kept.db"
        sqlite.path.rename(kept)
        publish = files.publish

        def slow(draft_: Path, path: Path) -> None:
            kept.rename(sqlite.path)
            publish(draft_, path)

        monkeypatch.setattr(files, "publish", slow)
        db = await Database.open_for_writing(sqlite)
        assert (await Trail(db, Chain(db)).head()).seq == 300
        await db.close()
        assert sqlite.path.read_bytes()[:100] == first[:100]

    async def test_a_file_system_without_hard_links_will_do(
        self, sqlite: SqlitePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Some container volumes have none."""

        def refuse(*_: object) -> None:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "link", refuse)
        await made(sqlite)
        assert sqlite.path.is_file()
        with pytest.raises(FileExistsError):
            files.publish(files.draft_beside(sqlite.path), sqlite.path)

    async def test_without_create_nothing_is_created(self, blank: Place) -> None:
        """`sessions rm` with a mistyped path makes no database."""
        place = blank
        if isinstance(place, SqlitePlace):
            assert await refusal(place, create=False) == (
                f"no database yet at {place.path}; run gateway or prompt first"
            )
            assert not place.path.parent.exists()
        else:
            assert "no database yet" in await refusal(place, create=False)


class TestReadOnly:
    """Looking."""

    async def test_a_missing_database_is_said_and_not_made(self, blank: Place) -> None:
        """Neither file nor table appears."""
        place = blank
        for _ in range(2):
            with pytest.raises(StorageError) as refused:
                await Database.open_read_only(place)
            assert str(refused.value) == f"no database yet at {place.label}; run gateway or prompt first"
        if isinstance(place, SqlitePlace):
            assert not place.path.parent.exists()

    async def test_a_reader_cannot_write(self, place: Place) -> None:
        """Neither through us nor past us."""
        await made(place)
        db = await Database.open_read_only(place)
        with pytest.raises(StorageError, match="for reading only"):
            await db.write(lambda session: None)
        with pytest.raises(StorageError):
            await db.read(lambda session: session.connection().exec_driver_sql("DELETE FROM exec_audit"))
        assert (await Trail(db, Chain(db)).verify()).events == 300
        await db.close()

    async def test_reading_changes_no_byte(self, sqlite: SqlitePlace) -> None:
        """Database, key and anchor stay as they are, and a reader leaves nothing new that matters."""
        await made(sqlite)
        before = content(sqlite.path.parent)
        db = await Database.open_read_only(sqlite)
        await Trail(db, Chain(db)).verify()
        await db.close()
        after = content(sqlite.path.parent)
        assert {name: after[name] for name in before} == before
        assert set(after) - set(before) <= {"mtclaw.db-wal", "mtclaw.db-shm"}

    async def test_a_reader_sees_what_a_writer_committed_and_does_not_wait_for_it(self, sqlite: SqlitePlace) -> None:
        """`approvals list` while the bot writes."""
        await made(sqlite)
        writer = sqlite3.connect(sqlite.path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM exec_audit")
        db = await Database.open_read_only(sqlite)
        assert (await Trail(db, Chain(db)).verify()).events == 300
        await db.close()
        writer.execute("ROLLBACK")
        writer.close()

    async def test_a_reader_needs_no_key(self, sqlite: SqlitePlace) -> None:
        """The record can be looked at without it; only what is sealed stays closed."""
        await made(sqlite)
        sqlite.key.unlink()
        db = await Database.open_read_only(sqlite)
        assert (await Trail(db, Chain(db)).head()).seq == 300
        with pytest.raises(SealError, match="is missing"):
            db.seal.fingerprint  # noqa: B018  asking is the test
        await db.close()

    async def test_a_directory_that_cannot_be_written_is_enough_for_reading(self) -> None:
        """Another account may look at the record, if it may read the file."""
        with open_directory() as directory:
            place = sqlite_place(directory / "mtclaw.db")
            await made(place)
            place.path.chmod(0o644)
            place.key.unlink()
            directory.chmod(0o555)
            with ordinary_user():
                db = await Database.open_read_only(place)
                head = await Trail(db, Chain(db)).head()
                await db.close()
            directory.chmod(0o755)
            assert head.seq == 300

    async def test_a_log_that_cannot_be_replayed_is_not_passed_over(self, sqlite: SqlitePlace) -> None:
        """Without it the record would look shorter than it is."""
        db = await Database.open_for_writing(sqlite)
        await Trail(db, Chain(db)).append(draft())
        with open_directory() as directory:
            for one in (sqlite.path, sqlite.path.with_name("mtclaw.db-wal")):
                shutil.copy(one, directory / one.name)
                (directory / one.name).chmod(0o644)
            directory.chmod(0o555)
            with ordinary_user(), pytest.raises(StorageError) as refused:
                await Database.open_read_only(sqlite_place(directory / "mtclaw.db"))
            directory.chmod(0o755)
        await db.close()
        assert str(refused.value).startswith(f"{directory} cannot be written")

    async def test_a_key_that_is_not_for_the_reader_does_not_stop_a_look(self, sqlite: SqlitePlace) -> None:
        """The record may be shown to another account; the sealed rows may not."""
        await made(sqlite)
        sqlite.key.chmod(0o644)
        db = await Database.open_read_only(sqlite)
        assert (await Trail(db, Chain(db)).head()).seq == 300
        with pytest.raises(SealError, match="can be read by others"):
            db.seal.fingerprint  # noqa: B018  asking is the test
        sqlite.key.chmod(0o600)
        assert db.seal.fingerprint
        await db.close()

    async def test_what_may_not_be_read_is_said(self) -> None:
        """With path, owner and right."""
        with open_directory() as directory:
            place = sqlite_place(directory / "mtclaw.db")
            await made(place)
            place.path.chmod(0)
            with ordinary_user() as uid, pytest.raises(StorageError) as refused:
                await Database.open_read_only(place)
            place.path.chmod(0o600)
            assert f"{place.path} cannot be read: Permission denied; it belongs to" in str(refused.value)
            assert f"chown {uid} {place.path}" in str(refused.value)


class TestDamaged:
    """Files that cannot be used stay as they are."""

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("empty", "it is empty (0 bytes)"),
            ("text", "it is not a SQLite database"),
            ("header", "is damaged"),
            ("truncated", "is damaged"),
            ("pages", "is damaged"),
            ("leaf", "is damaged: *** in database main ***"),
        ],
    )
    async def test_a_damaged_file_is_refused_and_not_touched(self, sqlite: SqlitePlace, name: str, says: str) -> None:
        """A bot that goes on with a broken record would look fine and write nothing."""
        await made(sqlite)
        data = bytearray(sqlite.path.read_bytes())
        match name:
            case "empty":
                data = bytearray()
            case "text":
                data = bytearray(b"not a database at all, but long enough for a header" * 100)
            case "header":
                data[16:20] = b"\x03\x03\x03\x03"
            case "truncated":
                del data[len(data) // 2 :]
            case "pages":
                for offset in range(4096, len(data), 4096):
                    data[offset : offset + 16] = b"\xff" * 16
            case _:
                # one page of rows, which only a look over all pages meets
                leaf = next(at for at in range(len(data) - 4096, 0, -4096) if data[at] == 0x0D)
                data[leaf + 8 : leaf + 12] = b"\xff" * 4
        sqlite.path.write_bytes(data)
        line = await refusal(sqlite)
        assert f"the database {sqlite.path} is damaged" in line
        assert says in line
        assert "nothing was changed" in line
        assert sqlite.path.read_bytes() == data

    async def test_a_directory_in_its_place_is_refused(self, sqlite: SqlitePlace) -> None:
        """Said as what it is."""
        sqlite.path.mkdir(parents=True)
        assert "is not a regular file" in await refusal(sqlite)

    async def test_a_file_in_the_place_of_its_directory_is_refused(self, tmp_path: Path) -> None:
        """The path cannot be reached."""
        (tmp_path / "state").write_text("x")
        assert "cannot be read: Not a directory" in await refusal(sqlite_place(tmp_path / "state" / "mtclaw.db"))
        assert "is not a directory" in await refusal(PostgresPlace("dbname=x", tmp_path / "state"))

    async def test_a_database_of_something_else_is_refused(self, sqlite: SqlitePlace) -> None:
        """Its tables are not ours to change."""
        sqlite.path.parent.mkdir()
        other = sqlite3.connect(sqlite.path)
        other.execute("CREATE TABLE sessions (id TEXT)")
        other.close()
        before = sqlite.path.read_bytes()
        assert "holds tables that are not mtclaw's" in await refusal(sqlite, SchemaError)
        with pytest.raises(SchemaError):
            await Database.open_read_only(sqlite)
        assert sqlite.path.read_bytes() == before

    async def test_a_place_that_cannot_keep_a_log_is_refused(
        self, sqlite: SqlitePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on a network share: without a write-ahead log readers would block the record."""
        await made(sqlite)
        holder = sqlite3.connect(sqlite.path)
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.close()
        connect = connections._sqlite_connection
        monkeypatch.setattr(connections, "_sqlite_connection", lambda uri: connect(f"{uri}&vfs=unix-none"))
        assert "where no write-ahead log can be kept (journal mode delete)" in await refusal(sqlite)


class TestRights:
    """What an ordinary user may not do is said with path, owner, right and remedy."""

    async def test_a_file_that_cannot_be_written(self) -> None:
        """A volume that belongs to root."""
        with open_directory() as directory:
            place = sqlite_place(directory / "mtclaw.db")
            await made(place)
            place.path.chmod(0o444)
            directory.chmod(0o777)
            with ordinary_user() as uid:
                line = await refusal(place)
            assert line.startswith(f"{place.path} cannot be written; it belongs to ")
            assert "(mode 0444), mtclaw runs as " in line
            assert f"mtclaw needs the right to write it: chown {uid} {place.path}" in line

    async def test_a_directory_that_cannot_be_written(self) -> None:
        """The log is made beside the database, so the directory counts."""
        with open_directory() as directory:
            place = sqlite_place(directory / "mtclaw.db")
            await made(place)
            place.path.chmod(0o666)
            directory.chmod(0o555)
            with ordinary_user() as uid:
                line = await refusal(place)
            directory.chmod(0o755)
            assert line.startswith(f"{directory} cannot be written; it belongs to ")
            assert f"chown {uid} {directory}" in line

    async def test_a_database_that_cannot_be_created(self) -> None:
        """Neither in a directory nor with a directory of its own; nor its key."""
        with open_directory() as directory:
            directory.chmod(0o555)
            with ordinary_user() as uid:
                new_directory = await refusal(sqlite_place(directory / "state" / "mtclaw.db"))
                new_key = await refusal(sqlite_place(directory / "mtclaw.db"), SealError)
            directory.chmod(0o755)
            place = sqlite_place(directory / "mtclaw.db")
            await made(place)
            place.path.unlink()
            place.key.chmod(0o400)
            if os.geteuid() == 0:
                os.chown(place.key, uid, -1)
            directory.chmod(0o555)
            with ordinary_user():
                new_database = await refusal(place)
            directory.chmod(0o755)
            assert new_directory.startswith(f"{directory} cannot be written")
            assert "mtclaw.db.key cannot be made: Permission denied" in new_key
            assert new_database.startswith(f"{directory} cannot be written")

    def test_a_user_without_a_name_is_a_number(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in a container that runs under an arbitrary uid; and a read-only disk is no matter of rights."""
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        denied = files.cannot_write(tmp_path, OSError(errno.EACCES, "Permission denied"))
        assert str(denied).endswith(
            f"mtclaw runs as uid 12345 (mtclaw needs the right to write it: chown 12345 {tmp_path})"
        )
        assert "read-only file system" in str(files.cannot_write(tmp_path, OSError(errno.EROFS, "x")))
        assert "no space is left" in str(files.cannot_write(tmp_path, OSError(errno.EDQUOT, "x")))
        gone = files.cannot_write(tmp_path / "gone", OSError(errno.EIO, "Input/output error"))
        assert "gone cannot be written (Input/output error); mtclaw runs as uid 12345" in str(gone)


class TestSealingKey:
    """Made once, never replaced while something is sealed with it."""

    async def sealed(self, place: Place) -> None:
        """A database with a message that waits."""
        db = await Database.open_for_writing(place)
        await InboxStore(db).store([update(5)], NOW)
        await db.close()

    async def test_the_same_key_opens_after_a_restart(self, place: Place) -> None:
        """What a crash left can be read."""
        await self.sealed(place)
        db = await Database.open_for_writing(place)
        assert await InboxStore(db).waiting(BotName("ops")) == (update(5),)
        await db.close()

    async def test_a_missing_key_is_said_and_not_replaced(self, place: Place) -> None:
        """One line, with the file and the way out."""
        await self.sealed(place)
        place.key.unlink()
        line = await refusal(place, SealError)
        assert line == (
            f"the key file {place.key} is missing; 1 rows of {place.label} wait to be opened with it "
            f"(put the right key back from a backup (or from the other host) to {place.key})"
        )
        assert not place.key.exists()

    async def test_another_key_is_refused(self, place: Place, tmp_path: Path) -> None:
        """It would open nothing."""
        await self.sealed(place)
        other = sqlite_place(tmp_path / "other" / "mtclaw.db")
        await made(other)
        shutil.copy(other.key, place.key)
        assert f"the key file {place.key} is not the one that sealed the data" in await refusal(place, SealError)

    async def test_a_lost_key_costs_nothing_when_nothing_is_sealed(self, sqlite: SqlitePlace) -> None:
        """Then a new one is made, and is the right one from then on."""
        await made(sqlite)
        sqlite.key.unlink()
        await self.sealed(sqlite)
        await self.sealed(sqlite)

    async def test_hosts_that_share_a_database_share_the_key(
        self, postgres_place: PostgresPlace, tmp_path: Path
    ) -> None:
        """A second host without it is refused even if nothing is sealed just now, and works with a copy."""
        await made(postgres_place)
        second = PostgresPlace(postgres_place.dsn, tmp_path / "second")
        assert "is missing" in await refusal(second, SealError)
        shutil.copy(postgres_place.key, second.key)
        await self.sealed(second)

    @pytest.mark.parametrize("damage", [b"", b"mtclaw-seal-1 abcd\n", b"mtclaw-seal-1 " + b"zz" * 32, b"x" * 78])
    async def test_a_damaged_key_is_refused(self, sqlite: SqlitePlace, damage: bytes) -> None:
        """And stays as it is, because it may be mended."""
        await self.sealed(sqlite)
        sqlite.key.write_bytes(damage)
        assert f"the key file {sqlite.key} is damaged" in await refusal(sqlite, SealError)
        assert sqlite.key.read_bytes() == damage

    async def test_a_key_that_others_can_read_is_refused(self, sqlite: SqlitePlace) -> None:
        """With the command that mends it."""
        await made(sqlite)
        sqlite.key.chmod(0o640)
        assert f"can be read by others (chmod 600 {sqlite.key})" in await refusal(sqlite, SealError)

    async def test_a_key_that_is_no_file_is_refused(self, sqlite: SqlitePlace) -> None:
        """Nor is a link followed."""
        await made(sqlite)
        sqlite.key.rename(sqlite.path.with_name("moved"))
        sqlite.key.symlink_to("moved")
        assert "cannot be opened" in await refusal(sqlite, SealError)
        sqlite.key.unlink()
        os.mkfifo(sqlite.key, 0o600)
        assert "is not a regular file" in await refusal(sqlite, SealError)

    async def test_a_new_database_takes_the_key_that_is_there(self, sqlite: SqlitePlace) -> None:
        """A database that was moved away keeps its key for the day it comes back."""
        await self.sealed(sqlite)
        moved = sqlite.path.with_name("moved.db")
        sqlite.path.rename(moved)
        await made(sqlite)
        sqlite.path.unlink()
        moved.rename(sqlite.path)
        await self.sealed(sqlite)


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

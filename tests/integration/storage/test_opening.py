"""Opening: created whole and private, or looked at without a trace."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.domain.errors import SealError, StorageError
from mtbot.storage import files
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.place import Place, SqlitePlace, sqlite_place
from mtbot.storage.trail import Trail
from tests.integration.storage.openings import made, refusal
from tests.integration.storage.ordinary import open_directory, ordinary_user
from tests.integration.storage.samples import draft


@pytest.fixture
def no_umask() -> Iterator[None]:
    """The most careless umask, under which a mode that is not set shows."""
    before = os.umask(0)
    yield
    os.umask(before)


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

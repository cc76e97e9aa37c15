"""Files that are damaged or may not be used: refused in one line that says what to do, and left as they are."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from mtbot.domain.errors import SchemaError, SealError
from mtbot.storage import connections, files
from mtbot.storage.engine import Database
from mtbot.storage.place import PostgresPlace, SqlitePlace, sqlite_place
from tests.integration.storage.openings import made, refusal
from tests.integration.storage.ordinary import open_directory, ordinary_user


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

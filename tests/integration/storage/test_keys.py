"""The sealing key of a database: made once, shared by hosts, never replaced while something is sealed with it."""

import asyncio
import os
import shutil
from pathlib import Path

import psycopg
import pytest

from mtbot.domain.errors import SealError
from mtbot.domain.ids import BotName
from mtbot.storage import opening
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace, sqlite_place
from mtbot.storage.seal import Seal, create_key, read_key
from tests.integration.storage.openings import made, refusal
from tests.integration.storage.samples import NOW, update


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

    async def test_two_hosts_that_start_at_once_agree_on_one_key(self, postgres_place: PostgresPlace) -> None:
        """Whoever is second waits for the first and takes what it noted."""
        postgres_place.state.mkdir()
        seal = create_key(postgres_place.key)
        blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
        with psycopg.connect(postgres_place.dsn) as first, psycopg.connect(postgres_place.dsn, autocommit=True) as look:
            first.execute("INSERT INTO marks VALUES ('seal', %s)", (seal.fingerprint,))
            opened = asyncio.create_task(Database.open_for_writing(postgres_place))
            while not opened.done() and look.execute(blocked).fetchone() != (1,):
                await asyncio.sleep(0)
            first.commit()
        db = await opened
        assert db.seal.fingerprint == seal.fingerprint
        await db.close()

    async def test_a_start_that_looked_before_the_key_was_made_finds_it(
        self, postgres_place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two processes of one host: the key and its mark come into being while the second is at it."""
        seen: list[Seal | None] = []

        def slow(path: Path) -> Seal | None:
            found = read_key(path)
            if not seen:
                seen.append(found)
                first = create_key(path)
                with psycopg.connect(postgres_place.dsn) as other:
                    other.execute("INSERT INTO marks VALUES ('seal', %s)", (first.fingerprint,))
            return found

        monkeypatch.setattr(opening, "read_key", slow)
        db = await Database.open_for_writing(postgres_place)
        assert seen == [None]
        assert db.seal.fingerprint == create_key(postgres_place.key).fingerprint
        await db.close()

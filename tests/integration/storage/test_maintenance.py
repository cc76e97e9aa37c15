"""Backups that can be put back, and tables that stay bounded without losing what is still needed."""

import sqlite3
import stat
from pathlib import Path

import pytest

from mtbot.bootstrap.stores import maintenance_of
from mtbot.domain.edits import Edited
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import ApprovalId, BotName, SessionId, TurnId, UserId
from mtbot.domain.jobs import RunEnd
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import CronStatus
from mtbot.domain.turn import Message, Role, Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.cron_runs import CronRunStore
from mtbot.storage.edits import EditStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.inbox import InboxStore
from mtbot.storage.maintenance import Removed
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.place import PostgresPlace, SqlitePlace, sqlite_place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    GROUP,
    MINUTE,
    NOW,
    PRIVATE,
    approval,
    asked,
    draft,
    no,
    question,
    reply,
    resolved,
    safe,
    turn_state,
    update,
)

LATER = NOW + 1000 * MINUTE


@pytest.fixture
async def lite(sqlite: SqlitePlace) -> Database:
    """A SQLite database with a few events and something sealed; closed by its test."""
    db = await Database.open_for_writing(sqlite)
    await Trail(db, Chain(db)).append(*(draft(call=f"c{n}") for n in range(3)))
    await InboxStore(db).store([update(5)], NOW)
    return db


class TestBackup:
    """A copy beside a working database."""

    async def test_a_copy_is_whole_private_and_one_file(self, lite: Database, tmp_path: Path) -> None:
        """Nobody else can read it, nothing lies beside it, and its head is the database's own."""
        target = tmp_path / "backup.db"
        report = await maintenance_of(lite).backup(target)
        head = await Trail(lite, Chain(lite)).head()
        await lite.close()
        assert (report.events, report.head, report.fault) == (3, head, None)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert [one.name for one in tmp_path.iterdir() if one.name != "state"] == ["backup.db"]

    async def test_a_copy_is_made_while_somebody_writes(self, lite: Database, tmp_path: Path) -> None:
        """The lock of a writer holds nothing up, and what he has not committed is not in it."""
        writer = sqlite3.connect(str(lite.place.label), isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE inbox SET update_id = 99")
        await maintenance_of(lite).backup(tmp_path / "backup.db")
        writer.close()
        await lite.close()
        copied = sqlite3.connect(tmp_path / "backup.db")
        assert copied.execute("SELECT update_id FROM inbox").fetchall() == [(5,)]
        copied.close()

    async def test_with_its_key_it_can_be_put_back(self, lite: Database, tmp_path: Path) -> None:
        """The sealed message opens again, and the record goes on behind its head."""
        await maintenance_of(lite).backup(tmp_path / "backup.db")
        key = lite.place.key.read_bytes()
        await lite.close()
        place = sqlite_place(tmp_path / "back" / "mtclaw.db")
        place.path.parent.mkdir(mode=0o700)
        (tmp_path / "backup.db").rename(place.path)
        place.key.write_bytes(key)
        place.key.chmod(0o600)
        db = await Database.open_for_writing(place)
        waiting = await InboxStore(db).waiting(BotName("ops"))
        (event,) = await Trail(db, Chain(db)).append(draft(call="c9"))
        await db.close()
        assert waiting == (update(5),)
        # the anchor that this host kept does not lie beside the copy, and that is on record
        assert event.seq == 5

    async def test_nothing_is_overwritten(self, lite: Database, tmp_path: Path) -> None:
        """Also no older backup."""
        target = tmp_path / "backup.db"
        target.write_text("precious")
        with pytest.raises(StorageError, match="exists already"):
            await maintenance_of(lite).backup(target)
        await lite.close()
        assert target.read_text() == "precious"

    async def test_a_directory_that_cannot_be_written_is_named(self, lite: Database, tmp_path: Path) -> None:
        """Nothing is left behind."""
        with pytest.raises(StorageError, match="nowhere"):
            await maintenance_of(lite).backup(tmp_path / "nowhere" / "backup.db")
        await lite.close()

    async def test_an_edited_record_is_no_backup(self, lite: Database, tmp_path: Path) -> None:
        """What does not verify is not kept as if it did."""
        writer = sqlite3.connect(str(lite.place.label))
        writer.execute("UPDATE exec_audit SET command = 'ls' WHERE seq = 2")
        writer.commit()
        writer.close()
        with pytest.raises(StorageError, match="the record is not whole: event 2"):
            await maintenance_of(lite).backup(tmp_path / "backup.db")
        await lite.close()
        assert not (tmp_path / "backup.db").exists()

    async def test_postgres_names_its_own_tool(self, postgres_place: PostgresPlace, tmp_path: Path) -> None:
        """One line."""
        db = await Database.open_for_writing(postgres_place)
        with pytest.raises(StorageError, match="pg_dump"):
            await maintenance_of(db).backup(tmp_path / "backup.db")
        with pytest.raises(StorageError, match="vacuumdb"):
            await maintenance_of(db).vacuum()
        await db.close()


class TestTidy:
    """Rows that nobody needs any more."""

    async def test_updates_that_were_acted_on_go_but_never_the_last(self, db: Database) -> None:
        """The last one says where to go on polling; one that waits is work to do."""
        inbox = InboxStore(db)
        await inbox.store([update(n) for n in (1, 2, 3)] + [update(7, bot="other")], NOW)
        for number in (1, 3):
            await inbox.done(BotName("ops"), number)
        await inbox.done(BotName("other"), 7)
        care = maintenance_of(db)
        assert await care.tidy(NOW, LATER) == Removed()
        assert await care.tidy(NOW + 1, LATER) == Removed(updates=1)
        assert await inbox.offset(BotName("ops")) == 3
        assert await inbox.offset(BotName("other")) == 7
        assert await inbox.waiting(BotName("ops")) == (update(2),)

    async def test_what_was_sent_goes_and_what_waits_stays(self, db: Database) -> None:
        """However old it is."""
        outbox = OutboxStore(db, safe)
        await outbox.put(reply("one"), reply("two"), now_ms=NOW)
        (first,) = await outbox.next(["group"], NOW)
        await outbox.claim(first.id)
        await outbox.sent(first.id, 9)
        assert await maintenance_of(db).tidy(LATER, LATER) == Removed(messages=1)
        assert [row.item.text for row in await outbox.next(["group"], NOW)] == ["two"]

    async def test_an_offer_of_an_edited_text_goes_with_time(self, db: Database) -> None:
        """Used or not: nobody goes back to it after weeks."""
        edits = EditStore(db)
        await edits.offer(Edited(GROUP, 6, UserId(1001), "two"), "t1", reply("Use it?"), NOW)
        care = maintenance_of(db)
        assert await care.tidy(NOW, LATER) == Removed()
        assert await care.tidy(LATER, LATER) == Removed(edits=1)

    async def test_a_decided_request_goes_when_its_turn_is_over(self, db: Database, consents: ConsentStore) -> None:
        """Not while it waits, not while its turn goes on."""
        care, name = maintenance_of(db), ApprovalId("K7QD")
        await consents.open(approval(), turn_state(), asked(), question())
        assert (await care.tidy(LATER, LATER)).requests == 0
        await consents.rule(name, no(), resolved())
        assert (await care.tidy(LATER, LATER)).requests == 0
        await HistoryStore(db).flush(TurnFlush(TurnId("t1"), GROUP, (), Usage(), ()), NOW)
        assert (await care.tidy(NOW, LATER)).requests == 0
        assert (await care.tidy(LATER, LATER)).requests == 1
        assert (await Trail(db, Chain(db)).verify()).events == 2

    async def test_of_a_job_the_last_run_stays(self, db: Database) -> None:
        """It says when the job ran."""
        runs = CronRunStore(db)
        for due in (1, 2, 3):
            await runs.claim("nightly", due, SessionId("cron:nightly"), NOW + due)
            await runs.finish(RunEnd(SessionId("cron:nightly"), CronStatus.OK), NOW + due)
        assert await maintenance_of(db).tidy(LATER, LATER) == Removed(job_runs=2)
        last = await runs.last("nightly")
        assert last is not None
        assert last.due_ms == 3

    async def test_a_conversation_that_nobody_goes_on_with_is_forgotten(
        self, db: Database, consents: ConsentStore
    ) -> None:
        """But not one in which a question is open."""
        history = HistoryStore(db)
        said = (Message(Role.USER, "hello"), Message(Role.ASSISTANT, "hi"))
        await history.flush(TurnFlush(TurnId("t2"), PRIVATE, said, Usage(), ()), NOW)
        await consents.open(approval(), turn_state(), asked(), question())
        care = maintenance_of(db)
        assert await care.forget(NOW, LATER) == Removed()
        assert await care.forget(LATER, LATER) == Removed(conversations=1)
        assert [one.id for one in await history.sessions()] == [GROUP.session]
        assert await history.load(PRIVATE.session, 10, 10_000) == ()


async def test_vacuum_gives_space_back(lite: Database) -> None:
    """The file is smaller afterwards, and whole."""
    inbox = InboxStore(lite)
    await inbox.store([update(n, "x" * 5000) for n in range(10, 300)], NOW)
    for number in range(10, 300):
        await inbox.done(BotName("ops"), number)
    await maintenance_of(lite).tidy(LATER, LATER)
    before, after = await maintenance_of(lite).vacuum()
    report = await Trail(lite, Chain(lite)).verify()
    await lite.close()
    assert after < before / 2
    assert report.whole

"""An open database at work: two connections in one thread, locks that are waited for, faults that are one line."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import Session

from mtbot.domain.errors import RecordUnavailable, StorageError
from mtbot.domain.ids import BotName, CallId
from mtbot.domain.record import EventKind
from mtbot.storage import connections, engine
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.place import SqlitePlace
from mtbot.storage.tables import LeaseRow, MarkRow, MessageRow
from mtbot.storage.trail import Trail
from mtbot.storage.writer import Writer
from tests.integration.storage.samples import NOW, draft, update

ROOT = Path(__file__).parents[3]


def setting(name: str, session: Session) -> object:
    """A setting of the connection under a session."""
    connection = session.connection()
    word = "PRAGMA" if connection.dialect.name == "sqlite" else "SHOW"
    return connection.exec_driver_sql(f"{word} {name}").scalar()


class TestConnections:
    """How they are set."""

    async def test_sqlite_is_durable_where_it_counts(self, sqlite: SqlitePlace) -> None:
        """FULL for the record, NORMAL for history; both with a log, foreign keys, and patience of five seconds."""
        db = await Database.open_for_writing(sqlite)
        names = ("synchronous", "journal_mode", "foreign_keys", "busy_timeout", "secure_delete", "trusted_schema")
        durable = await db.write(lambda session: [setting(name, session) for name in names])
        swift = await db.write(lambda session: [setting(name, session) for name in names], durable=False)
        reading = await db.read(lambda session: setting("synchronous", session))
        await db.close()
        assert durable == [2, "wal", 1, 5000, 1, 0]
        assert swift == [1, "wal", 1, 5000, 1, 0]
        assert reading == 1

    async def test_postgres_is_durable_where_it_counts(self, request: pytest.FixtureRequest) -> None:
        """The same two kinds of commit."""
        db = await Database.open_for_writing(request.getfixturevalue("postgres_place"))
        names = ("synchronous_commit", "lock_timeout", "transaction_isolation")
        durable = await db.write(lambda session: [setting(name, session) for name in names])
        swift = await db.write(lambda session: [setting(name, session) for name in names], durable=False)
        reading = await db.read(lambda session: setting("transaction_isolation", session))
        await db.close()
        assert durable == ["on", "5s", "read committed"]
        assert swift == ["off", "5s", "read committed"]
        assert reading == "repeatable read"

    async def test_all_work_is_done_in_one_thread_that_is_not_the_loops(self, db: Database) -> None:
        """SQLite connections belong to their thread, and the loop is never held up."""
        threads = {await db.write(lambda _: threading.get_ident()) for _ in range(3)}
        threads |= {await db.write(lambda _: threading.get_ident(), durable=False)}
        threads |= {await db.read(lambda _: threading.get_ident())}
        assert len(threads) == 1
        assert threading.get_ident() not in threads


class TestTransactions:
    """All or nothing."""

    async def test_what_is_raised_undoes_the_work(self, db: Database) -> None:
        """Errors on purpose pass as they are, and ``after`` is not called."""
        called: list[object] = []

        def work(session: Session) -> None:
            session.add(MarkRow(name="x", value="y"))
            session.flush()
            raise KeyError("on purpose")

        with pytest.raises(KeyError, match="on purpose"):
            await db.write(work, after=called.append)
        assert await db.read(lambda session: session.get(MarkRow, "x")) is None
        assert called == []

    async def test_after_gets_the_result_once_it_is_committed(self, sqlite: SqlitePlace) -> None:
        """The anchor is written then and not before."""
        db = await Database.open_for_writing(sqlite)
        seen: list[tuple[str, int]] = []

        def after(result: str) -> None:
            other = sqlite3.connect(sqlite.path)
            count = other.execute("SELECT count(*) FROM marks WHERE name = 'x'").fetchone()[0]
            other.close()
            seen.append((result, count))

        def work(session: Session) -> str:
            session.add(MarkRow(name="x", value="y"))
            return "result"

        assert await db.write(work, after=after) == "result"
        await db.close()
        assert seen == [("result", 1)]

    async def test_a_fault_names_the_database_and_no_value(self, db: Database) -> None:
        """What was being written may be a secret."""

        def work(session: Session) -> None:
            session.add(MarkRow(name="hunter2", value="a"))
            session.flush()
            session.connection().execute(text("INSERT INTO marks VALUES (:a, :b)").bindparams(a="hunter2", b="hunter2"))

        with pytest.raises(StorageError) as refused:
            await db.write(work)
        assert db.place.label in str(refused.value)
        told: BaseException | None = refused.value
        while told is not None:
            assert "hunter2" not in str(told)
            told = told.__cause__

    async def test_only_a_taken_key_counts_as_taken(self, db: Database) -> None:
        """Any other constraint is an error and not an answer."""
        first, second = (LeaseRow(session="s", holder=holder, until_ms=1) for holder in "ab")
        assert await db.write(lambda session: insert_if_new(session, first))
        assert not await db.write(lambda session: insert_if_new(session, second))
        orphan = MessageRow(session="none", seq=1, turn="t", role="user", content="x", created_ms=1)
        with pytest.raises(StorageError):
            await db.write(lambda session: insert_if_new(session, orphan))


class TestLocks:
    """Other processes."""

    async def test_a_lock_of_another_process_is_waited_for(self, sqlite: SqlitePlace) -> None:
        """A write that comes while somebody else writes goes through once they are done."""
        db = await Database.open_for_writing(sqlite)
        trail = Trail(db, Chain(db))
        holder = sqlite3.connect(sqlite.path, isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        append = asyncio.create_task(trail.append(draft()))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not append.done()
        await asyncio.to_thread(holder.execute, "COMMIT")
        (event,) = await append
        holder.close()
        await db.close()
        assert event.seq == 1

    async def test_a_lock_that_stays_is_an_error_and_nothing_is_recorded(
        self, sqlite: SqlitePlace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No record, no run; and the next try works."""
        monkeypatch.setattr(connections, "BUSY_S", 0.05)
        db = await Database.open_for_writing(sqlite)
        trail = Trail(db, Chain(db))
        holder = sqlite3.connect(sqlite.path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecordUnavailable, match=r"has been locked by another process for more than 0\.05 s"):
            await trail.append(draft())
        assert await trail.page() == ()
        holder.execute("COMMIT")
        holder.close()
        (event,) = await trail.append(draft())
        await db.close()
        assert event.seq == 1

    async def test_a_full_disk_refuses_and_recovers(self, sqlite: SqlitePlace) -> None:
        """Nothing is overwritten, the record stays whole, and room that is made is used."""
        db = await Database.open_for_writing(sqlite)
        trail = Trail(db, Chain(db))
        await trail.append(draft())

        async def allow(pages: int) -> None:
            await db.write(lambda session: session.connection().exec_driver_sql(f"PRAGMA max_page_count = {pages}"))

        await allow(1)
        batch = [draft(call=f"c{number}") for number in range(500)]
        with pytest.raises(RecordUnavailable, match=f"no space is left for {sqlite.path}"):
            await trail.append(*batch)
        head = await trail.head()
        assert (await trail.verify()).head == head
        await allow(10_000_000)
        (event,) = await trail.append(draft())
        assert event.seq == head.seq + 1
        assert (await trail.verify()).whole
        await db.close()


class TestWriter:
    """The thread."""

    async def test_work_is_done_in_order(self) -> None:
        """As it was queued."""
        writer = Writer("test")
        done: list[int] = []
        await asyncio.gather(*(writer.run(lambda n=n: done.append(n)) for n in range(50)))  # type: ignore[misc]  # default of a lambda
        writer.close()
        assert done == list(range(50))

    async def test_work_that_takes_too_long_is_an_error_and_still_finished(self) -> None:
        """Half a transaction would be worse than an unread answer."""
        writer = Writer("test")
        go = threading.Event()
        done: list[str] = []

        def slow() -> None:
            go.wait(5)
            done.append("slow")

        with pytest.raises(StorageError, match=r"no answer within 0\.01 s"):
            await writer.run(slow, 0.01)
        go.set()
        await writer.run(lambda: done.append("next"))
        writer.close()
        assert done == ["slow", "next"]

    async def test_work_that_has_not_begun_is_cancelled_with_its_caller(self) -> None:
        """A turn that was stopped does not write later."""
        writer = Writer("test")
        go = threading.Event()
        done: list[str] = []
        first = asyncio.create_task(writer.run(lambda: go.wait(5)))
        second = asyncio.create_task(writer.run(lambda: done.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go.set()
        assert await first
        await writer.run(lambda: done.append("third"))
        writer.close()
        assert done == ["third"]

    async def test_whatever_a_piece_of_work_raises_the_thread_lives_on(self) -> None:
        """Even SystemExit belongs to the waiter."""
        writer = Writer("test")

        def leave() -> None:
            raise SystemExit(3)

        with pytest.raises(SystemExit):
            await writer.run(leave)
        assert await writer.run(lambda: 5) == 5
        writer.close()

    async def test_a_closed_database_says_so(self, db: Database) -> None:
        """And does not wait for ever."""
        other = await Database.open_for_writing(db.place)
        await other.close()
        with pytest.raises(StorageError, match="is closed"):
            await other.read(lambda session: None)

    def test_a_deadline_leaves_room_for_a_lock(self) -> None:
        """Waiting for a lock ends before waiting for the thread does, within ten seconds."""
        assert connections.BUSY_S < engine.DEADLINE_S <= 10


CRASHER = """
import asyncio, sys
from pathlib import Path
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.place import sqlite_place
from mtbot.storage.trail import Trail
from mtbot.domain.record import EventKind
from tests.integration.storage.samples import NOW, draft, update

async def main():
    db = await Database.open_for_writing(sqlite_place(Path(sys.argv[1])))
    trail = Trail(db, Chain(db))
    await InboxStore(db).store([update(5)], NOW)
    for number in range(100000):
        event = await trail.start(draft(EventKind.STARTED, f"c{number}"), None)
        print(event.seq, flush=True)

asyncio.run(main())
"""


class TestCrash:
    """SIGKILL."""

    async def test_what_was_promised_is_there_after_a_kill(self, sqlite: SqlitePlace) -> None:
        """Every event whose append returned, whole; what ran is unfinished; the message waits; nothing is a gap."""
        child = subprocess.Popen(
            [sys.executable, "-c", CRASHER, str(sqlite.path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        promised = [int(child.stdout.readline()) for _ in range(25)]
        os.kill(child.pid, signal.SIGKILL)
        promised += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        db = await Database.open_for_writing(sqlite, create=False)
        trail = Trail(db, Chain(db))
        assert await trail.begin(NOW) is None
        report = await trail.verify()
        left = await trail.unfinished()
        waiting = await InboxStore(db).waiting(BotName("ops"))
        new = await InboxStore(db).store([update(5), update(6)], NOW)
        await db.close()
        assert report.fault is None
        assert report.head.seq in (promised[-1], promised[-1] + 1)
        assert [event.seq for event in left] == list(range(1, report.head.seq + 1))
        assert left[0].draft == draft(EventKind.STARTED, "c0")
        assert waiting == (update(5),)
        assert new == (update(6),)

    async def test_an_open_of_a_crashed_database_by_a_reader_recovers_the_log_only(self, sqlite: SqlitePlace) -> None:
        """The record can be read before the gateway is started again."""
        child = subprocess.Popen(
            [sys.executable, "-c", CRASHER, str(sqlite.path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(3):
            child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        db = await Database.open_read_only(sqlite)
        trail = Trail(db, Chain(db))
        assert (await trail.verify()).whole
        assert len(await trail.trail_of(CallId("c2"))) == 1
        await db.close()


class TestCost:
    """What the command line pays."""

    @pytest.mark.parametrize("module", ["alembic", "psycopg", "nacl"])
    def test_opening_and_reading_import_only_what_they_need(self, sqlite: SqlitePlace, module: str) -> None:
        """Alembic costs a quarter of a second, psycopg a tenth."""
        code = (
            "import asyncio, sys\n"
            "from mtbot.storage.engine import Database\n"
            "from mtbot.storage.place import sqlite_place\n"
            "from mtbot.storage.chain import Chain\n"
            "from mtbot.storage.trail import Trail\n"
            "async def main():\n"
            "    db = await Database.open_read_only(sqlite_place(sys.argv[1]))\n"
            "    await Trail(db, Chain(db)).page()\n"
            "    await db.close()\n"
            "asyncio.run(main())\n"
            "assert sys.argv[2] not in sys.modules, sys.argv[2]\n"
        )

        async def make() -> None:
            await (await Database.open_for_writing(sqlite)).close()

        asyncio.run(make())
        subprocess.run([sys.executable, "-c", code, str(sqlite.path), module], cwd=ROOT, check=True, timeout=30)

"""Statements that go to the driver as they are: the same answers and the same faults as any other."""

import psycopg
import pytest
from sqlmodel import Session, bindparam, col, insert, select

from mtbot.domain.errors import RecordUnavailable, StorageError
from mtbot.storage.chain import Chain, Pen
from mtbot.storage.engine import Database
from mtbot.storage.place import PostgresPlace
from mtbot.storage.tables import MarkRow
from mtbot.storage.trail import Trail
from mtbot.storage.wire import Prepared, Wire
from tests.integration.storage.cluster import Cluster
from tests.integration.storage.samples import NOW, draft

ADD = Prepared(insert(MarkRow), "name", "value")
FIND = Prepared(select(col(MarkRow.name), col(MarkRow.value)).where(col(MarkRow.name) == bindparam("wanted")))


def nothing(_: object) -> None:
    """There is nothing to do after a commit."""


async def find(db: Database, name: str) -> object:
    """The mark of that name."""
    return await db.transact(lambda wire: wire.run(FIND, {"wanted": name}), nothing)


class TestWire:
    """On SQLite and on PostgreSQL."""

    async def test_gives_the_first_row_or_none(self, db: Database) -> None:
        """A statement without rows has none either."""

        def work(wire: Wire) -> list[object]:
            return [
                wire.run(ADD, {"name": "one", "value": "1"}),
                wire.run(FIND, {"wanted": "one"}),
                wire.run(FIND, {"wanted": "two"}),
            ]

        assert await db.transact(work, nothing) == [None, ("one", "1"), None]

    async def test_a_fault_undoes_the_transaction_and_keeps_the_values_to_itself(self, db: Database) -> None:
        """The second row has the name of the first."""

        def work(wire: Wire) -> None:
            wire.run(ADD, {"name": "hunter2", "value": "1"})
            wire.run(ADD, {"name": "hunter2", "value": "2"})

        with pytest.raises(StorageError) as caught:
            await db.transact(work, nothing)
        assert "refused" in str(caught.value)
        assert "hunter2" not in str(caught.value)
        assert await find(db, "hunter2") is None

    async def test_what_is_raised_on_purpose_undoes_it_too(self, db: Database) -> None:
        """And what was to follow a commit does not."""

        def work(wire: Wire) -> None:
            wire.run(ADD, {"name": "one", "value": "1"})
            raise LookupError

        followed: list[object] = []
        with pytest.raises(LookupError):
            await db.transact(work, followed.append)
        assert (await find(db, "one"), followed) == (None, [])

    async def test_a_number_that_no_database_holds_is_told(self, db: Database) -> None:
        """The next event has the place."""
        chain = Chain(db)
        with pytest.raises(RecordUnavailable):
            await chain.commit_swiftly(NOW, lambda _wire, pen: pen.append(draft(at_ms=2**70)))
        (event,) = await Trail(db, chain).append(draft())
        assert event.seq == 1

    async def test_a_session_and_the_pen_share_the_transaction(self, db: Database) -> None:
        """Both or neither."""
        chain = Chain(db)

        def fails(session: Session, pen: Pen) -> None:
            works(session, pen)
            raise LookupError

        def works(session: Session, pen: Pen) -> None:
            session.add(MarkRow(name="one", value="1"))
            pen.append(draft())

        with pytest.raises(LookupError):
            await chain.commit(NOW, fails)
        assert (await find(db, "one"), (await Trail(db, chain).verify()).events) == (None, 0)
        await chain.commit(NOW, works)
        assert (await find(db, "one"), (await Trail(db, chain).verify()).events) == (("one", "1"), 1)


async def test_a_connection_lost_within_a_transaction_is_made_again(
    postgres_place: PostgresPlace, postgres: Cluster
) -> None:
    """The event is refused, and the next one is written."""
    db = await Database.open_for_writing(postgres_place)
    chain = Chain(db)

    def work(_wire: Wire, pen: Pen) -> None:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mtclaw'"
        with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as other:
            other.execute(end)
        pen.append(draft())

    with pytest.raises(RecordUnavailable):
        await chain.commit_swiftly(NOW, work)
    await chain.commit_swiftly(NOW, lambda _wire, pen: pen.append(draft()))
    assert (await Trail(db, chain).verify()).events == 1
    await db.close()

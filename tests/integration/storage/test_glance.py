"""A glance at the record: the same answers as from the store, or none at all."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from mtbot.domain.errors import StorageError
from mtbot.domain.ids import CallId, ChatId
from mtbot.domain.record import EventKind, Word
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.events import EventFilter
from mtbot.storage.glance import Glance
from mtbot.storage.place import PostgresPlace, SqlitePlace
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import NOW, PRIVATE, draft, end, resolved


@pytest.fixture
async def kept(sqlite: SqlitePlace) -> AsyncIterator[Trail]:
    """A record with a few events."""
    db = await Database.open_for_writing(sqlite)
    trail = Trail(db, Chain(db))
    await trail.append(
        draft(call="a", at_ms=NOW),
        draft(call="b", at_ms=NOW + 1, address=PRIVATE),
        replace(resolved(at_ms=NOW + 2), word=Word.DENIED_USER),
        end("a"),
    )
    yield trail
    await db.close()


def look(place: SqlitePlace) -> Glance:
    """A glance that must be possible."""
    found = Glance.open(place)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "which",
    [
        EventFilter(),
        EventFilter(chat=ChatId(1001), kind=EventKind.PROPOSED),
        EventFilter(chat=ChatId(1001)),
        EventFilter(since_ms=NOW + 1, until_ms=NOW + 2),
        EventFilter(since_ms=NOW + 1_000_000),
    ],
    ids=str,
)
async def test_sees_what_the_store_sees(sqlite: SqlitePlace, kept: Trail, which: EventFilter) -> None:
    """Every filter, and the calls."""
    glance = look(sqlite)
    assert glance.page(which, before=4, limit=2) == await kept.page(which, before=4, limit=2)
    assert glance.page(which, before=None, limit=9) == await kept.page(which, limit=9)
    calls = [CallId("a"), CallId("none"), CallId("b")]
    assert glance.trails_of(calls) == await kept.trails_of(calls)
    glance.close()


async def test_waits_for_no_writer(sqlite: SqlitePlace, kept: Trail) -> None:
    """It sees what was committed."""
    del kept
    writer = sqlite3.connect(sqlite.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM exec_audit")
    assert len(look(sqlite).page(EventFilter(), before=None, limit=9)) == 4
    writer.execute("ROLLBACK")
    writer.close()


async def test_changes_nothing(sqlite: SqlitePlace, kept: Trail) -> None:
    """The connection cannot write."""
    del kept
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        look(sqlite)._connection.execute("DELETE FROM exec_audit")


async def test_a_word_that_is_none_of_ours_is_told(sqlite: SqlitePlace, kept: Trail) -> None:
    """As the store tells it."""
    del kept
    other = sqlite3.connect(sqlite.path, isolation_level=None)
    other.execute("PRAGMA ignore_check_constraints = ON")
    other.execute("UPDATE exec_audit SET via = 'pigeon' WHERE seq = 2")
    other.close()
    with pytest.raises(StorageError, match=r"event 2 cannot be read: .* \(see mtclaw audit verify\)"):
        look(sqlite).page(EventFilter(), before=None, limit=9)


async def test_what_needs_an_explanation_is_left_to_the_engine(sqlite: SqlitePlace, kept: Trail) -> None:
    """Another schema, a damaged file, a missing one, a server."""
    del kept
    other = sqlite3.connect(sqlite.path, isolation_level=None)
    other.execute("UPDATE mtclaw_schema SET version_num = '9999'")
    assert Glance.open(sqlite) is None
    other.execute("DROP TABLE mtclaw_schema")
    other.close()
    assert Glance.open(sqlite) is None
    sqlite.path.write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    assert Glance.open(sqlite) is None
    sqlite.path.unlink()
    assert Glance.open(sqlite) is None
    assert Glance.open(PostgresPlace("dbname=x", sqlite.path.parent)) is None

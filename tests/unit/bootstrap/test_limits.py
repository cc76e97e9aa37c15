"""What an earlier process did within the hour counts, whosever it was and however much."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.bootstrap.limits import recall_questions
from mtbot.bootstrap.stores import stores_of
from mtbot.domain.ids import UserId
from mtbot.domain.record import EventKind
from mtbot.policy.limits import HOUR_MS, HourlyLimit
from mtbot.storage import events
from mtbot.storage.engine import Database
from mtbot.storage.place import sqlite_place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import MINUTE, NOW, draft, safe

CHIEF, DEPLOY = UserId(1001), UserId(1002)


@pytest.fixture
async def trail(tmp_path: Path) -> AsyncIterator[Trail]:
    """A record with three questions for one person's turns and some of nobody's, two of them unreadable."""
    db = await Database.open_for_writing(sqlite_place(tmp_path / "state" / "mtclaw.db"))
    found = stores_of(db, safe).trail
    asked = replace(draft(EventKind.APPROVAL_REQUESTED), requester="telegram:1001")
    await found.append(
        replace(asked, at_ms=NOW - HOUR_MS),
        replace(asked, at_ms=NOW - 50 * MINUTE),
        replace(asked, at_ms=NOW - 40 * MINUTE),
        replace(asked, at_ms=NOW - 30 * MINUTE, requester="local:1002"),
        replace(asked, at_ms=NOW - 30 * MINUTE, requester="system:0"),
        replace(asked, at_ms=NOW - 30 * MINUTE, requester="telegram:"),
        replace(asked, at_ms=NOW - 30 * MINUTE, requester="telegram:somebody"),
        replace(asked, at_ms=NOW - 30 * MINUTE, kind=EventKind.APPROVAL_RESOLVED),
    )
    yield found
    await db.close()


@pytest.mark.parametrize("chunk", [1, 500])
async def test_the_questions_of_the_last_hour_count(trail: Trail, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """Each for the person whose turn put it, at its own moment; one that is an hour old is over."""
    monkeypatch.setattr(events, "CHUNK", chunk)
    for most, free in ((1, NOW + 20 * MINUTE), (2, NOW + 10 * MINUTE), (3, None)):
        limit = HourlyLimit(most)
        await recall_questions(limit, trail, NOW)
        assert (limit.free_at(CHIEF, NOW), limit.free_at(DEPLOY, NOW)) == (free, None)


async def test_without_a_limit_nothing_is_read(trail: Trail, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that needs nothing asks for nothing."""
    monkeypatch.setattr(trail, "page", None)
    await recall_questions(HourlyLimit(0), trail, NOW)

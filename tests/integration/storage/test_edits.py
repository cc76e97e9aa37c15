"""Offers of edited texts on both databases: sealed, one open for a message, each used by one press."""

from dataclasses import replace

import pytest
from sqlmodel import select

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.edits import Edited
from mtbot.domain.ids import ChatId, UserId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.storage.edits import EditStore
from mtbot.storage.engine import Database
from mtbot.storage.tables import EditRow, OutboxTable
from tests.integration.storage.samples import GROUP, NOW, safe

EDITED = Edited(GROUP, 6, UserId(1001), "a text that nobody should read on disk")
ITEM = OutboxItem(OutKind.NOTICE, GROUP, text=safe("Use the edited text?"))


@pytest.fixture
def edits(db: Database) -> EditStore:
    """The store."""
    return stores_of(db, safe).edits


async def queued(db: Database) -> int:
    """How many offers were queued to be said."""
    return await db.read(lambda session: len(session.exec(select(OutboxTable.id)).all()))


async def test_a_text_is_kept_sealed_under_its_token(db: Database, edits: EditStore) -> None:
    """And comes back whole, used or not."""
    assert await edits.offer(EDITED, "t1", ITEM, NOW)
    assert await edits.look("t1") == EDITED
    box = await db.read(lambda session: session.get_one(EditRow, "t1").sealed)
    assert EDITED.text.encode() not in box
    assert await edits.use("t1", 9)
    assert await edits.look("t1") == EDITED
    assert await edits.look("t2") is None


async def test_a_message_has_one_open_offer(db: Database, edits: EditStore) -> None:
    """Another edit changes its text; after its use there may be another; other messages have their own."""
    later = replace(EDITED, text="later")
    assert await edits.offer(EDITED, "t1", ITEM, NOW)
    assert not await edits.offer(later, "t2", ITEM, NOW)
    assert await edits.look("t1") == later
    assert await edits.look("t2") is None
    assert await edits.use("t1", 9)
    assert await edits.offer(later, "t3", ITEM, NOW)
    for number, other in enumerate((replace(EDITED, message=7), replace(EDITED, author=UserId(1002)))):
        assert await edits.offer(other, f"o{number}", ITEM, NOW)
    elsewhere = replace(EDITED, address=replace(GROUP, chat=ChatId(-5)))
    assert await edits.offer(elsewhere, "e", ITEM, NOW)
    assert await queued(db) == 5


async def test_one_press_uses_it(edits: EditStore) -> None:
    """The same press asked again gets the same answer, another one none, unless the first gave it back."""
    assert await edits.offer(EDITED, "t1", ITEM, NOW)
    assert await edits.use("t1", 9)
    assert await edits.use("t1", 9)
    assert not await edits.use("t1", 10)
    await edits.release("t1", 10)
    assert not await edits.use("t1", 10)
    await edits.release("t1", 9)
    assert await edits.use("t1", 10)
    assert not await edits.use("nothing", 1)

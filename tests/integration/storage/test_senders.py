"""Who was ignored lately, on both databases."""

import pytest

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.ids import BotName, ChatId, UserId
from mtbot.domain.senders import Sender
from mtbot.storage.engine import Database
from mtbot.storage.senders import SenderStore
from mtbot.storage.tables import MarkRow
from tests.integration.storage.samples import NOW, safe

ONE = Sender(BotName("ops"), UserId(2**51), ChatId(-1001112223334), "12345678", "not_listed", 1, NOW)


@pytest.fixture
def senders(db: Database) -> SenderStore:
    """The store."""
    return stores_of(db, safe).senders


async def test_they_add_up_over_writings(senders: SenderStore) -> None:
    """And come back as they were."""
    assert await senders.all() == ()
    await senders.add([ONE])
    assert await senders.all() == (ONE,)
    await senders.add([ONE, ONE])
    assert [one.times for one in await senders.all()] == [3]


async def test_what_makes_no_sense_is_begun_anew(db: Database, senders: SenderStore) -> None:
    """Nothing hangs on it."""
    await db.write(lambda session: session.add(MarkRow(name="senders", value="[[1]]")))
    assert await senders.all() == ()
    await senders.add([ONE])
    assert await senders.all() == (ONE,)

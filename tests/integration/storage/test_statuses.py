"""Status messages that stand in chats, over real databases."""

from dataclasses import replace

from mtbot.domain.ids import BotName
from mtbot.storage.engine import Database
from mtbot.storage.statuses import StatusStore
from tests.integration.storage.samples import GROUP, PRIVATE


async def test_what_stands_is_known_until_it_is_gone(db: Database) -> None:
    """By bot; noting the same one twice is no fault, nor is forgetting one that nobody noted."""
    store = StatusStore(db)
    other = replace(PRIVATE, bot=BotName("another"))
    for place, message in ((GROUP, 7), (PRIVATE, 3), (PRIVATE, 3), (other, 3)):
        await store.stands(place, message)
    assert await store.left([PRIVATE.bot]) == ((PRIVATE, 3), (GROUP, 7))
    await store.gone(PRIVATE, 3)
    await store.gone(PRIVATE, 3)
    assert await store.left([PRIVATE.bot]) == ((GROUP, 7),)
    assert await store.left([BotName("another"), PRIVATE.bot]) == ((other, 3), (GROUP, 7))
    assert await store.left([]) == ()

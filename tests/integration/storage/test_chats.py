"""What is remembered of chats, on both databases."""

import pytest
from sqlmodel import select

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import ApprovalId, BotName, ChatId
from mtbot.domain.record import ApprovalState, OutboxItem, OutKind, Word
from mtbot.storage.chats import ChatStore
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.tables import MarkRow, OutboxTable
from tests.integration.storage.samples import (
    GROUP,
    NOW,
    PRIVATE,
    approval,
    asked,
    no,
    question,
    resolved,
    safe,
    turn_state,
)

OPS = BotName("ops")
NEW = ChatId(-1009998887776)
ITEM = OutboxItem(OutKind.NOTICE, PRIVATE, text=safe("It moved."))


@pytest.fixture
def chats(db: Database) -> ChatStore:
    """The store."""
    return stores_of(db, safe).chats


async def kinds(db: Database) -> list[str]:
    """What was queued to be said, by kind."""
    statement = select(OutboxTable.kind).order_by(OutboxTable.id)  # type: ignore[arg-type]  # a column in a query
    return await db.read(lambda session: list(session.exec(statement).all()))


async def test_a_move_is_remembered_once(chats: ChatStore) -> None:
    """By bot and old id; a bot's name may hold anything."""
    assert await chats.moves() == {}
    assert await chats.moved(OPS, GROUP.chat, NEW, NOW)
    assert not await chats.moved(OPS, GROUP.chat, NEW, NOW)
    assert await chats.moved(BotName("a:b%_"), ChatId(-7), ChatId(-8), NOW)
    assert await chats.moves() == {(OPS, GROUP.chat): NEW, (BotName("a:b%_"), ChatId(-7)): ChatId(-8)}


async def test_open_questions_that_were_shown_there_are_asked_again(
    db: Database, chats: ChatStore, consents: ConsentStore
) -> None:
    """Not those that are decided, still to be sent, or asked elsewhere; no message of the old chat is edited any more."""
    for name, call in (("AAAA", "c1"), ("BBBB", "c2"), ("CCCC", "c3")):
        turn = f"t{call}"
        await consents.open(approval(name, call, turn), turn_state(turn), asked(name, call), question(name))
    for name in ("AAAA", "BBBB"):
        await consents.shown(ApprovalId(name), 9)
    await consents.rule(ApprovalId("BBBB"), no(), resolved("BBBB", "c2", Word.DENIED_USER))
    assert await kinds(db) == ["card"] * 3
    assert await chats.moved(OPS, GROUP.chat, NEW, NOW)
    assert await kinds(db) == ["card"] * 4
    rows = [await consents.get(ApprovalId(name)) for name in ("AAAA", "BBBB", "CCCC")]
    assert [row.message for row in rows] == [None] * 3
    assert [row.state for row in rows] == [ApprovalState.PENDING, ApprovalState.DENIED, ApprovalState.PENDING]


async def test_something_is_told_once_until_it_is_over(db: Database, chats: ChatStore) -> None:
    """The notice is queued with the mark; other chats have their own."""
    assert await chats.tell_once(OPS, GROUP.chat, ITEM, NOW)
    assert not await chats.tell_once(OPS, GROUP.chat, ITEM, NOW)
    assert await chats.tell_once(OPS, NEW, ITEM, NOW)
    await chats.forget(OPS, GROUP.chat)
    assert await chats.tell_once(OPS, GROUP.chat, ITEM, NOW)
    assert await kinds(db) == ["notice"] * 3


async def test_a_mark_that_was_spoilt_is_named(db: Database, chats: ChatStore) -> None:
    """It is not passed over, because rights hang on it."""
    await db.write(lambda session: session.add(MarkRow(name="moved:ops:-5", value="x")))
    with pytest.raises(StorageError, match="the mark moved:ops:-5 cannot be read"):
        await chats.moves()

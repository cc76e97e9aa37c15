"""Conversations that are put away and gone on with, over real databases: all that is kept of them moves along."""

from dataclasses import replace

from sqlalchemy import text

from mtbot.domain.ids import ChatId, SessionId, TurnId
from mtbot.domain.memory import Keeps, Pin, PutAway, Summary
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Address, Message, Role, Usage
from mtbot.storage.archive import ArchiveStore
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.maintenance import Maintenance
from mtbot.storage.memory import MemoryStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    CHIEF,
    GROUP,
    NOW,
    PRIVATE,
    approval,
    asked,
    question,
    safe,
    turn_state,
)

HERE = PRIVATE.session


async def say(db: Database, *words: str, address: Address = PRIVATE, at: int = NOW) -> None:
    """A turn for each."""
    for one in words:
        said = (Message(Role.USER, one), Message(Role.ASSISTANT, f"re {one}"))
        await HistoryStore(db).flush(TurnFlush(TurnId(f"t-{one}"), address, said, Usage(10, 2, 1), ()), at)


async def words(db: Database, session: SessionId = HERE) -> list[str]:
    """What was said in a conversation."""
    return [message.content for _, message in await HistoryStore(db).messages(session) if message.role is Role.USER]


async def test_one_that_was_put_away_is_gone_on_with_where_it_was(db: Database) -> None:
    """Messages, summary with its mark, notes and what it took; the one of now takes its place."""
    archives, memories, history = ArchiveStore(db), MemoryStore(db), HistoryStore(db)
    await say(db, "(Not from a person: a job.)", "one", "two")
    await memories.sum_up(HERE, Summary("short", 2, 1, tainted=True), None, NOW)
    await memories.pin(PRIVATE, safe("note"), CHIEF, 5, NOW)
    before = await memories.look(HERE)
    assert await archives.put_away(PRIVATE, 5) == 1
    assert (await memories.look(HERE), await history.summary(HERE)) == (Keeps(), None)
    await say(db, "anew", at=NOW + 5)
    assert await archives.put_aways(HERE) == (PutAway(1, 6, "one", NOW),)
    assert await archives.bring_back(PRIVATE, 1, 5, NOW + 9)
    assert await memories.look(HERE) == before
    assert before.summary == Summary("short", 2, 1, tainted=True)
    assert before.pins == (Pin(1, "note", CHIEF),)
    found = await history.summary(HERE)
    assert found is not None
    assert (found.prompt_tokens, found.created_ms, found.updated_ms) == (30, NOW, NOW + 9)
    assert await archives.put_aways(HERE) == (PutAway(1, 2, "anew", NOW + 5),)
    await say(db, "three")
    assert await words(db) == ["(Not from a person: a job.)", "one", "two", "three"]


async def test_each_place_has_its_own(db: Database) -> None:
    """Also one whose number begins with the digits of another."""
    archives = ArchiveStore(db)
    longer = replace(PRIVATE, chat=ChatId(int(f"{PRIVATE.chat}0")))
    for place in (PRIVATE, GROUP, longer):
        await say(db, f"in {place.chat}", address=place)
        assert await archives.put_away(place, 5) == 1
    assert [one.first for one in await archives.put_aways(HERE)] == [f"in {PRIVATE.chat}"]
    assert not await archives.bring_back(PRIVATE, 2, 5, NOW)
    assert await archives.forget(PRIVATE) == 2
    assert await archives.put_aways(HERE) == ()
    assert len(await archives.put_aways(GROUP.session)) == 1


async def test_the_oldest_makes_room(db: Database) -> None:
    """And never the one that is wanted back; with no room at all it is deleted."""
    archives = ArchiveStore(db)
    for number in range(12):
        await say(db, f"q{number}")
        assert await archives.put_away(PRIVATE, 11) == number + 1
    assert [one.number for one in await archives.put_aways(HERE)] == list(range(12, 1, -1))
    await say(db, "now")
    assert await archives.bring_back(PRIVATE, 2, 3, NOW)
    assert await words(db) == ["q1"]
    assert [(one.number, one.first) for one in await archives.put_aways(HERE)] == [
        (13, "now"),
        (12, "q11"),
        (11, "q10"),
    ]
    assert await archives.put_away(PRIVATE, 0) == 14
    assert await archives.put_aways(HERE) == ()
    assert await db.read(lambda look: look.execute(text("SELECT count(*) FROM messages")).scalar_one()) == 0


async def test_a_place_where_nothing_was_said_has_nothing_to_put_away(db: Database) -> None:
    """A note alone is something."""
    archives, memories = ArchiveStore(db), MemoryStore(db)
    assert await archives.put_away(PRIVATE, 5) is None
    await memories.pin(PRIVATE, safe("note"), CHIEF, 5, NOW)
    assert await archives.put_away(PRIVATE, 5) == 1
    assert await archives.put_aways(HERE) == (PutAway(1, 0, "", NOW),)
    await memories.pin(PRIVATE, safe("other"), CHIEF, 5, NOW)
    await memories.unpin(HERE, 1)
    assert await archives.put_away(PRIVATE, 5) is None
    assert await HistoryStore(db).summary(HERE) is None


async def test_what_waits_ends_with_it(db: Database) -> None:
    """A question of it is not sent any more, and its turn is gone; going back does not bring it back."""
    archives, consents = ArchiveStore(db), ConsentStore(db, Chain(db), safe)
    await say(db, "one", address=GROUP)
    await consents.open(approval(), turn_state(), asked(), question())
    assert await archives.put_away(GROUP, 5) == 1
    assert await consents.pending() == ()
    assert await consents.parked(turn_state().id) is None
    assert await OutboxStore(db, safe).next(["private", "group"], NOW) == ()
    assert await archives.bring_back(GROUP, 1, 5, NOW)
    assert await consents.pending() == ()


async def test_it_ages_like_any_conversation(db: Database) -> None:
    """From when it was last spoken in, and not from when it was put away."""
    await say(db, "old", at=NOW - 10)
    await ArchiveStore(db).put_away(PRIVATE, 5)
    await say(db, "young", at=NOW)
    await ArchiveStore(db).put_away(PRIVATE, 5)
    removed = await Maintenance(db, lambda copy: Trail(copy, Chain(copy))).forget(NOW - 5, NOW)
    assert removed.conversations == 1
    assert [one.first for one in await ArchiveStore(db).put_aways(HERE)] == ["young"]

"""Summaries and pinned notes over real databases: one transaction, never backwards, gone with their conversation."""

import asyncio

from sqlalchemy import text
from sqlmodel import Session

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.ids import CallId, SessionId, TurnId
from mtbot.domain.memory import Keeps, Pin, Summary, TurnSize
from mtbot.domain.ports import TurnFlush
from mtbot.domain.received import RECEIVED
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.memory import MemoryStore
from mtbot.storage.outbox import OutboxStore
from tests.integration.storage.samples import CHIEF, NOW, PRIVATE, reply, safe

SESSION = PRIVATE.session
LIMIT = 1 << 20


async def grown(db: Database, turns: int) -> tuple[MemoryStore, HistoryStore]:
    """A conversation of turns of three entries each."""
    history = HistoryStore(db)
    for number in range(turns):
        call = ToolCall(CallId(f"c{number}"), "exec", "{}")
        said = (
            Message(Role.USER, f"größe {number}"),
            Message(Role.ASSISTANT, "", (call,)),
            Message(Role.TOOL, "ok", call_id=call.id, tool_name="exec"),
        )
        await history.flush(TurnFlush(TurnId(f"t{number}"), PRIVATE, said, Usage(), ()), NOW)
    return MemoryStore(db), history


def summary(through: int, said: str = "short") -> Summary:
    """A summary of what was said up to there."""
    return Summary(said, through, 1, tainted=True)


async def test_turns_are_weighed_in_bytes(db: Database) -> None:
    """Calls included; a conversation that is not there keeps nothing."""
    memories, _ = await grown(db, 2)
    weight = len("größe 0".encode()) + len("ok") + len('[["c0","exec","{}"]]') + 2 * len("[]")
    assert await memories.sizes(SESSION) == (TurnSize(1, 3, weight), TurnSize(4, 6, weight))
    assert [turn.first for turn in await MemoryStore(db, looked=1).sizes(SESSION)] == [4]
    nowhere = SessionId("telegram:main:7:0")
    assert (await memories.look(nowhere), await memories.sizes(nowhere)) == (Keeps(), ())


async def test_what_a_summary_stands_for_is_not_loaded_any_more_and_not_lost(db: Database) -> None:
    """Its notice is queued with it; the entries stay for whoever reads the conversation on the host."""
    memories, history = await grown(db, 3)
    assert await memories.sum_up(SESSION, summary(6, "s\x00x"), reply(), NOW)
    found = await memories.look(SESSION)
    assert found.summary == Summary("s\u2400x", 6, 1, tainted=True)
    assert [turn.first for turn in await memories.sizes(SESSION)] == [7]
    loaded = await history.load(SESSION, 40, LIMIT)
    assert [message.content for message in loaded] == ["größe 2", "", "ok"]
    assert len(await history.messages(SESSION)) == 9
    assert len(await OutboxStore(db, safe).next(["private", "group", "terminal"], NOW)) == 1
    entries = await memories.entries(SESSION, 2, 4)
    assert [(message.role, message.content) for message in entries] == [
        (Role.ASSISTANT, ""),
        (Role.TOOL, "ok"),
        (Role.USER, "größe 1"),
    ]


async def test_a_summary_never_goes_backwards(db: Database) -> None:
    """Nor does one come to a conversation that was cleared meanwhile; neither says a word."""
    memories, history = await grown(db, 3)
    assert await memories.sum_up(SESSION, summary(6, "new"), None, NOW)
    assert not await memories.sum_up(SESSION, summary(6, "same"), reply(), NOW)
    assert not await memories.sum_up(SESSION, summary(3, "old"), reply(), NOW)
    assert (await memories.look(SESSION)).summary == summary(6, "new")
    assert await memories.sum_up(SESSION, summary(9, "newer"), None, NOW)
    assert await memories.sizes(SESSION) == ()
    assert await history.load(SESSION, 40, LIMIT) == ()
    await history.clear(SESSION)
    assert not await memories.sum_up(SESSION, summary(12), reply(), NOW)
    assert await OutboxStore(db, safe).next(["private", "group", "terminal"], NOW) == ()


async def test_entries_that_make_no_sense_are_passed_over(db: Database) -> None:
    """As everywhere."""
    memories, _ = await grown(db, 1)

    def spoil(session: Session) -> None:
        session.execute(text("UPDATE messages SET calls = 'nonsense' WHERE seq = 2"))

    await db.write(spoil)
    assert [message.calls for message in await memories.entries(SESSION, 1, 3)] == [(), (), ()]


async def test_pinned_notes_have_the_smallest_free_number_and_a_limit(db: Database) -> None:
    """Also when two are pinned at once; a conversation may begin with one."""
    memories = MemoryStore(db)
    given = await asyncio.gather(*(memories.pin(PRIVATE, safe(f"note {n}"), CHIEF, 3, NOW) for n in range(4)))
    assert sorted(number or 0 for number in given) == [0, 1, 2, 3]
    assert await memories.unpin(SESSION, 2)
    assert not await memories.unpin(SESSION, 2)
    assert await memories.pin(PRIVATE, safe("again\x00"), CHIEF, 3, NOW) == 2
    assert (await memories.look(SESSION)).pins[1] == Pin(2, "again\u2400", CHIEF)
    assert await memories.pin(PRIVATE, safe("more"), CHIEF, 2, NOW) is None


async def test_all_of_it_goes_with_its_conversation(db: Database) -> None:
    """No row is left behind."""
    memories, history = await grown(db, 3)
    await memories.sum_up(SESSION, summary(6), None, NOW)
    await memories.pin(PRIVATE, safe("note"), CHIEF, 3, NOW)
    await history.clear(SESSION)
    assert await memories.look(SESSION) == Keeps()
    count = "SELECT (SELECT count(*) FROM summaries) + (SELECT count(*) FROM pins)"
    assert await db.read(lambda session: session.execute(text(count)).scalar_one()) == 0


async def test_a_mark_is_found_wherever_it_lies_behind_the_summary(db: Database) -> None:
    """In entries of the role that it belongs to, and no further than asked."""
    memories, history = await grown(db, 1)
    for number, entry in enumerate(
        (
            Message(Role.USER, f"what is {UNTRUSTED}?"),
            Message(Role.TOOL, RECEIVED),
            Message(Role.TOOL, f"This is {UNTRUSTED}."),
            Message(Role.USER, f"{RECEIVED}inbox/a.pdf]"),
        )
    ):
        await history.flush(TurnFlush(TurnId(f"m{number}"), PRIVATE, (entry,), Usage(), ()), NOW)
    assert [await memories.marked(SESSION, last) for last in (3, 4, 5, 6)] == [False, False, False, True]
    await memories.sum_up(SESSION, summary(6), None, NOW)
    assert [await memories.marked(SESSION, last) for last in (6, 7)] == [False, True]
    assert not await memories.marked(SessionId("telegram:main:7:0"), 9)

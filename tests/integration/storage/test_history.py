"""Conversations: written whole, read back well formed whatever lies in the database, removed without their audit."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlmodel import Session

from mtbot.domain.errors import NoSuchApproval, StorageError
from mtbot.domain.ids import ApprovalId, BotName, CallId, SessionId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import SessionSummary
from mtbot.domain.turn import Address, Message, Role, ToolCall, Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.inbox import InboxStore
from mtbot.storage.leases import LeaseStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.trail import Trail
from mtbot.storage.window import NO_RESULT
from tests.integration.storage.samples import (
    GROUP,
    NOW,
    PRIVATE,
    SESSION,
    TERMINAL,
    approval,
    asked,
    question,
    reply,
    safe,
    turn_state,
    update,
)

LIMIT = 256 * 1024


@pytest.fixture
def history(db: Database) -> HistoryStore:
    """The conversations of the database."""
    return HistoryStore(db)


def turn(name: str, *messages: Message, address: Address = GROUP) -> TurnFlush:
    """A turn that is over."""
    return TurnFlush(TurnId(name), address, messages, Usage(10, 3), ())


def user(words: str) -> Message:
    """What a person said."""
    return Message(Role.USER, words)


def says(words: str, *calls: ToolCall) -> Message:
    """What the model said."""
    return Message(Role.ASSISTANT, words, calls)


def call(name: str) -> ToolCall:
    """A call of the model."""
    return ToolCall(CallId(name), "exec", '{"command": "ls"}')


def result(name: str, words: str = "ok") -> Message:
    """What a tool answered."""
    return Message(Role.TOOL, words, call_id=CallId(name), tool_name="exec")


class TestFlush:
    """One transaction at the end of a turn."""

    async def test_everything_of_a_turn_is_written_together(self, db: Database, history: HistoryStore) -> None:
        """Messages, usage, replies, the parked snapshot and the inbox row."""
        consents, inbox, outbox = ConsentStore(db, Chain(db), safe), InboxStore(db), OutboxStore(db, safe)
        await inbox.store([update(5), update(6)], NOW)
        await consents.open(approval(), turn_state(), asked(), question())
        (asked_row,) = await outbox.next(["group"], NOW)
        await outbox.drop(asked_row.id, "test")
        messages = (user("do it"), says("", call("c1")), result("c1"), says("Done."))
        flush = replace(turn("t1", *messages), items=(reply(), reply("And more.")), inbox=((BotName("ops"), 5),))
        await history.flush(flush, NOW + 1)
        assert await history.load(SESSION, 40, LIMIT) == messages
        assert await history.summary(SESSION) == SessionSummary(
            SESSION, GROUP.surface, GROUP.chat, GROUP.thread, 4, 10, 3, NOW, NOW + 1
        )
        assert await consents.parked(TurnId("t1")) is None
        assert [row.update for row in await inbox.waiting(BotName("ops"))] == [6]
        assert [row.item for row in await outbox.next(["group"], NOW + 1)] == [reply()]

    async def test_two_processes_may_flush_into_one_session(self, db: Database, history: HistoryStore) -> None:
        """Numbers stay unique and no usage is lost."""
        other = await Database.open_for_writing(db.place)
        second = HistoryStore(other)
        await history.flush(turn("t", user("first")), NOW)
        await asyncio.gather(*((history, second)[n % 2].flush(turn(f"t{n}", user("x")), NOW) for n in range(10)))
        await other.close()
        summary = await history.summary(SESSION)
        assert summary is not None
        assert (summary.messages, summary.prompt_tokens) == (11, 110)

    async def test_a_flush_that_fails_leaves_nothing(self, db: Database, history: HistoryStore) -> None:
        """Not half a turn, and its inbox row stays open."""
        await InboxStore(db).store([update(5)], NOW)
        flush = replace(turn("t1", user("hi")), inbox=((BotName("ops"), 5),), usage=Usage(2**70, 0))
        with pytest.raises(StorageError):
            await history.flush(flush, NOW)
        assert await history.load(SESSION, 40, LIMIT) == ()
        assert len(await InboxStore(db).waiting(BotName("ops"))) == 1

    async def test_turns_follow_each_other_and_usage_adds_up(self, history: HistoryStore) -> None:
        """Numbers go on where the last turn ended."""
        await history.flush(turn("t1", user("a"), says("b")), NOW)
        await history.flush(turn("t2", user("c"), says("d")), NOW + 5)
        assert [seq for seq, _ in await history.messages(SESSION)] == [1, 2, 3, 4]
        summary = await history.summary(SESSION)
        assert summary is not None
        assert (summary.prompt_tokens, summary.completion_tokens, summary.updated_ms) == (20, 6, NOW + 5)

    async def test_text_that_no_database_holds_is_made_harmless(self, history: HistoryStore) -> None:
        """A tool's output may contain anything."""
        await history.flush(turn("t1", user("a\x00b\ud800")), NOW)
        assert await history.load(SESSION, 40, LIMIT) == (user("a␀b�"),)

    async def test_replies_are_sealed(self, db: Database, history: HistoryStore) -> None:
        """The outbox holds no readable text."""
        await history.flush(replace(turn("t1", user("x")), items=(reply("unusual-words"),)), NOW)
        held = await db.read(
            lambda session: bytes(session.connection().execute(text("SELECT sealed FROM outbox")).scalar_one())
        )
        assert b"unusual-words" not in held


class TestLoad:
    """What the model sees."""

    async def test_only_whole_turns_within_the_limits(self, history: HistoryStore) -> None:
        """The newest ones, oldest first."""
        for number in range(6):
            await history.flush(turn(f"t{number}", user(f"q{number}"), says(f"a{number}")), NOW)
        assert [one.content for one in await history.load(SESSION, 2, LIMIT)] == ["q4", "a4", "q5", "a5"]
        assert [one.content for one in await history.load(SESSION, 40, 9)] == ["q4", "a4", "q5", "a5"]
        assert await history.load(SessionId("cli:nobody"), 2, LIMIT) == ()

    async def test_a_turn_with_many_rows_is_found_by_looking_further(self, history: HistoryStore) -> None:
        """Eight rows per turn are a guess; the fetch widens until the turn is whole."""
        steps = [one for n in range(60) for one in (says("", call(f"c{n}")), result(f"c{n}"))]
        long = (user("long"), *steps, says("done"))
        await history.flush(turn("t0", user("before"), says("x")), NOW)
        await history.flush(turn("t1", *long), NOW)
        assert await history.load(SESSION, 1, LIMIT) == long
        assert await history.load(SESSION, 2, LIMIT) == (user("before"), says("x"), *long)

    async def test_a_turn_of_endless_rows_does_not_make_a_load_endless(self, history: HistoryStore) -> None:
        """The look widens five times; a turn that is longer still is left out, because half of it would mislead."""
        noise = [says(f"{n}") for n in range(300)]
        await history.flush(turn("t1", user("long"), *noise), NOW)
        assert await history.load(SESSION, 1, LIMIT) == ()
        assert await history.load(SESSION, 2, LIMIT) == (user("long"), *noise)
        await history.flush(turn("t2", user("short"), says("yes")), NOW)
        assert await history.load(SESSION, 1, LIMIT) == (user("short"), says("yes"))

    @pytest.mark.parametrize(
        "damage",
        [
            "DELETE FROM messages WHERE seq = 3",
            "DELETE FROM messages WHERE seq = 1",
            "DELETE FROM messages WHERE seq = 2",
            "UPDATE messages SET calls = 'rubbish' WHERE seq = 2",
            "UPDATE messages SET calls = '[[1]]' WHERE seq = 2",
            "UPDATE messages SET calls = '7' WHERE seq = 2",
            "UPDATE messages SET call_id = 'other' WHERE seq = 3",
            "UPDATE messages SET call_id = NULL WHERE seq = 3",
            "UPDATE messages SET role = 'user' WHERE seq = 3",
            "UPDATE messages SET role = 'tool' WHERE seq = 1",
        ],
    )
    async def test_no_damage_gives_a_history_that_a_model_refuses(
        self, db: Database, history: HistoryStore, damage: str
    ) -> None:
        """Every call has its answer right behind it, no answer is without its call, and a person speaks first."""
        first = (user("a"), says("", call("c1"), call("c2")), result("c1"), result("c2"), says("b"))
        await history.flush(turn("t1", *first), NOW)
        await history.flush(turn("t2", user("c"), says("d")), NOW)
        await db.write(lambda session: session.connection().execute(text(damage)))
        loaded = await history.load(SESSION, 40, LIMIT)
        assert loaded[-2:] == (user("c"), says("d"))
        assert loaded[0].role is Role.USER
        waiting: list[CallId] = []
        for message in loaded:
            if message.role is Role.TOOL:
                assert message.call_id == waiting.pop(0)
            else:
                assert waiting == []
                waiting = [one.id for one in message.calls]
        assert waiting == []

    async def test_a_row_of_nobody_is_passed_over(self, db: Database, history: HistoryStore) -> None:
        """A role that does not exist can get past the constraint only by hand."""
        await history.flush(turn("t1", user("a"), says("b")), NOW)

        def edit(session: Session) -> None:
            connection = session.connection()
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            else:
                connection.exec_driver_sql("ALTER TABLE messages DROP CONSTRAINT ck_messages_role")
            connection.exec_driver_sql("UPDATE messages SET role = 'oracle' WHERE seq = 2")

        await db.write(edit)
        assert await history.load(SESSION, 40, LIMIT) == (user("a"),)
        assert await history.messages(SESSION) == ((1, user("a")),)

    async def test_a_call_without_result_is_answered_in_its_place(self, db: Database, history: HistoryStore) -> None:
        """The model is told that nothing is on record, and the other result keeps its place."""
        await history.flush(turn("t1", user("a"), says("", call("c1"), call("c2")), result("c1"), result("c2")), NOW)
        await db.write(lambda session: session.connection().execute(text("DELETE FROM messages WHERE seq = 3")))
        assert await history.load(SESSION, 40, LIMIT) == (
            user("a"),
            says("", call("c1"), call("c2")),
            result("c1", NO_RESULT),
            result("c2"),
        )


class TestSessions:
    """List, show, remove."""

    async def test_sessions_are_listed_by_their_last_word(self, history: HistoryStore) -> None:
        """The newest first, as many as wanted."""
        await history.flush(turn("t1", user("a")), NOW)
        await history.flush(turn("t2", user("b"), says("c"), address=PRIVATE), NOW + 2)
        await history.flush(turn("t3", user("d"), address=TERMINAL), NOW + 1)
        assert [(one.id, one.messages) for one in await history.sessions()] == [
            (PRIVATE.session, 2),
            (TERMINAL.session, 1),
            (GROUP.session, 1),
        ]
        assert [one.id for one in await history.sessions(1)] == [PRIVATE.session]
        assert await history.summary(SessionId("cli:nobody")) is None

    async def test_messages_are_shown_in_pages(self, history: HistoryStore) -> None:
        """A long session is not loaded whole."""
        await history.flush(turn("t1", *(user(f"{n}") for n in range(5))), NOW)
        assert await history.messages(SESSION, after=3, limit=1) == ((4, user("3")),)

    async def test_clearing_removes_all_but_the_audit(self, db: Database, history: HistoryStore) -> None:
        """Messages, requests, the parked turn and unsent questions go; the record stays; other sessions stay."""
        chain = Chain(db)
        consents, trail, outbox = ConsentStore(db, chain, safe), Trail(db, chain), OutboxStore(db, safe)
        await history.flush(turn("t0", user("a"), says("b")), NOW)
        await history.flush(turn("t9", user("other"), address=PRIVATE), NOW)
        await consents.open(approval(), turn_state(), asked(), question())
        before = await trail.head()
        assert await LeaseStore(db).acquire(SESSION, "a", NOW, NOW + 9)
        assert await history.clear(SESSION) == 2
        assert await LeaseStore(db).acquire(SESSION, "b", NOW, NOW + 9)
        assert await history.load(SESSION, 40, LIMIT) == ()
        assert await history.summary(SESSION) is None
        with pytest.raises(NoSuchApproval):
            await consents.get(ApprovalId("K7QD"))
        assert await consents.parked(TurnId("t1")) is None
        assert await outbox.next(["group"], NOW) == ()
        assert await trail.head() == before
        assert await history.load(PRIVATE.session, 40, LIMIT) == (user("other"),)
        assert await history.clear(SESSION) == 0

    async def test_a_session_can_begin_anew(self, history: HistoryStore) -> None:
        """After clearing, the next turn counts from one."""
        await history.flush(turn("t1", user("a")), NOW)
        await history.clear(SESSION)
        await history.flush(turn("t2", user("b")), NOW + 9)
        assert await history.messages(SESSION) == ((1, user("b")),)

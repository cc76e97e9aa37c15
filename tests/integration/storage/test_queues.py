"""Inbox, outbox and leases: each thing once, in order, and nothing forgotten by a crash."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.errors import SealError, StorageError
from mtbot.domain.ids import BotName, SafeText, ThreadId, UserId
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.storage.columns import unqueue
from mtbot.storage.engine import Database
from mtbot.storage.inbox import InboxStore
from mtbot.storage.leases import LeaseStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.place import Place
from mtbot.storage.tables import InboxTable, OutboxTable
from tests.integration.storage.samples import (
    GROUP,
    NOW,
    PRIVATE,
    SESSION,
    TERMINAL,
    approval,
    asked,
    card,
    dead,
    draft,
    question,
    reply,
    safe,
    turn_state,
    update,
)

OPS = BotName("ops")
CHATS = ("private", "group")


@pytest.fixture
def inbox(db: Database) -> InboxStore:
    """The updates of the database."""
    return InboxStore(db)


@pytest.fixture
def outbox(db: Database) -> OutboxStore:
    """What is to be said."""
    return OutboxStore(db, safe)


@pytest.fixture
def leases(db: Database) -> LeaseStore:
    """Who runs which session."""
    return LeaseStore(db)


async def column(db: Database, statement: str) -> list[object]:
    """The first column of a query, as it lies in the database."""
    return await db.read(lambda session: list(session.connection().execute(text(statement)).scalars()))


class TestInbox:
    """Updates."""

    async def test_an_update_is_new_once_for_ever(self, inbox: InboxStore) -> None:
        """Stored again, also after it was acted on, it is not new."""
        assert await inbox.store([update(5), update(6), update(5)], NOW) == (update(5), update(6))
        assert await inbox.store([update(6), update(7)], NOW) == (update(7),)
        await inbox.done(OPS, 5)
        assert await inbox.store([update(5)], NOW) == ()
        assert await inbox.store([], NOW) == ()

    async def test_waiting_rows_come_in_the_order_of_arrival(self, inbox: InboxStore) -> None:
        """What a crash left, with what had begun already; other bots' updates are theirs."""
        await inbox.store([update(5), update(6), update(7), update(5, bot="home")], NOW)
        await inbox.take(OPS, 6)
        await inbox.done(OPS, 5)
        assert await inbox.waiting(OPS) == (replace(update(6), taken=True), update(7))
        assert await inbox.waiting(BotName("home")) == (update(5, bot="home"),)

    async def test_whose_turns_began_is_known_for_an_hour(self, inbox: InboxStore) -> None:
        """Of what nobody's turn began with, nothing is said; the time is that of the arrival."""
        await inbox.store([update(5), update(6)], NOW)
        await inbox.store([update(7), update(8)], NOW + 5)
        await inbox.take(OPS, 8, UserId(2002))
        await inbox.take(OPS, 6)
        await inbox.take(OPS, 5, UserId(1001))
        await inbox.done(OPS, 5)
        assert await inbox.turns_since(NOW) == ((UserId(1001), NOW), (UserId(2002), NOW + 5))
        assert await inbox.turns_since(NOW + 1) == ((UserId(2002), NOW + 5),)

    async def test_the_same_number_with_another_content_is_another_update(self, inbox: InboxStore) -> None:
        """Telegram numbers anew after a quiet week."""
        await inbox.store([update(900)], NOW)
        await inbox.done(OPS, 900)
        assert await inbox.store([update(900, "other")], NOW) == (update(900, "other"),)

    async def test_the_offset_is_the_update_stored_last(self, inbox: InboxStore) -> None:
        """Also when Telegram began to number anew, and None before the first."""
        assert await inbox.offset(OPS) is None
        await inbox.store([update(900), update(901)], NOW)
        assert await inbox.offset(OPS) == 901
        await inbox.store([update(4)], NOW)
        assert await inbox.offset(OPS) == 4
        assert await inbox.offset(BotName("home")) is None

    async def test_payloads_are_sealed_and_wiped(self, db: Database, inbox: InboxStore) -> None:
        """A message may hold a secret; once acted on it is gone, and its identity stays."""
        await inbox.store([update(5, "hunter2-hunter2")], NOW)
        (held,) = await column(db, "SELECT sealed FROM inbox")
        assert isinstance(held, bytes | memoryview)
        assert b"hunter2" not in bytes(held)
        await inbox.done(OPS, 5)
        assert await column(db, "SELECT sealed FROM inbox") == [None]
        assert await column(db, "SELECT update_id FROM inbox") == [5]

    async def test_a_payload_belongs_to_its_update(self, db: Database, inbox: InboxStore) -> None:
        """A box that was moved to another update does not open."""
        await inbox.store([update(5), update(6)], NOW)
        move = text("UPDATE inbox SET sealed = (SELECT i.sealed FROM inbox i WHERE i.update_id = 5)")
        await db.write(lambda session: session.connection().execute(move))
        with pytest.raises(SealError):
            await inbox.waiting(OPS)

    async def test_a_batch_that_fails_stores_nothing(self, inbox: InboxStore) -> None:
        """A failed commit confirms nothing."""
        with pytest.raises(StorageError):
            await inbox.store([update(5), replace(update(6), update=2**70)], NOW)
        assert await inbox.waiting(OPS) == ()


class TestOutbox:
    """What is to be said."""

    async def test_items_come_back_as_they_were_put(self, outbox: OutboxStore) -> None:
        """Texts, cards, edits, quotes, places."""
        items = (
            replace(reply(), silent=True, address=PRIVATE),
            question(),
            OutboxItem(OutKind.NOTICE, TERMINAL, text=safe("notice")),
        )
        await outbox.put(*items, now_ms=NOW)
        rows = await outbox.next(["private", "group", "terminal"], NOW)
        assert tuple(row.item for row in rows) == items
        assert [(row.attempts, row.due_ms) for row in rows] == [(0, NOW)] * 3

    async def test_a_chat_speaks_in_order_and_chats_do_not_wait_for_each_other(self, outbox: OutboxStore) -> None:
        """The first row of every chat; the next one only once it is sent. Topics share their chat's order."""
        topic = replace(GROUP, thread=ThreadId(9))
        await outbox.put(reply("1"), reply("2", topic), reply("a", PRIVATE), now_ms=NOW)
        first = await outbox.next(CHATS, NOW)
        assert [row.item.text for row in first] == ["1", "a"]
        await outbox.claim(first[0].id)
        assert [row.item.text for row in await outbox.next(CHATS, NOW)] == ["a"]
        await outbox.sent(first[0].id, 50)
        assert [row.item.text for row in await outbox.next(CHATS, NOW)] == ["2", "a"]

    async def test_only_the_asked_surfaces_and_not_too_many(self, outbox: OutboxStore) -> None:
        """A terminal's lines are nothing for Telegram."""
        await outbox.put(reply("t", TERMINAL), reply("g"), reply("p", PRIVATE), now_ms=NOW)
        assert [row.item.text for row in await outbox.next(["terminal"], NOW)] == ["t"]
        assert [row.item.text for row in await outbox.next(CHATS, NOW, limit=1)] == ["g"]

    async def test_a_row_that_waits_holds_up_those_behind_it(self, outbox: OutboxStore) -> None:
        """Order matters more than speed."""
        await outbox.put(reply("1"), reply("2"), now_ms=NOW)
        (row,) = await outbox.next(CHATS, NOW)
        await outbox.claim(row.id)
        await outbox.retry(row.id, NOW + 500)
        assert await outbox.next(CHATS, NOW + 499) == ()
        (again,) = await outbox.next(CHATS, NOW + 500)
        assert again == replace(row, attempts=1, due_ms=NOW + 500)

    async def test_a_row_that_comes_again_may_be_what_is_left_of_it(self, outbox: OutboxStore) -> None:
        """A part of it is there already, and that outlives a restart."""
        await outbox.put(reply("1 and 2"), now_ms=NOW)
        (row,) = await outbox.next(CHATS, NOW)
        await outbox.claim(row.id)
        await outbox.retry(row.id, NOW, reply("2"))
        (again,) = await outbox.next(CHATS, NOW)
        assert again == replace(row, item=reply("2"), attempts=1)

    async def test_a_row_is_claimed_once(self, place: Place, db: Database, outbox: OutboxStore) -> None:
        """Of two senders in two processes one gets it."""
        await outbox.put(reply(), now_ms=NOW)
        (row,) = await outbox.next(CHATS, NOW)
        other = await Database.open_for_writing(place)
        second = OutboxStore(other, safe)
        won = await asyncio.gather(*((outbox, second)[n % 2].claim(row.id) for n in range(20)))
        await other.close()
        assert sorted(won) == [False] * 19 + [True]
        assert await outbox.claim(999) is False

    async def test_a_sent_row_is_wiped(self, db: Database, outbox: OutboxStore) -> None:
        """Nothing that was said lies there any longer, and it cannot come back."""
        await outbox.put(reply(), now_ms=NOW)
        await outbox.claim(1)
        await outbox.sent(1, 50)
        assert await column(db, "SELECT sealed FROM outbox") == [None]
        assert await column(db, "SELECT message FROM outbox") == [50]
        await outbox.retry(1, NOW)
        assert await outbox.next(CHATS, NOW) == ()
        await outbox.sent(999, 1)

    async def test_a_dropped_row_keeps_the_reason_only(self, db: Database, outbox: OutboxStore) -> None:
        """The chat is gone; the next row goes on."""
        await outbox.put(reply("1"), reply("2"), now_ms=NOW)
        await outbox.drop(1, "chat gone")
        assert await column(db, "SELECT why FROM outbox WHERE sealed IS NULL") == ["chat gone"]
        assert [row.item.text for row in await outbox.next(CHATS, NOW)] == ["2"]

    async def test_what_a_dead_sender_left_is_ambiguous_and_never_sent_again(
        self, db: Database, outbox: OutboxStore
    ) -> None:
        """There is never a second live keyboard; the rest of the chat goes on."""
        await outbox.put(question(), reply("next"), reply("mine", PRIVATE), now_ms=NOW)
        ours, db.instance = db.instance, dead(db)
        await outbox.claim(1)
        db.instance = ours
        await outbox.claim(3)
        assert await outbox.next(CHATS, NOW) == ()
        (left,) = await outbox.ambiguous()
        assert left.item == question()
        assert await outbox.ambiguous() == (left,)
        assert [row.item.text for row in await outbox.next(CHATS, NOW)] == ["next"]
        await outbox.drop(left.id, "nobody knows whether it arrived")
        assert await outbox.ambiguous() == ()

    async def test_an_edit_may_be_tried_again(self, db: Database, outbox: OutboxStore) -> None:
        """Twice does no harm there, so the caller may put an ambiguous row back."""
        await outbox.put(OutboxItem(OutKind.EDIT, GROUP, card=card()), now_ms=NOW)
        ours, db.instance = db.instance, dead(db)
        await outbox.claim(1)
        db.instance = ours
        (left,) = await outbox.ambiguous()
        await outbox.retry(left.id, NOW)
        assert [row.item for row in await outbox.next(CHATS, NOW)] == [left.item]

    async def test_texts_pass_the_redactor_on_their_way_out(self, db: Database) -> None:
        """A row cannot carry out what the redactor has learned since."""
        outbox = OutboxStore(db, lambda raw: SafeText(raw.replace("Done", "‹secret:1›")))
        await outbox.put(reply(), now_ms=NOW)
        assert (await outbox.next(CHATS, NOW))[0].item.text == "‹secret:1›."

    @pytest.mark.parametrize(
        "content", ["{}", "[]", "rubbish", '{"text": null, "card": {}, "quote": 1, "silent": false}']
    )
    async def test_a_box_that_holds_no_item_is_a_seal_error(
        self, db: Database, outbox: OutboxStore, content: str
    ) -> None:
        """Not a traceback."""
        await outbox.put(reply(), now_ms=NOW)
        put = text("UPDATE outbox SET sealed = :box").bindparams(box=db.seal.close(content, "outbox", 1))
        await db.write(lambda session: session.connection().execute(put))
        with pytest.raises(SealError, match="holds no item"):
            await outbox.next(CHATS, NOW)


class TestStores:
    """All of them together."""

    async def test_the_stores_of_a_database_share_its_chain(self, db: Database) -> None:
        """Each has its own table, and the record is one."""
        stores = stores_of(db, safe)
        await stores.trail.append(draft())
        await stores.consents.open(approval(), turn_state(), asked(), question())
        await stores.inbox.store([update(5)], NOW)
        assert await stores.leases.acquire(SESSION, "a", NOW, NOW + 1)
        assert await stores.cron_runs.last("nightly") is None
        assert [one.id for one in await stores.history.sessions()] == [SESSION]
        assert len(await stores.outbox.next(CHATS, NOW)) == 1
        assert (await stores.trail.verify()).events == 2

    async def test_a_row_without_its_payload_is_a_seal_error(self, db: Database) -> None:
        """Somebody emptied a box by hand; it is not taken for an empty text."""
        await OutboxStore(db, safe).put(reply(), now_ms=NOW)
        await InboxStore(db).store([update(5)], NOW)
        outgoing = await db.read(lambda session: session.get_one(OutboxTable, 1))
        incoming = await db.read(lambda session: session.get_one(InboxTable, 1))
        outgoing.sealed = incoming.sealed = None
        with pytest.raises(SealError, match="has no payload"):
            unqueue(outgoing, db.seal, safe)
        with pytest.raises(SealError, match="has lost its payload"):
            InboxStore(db)._opened(incoming)


class TestLeases:
    """Who runs a session's turn."""

    async def test_one_holder_at_a_time(self, leases: LeaseStore) -> None:
        """Until it lapses or is given back; the holder itself may extend it."""
        assert await leases.acquire(SESSION, "a", NOW, NOW + 10)
        assert not await leases.acquire(SESSION, "b", NOW + 9, NOW + 20)
        assert await leases.acquire(SESSION, "a", NOW + 9, NOW + 30)
        assert not await leases.acquire(SESSION, "b", NOW + 29, NOW + 40)
        assert await leases.acquire(SESSION, "b", NOW + 30, NOW + 40)
        await leases.release(SESSION, "a")
        assert not await leases.acquire(SESSION, "a", NOW + 31, NOW + 50)
        await leases.release(SESSION, "b")
        assert await leases.acquire(SESSION, "a", NOW + 31, NOW + 50)
        assert await leases.acquire(PRIVATE.session, "b", NOW, NOW + 1)

    async def test_of_two_processes_one_gets_it(self, place: Place, leases: LeaseStore) -> None:
        """Two prompts at once must not interleave one session."""
        other = await Database.open_for_writing(place)
        second = LeaseStore(other)
        won = await asyncio.gather(
            *((leases, second)[n % 2].acquire(SESSION, f"h{n}", NOW, NOW + 10) for n in range(10))
        )
        await other.close()
        assert sum(won) == 1

    async def test_a_dead_holder_loses_its_lease(self, db: Database, leases: LeaseStore) -> None:
        """A gateway that was killed does not block its sessions after the restart; a live one does."""
        assert await leases.acquire(SESSION, f"{dead(db)}/t1", NOW, NOW + 1000)
        assert await leases.acquire(SESSION, f"{db.instance}/t2", NOW, NOW + 1000)
        assert not await leases.acquire(SESSION, "b", NOW, NOW + 1000)

"""The outbox worker: in order, once, and what may have arrived is never sent twice with buttons."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, StorageError, Throttled, Unreachable
from mtbot.domain.ids import ApprovalId, BotName
from mtbot.domain.record import ApprovalState, Card, CardKind, Choice, ChoiceAction, OutboxItem, OutKind, Ruling, Via
from mtbot.domain.turn import SurfaceName
from mtbot.gateway import outbox as module
from mtbot.gateway.outbox import MISSING, Mail, OutboxWorker
from tests.unit.approvals.office import Office, yes
from tests.unit.approvals.samples import CHIEF, GROUP, PRIVATE, REDACTOR, safe


@dataclass
class Chat:
    """A way out that fails as a test wants; ``sent`` is what arrived."""

    faults: deque[Exception] = field(default_factory=deque)
    sent: list[tuple[OutboxItem, int | None]] = field(default_factory=list)
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event | None = None

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Fail, wait, or take it."""
        if self.held is not None:
            await self.held.wait()
        if self.faults:
            self.seen.set()
            raise self.faults.popleft()
        self.sent.append((item, message))
        self.seen.set()
        return 100 + len(self.sent)

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Nothing to press."""

    def texts(self) -> list[str]:
        """What arrived, in words."""
        return [
            str(item.text if item.text is not None else item.card.title if item.card else "") for item, _ in self.sent
        ]


def note(text: str, *, group: bool = False) -> OutboxItem:
    """A line."""
    return OutboxItem(OutKind.REPLY, GROUP if group else PRIVATE, text=safe(text))


def worker(office: Office, chat: Chat) -> OutboxWorker:
    """A worker with one way for both kinds of chat."""
    ways = {SurfaceName.PRIVATE: chat, SurfaceName.GROUP: chat}
    return OutboxWorker(Mail(office.stores.outbox, office.stores.consents), ways, office.clock, REDACTOR)


@asynccontextmanager
async def serving(office: Office, chat: Chat) -> AsyncIterator[OutboxWorker]:
    """A worker that runs."""
    found = worker(office, chat)
    running = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        assert await found.close(5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def put(office: Office, *items: OutboxItem) -> None:
    """Queue."""
    await office.stores.outbox.put(*items, now_ms=office.clock.now)


async def test_a_chat_reads_in_order_and_others_beside_it(office: Office) -> None:
    """Three lines and one elsewhere, all sent once."""
    chat = Chat()
    await put(office, note("a"), note("b"), note("elsewhere", group=True), note("c"))
    async with serving(office, chat):
        pass
    assert sorted(chat.texts()) == ["a", "b", "c", "elsewhere"]
    assert [text for text in chat.texts() if text != "elsewhere"] == ["a", "b", "c"]


async def test_a_wake_up_is_enough(office: Office) -> None:
    """What is queued later goes out at once."""
    chat = Chat()
    async with serving(office, chat) as found:
        await put(office, note("later"))
        found.wake()
        await asyncio.wait_for(chat.seen.wait(), 1)
    assert chat.texts() == ["later"]


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Throttled("slow", 7), 7050),
        (Unreachable("no"), 1000),
        (ChannelError("bad gateway", status=502), 1000),
    ],
)
async def test_what_was_certainly_not_sent_is_tried_again_later(office: Office, fault: Exception, wait: int) -> None:
    """Not before its time, and then once; the chat waits, so that it stays in order."""
    chat = Chat(deque([fault]))
    await put(office, note("a"), note("b"))
    async with serving(office, chat):
        pass
    assert chat.texts() == []
    office.clock.now += wait - 1
    async with serving(office, chat):
        pass
    assert chat.texts() == []
    office.clock.now += 1
    async with serving(office, chat):
        pass
    assert chat.texts() == ["a", "b"]


async def test_a_line_is_given_up_in_the_end(office: Office) -> None:
    """After eight tries the next line of the chat has its turn, and whoever waits for an answer is told."""
    chat = Chat(deque(ChannelError("bad gateway", status=502) for _ in range(module.MAX_ATTEMPTS + 1)))
    await put(office, note("a"), note("b"))
    for _ in range(module.MAX_ATTEMPTS + 2):
        async with serving(office, chat):
            pass
        office.clock.now += 60_000
    assert chat.texts() == ["b", module.LOST]


@pytest.mark.parametrize("fault", [ChatGone("blocked"), ChannelError("bad", status=400), OSError()])
async def test_what_cannot_arrive_is_not_sent_again(office: Office, fault: Exception) -> None:
    """Whatever it was, also a fault of our own: the next line goes out."""
    chat = Chat(deque([fault]))
    await put(office, note("a"), note("b"))
    async with serving(office, chat):
        pass
    assert chat.texts() == ["b"] + [module.LOST] * (not isinstance(fault, ChatGone))


async def test_an_edit_that_may_have_arrived_is_made_again(office: Office) -> None:
    """Twice does no harm, and a live button must go."""
    ident = await office.ask()
    chat = Chat()
    async with serving(office, chat):
        pass
    await office.desk().decide(ident, yes())
    chat.faults.append(Ambiguous("broke"))
    async with serving(office, chat):
        pass
    office.clock.now += 1000
    async with serving(office, chat):
        pass
    assert [item.kind for item, _ in chat.sent] == [OutKind.CARD, OutKind.EDIT]
    assert chat.sent[1][1] == 101


async def test_a_question_that_may_have_arrived_is_told_in_words(office: Office) -> None:
    """Without buttons, with the names to answer it by."""
    ident = await office.ask()
    chat = Chat(deque([Ambiguous("broke")]))
    async with serving(office, chat):
        pass
    (item, _), *more = chat.sent
    assert more == []
    assert item.card is not None
    assert item.card.choices == ()
    assert item.card.body == "./deploy.sh"
    assert f"`/approve {ident}` or `/deny {ident}`" in item.card.lines[-1]


async def test_an_answer_that_may_have_arrived_is_not_said_twice_but_asked_about(office: Office) -> None:
    """Silence would look like a turn without an end; and the question itself is asked once."""
    chat = Chat(deque([Ambiguous("broke")]))
    await put(office, note("It is done."), note("b"))
    async with serving(office, chat):
        pass
    assert chat.texts() == ["b", module.MISSING]
    chat.faults.extend([Ambiguous("broke"), Ambiguous("broke")])
    await put(office, note("It is done."))
    async with serving(office, chat):
        pass
    assert chat.texts() == ["b", module.MISSING]


async def test_a_notice_with_buttons_that_may_have_arrived_is_told_without(office: Office) -> None:
    """Once more, and it says so."""
    card = Card(CardKind.NOTICE, safe("Cut off"), safe("ls"), (), (Choice("Show", ChoiceAction.SHOW, "#5"),))
    chat = Chat(deque([Ambiguous("broke")]))
    await put(office, OutboxItem(OutKind.NOTICE, GROUP, card=card))
    async with serving(office, chat):
        pass
    ((item, _),) = chat.sent
    assert item.card == replace(card, choices=(), lines=(safe(module.TWICE),))


async def test_a_decided_question_that_may_have_arrived_is_let_go(office: Office) -> None:
    """Nobody needs its words any more."""
    ident = await office.ask()
    rows = await office.stores.outbox.next(["group"], office.clock.now)
    await office.desk().decide(ident, yes())
    chat = Chat()
    found = worker(office, chat)
    await found.settle_ambiguous(rows)
    async with serving(office, chat):
        pass
    assert chat.sent == []


async def test_a_question_that_cannot_be_sent_is_reported(office: Office) -> None:
    """Its turn must not wait for an answer that cannot come."""
    ident = await office.ask()
    chat = Chat(deque([ChatGone("kicked")]))
    told: list[tuple[ApprovalId, str]] = []

    async def unasked(approval: ApprovalId, why: str) -> None:
        told.append((approval, why))

    async with serving(office, chat) as found:
        found.on_unasked = unasked
        found.wake()
    assert told == [(ident, "kicked")]


async def test_an_edit_without_its_question_holds_up_nobody(office: Office) -> None:
    """Its session was cleared meanwhile: what comes behind it is sent."""
    ident = await office.ask()
    chat = Chat()
    async with serving(office, chat):
        pass
    await put(office, OutboxItem(OutKind.EDIT, GROUP, card=chat.sent[0][0].card, approval=ident), note("b", group=True))
    await office.stores.history.clear(GROUP.session)
    await put(office, OutboxItem(OutKind.EDIT, GROUP, card=chat.sent[0][0].card, approval=ident))
    async with serving(office, chat):
        pass
    assert chat.texts()[1:] == ["b"]


async def test_a_row_that_cannot_be_marked_as_sent_is_not_sent_twice(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is tried until it works; meanwhile the chat waits."""
    chat = Chat()
    tries: list[int] = []
    mark = office.stores.outbox.sent

    async def sent(row: int, message: int | None) -> None:
        tries.append(row)
        if len(tries) < 3:
            raise StorageError("disk full")
        await mark(row, message)

    monkeypatch.setattr(office.stores.outbox, "sent", sent)
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.001)
    await put(office, note("a"), note("b"))
    async with serving(office, chat):
        pass
    assert chat.texts() == ["a", "b"]
    assert len(tries) == 4


async def test_an_outbox_that_cannot_be_read_is_asked_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker lives on."""
    chat = Chat()
    look = office.stores.outbox.next
    answers: list[object] = []

    async def broken(*args: object, **kwargs: object) -> object:
        answers.append(args)
        if len(answers) == 1:
            raise StorageError("locked")
        return await look(["private", "group"], office.clock.now)

    monkeypatch.setattr(office.stores.outbox, "next", broken)
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.001)
    await put(office, note("a"))
    async with serving(office, chat):
        await asyncio.wait_for(chat.seen.wait(), 2)
    assert chat.texts() == ["a"]


async def closed_while_sending(office: Office) -> list[OutboxItem]:
    """A worker that is closed while its first row is under way; what is left to be said by the next one."""
    found = worker(office, Chat(held=asyncio.Event()))
    running = asyncio.create_task(found.run())
    found.wake()
    while not found._busy:
        await asyncio.sleep(0)
    assert not await found.close(0.05)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    office.clock.now += 60_000
    return [row.item for row in await office.stores.outbox.next(["private", "group"], office.clock.now)]


async def test_closing_gives_up_what_hangs(office: Office) -> None:
    """It says that not all was said; an answer is not left as if it were still being sent, nor lost without a word."""
    await put(office, note("a"))
    (left,) = await closed_while_sending(office)
    assert (left.kind, left.text) == (OutKind.NOTICE, MISSING)


async def test_a_question_under_way_at_the_end_is_put_in_words_at_the_next_start(office: Office) -> None:
    """Its turn would wait in vain otherwise, and a second keyboard is never made."""
    ident = await office.ask()
    (left,) = await closed_while_sending(office)
    assert left.card is not None
    assert left.card.choices == ()
    assert f"/approve {ident}" in str(left.card.lines[-1])


async def test_an_edit_under_way_at_the_end_is_made_at_the_next_start(office: Office) -> None:
    """Twice does no harm."""
    ident = await office.ask()
    async with serving(office, Chat()):
        pass
    await office.desk().decide(ident, yes(at_ms=office.clock.now))
    left = await closed_while_sending(office)
    assert [item.kind for item in left] == [OutKind.EDIT]


async def test_a_lapsed_question_is_no_question_in_words(office: Office) -> None:
    """An expired request is told by its own edit."""
    ident = await office.ask()
    rows = await office.stores.outbox.next(["group"], office.clock.now)
    await office.desk().decide(ident, Ruling(ApprovalState.DENIED, CHIEF, Via.BUTTON, office.clock.now))
    found = worker(office, Chat())
    assert await found._in_words(rows[0].item) is None


@pytest.mark.parametrize(
    "fault",
    [Throttled("slow", 1), Unreachable("no"), ChannelError("bad gateway", status=502), Ambiguous("broke")],
    ids=["limit", "down", "502", "ambiguous"],
)
@pytest.mark.parametrize("there", [True, False])
async def test_the_file_of_a_question_is_not_sent_again_once_it_is_there(
    office: Office, fault: ChannelError, there: bool
) -> None:
    """However often the question itself is tried, also after a restart."""
    fault.file_arrived = there
    chat = Chat(deque([fault]))
    approval = await office.ask()
    card = Card(CardKind.QUESTION, safe("Run?"), safe("ls"), (), attachment=safe("ls -l"))
    (row,) = await office.stores.outbox.next([SurfaceName.GROUP, SurfaceName.PRIVATE], office.clock.now)
    await office.stores.outbox.retry(row.id, 0, replace(row.item, card=card))
    for _ in range(2):
        async with serving(office, chat):
            pass
        office.clock.now += 60_000
    ((item, _),) = chat.sent
    assert item.card is not None
    assert (item.card.body, item.card.attachment) == (safe("ls"), None if there else safe("ls -l"))
    assert (await office.stores.consents.get(approval)).state is ApprovalState.PENDING

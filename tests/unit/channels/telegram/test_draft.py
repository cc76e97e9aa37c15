"""Drafts over real HTTP: what is sent, how often, and what rests them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from structlog.testing import capture_logs

from mtbot.channels.telegram import draft
from mtbot.channels.telegram.draft import AGAIN_SECONDS, EVERY_SECONDS, REFUSED_SECONDS, TROUBLE_SECONDS, Drafts
from mtbot.channels.telegram.pace import BURST, DRAFTS_PER_SECOND, Pace
from mtbot.channels.telegram.transport import Account, Transport
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.turn import Address, SurfaceName
from mtbot.redaction.mask import Redactor
from mtbot.simulator import faults
from mtbot.simulator.faults import Fault
from mtbot.simulator.telegram import DEFAULT_TOKEN, TelegramSimulator

OPS = BotName("ops")
HERE = Address(SurfaceName.PRIVATE, OPS, ChatId(1001))
MASK = Redactor({}, b"key").mask


class Now:
    """Seconds that a test moves."""

    at = 1000.0

    def __call__(self) -> float:
        """Now."""
        return self.at


@dataclass
class Line:
    """A server, and drafts on their way to it."""

    telegram: TelegramSimulator
    now: Now
    pace: Pace
    drafts: Drafts

    async def show(self, text: str, number: int = 1, place: Address = HERE) -> bool:
        """Show a draft."""
        return await self.drafts.show(place, number, MASK(text))

    def seen(self, thread: int | None = None, chat: int = 1001) -> str:
        """What is shown."""
        found = self.telegram.draft(chat, thread)
        return "" if found is None else found.text

    @property
    def sent(self) -> int:
        """How many were tried."""
        return len(self.telegram.calls("sendMessageDraft"))


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    """A clock that stands still."""
    async with TelegramSimulator() as server:
        server.open(1001)
        transport, now = Transport(Account(OPS, DEFAULT_TOKEN, server.base_url)), Now()
        pace = Pace(now)
        yield Line(server, now, pace, Drafts(transport, pace, now))
        await transport.close()


async def test_a_draft_is_formatted_and_goes_into_its_topic(line: Line) -> None:
    """As the answer will be."""
    await line.telegram.say(1001, None, "hello")
    thread = line.telegram.topic(1001, "logs", 1001)
    assert await line.show("It **runs**.", 7, replace(HERE, thread=ThreadId(thread)))
    shown = line.telegram.draft(1001, thread)
    assert shown is not None
    assert (shown.number, shown.text, [(one.type, one.offset) for one in shown.entities]) == (
        7,
        "It runs.",
        [("bold", 3)],
    )
    assert line.seen() == ""


async def test_of_a_long_answer_the_first_message_is_shown(line: Line) -> None:
    """It is what a person is reading; what comes behind it changes nothing until the draft would be taken away."""
    text = "\n\n".join(f"\U0001f600 Paragraph {number}." for number in range(400))
    assert await line.show(text)
    first = line.seen()
    assert len(first.encode("utf-16-le")) <= 2 * 4096
    assert first.startswith("\U0001f600 Paragraph 0.")
    for seconds, sent in ((EVERY_SECONDS, 1), (AGAIN_SECONDS - EVERY_SECONDS, 2)):
        line.now.at += seconds
        assert await line.show(f"{text}\n\nMore of it.")
        assert (line.seen(), line.sent) == (first, sent)


async def test_a_draft_of_half_a_markup_is_taken(line: Line) -> None:
    """An open code block, a table that has only begun, a link without its end, a quote."""
    text = "> quote\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| `1` | **2** |\n\n[link](https://example.org/a_b) *x*\n"
    for end in range(1, len(text)):
        line.now.at += EVERY_SECONDS
        await line.show(text[:end])
    refused = [one.error for one in line.telegram.calls("sendMessageDraft") if one.error is not None]
    assert refused == []


async def test_a_chat_has_one_draft_at_a_time(line: Line) -> None:
    """However many answers are written there; another chat has its own."""
    line.telegram.open(1002)
    assert await line.show("one", 1)
    assert not await line.show("two", 2)
    assert await line.show("other", 3, replace(HERE, chat=ChatId(1002)))
    line.now.at += EVERY_SECONDS
    assert await line.show("two", 2)
    assert (line.seen(), line.seen(chat=1002), line.sent) == ("two", "other", 3)


async def test_nothing_to_see_is_not_shown(line: Line) -> None:
    """An empty text would say that the bot thinks."""
    assert not await line.show(" \n")
    assert line.sent == 0


async def test_drafts_take_no_place_from_messages(line: Line) -> None:
    """They are left out where messages are sent fast, and leave the messages' places alone."""
    for number in range(20):
        line.now.at += EVERY_SECONDS
        assert await line.show(f"{number}")
    assert [line.pace.delay(1001) for _ in range(BURST)] == [0.0] * BURST
    line.now.at += EVERY_SECONDS
    assert not await line.show("more")
    line.now.at += BURST
    assert await line.show("more")


async def test_all_chats_together_have_so_many_drafts_a_second(line: Line) -> None:
    """The rest is left out."""
    people = range(2000, 2000 + 2 * DRAFTS_PER_SECOND)
    for person in people:
        line.telegram.open(person)
    shown = [await line.show("so far", 1, replace(HERE, chat=ChatId(person))) for person in people]
    assert shown == [True] * DRAFTS_PER_SECOND + [False] * DRAFTS_PER_SECOND


@pytest.mark.parametrize(
    "fault",
    [
        faults.status(404, "Not Found"),
        faults.status(404, "Not Found: method not found"),
        faults.status(400, "Bad Request: method not found"),
        faults.status(400, "Bad Request: unknown method"),
        faults.status(400, "Method is not supported"),
    ],
    ids=lambda fault: f"{fault.refusal.code} {fault.refusal.description}",
)
async def test_a_server_that_knows_no_drafts_is_never_asked_again(line: Line, fault: Fault) -> None:
    """In no chat, and the log says it once."""
    line.telegram.open(1002)
    line.telegram.fault("sendMessageDraft", fault)
    with capture_logs() as logs:
        assert not await line.show("so far")
        line.now.at += 10 * REFUSED_SECONDS
        assert not await line.show("so far")
        assert not await line.show("so far", 2, replace(HERE, chat=ChatId(1002)))
    assert (line.drafts.known, line.sent) == (False, 1)
    assert [(one["event"], one["log_level"], one["bot"]) for one in logs] == [("draft.unknown", "info", "ops")]


@pytest.mark.parametrize(
    ("fault", "seconds", "told"),
    [
        (faults.too_many(7), 7.0, []),
        (faults.bad_gateway(), TROUBLE_SECONDS, ["draft.not_sent"]),
        (faults.drop(), TROUBLE_SECONDS, ["draft.not_sent"]),
        (faults.refuse(), TROUBLE_SECONDS, ["draft.not_sent"]),
        (faults.status(400, "Bad Request: TEXTDRAFT_PEER_INVALID"), REFUSED_SECONDS, ["draft.refused"]),
        (faults.status(400, "Bad Request: message thread not found"), REFUSED_SECONDS, ["draft.refused"]),
        (faults.status(403, "Forbidden: bot was blocked by the user"), REFUSED_SECONDS, ["draft.refused"]),
        (faults.unauthorized(), REFUSED_SECONDS, ["draft.refused"]),
    ],
    ids=["429", "502", "drop", "refuse", "peer", "topic", "403", "401"],
)
async def test_a_fault_rests_the_drafts_of_its_chat(line: Line, fault: Fault, seconds: float, told: list[str]) -> None:
    """For as long as the server asks, or as is likely to help; the log says it once, and other chats go on."""
    line.telegram.open(1002)
    with capture_logs() as logs:
        for _ in range(2):
            tried = line.sent
            line.telegram.fault("sendMessageDraft", fault)
            assert not await line.show("so far")
            line.now.at += seconds - 0.5
            assert not await line.show("so far")
            assert line.sent == tried + 1
            assert await line.show(f"so far {tried}", 2, replace(HERE, chat=ChatId(1002)))
            line.now.at += 0.5 + EVERY_SECONDS
        assert await line.show("so far")
    assert [one["event"] for one in logs] == told
    assert line.seen() == "so far"


async def test_chats_are_remembered_up_to_a_number(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was written in longest ago is forgotten: its rest was over, or it rests anew."""
    monkeypatch.setattr(draft, "CHATS_REMEMBERED", 1)
    line.telegram.open(1002)
    assert await line.show("one")
    assert await line.show("two", 2, replace(HERE, chat=ChatId(1002)))
    assert await line.show("one more", 3)
    assert len(line.drafts._chats) == 1

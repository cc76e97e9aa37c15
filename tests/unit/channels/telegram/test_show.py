"""What leaves over real HTTP: parts that fail, formatting that is refused, targets that are gone, and a typing sign."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from mtbot.channels.telegram import show as module
from mtbot.channels.telegram.pace import Pace
from mtbot.channels.telegram.show import INCOMPLETE, UNSURE, TelegramWay, Typing
from mtbot.channels.telegram.transport import Account, Transport
from mtbot.domain.errors import ChannelError
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.record import Attachment, Card, CardKind, Choice, ChoiceAction, OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.redaction.mask import Redactor
from mtbot.simulator import faults
from mtbot.simulator.faults import Fault
from mtbot.simulator.telegram import DEFAULT_TOKEN, TelegramSimulator
from mtbot.simulator.values import Person

OPS = BotName("ops")
CHIEF = Person(1001, "Chief")
HERE = Address(SurfaceName.PRIVATE, OPS, ChatId(CHIEF.id))
FORUM = -1009998887776
SAFE = Redactor({}, b"key").mask
LONG = "\n\n".join(f"Paragraph {number} says something about the logs." for number in range(250))
"""Three messages."""

VERY_LONG = LONG * 4
QUESTION = Card(
    CardKind.QUESTION, SAFE("Run this?"), SAFE("ls"), (), (Choice("✅ Approve once", ChoiceAction.APPROVE, "tok"),)
)


class Steps(Pace):
    """No pace at all: before the second message of an answer something happens."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.waits = 0
        self.before_second: Callable[[], None] = lambda: None

    async def wait(self, chat: int) -> None:
        """Count."""
        del chat
        self.waits += 1
        if self.waits == 2:
            self.before_second()


@dataclass
class Line:
    """A server with one open private chat, and the bot's way to it."""

    telegram: TelegramSimulator
    transport: Transport
    steps: Steps
    way: TelegramWay

    async def say(self, text: str, quote: int | None = None) -> int | None:
        """Deliver a reply."""
        return await self.way.deliver(OutboxItem(OutKind.REPLY, HERE, text=SAFE(text), quote=quote), None)

    def shown(self) -> list[str]:
        """What the bot shows."""
        return [message.text for message in self.telegram.chat(CHIEF.id) if message.sender.is_bot]


@pytest.fixture
async def line(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Line]:
    """It does not pause between tries."""
    monkeypatch.setattr(module, "LATER_PART_PAUSE", 0.0)
    async with TelegramSimulator() as server:
        server.open(CHIEF)
        transport = Transport(Account(OPS, DEFAULT_TOKEN, server.base_url))
        steps = Steps()
        yield Line(server, transport, steps, TelegramWay(transport, steps))
        await transport.close()


class Second(NamedTuple):
    """What befalls the second of three messages, so often, and how many the person sees and what comes last."""

    name: str
    fault: Callable[[], Fault]
    times: int
    messages: int
    last: str


SECONDS = (
    Second("a flood limit is waited out", lambda: faults.too_many(0), 1, 3, "Paragraph 249 "),
    Second("a proxy's page is tried again", faults.bad_gateway, 2, 3, "Paragraph 249 "),
    Second("a refusal ends it", lambda: faults.status(400, "Bad Request: no"), 1, 2, INCOMPLETE),
    Second("a server that stays down ends it", faults.bad_gateway, module.LATER_PART_TRIES, 2, INCOMPLETE),
    Second("what may have arrived is not said twice", faults.drop, 1, 4, UNSURE),
    Second("what may not have arrived is told", faults.refuse, 1, 3, UNSURE),
)


@pytest.mark.parametrize("second", SECONDS, ids=lambda second: str(second.name))
async def test_no_part_is_missing_unsaid(line: Line, second: Second) -> None:
    """The first message stands already, so whoever reads it must learn that something is not there."""
    line.steps.before_second = lambda: line.telegram.fault("sendMessage", second.fault(), times=second.times)
    first = await line.say(LONG)
    assert first == line.telegram.chat(CHIEF.id)[0].id
    assert len(line.shown()) == second.messages
    assert second.last in line.shown()[-1]


async def test_a_file_that_may_not_have_arrived_is_told(line: Line) -> None:
    """Neither is it sent twice, nor are a dozen messages sent in its place."""
    line.telegram.fault("sendDocument", faults.refuse())
    await line.say(VERY_LONG)
    assert len(line.shown()) == 2
    assert line.shown()[-1] == UNSURE


@pytest.mark.parametrize("words", ["can't parse entities: nested", "something that nobody has seen before"])
async def test_an_answer_whose_form_is_refused_loses_its_form_alone(line: Line, words: str) -> None:
    """Whatever the server says against it, the words arrive, without a mark of the markup; the log says why."""
    line.telegram.fault("sendMessage", faults.status(400, f"Bad Request: {words}"))
    with capture_logs() as logs:
        await line.say("**Here** is <b>it</b>.")
    (message,) = line.telegram.chat(CHIEF.id)
    assert (message.text, message.entities) == ("Here is <b>it</b>.", ())
    assert [(entry["event"], entry["bot"], words in str(entry["error"])) for entry in logs] == [
        ("show.plain", "ops", True)
    ]


async def test_a_chat_that_is_gone_is_not_asked_twice(line: Line) -> None:
    """Another form would not bring it back."""
    line.telegram.fault("sendMessage", faults.status(400, "Bad Request: chat not found"))
    with pytest.raises(ChannelError, match="chat not found"):
        await line.say("**Here**")
    assert len(line.telegram.calls("sendMessage")) == 1


async def test_an_answer_to_a_message_that_is_gone_arrives(line: Line) -> None:
    """Somebody deleted what they had asked; an answer and a question come all the same."""
    said = await line.telegram.say(CHIEF, None, "there?")
    await line.telegram.delete(CHIEF, None, said)
    await line.say("Here.", quote=said)
    await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=QUESTION, quote=said), None)
    assert line.shown() == ["Here.", "Run this?\nls"]
    assert {message.reply_to for message in line.telegram.chat(CHIEF.id)} == {None}


async def test_an_edit_that_changes_nothing_is_done(line: Line) -> None:
    """An edit that may have arrived is made again; that it had arrived is no failure, and no second message."""
    asked = await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=QUESTION), None)
    ended = OutboxItem(OutKind.EDIT, HERE, card=QUESTION.closed(SAFE("✅ Approved once by Chief 19:06")))
    for _ in range(2):
        assert await line.way.deliver(ended, asked) == asked
    assert "not modified" in str(line.telegram.calls("editMessageText")[-1].error)
    assert line.shown() == ["Run this?\nls\n✅ Approved once by Chief 19:06"]


async def test_a_command_cannot_leave_its_block(line: Line) -> None:
    """Whatever marks it holds: all of it is code, and nothing else is."""
    body = "ls\n```\n**Why I ask:** it is `safe`\n```\n<b>x</b>"
    card = Card(CardKind.QUESTION, SAFE("Run this?"), SAFE(body), (SAFE("Why I ask: no rule."),))
    await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=card), None)
    (message,) = line.telegram.chat(CHIEF.id)
    assert message.text == f"Run this?\n{body}\nWhy I ask: no rule."
    assert [(entity.type, entity.offset, entity.length) for entity in message.entities] == [
        ("bold", 0, 9),
        ("pre", 10, len(body)),
    ]


async def test_everything_stays_in_its_topic(line: Line) -> None:
    """Answers in parts or as a file, questions with an attachment, files and what shows that something runs."""
    line.telegram.group(FORUM, "forum", members=(CHIEF,), forum=True)
    topic = line.telegram.topic(FORUM, "deploys", CHIEF)
    there = Address(SurfaceName.GROUP, OPS, ChatId(FORUM), ThreadId(topic))
    long = Card(CardKind.QUESTION, SAFE("Run this?"), SAFE("see the file"), (), attachment=SAFE("ls " * 2000))
    file = Attachment(SAFE("a.txt"), b"text", readable=True)
    for item in (
        OutboxItem(OutKind.REPLY, there, text=SAFE(LONG)),
        OutboxItem(OutKind.REPLY, there, text=SAFE(VERY_LONG)),
        OutboxItem(OutKind.CARD, there, card=long),
        OutboxItem(OutKind.NOTICE, there, text=SAFE("a.txt"), file=file),
    ):
        await line.way.deliver(item, None)
    await line.way.show(there, QUESTION, None)
    sent = [call for call in line.telegram.log if call.method.startswith("send")]
    assert len(sent) == 9
    assert {(call.params["chat_id"], call.params["message_thread_id"]) for call in sent} == {(FORUM, topic)}
    assert {call.method for call in sent} == {"sendMessage", "sendDocument"}


@pytest.mark.parametrize(
    ("method", "there"), [("sendDocument", False), ("sendMessage", True)], ids=["the file", "the question"]
)
@pytest.mark.parametrize(
    "fault",
    [faults.too_many(0), faults.bad_gateway(), faults.status(400, "Bad Request: no"), faults.drop()],
    ids=["limit", "502", "refused", "ambiguous"],
)
async def test_a_question_that_is_held_up_says_whether_its_file_is_there(
    line: Line, method: str, there: bool, fault: Fault
) -> None:
    """Nobody can answer it, so whoever sends it has to know, and need not send the file again."""
    long = Card(CardKind.QUESTION, SAFE("Run this?"), SAFE("see the file"), (), attachment=SAFE("ls " * 2000))
    line.telegram.fault(method, fault)
    with pytest.raises(ChannelError) as failed:
        await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=long), None)
    assert failed.value.file_arrived is there
    line.telegram.fault("sendMessage", fault)
    with pytest.raises(ChannelError) as failed:
        await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=replace(long, attachment=None)), None)
    assert failed.value.file_arrived is False


async def test_a_late_answer_to_a_press_is_let_go(line: Line) -> None:
    """The server forgets a press after a few seconds."""
    line.telegram.set_query_lifetime(0)
    asked = await line.way.deliver(OutboxItem(OutKind.CARD, HERE, card=QUESTION), None)
    assert asked is not None
    press = await line.telegram.tap(CHIEF, asked)
    await line.way.answer_press(OPS, press, "Approved.")
    assert "query is too old" in str(line.telegram.calls("answerCallbackQuery")[-1].error)


async def test_typing_goes_on_in_its_topic_until_the_turn_rests(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the server says to it, and not a moment longer."""
    monkeypatch.setattr(module, "TYPING_SECONDS", 0.01)
    line.telegram.group(FORUM, "forum", members=(CHIEF,), forum=True)
    topic = line.telegram.topic(FORUM, "deploys", CHIEF)
    there = Address(SurfaceName.GROUP, OPS, ChatId(FORUM), ThreadId(topic))
    typing = Typing(line.transport)
    for fault in (faults.too_many(1), faults.status(400, "Bad Request: no"), faults.drop(), faults.bad_gateway()):
        line.telegram.fault("sendChatAction", fault)
    typing.working(there)
    typing.working(there)
    (task,) = typing._tasks.values()
    await line.telegram.wait_for(lambda sim: len([c for c in sim.calls("sendChatAction") if not c.fault]) >= 3)
    typing.resting(there)
    typing.resting(there)
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
    assert typing._tasks == {}
    assert {c.params["message_thread_id"] for c in line.telegram.calls("sendChatAction")} == {topic}


def test_the_sign_is_renewed_before_it_fades() -> None:
    """Telegram shows it for five seconds."""
    assert module.TYPING_SECONDS < 5

"""What Telegram does to a bot: polls that break, floods, repeats, topics, and people who are not what they seem."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlmodel import select

from mtbot.channels.telegram import poll, transport, watchdog
from mtbot.domain.errors import ChannelError
from mtbot.domain.ids import BotName
from mtbot.gateway import outbox
from mtbot.simulator import faults
from mtbot.simulator.faults import Fault
from mtbot.simulator.people import Disguise, Origin
from mtbot.simulator.script import call, say
from mtbot.simulator.values import Person
from mtbot.storage.tables import InboxTable
from tests.contract.stage import CHIEF, GROUP, STRANGER, Setting, Stage, open_stage

FORUM = -1009998887776
COMMAND = "echo ran >> sentinel"
ASKS = (call("exec", {"command": COMMAND}), say("Logged."))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses and deadlines of a test, not of a night."""
    monkeypatch.setattr(poll, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(poll, "CONFLICT_PAUSE", 0.02)


async def answers(stage: Stage) -> None:
    """It hears and speaks."""
    await stage.telegram.say(CHIEF, None, "/whoami")
    await stage.telegram.shown(CHIEF.id, "You are Chief")


@pytest.mark.parametrize(
    "fault",
    [
        faults.bad_gateway,
        faults.conflict,
        faults.drop,
        faults.cut,
        faults.refuse,
        lambda: faults.too_many(0),
        lambda: faults.status(500, "Internal Server Error"),
        lambda: faults.status(400, "Bad Request"),
    ],
    ids=["502", "409", "drop", "cut", "refuse", "429", "500", "400"],
)
async def test_polling_heals_by_itself(tmp_path: Path, fault: Callable[[], Fault]) -> None:
    """Whatever happened to a few polls, the next message is heard."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.fault("getUpdates", fault(), times=3)
        await stage.telegram.say(CHIEF, None, "/status")
        await stage.telegram.shown(CHIEF.id, "Running: nothing", timeout=10)
        await answers(stage)


async def test_a_poll_that_hangs_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that says nothing any more is given up, and the message behind it is heard."""
    monkeypatch.setattr(transport, "POLL_SECONDS", 1)
    monkeypatch.setattr(transport, "POLL_GRACE", 0.2)
    async with open_stage(tmp_path) as stage:
        stage.telegram.fault("getUpdates", faults.hang())
        await stage.telegram.wait_for(lambda sim: sim.hanging("getUpdates") == 1, 10)
        await answers(stage)


async def test_a_revoked_token_ends_the_gateway_with_one_line(tmp_path: Path) -> None:
    """Nothing is heard any more, so it does not pretend to serve."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.fault("getUpdates", faults.unauthorized(), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "anybody there")
        serving, stage.serving = stage.serving, None
        assert serving is not None
        with pytest.raises(Exception, match="Telegram does not accept this bot token"):
            await serving


async def test_a_flood_limit_holds_up_its_own_chat_only(tmp_path: Path) -> None:
    """429 for a private chat: the group is answered meanwhile, and nothing is lost."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.fault("sendMessage", faults.too_many(2))
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.wait_for(lambda sim: any(c.fault for c in sim.calls("sendMessage")))
        await stage.telegram.say(CHIEF, GROUP, "/whoami")
        await stage.telegram.shown(GROUP, "You are Chief")
        assert not [text for text in stage.bot_texts(CHIEF.id) if "You are Chief" in text]
        await stage.telegram.shown(CHIEF.id, "You are Chief", timeout=10)
        calls = [c for c in stage.telegram.calls("sendMessage") if c.params["chat_id"] == CHIEF.id]
        assert len(calls) == 2
        assert calls[1].at - calls[0].at >= 2


async def test_a_send_that_certainly_failed_is_made_again(tmp_path: Path) -> None:
    """502 and a refused connection: the answer comes, once."""
    async with open_stage(tmp_path, [say("Here.")]) as stage:
        stage.telegram.fault("sendMessage", faults.bad_gateway())
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.", timeout=10)
        assert stage.bot_texts(CHIEF.id) == ["Here."]


async def test_an_answer_that_telegram_cannot_parse_goes_out_as_plain_text(tmp_path: Path) -> None:
    """The words arrive without their formatting."""
    async with open_stage(tmp_path, [say("**Here** is `it`.")]) as stage:
        stage.telegram.fault("sendMessage", faults.status(400, "Bad Request: can't parse entities: nested"))
        await stage.telegram.say(CHIEF, None, "there?")
        shown = await stage.telegram.shown(CHIEF.id, "Here is it.")
        assert shown.entities == ()


async def polled_again(stage: Stage) -> None:
    """What was queued for the bot has been fetched."""
    polls = len(stage.telegram.calls("getUpdates"))
    await stage.telegram.wait_for(lambda sim: len(sim.calls("getUpdates")) > polls)


async def test_an_update_that_comes_again_is_acted_on_once(tmp_path: Path) -> None:
    """In the same process and after a restart: one turn, one answer."""
    async with open_stage(tmp_path, [say("Here."), say("A second turn.")]) as stage:
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        update = stage.telegram.bot().queue.ids[-1]
        for again in (False, True):
            if again:
                await stage.restart()
            stage.telegram.redeliver(update)
            await polled_again(stage)
            await answers(stage)
        assert len(stage.model.requests) == 1
        assert "A second turn." not in stage.bot_texts()


async def test_an_update_that_nobody_can_read_is_set_aside_alone(tmp_path: Path) -> None:
    """Its neighbours in the same answer are acted on."""
    async with open_stage(tmp_path) as stage:
        stage.telegram.push_update(None, {"message": {"message_id": "seven", "nonsense": True}})
        await answers(stage)


async def test_a_message_that_came_while_nobody_listened_is_answered_at_the_start(tmp_path: Path) -> None:
    """Telegram keeps it, and a message that was stored and not begun with is taken up too."""
    async with open_stage(tmp_path, [say("Here.")], start=False) as stage:
        stage.telegram.bot().queue._allowed = frozenset({"message", "callback_query"})
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "Here.")


async def test_a_topic_keeps_its_answers(tmp_path: Path) -> None:
    """Typing, question and reply all go to the topic that they belong to, and General gets no thread id."""
    setting = Setting()
    async with open_stage(tmp_path, [*ASKS, say("In General.")], setting, start=False) as stage:
        stage.telegram.group(FORUM, "forum", members=(CHIEF,), forum=True)
        stage.telegram.set_member(FORUM, stage.telegram.bot().id, "administrator")
        stage.config.write_text(stage.config.read_text().replace(f"groups: {{{GROUP}:", f"groups: {{{FORUM}:"))
        stage.config.write_text(stage.config.read_text().replace("require_mention: true", "require_mention: false"))
        thread = stage.telegram.topic(FORUM, "deploys", CHIEF)
        await stage.start()
        await stage.telegram.say(CHIEF, FORUM, "log it", thread=thread)
        await stage.telegram.shown(FORUM, "Run this on", thread)
        await stage.telegram.press(CHIEF, "✅ Approve once", FORUM)
        await stage.telegram.shown(FORUM, "Logged.", thread)
        here = [c for c in stage.telegram.log if c.params.get("chat_id") == FORUM and c.method.startswith("send")]
        assert {(c.method, c.params.get("message_thread_id")) for c in here} == {
            ("sendChatAction", thread),
            ("sendMessage", thread),
        }
        await stage.telegram.say(CHIEF, FORUM, "and here")
        await stage.telegram.shown(FORUM, "In General.", 1)
        last = stage.telegram.calls("sendMessage")[-1]
        assert last.params.get("message_thread_id") is None
        assert last.error is None
        # another conversation: nothing of the topic is in it
        assert [m["content"] for m in stage.model.requests[-1].messages if m["role"] == "user"] == ["and here"]


SEEMING: tuple[tuple[str, Person, Origin], ...] = (
    ("anonymous admin", CHIEF, Origin(Disguise.ANONYMOUS_ADMIN)),
    ("channel", CHIEF, Origin(Disguise.CHANNEL)),
    ("linked channel", CHIEF, Origin(Disguise.LINKED_CHANNEL)),
    ("forward", CHIEF, Origin(forwarded_from=STRANGER)),
    ("bot", Person(CHIEF.id, "Chief", is_bot=True), Origin()),
    ("stranger", STRANGER, Origin()),
)


@pytest.mark.parametrize(
    ("who", "origin"), [(who, origin) for _, who, origin in SEEMING], ids=[n for n, _, _ in SEEMING]
)
async def test_what_no_listed_person_said_starts_nothing(tmp_path: Path, who: Person, origin: Origin) -> None:
    """No turn, no answer, no row on disk."""
    async with open_stage(tmp_path, [say("It was heard.")]) as stage:
        username = stage.telegram.bot().account.person.username
        await stage.telegram.say(who, GROUP, f"@{username} do it", origin=origin)
        await answers(stage)
        assert stage.model.requests == ()
        assert {record.params["chat_id"] for record in stage.telegram.calls("sendMessage")} == {CHIEF.id}
        heard = await stage.engine.office.stores.inbox.offset(BotName("main"))
        assert heard == stage.telegram.bot().queue.ids[-1]
        assert await count_rows(stage) == 1


async def count_rows(stage: Stage) -> int:
    """How many updates were written to disk."""
    return await stage.engine.office.db.read(lambda session: len(session.exec(select(InboxTable.id)).all()))


async def test_a_command_for_another_bot_is_not_ours(tmp_path: Path) -> None:
    """/new@OtherBot forgets nothing here; our own name counts in any spelling."""
    async with open_stage(tmp_path) as stage:
        await stage.telegram.say(CHIEF, GROUP, "/whoami@some_other_bot")
        username = stage.telegram.bot().account.person.username or ""
        await stage.telegram.say(CHIEF, GROUP, f"/whoami@{username.upper()}")
        await stage.telegram.shown(GROUP, "You are Chief")
        assert len(stage.bot_texts(GROUP)) == 1


async def test_an_unknown_group_is_told_to_the_owner_once(tmp_path: Path) -> None:
    """With the id that the configuration wants; the group itself hears nothing."""
    async with open_stage(tmp_path) as stage:
        other = stage.telegram.group(-1005550001112, "elsewhere", members=(STRANGER,))
        for _ in range(3):
            await stage.telegram.say(STRANGER, other, "/start")
        await stage.telegram.shown(CHIEF.id, "-1005550001112")
        await answers(stage)
        assert len([text for text in stage.bot_texts(CHIEF.id) if "-1005550001112" in text]) == 1
        assert stage.bot_texts(other) == []


async def test_an_edit_of_a_message_runs_nothing(tmp_path: Path) -> None:
    """An edit is no new order."""
    async with open_stage(tmp_path, [say("Here."), say("Again.")]) as stage:
        said = await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        await stage.telegram.edit(CHIEF, None, said, "rm everything")
        await answers(stage)
        assert len(stage.model.requests) == 1


async def test_a_button_pressed_from_elsewhere_does_nothing(tmp_path: Path) -> None:
    """Copied into another chat, with a spoiled token, without its message: every press is answered, none runs."""
    async with open_stage(tmp_path, ASKS) as stage:
        await stage.telegram.say(CHIEF, None, "log it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        data = asked.buttons[0][0].data
        await stage.telegram.say(CHIEF, GROUP, "/whoami")
        other = await stage.telegram.shown(GROUP, "You are Chief")
        copied = await stage.telegram.answer(await stage.telegram.tap(CHIEF, other.id, GROUP, data=data))
        assert copied.text == "This button belongs to another chat."
        spoiled = await stage.telegram.answer(await stage.telegram.tap(CHIEF, asked.id, data="zz:"))
        assert spoiled.text == "This button belongs to nothing that I know. Nothing ran."
        strange = await stage.telegram.answer(await stage.telegram.tap(STRANGER, other.id, GROUP, data=data))
        assert strange.text == "You are not on the list of this chat."
        assert not (stage.workspace / "sentinel").exists()
        gone = await stage.telegram.answer(await stage.telegram.tap(CHIEF, asked.id, inaccessible=True))
        assert gone.text == "Approved."


async def test_a_press_that_cannot_be_answered_still_counts(tmp_path: Path) -> None:
    """The note to the presser is best effort; the decision is not."""
    async with open_stage(tmp_path, ASKS) as stage:
        stage.telegram.fault("answerCallbackQuery", faults.hang())
        await stage.telegram.say(CHIEF, None, "log it")
        await stage.telegram.shown(CHIEF.id, "Run this on")
        await stage.telegram.tap(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        await stage.telegram.shown(CHIEF.id, "✅ Approved once by Chief")
        stage.telegram.release()


async def test_a_flood_limit_holds_up_no_decision(tmp_path: Path) -> None:
    """What is to be said has to wait for minutes; the press on what was said counts at once."""
    async with open_stage(tmp_path, ASKS) as stage:
        await stage.telegram.say(CHIEF, None, "log it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        stage.telegram.fault("sendMessage", faults.too_many(300), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.wait_for(lambda sim: any(c.fault for c in sim.calls("sendMessage")))
        assert await stage.telegram.press(CHIEF, asked.id) == "Approved."
        await stage.model.wait_for(lambda model: len(model.requests) == 2)
        assert (stage.workspace / "sentinel").read_text() == "ran\n"


async def test_an_anonymous_admin_decides_as_the_person_who_presses(tmp_path: Path) -> None:
    """A press carries the person's own id, a command in the name of the group nobody's."""
    async with open_stage(tmp_path, ASKS) as stage:
        await stage.telegram.say(CHIEF, GROUP, f"@{stage.telegram.bot().account.person.username} log it")
        asked = await stage.telegram.shown(GROUP, "Run this on")
        ident = asked.text.splitlines()[0].partition("#")[2]
        await stage.telegram.say(CHIEF, GROUP, f"/approve {ident}", origin=Origin(Disguise.ANONYMOUS_ADMIN))
        await answers(stage)
        assert len(await stage.engine.office.stores.consents.pending()) == 1
        assert await stage.telegram.press(CHIEF, asked.id, GROUP) == "Approved."
        await stage.telegram.shown(GROUP, "Logged.")


async def test_another_reader_is_named_once_with_its_likely_causes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However often the server says 409; after it has healed, the next time is told again."""
    async with open_stage(tmp_path) as stage:
        for round_ in (1, 2):
            stage.telegram.fault("getUpdates", faults.conflict(), times=3)
            await stage.telegram.say(CHIEF, None, "/whoami")
            await stage.telegram.wait_for(
                lambda sim, answers=round_: len([m for m in sim.chat(CHIEF.id) if "You are" in m.text]) == answers  # type: ignore[misc]  # a default binds the loop
            )
    lines = [line for line in capsys.readouterr().out.splitlines() if "poll.conflict" in line]
    assert len(lines) == 2
    assert "another process reads this bot's updates, a webhook is set, or the token is known to others" in lines[0]


async def test_a_silence_is_told_once_and_its_connections_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Polls that break without any answer: one line, fresh connections, and one line when it is over."""
    monkeypatch.setattr(poll, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(poll, "LONGEST_PAUSE", 0.05)
    renewed = []
    renew = transport.Transport.renew

    async def counted(self: transport.Transport) -> None:
        renewed.append(1)
        await renew(self)

    monkeypatch.setattr(transport.Transport, "renew", counted)
    async with open_stage(tmp_path) as stage:
        stage.telegram.fault("getUpdates", faults.refuse(), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "/status")
        await stage.telegram.wait_for(lambda sim: any(c.fault for c in sim.calls("getUpdates")))
        with monkeypatch.context() as patient:
            patient.setattr(watchdog, "SILENCE_SECONDS", 0.05)
            await stage.telegram.wait_for(lambda _sim: len(renewed) >= 2, 10)
        stage.telegram.clear_faults()
        await answers(stage)
    out = capsys.readouterr().out
    assert out.count("poll.silent") == 1
    assert out.count("poll.heard_again") == 1


async def test_a_server_that_never_waits_is_not_asked_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Something between here and Telegram answers each poll at once with nothing new: one line, and a pause."""
    monkeypatch.setattr(transport, "POLL_SECONDS", 0)
    monkeypatch.setattr(poll, "FIRST_PAUSE", 0.02)
    async with open_stage(tmp_path) as stage:
        await stage.telegram.wait_for(lambda sim: len(sim.calls("getUpdates")) > 3, 10)
        await answers(stage)
        monkeypatch.setattr(poll, "FIRST_PAUSE", 3600.0)
        before = len(stage.telegram.calls("getUpdates"))
        assert (await stage.cli("senders")).status == 0  # a second of another process's time
        assert len(stage.telegram.calls("getUpdates")) <= before + 3
    assert "poll.answered_at_once" in capsys.readouterr().out


async def test_a_loop_that_is_stuck_ends_the_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever started it starts it again; a gateway that hears nothing must not look alive."""
    async with open_stage(tmp_path) as stage:
        monkeypatch.setattr(watchdog, "STUCK_SECONDS", 0.05)
        monkeypatch.setattr(poll, "WATCH_SECONDS", 0.05)
        stage.telegram.fault("getUpdates", faults.hang(), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "anybody there")
        serving, stage.serving = stage.serving, None
        assert serving is not None
        with pytest.raises(ChannelError, match="polling of bot main is stuck"):
            await serving


async def test_the_file_of_a_question_comes_once_however_long_the_question_is_held_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also across a restart; then it can be answered."""
    monkeypatch.setattr(outbox, "BACK_OFF_MS", 1)
    monkeypatch.setattr(outbox, "IDLE_SECONDS", 0.02)
    command = f"echo {'word ' * 1500}> sentinel"
    async with open_stage(tmp_path, (call("exec", {"command": command}), say("Logged."))) as stage:
        stage.telegram.fault("sendMessage", faults.bad_gateway(), times=faults.FOR_EVER)
        await stage.telegram.say(CHIEF, None, "go")
        await stage.telegram.wait_for(lambda sim: len(sim.calls("sendMessage")) > 6, 20)
        await stage.restart()
        before = len(stage.telegram.calls("sendMessage"))
        await stage.telegram.wait_for(lambda sim: len(sim.calls("sendMessage")) > before + 2, 20)
        stage.telegram.clear_faults()
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        assert len(stage.telegram.calls("sendDocument")) == 1
        assert await stage.telegram.press(CHIEF, "✅ Approve once", timeout=20) == "Approved."
        await stage.telegram.shown(CHIEF.id, "Logged.", timeout=20)

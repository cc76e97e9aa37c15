"""C7: a question outlives its process, is refused where nobody is there, and is void when its time is over."""

from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator import faults
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, GROUP, Stage, open_stage
from tests.contract.surfaces import CHATS, Way, in_every_chat

COMMAND = "echo ran >> sentinel"
HALF_AN_HOUR_MS = 31 * 60_000


def chat_of(way: Way) -> int:
    """Where that chat is."""
    return CHIEF.id if way.name == "private" else GROUP


async def ask(stage: Stage, way: Way) -> str:
    """Have the question put; its id."""
    mention = "" if way.name == "private" else f"@{stage.telegram.bot().account.person.username} "
    await stage.telegram.say(CHIEF, chat_of(way), f"{mention}log it")
    shown = await stage.telegram.shown(chat_of(way), "Run this on", timeout=20)
    return shown.text.splitlines()[0].partition("#")[2]


async def answer(stage: Stage, way: Way, road: str, ident: str) -> None:
    """Say yes by one of the three roads."""
    if road == "button":
        assert await stage.telegram.press(CHIEF, "✅ Approve once", chat_of(way), timeout=20) == "Approved."
    elif road == "command":
        await stage.telegram.say(CHIEF, chat_of(way), f"/approve {ident}")
    else:
        said = await stage.cli("approvals", "approve", ident)
        assert (said.status, said.err) == (0, "")


@in_every_chat
@pytest.mark.parametrize("road", ["button", "command", "cli"])
async def test_a_question_survives_the_death_of_its_process(tmp_path: Path, way: Way, road: str) -> None:
    """SIGKILL while it is open, start again: the old message, /approve and the host each still run it, once."""
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND}), say("Logged.")], start=False) as stage:
        sentinel = stage.workspace / "sentinel"
        async with stage.gateway_process() as gateway:
            ident = await ask(stage, way)
            # once the next line is out, the question is known to have arrived
            await stage.telegram.say(CHIEF, chat_of(way), "/status")
            await stage.telegram.shown(chat_of(way), f"waiting: #{ident}", timeout=20)
            gateway.kill()
            await gateway.wait()
        assert not sentinel.exists()
        if road == "cli":
            await answer(stage, way, road, ident)
            assert not sentinel.exists()
        await stage.start()
        if road != "cli":
            await answer(stage, way, road, ident)
        await stage.telegram.shown(chat_of(way), "Logged.", timeout=20)
        assert sentinel.read_text() == "ran\n"
        assert [(line.decision, line.exit) for line in await stage.lines()] == [("approved", "0")]
        questions = [text for text in stage.bot_texts(chat_of(way)) if text.startswith("Run this on")]
        assert len(questions) == 1
        assert "✅ Approved once by" in questions[0]
        assert not [text for text in stage.bot_texts(chat_of(way)) if "cut off" in text.lower()]


async def test_by_night_a_question_is_refused_at_once_and_the_owner_hears_of_it(tmp_path: Path) -> None:
    """No approver: the record says expired, nothing ran, and the job's chat reads what would permit it."""
    steps = [call("exec", {"command": "touch made.txt"}), say("The check is through.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.run_job()
        told = await stage.telegram.shown(CHIEF.id, "Not run, nobody was there to ask: touch made.txt (no rule)")
        assert "mtclaw policy allow 'touch made.txt'" in told.text
        assert not (stage.workspace / "made.txt").exists()
        resolved = [e.draft for e in await stage.events() if e.draft.kind is EventKind.APPROVAL_RESOLVED]
        assert [(draft.word.value, draft.reason.partition(":")[0]) for draft in resolved] == [
            ("expired", "no_approver")
        ]
        assert "nobody can be asked here" in stage.model.requests[-1].last_tool_result


@pytest.mark.parametrize("road", ["button", "command", "cli"])
async def test_a_yes_after_the_time_is_over_runs_nothing(tmp_path: Path, road: str) -> None:
    """Also when the process slept past it and nobody had noticed yet."""
    way = CHATS[0]
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND})]) as stage:
        ident = await ask(stage, way)
        stage.clock.skipped_ms += HALF_AN_HOUR_MS
        if road == "button":
            note = await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
            assert note.startswith("Already expired, nothing ran")
        elif road == "command":
            await stage.telegram.say(CHIEF, None, f"/approve {ident}")
            await stage.telegram.shown(CHIEF.id, f"#{ident} expired")
        else:
            await stage.engine.recovery.look()
            said = await stage.cli("approvals", "approve", ident)
            assert said.status == 1
            assert "was expired by" in said.err
        await stage.telegram.shown(CHIEF.id, "Expired ")
        await stage.telegram.shown(CHIEF.id, f"#{ident} expired, nothing ran.")
        assert not (stage.workspace / "sentinel").exists()
        assert [line.decision for line in await stage.lines()] == ["expired"]
        assert EventKind.STARTED not in {event.draft.kind for event in await stage.events()}


async def test_ask_again_is_a_new_request(tmp_path: Path) -> None:
    """The button below an expired question makes the model propose it anew; the old yes is worth nothing."""
    steps = [call("exec", {"command": COMMAND}), call("exec", {"command": COMMAND}), say("Logged.")]
    async with open_stage(tmp_path, steps) as stage:
        first = await ask(stage, CHATS[0])
        stage.clock.skipped_ms += HALF_AN_HOUR_MS
        await stage.engine.recovery.look()
        await stage.telegram.shown(CHIEF.id, f"#{first} expired, nothing ran.")
        await stage.telegram.wait_for(lambda sim: any("Ask again" in m.labels for m in sim.chat(CHIEF.id)))
        assert await stage.telegram.press(CHIEF, "Ask again", CHIEF.id) == "Asking again."
        await stage.telegram.wait_for(
            lambda sim: any("✅ Approve once" in message.labels for message in sim.chat(CHIEF.id))
        )
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert (stage.workspace / "sentinel").read_text() == "ran\n"
        assert [line.decision for line in await stage.lines()] == ["expired", "approved"]


async def test_a_removed_person_wins_over_an_old_yes(tmp_path: Path) -> None:
    """Approved while the gateway was down, the requester taken off the list before it starts: nothing runs."""
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND}), say("I could not.")]) as stage:
        ident = await ask(stage, CHATS[0])
        await stage.stop()
        assert (await stage.cli("approvals", "approve", ident)).status == 0
        stage.config.write_text(stage.config.read_text().replace("allow_from: [chief, deploy", "allow_from: [deploy"))
        stage.config.write_text(stage.config.read_text().replace("chat_id: chief", "chat_id: deploy"))
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "I could not.")
        assert not (stage.workspace / "sentinel").exists()


async def test_a_question_that_nobody_can_see_is_closed_at_once(tmp_path: Path) -> None:
    """The topic is gone, so the turn does not wait half an hour for an answer that cannot come."""
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND}), say("Later.")]) as stage:
        stage.telegram.fault("sendMessage", faults.status(400, "Bad Request: message thread not found"))
        await stage.telegram.say(CHIEF, None, "log it")
        ended = await stage.telegram.shown(CHIEF.id, "expired, nothing ran.")
        assert "Run this on" not in " ".join(stage.bot_texts())
        resolved = [e.draft for e in await stage.events() if e.draft.kind is EventKind.APPROVAL_RESOLVED]
        assert [(draft.word.value, draft.reason.partition(":")[0]) for draft in resolved] == [
            ("expired", "no_approver")
        ]
        await stage.telegram.say(CHIEF, None, "and now")
        await stage.telegram.shown(CHIEF.id, "Later.", after=ended.id)


async def test_a_question_that_may_have_arrived_has_one_keyboard(tmp_path: Path) -> None:
    """The connection broke behind it: its words follow without buttons, and the old buttons work and are taken away."""
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND}), say("Logged.")]) as stage:
        stage.telegram.fault("sendMessage", faults.drop())
        await stage.telegram.say(CHIEF, None, "log it")
        words = await stage.telegram.shown(CHIEF.id, "I can't tell whether this question reached you.")
        assert COMMAND in words.text
        assert words.labels == ()
        live = [message for message in stage.telegram.chat(CHIEF.id) if message.labels]
        assert len(live) == 1
        assert await stage.telegram.press(CHIEF, live[0].id) == "Approved."
        await stage.telegram.shown(CHIEF.id, "Logged.")
        await stage.telegram.wait_for(lambda sim: not any(m.labels for m in sim.chat(CHIEF.id)))
        assert (stage.workspace / "sentinel").read_text() == "ran\n"


async def test_a_question_in_words_is_answered_by_its_name(tmp_path: Path) -> None:
    """/deny works where no button can be pressed."""
    async with open_stage(tmp_path, [call("exec", {"command": COMMAND}), say("Left.")]) as stage:
        stage.telegram.fault("sendMessage", faults.cut())
        await stage.telegram.say(CHIEF, None, "log it")
        words = await stage.telegram.shown(CHIEF.id, "I can't tell whether this question reached you.")
        ident = words.text.splitlines()[0].partition("#")[2]
        await stage.telegram.say(CHIEF, None, f"/deny {ident} not today")
        await stage.telegram.shown(CHIEF.id, "Left.")
        assert "not today" in stage.model.requests[-1].last_tool_result
        assert not (stage.workspace / "sentinel").exists()

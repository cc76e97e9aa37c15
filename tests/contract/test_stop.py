"""/stop and /new in every state that a turn can be in: answered within seconds, and what is stopped stays stopped."""

import asyncio
import os
from pathlib import Path

import pytest

from mtbot.bootstrap import engine as engine_module
from mtbot.domain.ids import SessionId
from mtbot.domain.record import EventKind, Via, Word
from mtbot.simulator.script import HANG, Step, call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage

SESSION = SessionId("telegram:main:1001:0")
ALLOW = Setting(allow="[{argv: [cat, '*']}, {argv: [touch, '*']}]")


async def closed(stage: Stage) -> None:
    """No inbox row is open and no lease is held: nothing would come back after a restart."""
    assert await stage.engine.lanes.settle(SESSION, 5)
    for bot in stage.engine.loaded.settings.channels.telegram.bots:
        assert await stage.engine.office.stores.inbox.waiting(bot) == ()  # type: ignore[arg-type] # a name is a str
    held = await stage.engine.office.stores.leases.acquire(SESSION, "somebody else", 0, 1)
    assert held
    await stage.engine.office.stores.leases.release(SESSION, "somebody else")


async def test_nothing_to_stop(tmp_path: Path) -> None:
    """It says so."""
    async with open_stage(tmp_path) as stage:
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "Nothing is running here.")


async def test_stop_while_the_model_thinks(tmp_path: Path) -> None:
    """The request is given up; the next message is a new turn."""
    async with open_stage(tmp_path, [HANG, say("Here.")]) as stage:
        await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "⏹ Stopped: what was running.")
        await closed(stage)
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        roles = [m["role"] for m in stage.model.requests[-1].messages]
        assert roles == ["system", "user", "assistant", "user"]


async def test_stop_while_a_command_ignores_being_asked(tmp_path: Path) -> None:
    """A program that ignores TERM is killed, the answer names it, the record says stopped."""
    command = "trap '' TERM INT HUP; cat pipe; cat pipe"
    async with open_stage(tmp_path, [call("exec", {"command": command})]) as stage:
        pipe = stage.workspace / "pipe"
        os.mkfifo(pipe)
        await stage.telegram.say(CHIEF, None, "go")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
        await stage.telegram.say(CHIEF, None, "/stop")
        answer = await stage.telegram.shown(CHIEF.id, command, after=asked.id, timeout=8)
        assert answer.text in (f"⏹ Stopped: {command}.", f"⏹ Stopping {command}; it is being killed.")
        os.close(writer)
        await stage.telegram.shown(CHIEF.id, "✅ Approved once by Chief")
        shown = await stage.telegram.wait_for(
            lambda sim: next((m.text for m in sim.chat(CHIEF.id) if "· stopped ·" in m.text), None)
        )
        assert shown is not None
        assert shown.startswith("Run this on")
        await closed(stage)
        assert [(line.decision, line.exit) for line in await stage.lines()] == [("approved", "stopped")]


async def test_stop_while_a_person_is_asked(tmp_path: Path) -> None:
    """The question is closed, nothing runs, and a press on it later is told so."""
    async with open_stage(tmp_path, [call("exec", {"command": "echo x > x"}), say("Here.")]) as stage:
        await stage.telegram.say(CHIEF, None, "go")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        data = asked.buttons[0][0].data
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "denied.")
        await stage.telegram.shown(CHIEF.id, "⏹ Stopped by Chief")
        late = await stage.telegram.answer(await stage.telegram.tap(CHIEF, asked.id, data=data))
        assert late.text.startswith("Already denied by Chief")
        await closed(stage)
        assert len(stage.model.requests) == 1
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        assert not (stage.workspace / "x").exists()


@pytest.fixture
def one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one turn at a time in the whole process."""
    monkeypatch.setattr(engine_module, "SLOTS", 1)


@pytest.mark.usefixtures("one_slot")
async def test_stop_while_it_waits_for_a_slot(tmp_path: Path) -> None:
    """The message that had not begun is dropped, for good."""
    async with open_stage(tmp_path, [HANG, say("Never.")]) as stage:
        await stage.telegram.say(DEPLOY, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "wait for it")
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.shown(CHIEF.id, "You are Chief")
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "1 waiting message dropped.")
        await stage.telegram.say(DEPLOY, None, "/stop")
        await stage.telegram.shown(DEPLOY.id, "⏹ Stopped")
        await closed(stage)
        await stage.restart()
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.wait_for(lambda sim: len([m for m in sim.chat(CHIEF.id) if "You are" in m.text]) == 2)
        assert len(stage.model.requests) == 1


@pytest.mark.usefixtures("one_slot")
async def test_stop_between_a_yes_and_its_start(tmp_path: Path) -> None:
    """Approved and waiting for a slot: /stop takes the yes back, and it never runs."""
    steps: list[Step] = [call("exec", {"command": "echo x > x"}), HANG, say("Here.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "go")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        ident = asked.text.splitlines()[0].partition("#")[2]
        await stage.telegram.say(DEPLOY, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        assert await stage.telegram.press(CHIEF, asked.id) == "Approved."
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, f"⏹ Stopped before it began: #{ident}.")
        await stage.telegram.say(DEPLOY, None, "/stop")
        await stage.telegram.shown(DEPLOY.id, "⏹ Stopped")
        await stage.telegram.shown(CHIEF.id, "nothing ran")
        await closed(stage)
        resolved = [event.draft for event in await stage.events() if event.draft.kind is EventKind.APPROVAL_RESOLVED]
        assert [(draft.word, draft.via, draft.decider) for draft in resolved] == [
            (Word.APPROVED, Via.BUTTON, "telegram:1001"),
            (Word.DENIED_USER, Via.STOP, "telegram:1001"),
        ]
        await stage.engine.recovery.look()
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")
        assert not (stage.workspace / "x").exists()


async def test_new_waits_for_what_runs_and_forgets_it(tmp_path: Path) -> None:
    """The turn under way is ended first, so that nothing of it is written afterwards."""
    async with open_stage(tmp_path, [say("First."), HANG, say("Afresh.")]) as stage:
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "First.")
        await stage.telegram.say(CHIEF, None, "two")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "queued")
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start: 4 messages put away. I stopped what was running.")
        await stage.telegram.say(CHIEF, None, "three")
        await stage.telegram.shown(CHIEF.id, "Afresh.")
        said = [m["content"] for m in stage.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["three"]
        await closed(stage)


async def test_new_while_a_person_is_asked_closes_the_question(tmp_path: Path) -> None:
    """And what is said afterwards still arrives: an edit of a forgotten question holds up nobody."""
    async with open_stage(tmp_path, [call("exec", {"command": "echo x > x"}), say("Afresh.")]) as stage:
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "Run this on")
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start")
        await stage.telegram.say(CHIEF, None, "three")
        await stage.telegram.shown(CHIEF.id, "Afresh.")
        assert not (stage.workspace / "x").exists()
        resolved = [event.draft.word.value for event in await stage.events() if event.draft.word.value]
        assert resolved == ["denied_user"]


async def test_new_of_somebody_else_does_not_forget_an_open_question(tmp_path: Path) -> None:
    """A question that is not theirs to turn down stays, with the conversation."""
    setting = Setting(approvers="[review]")
    async with open_stage(tmp_path, [call("exec", {"command": "echo x > x"})], setting) as stage:
        await stage.telegram.say(CHIEF, GROUP, f"@{stage.telegram.bot().account.person.username} go")
        await stage.telegram.shown(GROUP, "Run this on")
        await stage.telegram.say(DEPLOY, GROUP, "/new")
        await stage.telegram.shown(GROUP, "is open and not yours to turn down, so nothing was changed.")
        assert len(await stage.engine.office.stores.consents.pending()) == 1


async def test_more_messages_than_a_lane_keeps_bring_one_notice(tmp_path: Path) -> None:
    """Eight wait, the ninth is dropped and said once; /stop clears them and says how many."""
    async with open_stage(tmp_path, [HANG]) as stage:
        await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        for number in range(11):
            await stage.telegram.say(CHIEF, None, f"more {number}")
        await stage.telegram.shown(CHIEF.id, "I am still working on your earlier messages; this one was dropped.")
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.shown(CHIEF.id, "You are Chief", timeout=10)
        assert len([text for text in stage.bot_texts() if "this one was dropped" in text]) == 1
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, "8 waiting messages dropped.", timeout=10)
        await closed(stage)


async def test_a_stop_of_the_gateway_in_a_turn_is_written_down_and_told(tmp_path: Path) -> None:
    """What had not begun is taken up by the next start, what had is told as cut short."""
    async with open_stage(tmp_path, [HANG, say("Taken up.")]) as stage:
        await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "and then this")
        await stage.telegram.say(CHIEF, None, "/whoami")
        await stage.telegram.shown(CHIEF.id, "You are Chief")
        await stage.restart()
        await stage.telegram.shown(CHIEF.id, "I was shut down in the middle of this.")
        await stage.telegram.shown(CHIEF.id, "Taken up.")
        assert stage.model.requests[-1].last_user_text == "and then this"


async def test_lanes_run_side_by_side(tmp_path: Path) -> None:
    """A turn that hangs in one chat holds up no other."""
    async with open_stage(tmp_path, [HANG, say("Here.")]) as stage:
        await stage.telegram.say(DEPLOY, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "there?")
        await stage.telegram.shown(CHIEF.id, "Here.")

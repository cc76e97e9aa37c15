"""C8: one yes is one run, a crash in the middle is told and never repeated, and a yes is for exactly what was shown."""

import asyncio
import os
from pathlib import Path

import pytest

from mtbot.domain.errors import AlreadyDecided
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import ApprovalState, EventKind, Ruling, Via
from mtbot.domain.turn import Actor, ActorKind
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import CHATS
from tests.contract.test_c7_waiting import COMMAND, ask

STEPS = (call("exec", {"command": COMMAND}), say("Logged."))


async def ran_once(stage: Stage, chat: int = CHIEF.id) -> None:
    """The sentinel holds one line, and the record one start."""
    await stage.telegram.shown(chat, "Logged.", timeout=20)
    assert (stage.workspace / "sentinel").read_text() == "ran\n"
    kinds = [event.draft.kind for event in await stage.events()]
    assert kinds.count(EventKind.STARTED) == 1
    assert kinds.count(EventKind.APPROVAL_RESOLVED) == 1


async def test_two_people_press_at_once(tmp_path: Path) -> None:
    """One wins, the other reads who did; it runs once."""
    async with open_stage(tmp_path, STEPS) as stage:
        await ask(stage, CHATS[1])
        queries = [await stage.telegram.tap(who, "✅ Approve once", GROUP) for who in (CHIEF, DEPLOY)]
        notes = [(await stage.telegram.answer(query)).text for query in queries]
        await ran_once(stage, GROUP)
        assert sorted(note.partition(" by ")[0] for note in notes) == ["Already approved", "Approved."]


async def test_a_yes_and_a_no_at_once(tmp_path: Path) -> None:
    """Whoever is first counts, and the card says that one only."""
    async with open_stage(tmp_path, STEPS) as stage:
        await ask(stage, CHATS[1])
        yes = await stage.telegram.tap(CHIEF, "✅ Approve once", GROUP)
        no = await stage.telegram.tap(DEPLOY, "🚫 Deny", GROUP)
        notes = {(await stage.telegram.answer(query)).text.partition(" ")[0] for query in (yes, no)}
        await stage.telegram.shown(GROUP, "Logged.", timeout=20)
        assert "Already" in notes
        resolved = [e.draft.word.value for e in await stage.events() if e.draft.kind is EventKind.APPROVAL_RESOLVED]
        assert len(resolved) == 1
        assert (stage.workspace / "sentinel").exists() is (resolved == ["approved"])


async def test_a_press_and_the_host_at_once(tmp_path: Path) -> None:
    """The command line is another process; the row decides between them."""
    async with open_stage(tmp_path, STEPS) as stage:
        ident = await ask(stage, CHATS[0])
        said, note = await asyncio.gather(
            stage.cli("approvals", "approve", ident), stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        )
        await ran_once(stage)
        assert [said.status == 0, note == "Approved."].count(True) == 1


async def test_a_press_after_the_run_changes_nothing(tmp_path: Path) -> None:
    """An old client may still show the button."""
    async with open_stage(tmp_path, STEPS) as stage:
        await ask(stage, CHATS[0])
        message = next(m for m in stage.telegram.chat(CHIEF.id) if m.labels)
        data = message.buttons[0][0].data
        await stage.telegram.press(CHIEF, message.id)
        await ran_once(stage)
        late = await stage.telegram.answer(await stage.telegram.tap(CHIEF, message.id, data=data))
        assert late.text.startswith("Already approved by Chief")
        await ran_once(stage)


async def test_a_callback_that_is_delivered_again_is_acted_on_once(tmp_path: Path) -> None:
    """Also after a restart."""
    async with open_stage(tmp_path, STEPS) as stage:
        await ask(stage, CHATS[0])
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await ran_once(stage)
        update = stage.telegram.bot().queue.ids[-1]
        polls = len(stage.telegram.calls("getUpdates"))
        stage.telegram.redeliver(update)
        await stage.telegram.wait_for(lambda sim: len(sim.calls("getUpdates")) > polls)
        await stage.restart()
        stage.telegram.redeliver(update)
        polls = len(stage.telegram.calls("getUpdates"))
        await stage.telegram.wait_for(lambda sim: len(sim.calls("getUpdates")) > polls)
        await ran_once(stage)


async def test_fifty_deciders_at_once(tmp_path: Path) -> None:
    """Exactly one ruling is written, forty-nine read who was first."""
    async with open_stage(tmp_path, STEPS) as stage:
        ident = ApprovalId(await ask(stage, CHATS[0]))
        chief = Actor(ActorKind.TELEGRAM, CHIEF.id, "Chief")
        ruling = Ruling(ApprovalState.APPROVED, chief, Via.BUTTON, stage.clock.now_ms())
        ended = await asyncio.gather(
            *(stage.engine.desk.decide(ident, ruling) for _ in range(50)), return_exceptions=True
        )
        assert sum(isinstance(one, AlreadyDecided) for one in ended) == 49
        await stage.engine.recovery.look()
        await ran_once(stage)


@pytest.mark.parametrize("road", ["rule", "approval"])
async def test_a_crash_in_the_middle_is_told_and_nothing_is_run_again(tmp_path: Path, road: str) -> None:
    """SIGKILL between start and end: interrupted on record, the chat and the model's next turn hear of it."""
    command = "cat pipe" if road == "rule" else "echo begun >> sentinel; cat pipe; sleep 60"
    setting = Setting(allow="[{argv: [cat, '*']}]" if road == "rule" else "[]")
    steps = [call("exec", {"command": command}), say("Good to know.")]
    async with open_stage(tmp_path, steps, setting, start=False) as stage:
        pipe = stage.workspace / "pipe"
        os.mkfifo(pipe)
        async with stage.gateway_process() as gateway:
            await stage.telegram.say(CHIEF, None, "go")
            if road == "approval":
                await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
                await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
            # a pipe can be opened for writing once the command reads it
            writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
            gateway.kill()
            await gateway.wait()
            os.close(writer)
        await stage.start()
        told = await stage.telegram.shown(CHIEF.id, "Cut off", timeout=20)
        assert "cat pipe" in told.text
        assert "I was cut off while I worked" not in " ".join(stage.bot_texts())
        assert [line.exit for line in await stage.lines()] == ["interrupted"]
        await stage.telegram.say(CHIEF, None, "what happened")
        await stage.telegram.shown(CHIEF.id, "Good to know.", timeout=20)
        read = " ".join(str(message["content"]) for message in stage.model.requests[-1].messages)
        assert "how it ended is unknown" in read
        assert "cat pipe" in read
        if road == "approval":
            assert (stage.workspace / "sentinel").read_text() == "begun\n"
        kinds = [event.draft.kind for event in await stage.events()]
        assert kinds.count(EventKind.STARTED) == 1
        assert kinds.count(EventKind.INTERRUPTED) == 1


@pytest.mark.parametrize("what", ["content", "link"])
async def test_a_yes_is_void_when_what_it_was_for_has_changed(tmp_path: Path, what: str) -> None:
    """The script's content, or where its name leads, changed between question and press: nothing runs."""
    (tmp_path / "workspace").mkdir()
    script = tmp_path / "workspace" / "go.sh"
    other = tmp_path / "workspace" / "other.sh"
    other.write_text("echo ran >> sentinel\n")
    script.write_text("echo harmless\n")
    async with open_stage(tmp_path, [call("exec", {"command": "sh go.sh"}), say("It changed.")]) as stage:
        await ask(stage, CHATS[0])
        if what == "content":
            script.write_text("echo ran >> sentinel\n")
        else:
            script.unlink()
            script.symlink_to(other)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "It changed.")
        assert not (stage.workspace / "sentinel").exists()
        assert "changed between the question and the approval" in stage.model.requests[-1].last_tool_result
        assert EventKind.STARTED not in {event.draft.kind for event in await stage.events()}


async def test_a_yes_for_one_command_is_no_yes_for_the_next(tmp_path: Path) -> None:
    """One byte more, and it is a new request with a new name."""
    steps = [call("exec", {"command": COMMAND}), call("exec", {"command": f"{COMMAND} "}), say("Logged.")]
    async with open_stage(tmp_path, steps) as stage:
        first = await ask(stage, CHATS[0])
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        again = await stage.telegram.wait_for(
            lambda sim: next((m for m in sim.chat(CHIEF.id) if m.labels and f"#{first}" not in m.text), None), 10
        )
        assert again is not None
        assert again.text.startswith("Run this on")
        assert (stage.workspace / "sentinel").read_text() == "ran\n"
        await stage.telegram.press(CHIEF, again.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert (stage.workspace / "sentinel").read_text() == "ran\nran\n"

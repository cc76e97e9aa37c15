"""Signs of life: what runs is shown once, silently, with its last line and a Stop button, and is gone afterwards."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mtbot.gateway import status
from mtbot.simulator import faults
from mtbot.simulator.script import HANG, call, say
from mtbot.simulator.values import Message
from tests.contract.stage import CHIEF, STRANGER, Setting, Stage, open_stage

BY_RULE = Setting(allow="[{argv: [cat, '*']}]")
CAT = (call("exec", {"command": "cat pipe"}), say("Done."))
SECRET = "sk-test-0123456789abcdef0123456789"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test does not wait for seconds to pass."""
    for name in ("FIRST_SECONDS", "EVERY_SECONDS", "THINKING_SECONDS"):
        monkeypatch.setattr(status, name, 0.05)


def verbose(stage: Stage, word: str) -> None:
    """Set how much is shown."""
    text = stage.config.read_text()
    stage.config.write_text(text.replace("    approvers:", f"    verbosity: {word}\n    approvers:"))


@asynccontextmanager
async def piped(stage: Stage) -> AsyncIterator[int]:
    """A pipe that a command reads from; the descriptor to write what it then prints."""
    path = stage.workspace / "pipe"
    os.mkfifo(path)
    opening = asyncio.create_task(asyncio.to_thread(os.open, path, os.O_WRONLY))
    yielded = False
    try:
        await stage.telegram.say(CHIEF, None, "show it")
        if stage.setting.allow == "[]":
            await stage.telegram.shown(CHIEF.id, "Run this on")
            await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        writer = await opening
        yielded = True
        yield writer
    finally:
        if yielded:
            os.close(writer)


def statuses(stage: Stage) -> list[Message]:
    """The status messages that are in the chat."""
    return [message for message in stage.telegram.chat(CHIEF.id) if message.text.startswith("⏳")]


async def test_what_runs_is_shown_and_gone_when_the_answer_comes(tmp_path: Path) -> None:
    """One silent message: the command, how long, the last whole line; then only what ran, and the answer."""
    async with open_stage(tmp_path, CAT, BY_RULE) as stage:
        async with piped(stage) as writer:
            await stage.telegram.shown(CHIEF.id, "⏳ cat pipe · 1 s")
            os.write(writer, b"Pulling 60 %\nPulling 61 %\nhalf a li")
            shown = await stage.telegram.shown(CHIEF.id, '"Pulling 61 %"')
            assert shown.text.splitlines()[0].startswith("⏳ cat pipe · ")
            assert (len(shown.text.splitlines()), shown.silent, shown.labels) == (2, True, ("⏹ Stop",))
            assert len(statuses(stage)) == 1
        await stage.telegram.shown(CHIEF.id, "Done.")
        await stage.telegram.wait_for(lambda _sim: not statuses(stage))
        assert [text.splitlines()[0] for text in stage.bot_texts()] == ["Ran by rule: cat pipe", "Done."]


async def test_an_approved_command_shows_below_its_question_how_it_goes(tmp_path: Path) -> None:
    """The command stays, the line below it changes, the end is the last word."""
    async with open_stage(tmp_path, CAT) as stage:
        async with piped(stage) as writer:
            os.write(writer, b"Pulling 61 %\n")
            shown = await stage.telegram.shown(CHIEF.id, 'running 0:00 · "Pulling 61 %"')
            lines = shown.text.splitlines()
            assert lines[0].startswith("Run this on")
            assert lines[1] == "cat pipe"
            assert lines[2].startswith("✅ Approved once by Chief ")
            assert shown.labels == ("⏹ Stop",)
            assert statuses(stage) == []
        await stage.telegram.shown(CHIEF.id, "Done.")
        ended = await stage.telegram.shown(CHIEF.id, "· exit 0 ·")
        assert (ended.id, ended.labels) == (shown.id, ())


async def test_the_button_stops_what_runs(tmp_path: Path) -> None:
    """As /stop does, and says the same; a late press on it does nothing."""
    async with open_stage(tmp_path, (*CAT, HANG), BY_RULE) as stage:
        async with piped(stage):
            shown = await stage.telegram.shown(CHIEF.id, "⏳ cat pipe")
            data = shown.buttons[0][0].data
            assert await stage.telegram.press(CHIEF, "⏹ Stop", CHIEF.id) == "Stopped."
            await stage.telegram.shown(CHIEF.id, "⏹ Stopped: cat pipe.")
        await stage.telegram.wait_for(lambda _sim: not statuses(stage))
        assert [(line.decision, line.exit) for line in await stage.lines()] == [("allowed_rule", "stopped")]
        await stage.telegram.say(CHIEF, None, "and now think")
        await stage.model.wait_for(lambda model: len(model.requests) == 2)
        last = (await stage.telegram.shown(CHIEF.id, "⏹ Stopped")).id
        late = await stage.telegram.answer(await stage.telegram.tap(CHIEF, last, data=data))
        assert late.text == "That is over already."
        assert len(stage.model.requests) == 2


async def test_a_button_of_another_chat_stops_nothing(tmp_path: Path) -> None:
    """Whoever is not listed where the turn is may not stop it, and a listed person elsewhere sees no such button."""
    async with open_stage(tmp_path, CAT, BY_RULE) as stage:
        async with piped(stage):
            shown = await stage.telegram.shown(CHIEF.id, "⏳ cat pipe")
            stage.telegram.open(STRANGER)
            note = await stage.telegram.answer(
                await stage.telegram.tap(STRANGER, shown.id, CHIEF.id, data=shown.buttons[0][0].data)
            )
            assert note.text == "You are not on the list of this chat."
        await stage.telegram.shown(CHIEF.id, "Done.")


async def test_no_secret_is_shown_before_its_last_character(tmp_path: Path) -> None:
    """Half of it is held back, and the whole of it is masked."""
    async with open_stage(tmp_path, CAT, BY_RULE) as stage:
        async with piped(stage) as writer:
            os.write(writer, b"key next\n" + SECRET[:20].encode())
            await stage.telegram.shown(CHIEF.id, '"key next"')
            os.write(writer, SECRET[20:].encode() + b"\nmore\nand more\n")
            await stage.telegram.shown(CHIEF.id, "and more")
        await stage.telegram.shown(CHIEF.id, "Done.")
        for record in stage.telegram.log:
            assert SECRET[:12] not in str(record.params)


@pytest.mark.parametrize("word", ["quiet", "normal"])
async def test_thinking_is_not_shown_unless_wanted(tmp_path: Path, word: str) -> None:
    """There is a typing sign for that."""
    async with open_stage(tmp_path, [HANG, say("Done.")], start=False) as stage:
        verbose(stage, word)
        await stage.start()
        await stage.telegram.say(CHIEF, None, "think")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.wait_for(lambda sim: sim.calls("sendChatAction"))
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Done.")
        assert [c for c in stage.telegram.log if "⏳" in str(c.params)] == []


async def test_quiet_shows_nothing_while_a_command_runs(tmp_path: Path) -> None:
    """Neither a message nor a line below the question."""
    async with open_stage(tmp_path, CAT, start=False) as stage:
        verbose(stage, "quiet")
        await stage.start()
        async with piped(stage) as writer:
            os.write(writer, b"line\n")
            await stage.telegram.wait_for(lambda sim: len(sim.calls("sendChatAction")) >= 2)
        await stage.telegram.shown(CHIEF.id, "Done.")
        said = " ".join(str(c.params.get("text")) for c in stage.telegram.log)
        assert "⏳" not in said
        assert "running" not in said


async def test_verbose_shows_thinking_and_more_lines(tmp_path: Path) -> None:
    """Still in one message."""
    async with open_stage(tmp_path, [CAT[0], HANG, say("Done.")], BY_RULE, start=False) as stage:
        verbose(stage, "verbose")
        await stage.start()
        async with piped(stage) as writer:
            os.write(writer, b"one\ntwo\n\nthree\n")
            await stage.telegram.shown(CHIEF.id, "one\ntwo\nthree")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.shown(CHIEF.id, "⏳ thinking · ")
        assert len(statuses(stage)) == 1
        stage.model.release()
        await stage.telegram.shown(CHIEF.id, "Done.")
        await stage.telegram.wait_for(lambda _sim: not statuses(stage))


async def test_a_status_that_cannot_be_shown_holds_up_nothing(tmp_path: Path) -> None:
    """A flood limit, a refused or a lost send: the command runs, the answer comes, no second status is tried."""
    async with open_stage(tmp_path, CAT, BY_RULE) as stage:
        stage.telegram.fault("sendMessage", faults.drop())
        async with piped(stage):
            await stage.telegram.wait_for(lambda sim: sim.calls("sendMessage"))
        await stage.telegram.shown(CHIEF.id, "Done.")
        assert len([c for c in stage.telegram.calls("sendMessage") if "⏳" in str(c.params)]) == 1


async def test_a_status_waits_out_a_flood_limit_by_itself(tmp_path: Path) -> None:
    """What is to be said for good is not held up by it."""
    async with open_stage(tmp_path, CAT, BY_RULE) as stage:
        stage.telegram.fault("sendMessage", faults.too_many(60))
        async with piped(stage):
            await stage.telegram.wait_for(lambda sim: any(c.fault for c in sim.calls("sendMessage")))
        await stage.telegram.shown(CHIEF.id, "Done.")


async def test_what_a_killed_gateway_left_is_taken_away_at_the_next_start(tmp_path: Path) -> None:
    """Its Stop button would do nothing any more; a start at which Telegram fails leaves it to the one after."""
    async with open_stage(tmp_path, CAT, BY_RULE, start=False) as stage:
        async with stage.gateway_process() as gateway, piped(stage) as writer:
            await stage.telegram.shown(CHIEF.id, "⏳ cat pipe", timeout=20)
            os.write(writer, b"on its way\n")
            await stage.telegram.shown(CHIEF.id, '"on its way"', timeout=20)
            gateway.kill()
            await gateway.wait()
        assert len(statuses(stage)) == 1
        stage.telegram.fault("deleteMessage", faults.bad_gateway())
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "Cut off: I am back.", timeout=20)
        await stage.telegram.wait_for(lambda sim: sim.calls("deleteMessage"))
        assert len(statuses(stage)) == 1
        await stage.restart()
        await stage.telegram.wait_for(lambda _sim: not statuses(stage))
        await stage.restart()
        assert len(stage.telegram.calls("deleteMessage")) == 2

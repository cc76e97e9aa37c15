"""What a crash cut off is asked for again exactly as it was: a new request, decided anew, and one at most."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from mtbot.domain.ids import SessionId
from mtbot.domain.record import EventKind
from mtbot.simulator.script import Step, call, say
from mtbot.simulator.values import Message, Person
from tests.contract.cutting import ONCE, cut
from tests.contract.stage import CHIEF, DEPLOY, GROUP, REVIEW, Setting, Stage, open_stage

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
STEPS: tuple[Step, ...] = (call("exec", {"command": ONCE}), say("Logged."))
ASK = "Ask to run it again"


async def kept(stage: Stage) -> list[tuple[str, bool]]:
    """State of every kept call, and whether anything of it is still there."""
    found = await stage.engine.office.db.read(
        lambda session: session.connection().execute(text("SELECT state, sealed FROM kept_calls ORDER BY seq")).all()
    )
    return [(state, sealed is not None) for state, sealed in found]


async def pressed(stage: Stage, notice: Message, word: str = "again", person: Person = CHIEF) -> str:
    """Press a button of the notice, whether it still shows it or not; what the presser is told."""
    started = [event.seq for event in await stage.events() if event.draft.kind is EventKind.STARTED]
    query = await stage.telegram.tap(person, notice.id, notice.chat, data=f"{word}.#{started[0]}")
    return (await stage.telegram.answer(query)).text


async def starts(stage: Stage) -> int:
    """How many calls were started."""
    return sum(event.draft.kind is EventKind.STARTED for event in await stage.events())


def log_of(stage: Stage) -> str:
    """What the command wrote."""
    return (stage.workspace / "log").read_text()


async def test_the_very_call_runs_after_a_new_yes(tmp_path: Path) -> None:
    """Its secret too, which lies nowhere and which no model could have proposed; the model goes on from its result."""
    command = f"echo {SECRET} > /dev/null; {ONCE}"
    steps = (call("exec", {"command": command}), say("Logged."), say("It is in the log."))
    async with open_stage(tmp_path, steps, start=False) as stage:
        notice = await cut(stage)
        assert await kept(stage) == [("kept", True)]
        for path in (stage.directory / "state").rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path.name
        asked = len(stage.model.requests)
        assert await stage.telegram.press(CHIEF, ASK, CHIEF.id) == "Asking again."
        question = await stage.telegram.shown(CHIEF.id, "Run this on", after=notice.id)
        assert question.labels == ("✅ Approve once", "🚫 Deny")
        assert SECRET not in question.text
        closed = await stage.telegram.shown(CHIEF.id, "Asked to run it again by Chief")
        assert (closed.id, closed.labels) == (notice.id, ())
        assert await kept(stage) == [("asked", False)]
        assert len(stage.model.requests) == asked
        assert log_of(stage) == "begun\n"
        assert await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id) == "Approved."
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert log_of(stage) == "begun\nbegun\n"
        started = [event.draft for event in await stage.events() if event.draft.kind is EventKind.STARTED]
        assert len({one.approval for one in started}) == len({one.call for one in started}) == 2
        assert started[0].digest == started[1].digest
        assert await kept(stage) == [("asked", False)]
        assert "exit_code: 0" in str(stage.model.requests[-1].messages[-1]["content"])
        await stage.telegram.say(CHIEF, None, "did it work?")
        await stage.telegram.shown(CHIEF.id, "It is in the log.")
        roles = [one["role"] for one in stage.model.requests[-1].messages if one["role"] != "system"]
        assert roles == ["user", "assistant", "user", "assistant", "tool", "assistant", "user"]


async def test_a_no_leaves_it_at_that(tmp_path: Path) -> None:
    """It was asked for, and that was the one request."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        notice = await cut(stage)
        await stage.telegram.press(CHIEF, ASK, CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Run this on", after=notice.id)
        await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert (await pressed(stage, notice)).startswith("Chief asked for it again ")
        assert await starts(stage) == 1
        assert log_of(stage) == "begun\n"


async def test_two_people_and_a_restart_make_one_request(tmp_path: Path) -> None:
    """The second one learns who was first, also with an old client and another process."""
    setting = Setting(approvers="not_requester")
    async with open_stage(tmp_path, STEPS, setting, start=False) as stage:
        notice = await cut(stage, group=REVIEW, asker=DEPLOY)
        said = await asyncio.gather(*(pressed(stage, notice, person=one) for one in (DEPLOY, REVIEW, DEPLOY, REVIEW)))
        assert said.count("Asking again.") == 1
        late = ("It is being asked", "Deploy asked for", "Review asked for")
        assert sum(one.startswith(late) for one in said) == 3
        question = await stage.telegram.shown(GROUP, "Run this on", after=notice.id)
        first, second = (DEPLOY, REVIEW) if "Asked by Deploy" in question.text else (REVIEW, DEPLOY)
        await stage.restart()
        assert (await pressed(stage, notice, person=second)).startswith(f"{first.name} asked for it again ")
        assert (await pressed(stage, notice, "dismiss", second)).startswith(f"{first.name} asked for it again ")
        questions = [one for one in stage.telegram.chat(GROUP) if "✅ Approve once" in one.labels]
        assert len(questions) == 1
        own = await stage.telegram.answer(await stage.telegram.tap(first, "✅ Approve once", GROUP))
        assert own.text.startswith("You asked for this one.")
        assert await stage.telegram.press(second, "✅ Approve once", GROUP) == "Approved."
        await stage.telegram.shown(GROUP, "Logged.")
        assert await starts(stage) == 2


async def test_whoever_presses_is_who_asks(tmp_path: Path) -> None:
    """Whoever asked first may be gone by now: their press is not even heard, and another's request is their own."""
    async with open_stage(tmp_path, STEPS, Setting(approvers="not_requester"), start=False) as stage:
        notice = await cut(stage, group=REVIEW, asker=DEPLOY)
        await stage.stop()
        stage.config.write_text(stage.config.read_text().replace("[chief, deploy, review]", "[chief, review]"))
        await stage.start()
        await stage.telegram.tap(DEPLOY, notice.id, GROUP, data="again.#5")
        assert await pressed(stage, notice, person=REVIEW) == "Asking again."
        question = await stage.telegram.shown(GROUP, "Run this on", after=notice.id)
        assert "Asked by Review" in question.text
        own = await stage.telegram.answer(await stage.telegram.tap(REVIEW, "✅ Approve once", GROUP))
        assert own.text.startswith("You asked for this one.")


async def test_a_rule_lets_it_run_as_it_would_a_new_call(tmp_path: Path) -> None:
    """Without a question, and it is told what ran."""
    setting = Setting(allow="[{argv: [cat, pipe]}]")
    async with open_stage(
        tmp_path, (call("exec", {"command": "cat pipe"}), say("Read.")), setting, start=False
    ) as stage:
        pipe = stage.workspace / "pipe"
        os.mkfifo(pipe)
        async with stage.gateway_process() as gateway:
            await stage.telegram.say(CHIEF, None, "go")
            writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
            gateway.kill()
            await gateway.wait()
            os.close(writer)
        await stage.start()
        notice = await stage.telegram.shown(CHIEF.id, "Cut off", timeout=20)
        assert await stage.telegram.press(CHIEF, ASK, CHIEF.id) == "Asking again."
        os.close(await asyncio.to_thread(os.open, pipe, os.O_WRONLY))
        await stage.telegram.shown(CHIEF.id, "Read.")
        assert "cat pipe" in "\n".join(stage.bot_texts()[1:])
        assert await starts(stage) == 2
        assert (await pressed(stage, notice)).startswith("Chief asked for it again ")
        assert await starts(stage) == 2


async def test_a_rule_that_came_meanwhile_refuses_it(tmp_path: Path) -> None:
    """Policy of the moment; the buttons stay, because nothing was asked."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        stage.setting = replace(stage.setting, exec_extra='deny: ["touch held"]')
        async with stage.gateway_process() as gateway:
            await stage.telegram.say(CHIEF, None, "do it")
            await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
            await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20)
            held = stage.workspace / "held"
            await stage.telegram.wait_for(lambda sim: held.exists() and sim.calls("sendChatAction"), 20)
            gateway.kill()
            await gateway.wait()
        stage.write_config()
        await stage.start()
        notice = await stage.telegram.shown(CHIEF.id, "Cut off", timeout=20)
        assert await pressed(stage, notice) == "Asking again."
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert "⛔ Not run" in "\n".join(stage.bot_texts())
        assert await kept(stage) == [("kept", True)]
        assert await starts(stage) == 1
        assert log_of(stage) == "begun\n"


async def test_a_script_that_changed_is_named(tmp_path: Path) -> None:
    """The question is about what it would run now, and says that it is not what was cut off."""
    async with open_stage(tmp_path, (call("exec", {"command": "sh it.sh"}), say("Logged.")), start=False) as stage:
        (stage.workspace / "it.sh").write_text("echo begun >> log; sleep 60\n")
        notice = await cut(stage)
        (stage.workspace / "it.sh").write_text("echo other >> log\n")
        await stage.telegram.press(CHIEF, ASK, CHIEF.id)
        question = await stage.telegram.shown(CHIEF.id, "Run this on", after=notice.id)
        assert "since it was cut off, its script, directory, environment or program has changed" in question.text


async def test_dismissing_wipes_it(tmp_path: Path) -> None:
    """A later press of an old client is told."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        notice = await cut(stage)
        assert await stage.telegram.press(CHIEF, "Dismiss", CHIEF.id) == "Dismissed."
        assert await kept(stage) == [("dismissed", False)]
        assert (await pressed(stage, notice)).startswith("Chief dismissed it ")
        assert await starts(stage) == 1


async def test_a_conversation_that_was_begun_anew_has_nothing_to_repeat(tmp_path: Path) -> None:
    """/new takes everything of it, this too."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        notice = await cut(stage)
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "fresh", timeout=5)
        assert await kept(stage) == [("cleared", False)]
        assert await pressed(stage, notice) == "This conversation was begun anew since, so that call is gone."
        assert await starts(stage) == 1


async def test_a_record_without_the_call_asks_the_model_and_says_so(tmp_path: Path) -> None:
    """What an older mtclaw started, or what was too long to be kept."""
    steps = (call("exec", {"command": ONCE}), call("exec", {"command": "echo proposed >> log"}), say("Logged."))
    async with open_stage(tmp_path, steps, start=False) as stage:
        notice = await cut(stage)
        await stage.engine.office.db.write(
            lambda session: session.connection().execute(text("DELETE FROM kept_calls")).close()
        )
        said = await stage.telegram.press(CHIEF, ASK, CHIEF.id)
        assert said == "The exact call is not kept, so I ask the model to propose it again."
        question = await stage.telegram.shown(CHIEF.id, "Run this on", after=notice.id)
        assert "echo proposed" in question.text
        assert await pressed(stage, notice) == "This button does nothing any more."


async def test_a_press_waits_for_the_question_that_is_open(tmp_path: Path) -> None:
    """One open question in a conversation; the press comes next."""
    steps: Sequence[Step] = (
        call("exec", {"command": ONCE}),
        call("exec", {"command": "echo other >> log"}),
        say("Other."),
        say("Logged."),
    )
    async with open_stage(tmp_path, steps, start=False) as stage:
        notice = await cut(stage)
        await stage.telegram.say(CHIEF, None, "something else")
        other = await stage.telegram.shown(CHIEF.id, "echo other")
        ident = other.text.split("#")[1].split()[0]
        assert await pressed(stage, notice) == f"Waiting for #{ident} above; this comes next."
        assert await pressed(stage, notice) == "It is being asked for already."
        await stage.telegram.press(CHIEF, other.id, CHIEF.id)
        question = await stage.telegram.shown(CHIEF.id, "touch held", after=other.id)
        await stage.telegram.press(CHIEF, question.id, CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert log_of(stage) == "begun\nother\nbegun\n"


async def test_a_stop_drops_a_press_that_waits_and_not_the_call(tmp_path: Path) -> None:
    """Nothing was asked yet, so the button still does; a command that runs again can be stopped like any other."""
    steps: Sequence[Step] = (
        call("exec", {"command": "echo begun >> log; sleep 60"}),
        call("exec", {"command": "echo other >> log"}),
    )
    async with open_stage(tmp_path, steps, start=False) as stage:
        notice = await cut(stage)
        await stage.telegram.say(CHIEF, None, "something else")
        other = await stage.telegram.shown(CHIEF.id, "echo other")
        assert (await pressed(stage, notice)).endswith("above; this comes next.")
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.wait_for(lambda sim: not sim.chat(CHIEF.id)[other.id - 1].labels)
        await stage.telegram.shown(CHIEF.id, "denied.", after=other.id)
        assert await stage.engine.lanes.settle(SessionId(f"telegram:main:{CHIEF.id}:0"), 10)
        assert await kept(stage) == [("kept", True)]
        assert await pressed(stage, notice) == "Asking again."
        question = await stage.telegram.shown(CHIEF.id, "sleep 60", after=other.id)
        await stage.telegram.press(CHIEF, question.id, CHIEF.id)
        await stage.telegram.wait_for(lambda _sim: log_of(stage) == "begun\nbegun\n", 20)
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.wait_for(lambda sim: "stopped" in sim.chat(CHIEF.id)[question.id - 1].text, 20)
        assert await kept(stage) == [("asked", False)]
        assert await starts(stage) == 2


@pytest.mark.parametrize("word", ["again", "dismiss"])
async def test_a_database_that_cannot_be_read_is_said(word: str, tmp_path: Path) -> None:
    """Nothing is asked, nothing is put away."""
    async with open_stage(tmp_path, STEPS, start=False) as stage:
        notice = await cut(stage)
        started = next(event.seq for event in await stage.events() if event.draft.kind is EventKind.STARTED)
        await stage.engine.office.db.write(
            lambda session: session.connection().execute(text("ALTER TABLE kept_calls RENAME TO away")).close()
        )
        query = await stage.telegram.tap(CHIEF, notice.id, CHIEF.id, data=f"{word}.#{started}")
        assert (await stage.telegram.answer(query)).text == "The record cannot be read now."
        await stage.engine.office.db.write(
            lambda session: session.connection().execute(text("ALTER TABLE away RENAME TO kept_calls")).close()
        )
        assert await kept(stage) == [("kept", True)]

"""G2, G3: nothing changes the user from a chat; a person at the host runs it in their own terminal, on record and once."""

import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import Step, call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage
from tests.contract.typist import host_run

SUDO = """\
#!/bin/sh
printf 'password for the host: ' > /dev/tty
read -r password < /dev/tty
[ "$password" = letmein ] || { echo 'sudo: a password is required'; exit 1; }
echo "as root: $*"
exec "$@"
"""
FREE_SUDO = '#!/bin/sh\necho "as root: $*"\nexec "$@"\n'


@asynccontextmanager
async def house(
    directory: Path, steps: Sequence[Step], *, sudo: str = SUDO, listed: str = "[]", **setting: str
) -> AsyncIterator[Stage]:
    """A stage whose sudo is ours."""
    programs = directory / "programs"
    programs.mkdir()
    (programs / "sudo").write_text(sudo)
    (programs / "sudo").chmod(0o755)
    path = f"path: [{programs}, /usr/bin, /bin]"
    elevation = f"elevation: {{chat: {listed}}}"
    async with open_stage(directory, steps, Setting(exec_extra=path, extra=elevation, **setting)) as stage:
        yield stage


async def asked(stage: Stage, chat: int = CHIEF.id) -> str:
    """The id of the question that the host can answer."""
    await stage.telegram.say(CHIEF, None if chat == CHIEF.id else chat, "update")
    shown = await stage.telegram.shown(chat, "Needs root and can't be approved here.")
    assert shown.labels == ("🚫 Deny",)
    return shown.text.split("#", 1)[1].split()[0]


async def kinds(stage: Stage) -> list[EventKind]:
    """What is on record, in order."""
    return [event.draft.kind for event in await stage.events()]


LIFE = [EventKind.PROPOSED, EventKind.DECIDED, EventKind.APPROVAL_REQUESTED, EventKind.APPROVAL_RESOLVED]
RUN = [*LIFE, EventKind.STARTED, EventKind.FINISHED]


async def test_it_runs_in_the_persons_own_terminal_and_the_turn_goes_on(tmp_path: Path) -> None:
    """Their password, their screen; masked and with its exit back to the model; who and how on record."""
    secret = "sk-" + "live-0123456789abcdef0123"
    steps = [call("exec", {"command": f"sudo sh -c 'tty; echo {secret}; touch made'"}), say("Updated.")]
    async with house(tmp_path, steps) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            assert "sudo sh -c 'tty; echo ‹secret:" in person.shown
            assert not (stage.workspace / "made").exists()
            assert await kinds(stage) == LIFE[:3]
            person.types("y\n")
            await person.sees("password for the host:")
            assert await kinds(stage) == [*LIFE, EventKind.STARTED]
            person.types("letmein\n")
            assert await person.ends() == 0
            assert f"\r\n{secret}\r\n" in person.shown
            assert "/dev/pts/" in person.shown
            assert f"#{ident}: exit 0" in person.shown
        await stage.telegram.shown(CHIEF.id, "Updated.", timeout=15)
        assert (stage.workspace / "made").exists()
        told = str(stage.model.requests[-1].messages[-1])
        assert "exit_code: 0" in told
        assert "in their own terminal" in told
        assert "‹secret:" in told
        assert secret not in told
        assert "letmein" not in told
        events = await stage.events()
        assert [event.draft.kind for event in events] == RUN
        resolved = events[3].draft
        assert (resolved.via, resolved.word, resolved.decider) == ("terminal", "approved", f"local:{os.getuid()}")
        assert (events[4].draft.via, events[4].draft.approval) == ("terminal", ident)
        await stage.telegram.shown(CHIEF.id, "✅ Approved once by", timeout=15)
        await stage.telegram.shown(CHIEF.id, "exit 0", timeout=15)


async def test_without_a_gateway_it_runs_and_the_turn_goes_on_at_the_next_start(tmp_path: Path) -> None:
    """The end waits beside the turn, sealed."""
    steps = [call("exec", {"command": "sudo touch made"}), say("Done later.")]
    async with house(tmp_path, steps) as stage:
        ident = await asked(stage)
        await stage.stop()
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types("y\n")
            await person.sees("password for the host:")
            person.types("letmein\n")
            assert await person.ends() == 0
            assert "when the gateway starts" in person.shown
        assert len(stage.model.requests) == 1
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "Done later.", timeout=15)
        assert [event.draft.kind for event in await stage.events()] == RUN


async def test_a_failure_has_its_exit_status_here_and_in_the_chat(tmp_path: Path) -> None:
    """A wrong password is the command's own affair."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("It failed.")]) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types("yes\n")
            await person.sees("password for the host:")
            person.types("wrong\n")
            assert await person.ends() == 1
        await stage.telegram.shown(CHIEF.id, "It failed.", timeout=15)
        assert "exit_code: 1" in str(stage.model.requests[-1].messages[-1])
        assert not (stage.workspace / "made").exists()


@pytest.mark.parametrize("answer", ["n\n", "\n", "Y es\n", "\x04", "\x03"])
async def test_anything_but_a_yes_runs_nothing_and_leaves_the_question_open(tmp_path: Path, answer: str) -> None:
    """Also the end of input, and Ctrl-C."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("Not now.")]) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types(answer)
            assert await person.ends() != 0
        assert await kinds(stage) == LIFE[:3]
        assert not (stage.workspace / "made").exists()
        assert await stage.telegram.press(CHIEF, "🚫 Deny") == "Denied."
        await stage.telegram.shown(CHIEF.id, "Not now.")


async def test_what_was_typed_before_the_question_was_there_is_no_answer(tmp_path: Path) -> None:
    """A pasted line with a y in it approves nothing."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("x")]) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            person.types("y\n")
            await person.sees("Run it? [y/N]")
            person.types("n\n")
            assert await person.ends() == 1
        assert await kinds(stage) == LIFE[:3]


async def test_without_a_terminal_nothing_runs(tmp_path: Path) -> None:
    """A pipe that says yes is nobody."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("x")]) as stage:
        ident = await asked(stage)
        said = await stage.cli("approvals", "run", ident, answers="y\n")
        assert (said.status, said.out) == (1, "")
        assert said.err.startswith("mtclaw: this needs a terminal for input and output")
        assert await kinds(stage) == LIFE[:3]


async def test_it_is_approved_by_no_other_road(tmp_path: Path) -> None:
    """Not by the CLI's approve; a chat's words and buttons are tried in the transcript."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("x")]) as stage:
        ident = await asked(stage)
        said = await stage.cli("approvals", "approve", ident)
        assert said.status == 1
        assert f"runs in your own terminal: `mtclaw approvals run {ident}`" in said.err
        assert await kinds(stage) == LIFE[:3]


async def test_an_ordinary_question_is_not_run_by_hand(tmp_path: Path) -> None:
    """It has an answer that needs nobody's terminal."""
    async with house(tmp_path, [call("exec", {"command": "touch made"}), say("x")]) as stage:
        await stage.telegram.say(CHIEF, None, "do it")
        shown = await stage.telegram.shown(CHIEF.id, "Run this on")
        ident = shown.text.split("#", 1)[1].split()[0]
        async with host_run(stage, ident) as person:
            assert await person.ends() == 1
            assert f"mtclaw approvals approve {ident}" in person.shown
        async with host_run(stage, "XXXX") as person:
            assert await person.ends() == 1
            assert "there is no request #XXXX" in person.shown


async def test_a_denial_that_comes_first_wins(tmp_path: Path) -> None:
    """Between the question on the screen and the y."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("Not run.")]) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            assert await stage.telegram.press(CHIEF, "🚫 Deny") == "Denied."
            person.types("y\n")
            assert await person.ends() == 1
            assert f"#{ident} was denied by Chief" in person.shown
            assert "nothing ran" in person.shown
        assert await kinds(stage) == LIFE
        assert not (stage.workspace / "made").exists()


async def test_two_terminals_run_it_once(tmp_path: Path) -> None:
    """Whoever comes second is told who was first."""
    steps = [call("exec", {"command": "sudo sh -c 'echo x >> made'"}), say("Once.")]
    async with house(tmp_path, steps, sudo=FREE_SUDO) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as one, host_run(stage, ident) as other:
            await one.sees("Run it? [y/N]")
            await other.sees("Run it? [y/N]")
            one.types("y\n")
            other.types("y\n")
            assert sorted([await one.ends(), await other.ends()]) == [0, 1]
        await stage.telegram.shown(CHIEF.id, "Once.", timeout=15)
        assert (stage.workspace / "made").read_text() == "x\n"
        assert await kinds(stage) == RUN


async def test_what_changed_since_the_question_does_not_run(tmp_path: Path) -> None:
    """The content of a script is part of what was asked; the question stays as it is."""
    async with house(tmp_path, [call("exec", {"command": "sudo sh x.sh"}), say("x")], sudo=FREE_SUDO) as stage:
        (stage.workspace / "x.sh").write_text("touch made\n")
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            (stage.workspace / "x.sh").write_text("touch other\n")
            person.types("y\n")
            assert await person.ends() == 1
            assert "changed between the question and the approval" in person.shown
        assert list(stage.workspace.iterdir()) == [stage.workspace / "x.sh"]
        assert await kinds(stage) == LIFE[:3]


async def test_a_rule_that_refuses_it_by_now_wins(tmp_path: Path) -> None:
    """The policy of this moment counts, and it is not even offered."""
    async with house(tmp_path, [call("exec", {"command": "sudo touch made"}), say("x")]) as stage:
        ident = await asked(stage)
        stage.config.write_text(stage.config.read_text().replace("allow: []", "deny: [touch]"))
        async with host_run(stage, ident) as person:
            assert await person.ends() == 1
            assert "rule deny[0]" in person.shown
            assert "Run it?" not in person.shown
        assert await kinds(stage) == LIFE[:3]


async def test_ctrl_c_is_the_commands_and_its_end_is_on_record(tmp_path: Path) -> None:
    """The run is over, the record says how, the turn goes on."""
    steps = [call("exec", {"command": "sudo sh -c 'exec sleep 600'"}), say("Interrupted.")]
    async with house(tmp_path, steps, sudo=FREE_SUDO) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types("y\n")
            await person.sees("as root:")
            person.types("\x03")
            assert await person.ends() == 1
            assert f"#{ident}: failed" in person.shown
        await stage.telegram.shown(CHIEF.id, "Interrupted.", timeout=15)
        assert await kinds(stage) == [*RUN[:-1], EventKind.FAILED]


async def test_a_run_whose_process_is_killed_is_told_as_cut_off(tmp_path: Path) -> None:
    """By the gateway that is there, which takes messages in that chat again."""
    steps = [call("exec", {"command": "sudo sh -c 'exec sleep 600'"}), say("Again here.")]
    async with house(tmp_path, steps, sudo=FREE_SUDO) as stage:
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types("y\n")
            await person.sees("as root:")
            os.kill(person.process.pid, signal.SIGKILL)
            await person.ends()
        await stage.telegram.shown(CHIEF.id, "Cut off: I am back.", timeout=15)
        assert (await kinds(stage))[-1] is EventKind.INTERRUPTED
        await stage.telegram.say(CHIEF, None, "still there?")
        await stage.telegram.shown(CHIEF.id, "Again here.", timeout=15)


@pytest.mark.parametrize("command", ["/new", "/forget", "/resume 1"])
async def test_a_conversation_is_not_left_while_a_person_runs_its_command(tmp_path: Path, command: str) -> None:
    """Its result would find nobody; when it has come, the conversation can be left, and the chat goes on."""
    steps = [say("First."), call("exec", {"command": "sudo touch made"}), say("Updated."), say("Here.")]
    async with house(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "First.")
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start")
        ident = await asked(stage)
        async with host_run(stage, ident) as person:
            await person.sees("Run it? [y/N]")
            person.types("y\n")
            await person.sees("password for the host:")
            await stage.telegram.say(CHIEF, None, command)
            shown = await stage.telegram.shown(CHIEF.id, "nothing was changed")
            assert shown.text == (
                f"#{ident} was approved at the host and has not ended, so nothing was changed. "
                f"Please try {command.partition(' ')[0]} again."
            )
            person.types("letmein\n")
            assert await person.ends() == 0
        updated = await stage.telegram.shown(CHIEF.id, "Updated.", timeout=15)
        await stage.telegram.say(CHIEF, None, command)
        await stage.telegram.shown(CHIEF.id, "", after=updated.id)
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "Here.")


async def test_what_the_owner_listed_is_approved_by_the_owner_in_the_chat_once(tmp_path: Path) -> None:
    """Nobody else of the chat; and not by anybody for what is not listed."""
    steps = [call("exec", {"command": "sudo touch made"}), say("Made.")]
    async with house(tmp_path, steps, sudo=FREE_SUDO, listed="[[sudo, touch, made]]") as stage:
        await stage.telegram.say(DEPLOY, GROUP, f"@{stage.telegram.bot().account.person.username} make it")
        shown = await stage.telegram.shown(GROUP, "Run this on")
        assert "Chief decides" in shown.text
        assert "not contained" in shown.text
        assert await stage.telegram.press(DEPLOY, "✅ Approve once", GROUP) == (
            "Only the owner can approve this one. Chief can decide."
        )
        assert not (stage.workspace / "made").exists()
        assert await stage.telegram.press(CHIEF, "✅ Approve once", GROUP) == "Approved."
        await stage.telegram.shown(GROUP, "Made.", timeout=15)
        assert (stage.workspace / "made").exists()


async def test_what_is_not_listed_any_more_does_not_run_by_an_old_yes(tmp_path: Path) -> None:
    """Approved, the gateway stops, the owner takes it off the list."""
    steps = [call("exec", {"command": "sudo touch made"}), say("x")]
    async with house(tmp_path, steps, sudo=FREE_SUDO, listed="[[sudo, touch, made]]") as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        shown = await stage.telegram.shown(CHIEF.id, "Run this on")
        await stage.stop()
        ident = shown.text.split("#", 1)[1].split()[0]
        assert (await stage.cli("approvals", "approve", ident)).status == 0
        stage.config.write_text(stage.config.read_text().replace("[[sudo, touch, made]]", "[]"))
        await stage.start()
        await stage.telegram.wait_for(lambda _: len(stage.model.requests) == 2, 15)
        assert "who may approve it changed" in str(stage.model.requests[-1].messages[-1])
        assert not (stage.workspace / "made").exists()


async def test_a_job_gets_none_of_it(tmp_path: Path) -> None:
    """Listed or not."""
    steps = [call("exec", {"command": "sudo touch made"}), say("Could not.")]
    async with house(tmp_path, steps, sudo=FREE_SUDO, listed="[[sudo, touch, made]]") as stage:
        await stage.run_job()
        assert not (stage.workspace / "made").exists()
        assert [event.draft.rule for event in await stage.events()][-1] == "elevation.scheduled"

"""G17: a job goes through the same gate as any call, is watched and ended by people, and tells how it ended."""

import asyncio
import json
import os
import select
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import Step, call, say
from tests.contract.stage import CHIEF, GROUP, Said, Setting, Stage, open_stage

JOB = "sh job.sh"
RULE = Setting(allow="[{argv: [sh, job.sh], why: a job}]")
SECRET = "sk-test-0123456789abcdef0123456789"
"""The model key of the stage."""


def started(command: str = JOB) -> tuple[Step, ...]:
    """The model starts it and says so."""
    return (call("exec", {"command": command, "background": True}), say("Started."))


def script(stage: Stage, text: str) -> Path:
    """What the job does; a pipe that it may wait at."""
    pipe = stage.workspace / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    (stage.workspace / "job.sh").write_text(text)
    return pipe


async def begin(stage: Stage, chat: int = CHIEF.id) -> str:
    """Have the job started; its name."""
    mention = "" if chat == CHIEF.id else f"@{stage.telegram.bot().account.person.username} "
    await stage.telegram.say(CHIEF, chat, f"{mention}go")
    shown = await stage.telegram.shown(chat, "(job ", timeout=20)
    await stage.telegram.shown(chat, "Started.", timeout=20)
    return shown.text.partition("(job ")[2].partition(")")[0]


async def child_of(stage: Stage) -> int:
    """A handle of the process whose number the job has written down."""
    file = stage.workspace / "child"
    await asyncio.to_thread(_written, file)
    return os.pidfd_open(int(file.read_text()))


def _written(file: Path) -> None:
    while not file.exists() or not file.read_text().endswith("\n"):
        os.sched_yield()


async def kinds(stage: Stage) -> list[tuple[str, str]]:
    """The record's kinds with what they say of a job or an end, without what was only proposed and decided."""
    found = []
    for event in await stage.events():
        draft = event.draft
        if draft.kind is EventKind.STARTED:
            found.append((draft.kind.value, draft.detail.partition("=")[0]))
        elif draft.kind in (EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED):
            found.append((draft.kind.value, draft.reason))
    return found


async def test_a_job_lives_behind_its_turn(tmp_path: Path) -> None:
    """Started by a rule, seen, read, left alone by /stop, reported with its exit, and known to the next turn."""
    async with open_stage(tmp_path, [*started(), say("Known.")], RULE) as stage:
        pipe = script(stage, "echo one; echo two; printf half; read x < pipe; echo; echo three; exit 3\n")
        name = await begin(stage)
        assert f"Job {name} runs in the background now" in stage.model.requests[-1].last_tool_result
        await stage.telegram.say(CHIEF, None, "/jobs")
        line = await stage.telegram.shown(CHIEF.id, f"{name}: running for ", timeout=20)
        assert line.text.endswith(": sh job.sh")
        await asyncio.to_thread(_until_written, stage, name)
        await stage.telegram.say(CHIEF, None, f"/tail {name.lower()}")
        seen = await stage.telegram.shown(CHIEF.id, "two", timeout=20)
        assert "half" not in seen.text
        await stage.telegram.say(CHIEF, None, "/stop")
        await stage.telegram.shown(CHIEF.id, f"Job {name} goes on; /kill {name} ends it.", timeout=20)
        assert await kinds(stage) == [("started", "job")]
        await asyncio.to_thread(pipe.write_text, "on\n")
        report = await stage.telegram.shown(CHIEF.id, f"Job {name} ended: exit 3", timeout=20)
        assert (JOB in report.text, "three" in report.text) == (True, True)
        await stage.telegram.say(CHIEF, None, f"/tail {name}")
        await stage.telegram.shown(CHIEF.id, f"Job {name}, exit 3", timeout=20)
        assert await kinds(stage) == [("started", "job"), ("finished", "")]
        await stage.telegram.say(CHIEF, None, "and?")
        await stage.telegram.shown(CHIEF.id, "Known.", timeout=20)
        told = json.dumps(stage.model.requests[-1].messages)
        assert f"The background job {name} ended by now: exit 3" in told
        await stage.telegram.say(CHIEF, None, f"/kill {name}")
        await stage.telegram.shown(CHIEF.id, f"Job {name} does not run any more.", timeout=20)


def _until_written(stage: Stage, name: str) -> None:
    """Until the job has written its lines: it says so itself, and nothing here waits for a clock."""
    job = stage.engine.jobs.find(name)
    assert job is not None
    while "two" not in stage.engine.jobs.tail(job):
        os.sched_yield()


async def test_the_middle_of_a_long_key_is_not_shown(tmp_path: Path) -> None:
    """It is known by its first line, which a tail of some lines does not hold any more."""
    async with open_stage(tmp_path, started(), RULE) as stage:
        key = "\n".join(["-----BEGIN PRIVATE KEY-----", *("MIIE" + "q7Zk" * 15 for _ in range(200))])
        pipe = script(stage, f"echo one; echo two; cat << 'END'\n{key}\nEND\necho written > done; read x < pipe\n")
        name = await begin(stage)
        job = stage.engine.jobs.find(name)
        assert job is not None
        await asyncio.to_thread(_until_written, stage, name)
        while (
            not (stage.workspace / "done").exists() or len(stage.engine.machinery.runner.tail(str(job.call))) < 12_000
        ):
            await asyncio.sleep(0)
        shown = stage.engine.jobs.tail(job)
        assert (shown[:8], "MIIE" in shown) == ("one\ntwo\n", False)
        await asyncio.to_thread(pipe.write_text, "on\n")
        await stage.telegram.shown(CHIEF.id, f"Job {name} ended: exit 0", timeout=20)


async def test_a_person_sees_that_it_will_be_a_job(tmp_path: Path) -> None:
    """In the question; below it first that it runs, then how it ended."""
    async with open_stage(tmp_path, [*started("echo made > made && cat pipe")]) as stage:
        pipe = script(stage, "")
        await stage.telegram.say(CHIEF, None, "go")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        assert "in the background, as a job that is ended after 12 h 0 min" in asked.text
        assert not (stage.workspace / "made").exists()
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id, timeout=20)
        running = await stage.telegram.shown(CHIEF.id, "running as job J", timeout=20)
        assert running.id == asked.id
        await stage.telegram.shown(CHIEF.id, "Started.", timeout=20)
        await asyncio.to_thread(pipe.write_text, "on\n")
        ended = await stage.telegram.shown(CHIEF.id, "✅ Approved once by Chief", timeout=20)
        await stage.telegram.wait_for(lambda sim: "exit 0" in _text(sim.chat(CHIEF.id), ended.id), 20)
        assert (stage.workspace / "made").exists()


def _text(messages: object, ident: int) -> str:
    assert isinstance(messages, list | tuple)
    return next(str(message.text) for message in messages if message.id == ident)


async def test_a_kill_ends_everything_that_it_started(tmp_path: Path) -> None:
    """By name or all of a chat; what another chat runs cannot be seen or ended from here."""
    steps = [*started(), *started()]
    async with open_stage(tmp_path, steps, RULE) as stage:
        script(stage, "setsid sh -c 'echo $$ > child; cat pipe' & cat pipe\n")
        first = await begin(stage)
        held = await child_of(stage)
        second = await begin(stage, GROUP)
        await stage.telegram.say(CHIEF, None, f"/kill {second}")
        await stage.telegram.shown(CHIEF.id, f"There is no job {second} here", timeout=20)
        await stage.telegram.say(CHIEF, None, f"/kill {first}")
        await stage.telegram.shown(CHIEF.id, f"⏹ Stopped: job {first}.", timeout=20)
        await stage.telegram.shown(CHIEF.id, f"⏹ Stopped: job {first} · stopped", timeout=20)
        await asyncio.to_thread(_ended, held)
        assert stage.engine.jobs.find(second) is not None
        await stage.telegram.say(CHIEF, GROUP, "/kill all")
        await stage.telegram.shown(GROUP, f"⏹ Stopped: job {second}.", timeout=20)
        assert [kind for kind, _ in await kinds(stage)] == ["started", "started", "failed", "failed"]


async def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    """One more is refused without a question."""
    setting = Setting(allow=RULE.allow, exec_extra="jobs: {at_once: 1}")
    steps = [*started(), call("exec", {"command": JOB, "background": True}), say("No room.")]
    async with open_stage(tmp_path, steps, setting) as stage:
        script(stage, "cat pipe\n")
        name = await begin(stage)
        await stage.telegram.say(CHIEF, None, "again")
        await stage.telegram.shown(CHIEF.id, "No room.", timeout=20)
        said = f"no more than 1 may run at once, and {name} runs already"
        assert said in stage.model.requests[-1].last_tool_result
        assert await kinds(stage) == [("started", "job")]


async def test_none_lives_for_ever(tmp_path: Path) -> None:
    """The longest life ends it."""
    setting = Setting(allow=RULE.allow, exec_extra="jobs: {timeout: 1s}")
    async with open_stage(tmp_path, started(), setting) as stage:
        script(stage, "cat pipe\n")
        name = await begin(stage)
        await stage.telegram.shown(CHIEF.id, f"Job {name} ended: timed out", timeout=20)
        assert await kinds(stage) == [("started", "job"), ("failed", "timed_out")]


async def test_the_policy_is_the_same(tmp_path: Path) -> None:
    """What is refused in the foreground is refused; root has no jobs; switched off, there are none."""
    for extra, command, why in (
        ("", "rm -rf /srv/x", "Refused by policy (rule files.rm-recursive)"),
        ("", "sudo apt-get update", "what needs another user runs in the terminal of a person"),
        ("jobs: {at_once: 0}", JOB, "background jobs are switched off"),
    ):
        place = tmp_path / command.partition(" ")[0]
        place.mkdir()
        async with open_stage(place, started(command), Setting(allow=RULE.allow, exec_extra=extra)) as stage:
            await stage.telegram.say(CHIEF, None, "go")
            await stage.telegram.shown(CHIEF.id, "Started.", timeout=20)
            assert why in stage.model.requests[-1].last_tool_result
            assert await kinds(stage) == []


async def test_where_nobody_watches_nothing_goes_on(tmp_path: Path) -> None:
    """A scheduled job's turn and a terminal's end, and nothing would be left to watch over it."""
    why = "nothing runs in the background here"
    async with open_stage(tmp_path, [*started(), *started()], RULE) as stage:
        script(stage, "echo ran > sentinel\n")
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Started.", timeout=20)
        assert why in stage.model.requests[-1].last_tool_result
        assert (await stage.prompt("go", "--new")).status == 0
        assert why in stage.model.requests[-1].last_tool_result
        assert not (stage.workspace / "sentinel").exists()


@pytest.mark.parametrize("where", ["chat", "cron"])
async def test_a_watcher_in_the_foreground_is_answered_at_once(tmp_path: Path, where: str) -> None:
    """With the way in which it works there; nothing runs, nobody is asked."""
    async with open_stage(tmp_path, [call("exec", {"command": "tail -f app.log"}), say("I see.")]) as stage:
        if where == "chat":
            await stage.telegram.say(CHIEF, None, "follow it")
        else:
            await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "I see.", timeout=20)
        said = stage.model.requests[-1].last_tool_result
        assert "`tail -f app.log` goes on until somebody ends it" in said
        assert ("background: true" in said, "timeout 20" in said) == (where == "chat", True)
        assert await kinds(stage) == []


async def test_nothing_of_a_secret_is_shown(tmp_path: Path) -> None:
    """In what /tail shows, in the report, and in what the model is told."""
    async with open_stage(tmp_path, [*started(), say("Known.")], RULE) as stage:
        pipe = script(stage, f"echo key={SECRET}; read x < pipe; echo last {SECRET}\n")
        name = await begin(stage)
        await stage.telegram.say(CHIEF, None, f"/tail {name}")
        await stage.telegram.shown(CHIEF.id, f"Job {name}", timeout=20)
        await asyncio.to_thread(pipe.write_text, "on\n")
        await stage.telegram.shown(CHIEF.id, f"Job {name} ended: exit 0", timeout=20)
        await stage.telegram.say(CHIEF, None, "and?")
        await stage.telegram.shown(CHIEF.id, "Known.", timeout=20)
        assert SECRET not in repr(stage.telegram.log)
        assert SECRET not in json.dumps([request.messages for request in stage.model.requests])


async def test_a_stop_of_the_gateway_ends_its_jobs_and_says_so(tmp_path: Path) -> None:
    """On record as interrupted; the chat hears it, at the latest from the next start."""
    async with open_stage(tmp_path, started(), RULE) as stage:
        script(stage, "echo $$ > child; cat pipe\n")
        name = await begin(stage)
        held = await child_of(stage)
        await stage.restart()
        await asyncio.to_thread(_ended, held)
        await stage.telegram.shown(CHIEF.id, f"⏹ Stopped: job {name}", timeout=20)
        assert await kinds(stage) == [
            ("started", "job"),
            ("interrupted", "the process that ran it was stopped, and the job with it"),
        ]
        await stage.telegram.say(CHIEF, None, "/jobs")
        await stage.telegram.shown(CHIEF.id, "No jobs here.", timeout=20)


async def test_after_a_crash_it_is_gone_and_told(tmp_path: Path) -> None:
    """Killed with the gateway, on record as interrupted, and never begun again by itself."""
    async with open_stage(tmp_path, started(), RULE, start=False) as stage:
        script(stage, "echo $$ > child; cat pipe\n")
        async with stage.gateway_process() as gateway:
            await begin(stage)
            held = await child_of(stage)
            gateway.kill()
            await gateway.wait()
            await asyncio.to_thread(_ended, held)
        await stage.start()
        notice = await stage.telegram.shown(CHIEF.id, "Cut off", timeout=20)
        assert (JOB in notice.text, "background job J" in notice.text) == (True, True)
        assert [kind for kind, _ in await kinds(stage)] == ["started", "interrupted"]


async def test_a_job_outlives_the_conversation_that_began_it_and_is_asked_for_again(tmp_path: Path) -> None:
    """A fresh start meanwhile takes nothing from it: what a crash cuts off afterwards is the very call."""
    async with open_stage(tmp_path, started(), RULE, start=False) as stage:
        script(stage, "echo $$ > child; cat pipe\n")
        async with stage.gateway_process() as gateway:
            await begin(stage)
            held = await child_of(stage)
            await stage.telegram.say(CHIEF, None, "/new")
            await stage.telegram.shown(CHIEF.id, "A fresh start", timeout=20)
            gateway.kill()
            await gateway.wait()
            await asyncio.to_thread(_ended, held)
        await stage.start()
        notice = await stage.telegram.shown(CHIEF.id, "Cut off", timeout=20)
        assert await stage.telegram.press(CHIEF, "Ask to run it again", notice.chat, timeout=20) == "Asking again."
        await stage.telegram.shown(CHIEF.id, "(job ", after=notice.id, timeout=20)
        assert [kind for kind, _ in await kinds(stage)] == ["started", "interrupted", "started"]


def _ended(held: int) -> None:
    poller = select.poll()
    poller.register(held, select.POLLIN)
    assert poller.poll(10_000)
    os.close(held)


async def test_the_host_sees_and_ends_them_too(tmp_path: Path) -> None:
    """All of every chat; without a gateway there are none."""
    async with open_stage(tmp_path, started(), RULE, start=False) as stage:
        script(stage, "echo one; cat pipe\n")
        async with stage.gateway_process():
            name = await begin(stage)
            (found,) = json.loads((await stage.cli("jobs", "list", "--json")).out)
            assert (found["id"], found["state"], found["command"]) == (name, "running", JOB)
            assert f"  {name}: {JOB}" in (await stage.cli("status")).out
            assert await stage.cli("jobs", "kill", name.lower()) == Said(0, f"job {name} ended\n", "")
            told = await stage.cli("jobs", "tail", name)
            assert (told.status, "one" in told.out) == (0, True)
            listed = await stage.cli("jobs", "list")
            assert (name in listed.out, "stopped" in listed.out) == (True, True)
            gone = await stage.cli("jobs", "kill", "JXXX")
            assert gone == Said(1, "", "mtclaw: there is no job JXXX (`mtclaw jobs list` names them)\n")
        assert (await stage.cli("jobs", "list")).out.splitlines() == ["ID  STARTED  STATE  EXIT  SESSION  COMMAND"]
        assert (await stage.cli("jobs", "tail", name)).err.startswith("mtclaw: no gateway runs, so no job runs")

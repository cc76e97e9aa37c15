"""C7.1 by night: a job that may ask waits for its answer like any other turn, and is over with a no."""

import sys
from pathlib import Path

import pytest

from mtbot.domain.record import CronRun, CronStatus, EventKind
from mtbot.simulator.script import Step, call, say
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage

NIGHT = (sys.executable, "-m", "tests.contract.night")
COMMAND = "echo ran >> sentinel"
ASKS: tuple[Step, ...] = (call("exec", {"command": COMMAND}), say("Logged."))
PARKS = Setting(job_extra=", on_ask: park")
HALF_A_DAY_MS = 12 * 3_600_000


async def question(stage: Stage, chat: int = CHIEF.id) -> str:
    """The name of the job's question, once it can be seen."""
    shown = await stage.telegram.shown(chat, "Asked by the job nightly", timeout=30)
    assert shown.labels == ("✅ Approve once", "🚫 Deny")
    return shown.text.splitlines()[0].partition("#")[2]


async def last(stage: Stage) -> CronRun:
    """How the job's latest run stands."""
    found = await stage.engine.office.stores.cron_runs.begun("nightly")
    assert found is not None
    return found


async def ran_once(stage: Stage, chat: int) -> None:
    """The recorded call ran, once, and the result went where the job's results go."""
    await stage.telegram.shown(chat, "Logged.", timeout=20)
    assert (stage.workspace / "sentinel").read_text() == "ran\n"
    assert [(line.decision, line.exit) for line in await stage.lines()] == [("approved", "0")]
    run = await last(stage)
    assert (run.status, run.error, run.waiting) == (CronStatus.OK, "", None)
    assert len([text for text in stage.bot_texts(chat) if "Logged." in text]) == 1
    assert not [text for text in stage.bot_texts(chat) if "cut off" in text.lower()]


@pytest.mark.parametrize(
    ("road", "chat", "extra"),
    [
        ("button", CHIEF.id, ""),
        ("command", CHIEF.id, ""),
        ("cli", CHIEF.id, ""),
        ("button", GROUP, ", session: ephemeral"),
    ],
    ids=["button", "command", "cli", "group"],
)
async def test_the_question_of_a_job_survives_the_death_of_its_process(
    tmp_path: Path, road: str, chat: int, extra: str
) -> None:
    """SIGKILL while it is open, start again: the old message, /approve and the host each still run it, once."""
    where = "chief" if chat == CHIEF.id else str(chat)
    setting = Setting(job_chat=where, job_extra=f", on_ask: park{extra}")
    async with open_stage(tmp_path, ASKS, setting, start=False) as stage:
        async with stage.gateway_process(NIGHT) as gateway:
            ident = await question(stage, chat)
            await stage.telegram.say(CHIEF, chat, "/pending")
            await stage.telegram.shown(chat, f"#{ident} until", timeout=20)
            gateway.kill()
            await gateway.wait()
        assert not (stage.workspace / "sentinel").exists()
        if road == "cli":
            said = await stage.cli("approvals", "approve", ident)
            assert (said.status, said.err) == (0, "")
            listed = await stage.cli("cron", "list")
            assert f"waiting #{ident}" in listed.out
        await stage.start()
        if road == "button":
            assert await stage.telegram.press(CHIEF, "✅ Approve once", chat, timeout=20) == "Approved."
        elif road == "command":
            await stage.telegram.say(CHIEF, chat, f"/approve {ident}")
        await ran_once(stage, chat)
        assert len(stage.model.requests) == 2


async def test_a_no_ends_the_run_without_the_model(tmp_path: Path) -> None:
    """The chat, the record and the list of jobs say so; the reason is in all of them."""
    async with open_stage(tmp_path, ASKS, PARKS) as stage:
        await stage.run_job()
        ident = await question(stage)
        assert (await last(stage)).waiting == ident
        await stage.telegram.say(CHIEF, None, f"/deny {ident} not in this house")
        told = await stage.telegram.shown(
            CHIEF.id, f"#{ident} was denied (not in this house), nothing ran.", timeout=20
        )
        assert "next: " in told.text
        run = await last(stage)
        assert (run.status, run.error) == (CronStatus.ERROR, f"#{ident} was denied (not in this house), nothing ran.")
        assert len(stage.model.requests) == 1
        assert [line.decision for line in await stage.lines()] == ["denied_user"]
        assert not (stage.workspace / "sentinel").exists()


async def test_a_yes_to_a_job_is_for_one_run(tmp_path: Path) -> None:
    """Although the command is one that a chat may be granted for some minutes: the same call asks again."""
    steps = (call("exec", {"command": "touch made.txt"}), call("exec", {"command": "touch made.txt"}), say("Made."))
    async with open_stage(tmp_path, steps, PARKS) as stage:
        await stage.run_job()
        first = await question(stage)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        asked = await stage.telegram.wait_for(
            lambda sim: next((m for m in sim.chat(CHIEF.id) if m.labels and f"#{first}" not in m.text), None),
            timeout=20,
        )
        assert asked is not None
        assert asked.labels == ("✅ Approve once", "🚫 Deny")
        await stage.telegram.press(CHIEF, asked.id)
        await stage.telegram.shown(CHIEF.id, "Made.", timeout=20)
        assert [line.decision for line in await stage.lines()] == ["approved", "approved"]


async def test_nobody_answers_for_half_a_day(tmp_path: Path) -> None:
    """Then it is over; the question offers no other one, for the job comes again by itself."""
    async with open_stage(tmp_path, ASKS, PARKS) as stage:
        await stage.run_job()
        ident = await question(stage)
        stage.clock.skipped_ms += HALF_A_DAY_MS - 60_000
        await stage.engine.recovery.look()
        assert (await last(stage)).waiting == ident
        stage.clock.skipped_ms += 120_000
        await stage.engine.recovery.look()
        await stage.telegram.shown(CHIEF.id, f"#{ident} expired, nothing ran.", timeout=20)
        closed = await stage.telegram.shown(CHIEF.id, "Expired ", timeout=20)
        assert closed.labels == ()
        assert (await last(stage)).status is CronStatus.ERROR
        assert len(stage.model.requests) == 1
        assert [line.decision for line in await stage.lines()] == ["expired"]


async def test_the_next_firings_are_skipped_and_said_once(tmp_path: Path) -> None:
    """Each is on record with its reason; the chat is not flooded. After the answer the job runs again."""
    async with open_stage(tmp_path, (*ASKS, say("Again.")), PARKS) as stage:
        await stage.run_job()
        ident = await question(stage)
        for _ in range(3):
            stage.clock.skipped_ms += 1000
            await stage.run_job()
        skipped = await stage.engine.office.stores.cron_runs.last("nightly")
        assert skipped is not None
        assert (skipped.status, skipped.error) == (
            CronStatus.SKIPPED,
            f"the run before it waits for an answer to #{ident}",
        )
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await ran_once(stage, CHIEF.id)
        stage.clock.skipped_ms += 1000
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Again.", timeout=20)
        told = [text for text in stage.bot_texts() if f"still waits for an answer to #{ident}" in text]
        assert len(told) == 1


REFUSED: tuple[tuple[str, dict[str, object]], ...] = (
    ("read_file", {"path": ".env"}),
    ("write_file", {"path": ".env", "content": "x\n"}),
    ("exec", {"command": "cat .env"}),
    ("exec", {"command": "sudo touch sentinel"}),
)


@pytest.mark.parametrize(("tool", "arguments"), REFUSED, ids=["read", "write", "operand", "root"])
async def test_what_is_refused_by_night_does_not_wait_either(
    tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    """Secrets and root: nobody is asked, nothing is parked, the run goes on without."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".env").write_text("precious\n")
    async with open_stage(tmp_path, (call(tool, arguments), say("Through.")), PARKS) as stage:
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Through.", timeout=20)
        assert not [text for text in stage.bot_texts() if "Run this on" in text]
        # root is refused to a job outright; the others have no approver there
        wanted = "denied_rule" if "sudo" in str(arguments) else "expired"
        assert [line.decision for line in await stage.lines()] == [wanted]
        assert (stage.workspace / ".env").read_text() == "precious\n"
        assert (await last(stage)).status is CronStatus.OK


@pytest.mark.parametrize("change", ["on_ask: refuse", "name: other"])
async def test_a_job_that_asks_no_more_is_allowed_nothing(tmp_path: Path, change: str) -> None:
    """Approved while the gateway was down, the job changed before it starts: the old yes is void."""
    async with open_stage(tmp_path, (*ASKS[:1], say("I could not.")), PARKS) as stage:
        await stage.run_job()
        ident = await question(stage)
        await stage.stop()
        assert (await stage.cli("approvals", "approve", ident)).status == 0
        before, after = ("on_ask: park", change) if change.startswith("on_ask") else ("name: nightly", change)
        stage.config.write_text(stage.config.read_text().replace(before, after))
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "not run", timeout=20)
        await stage.engine.lanes.settle((await last(stage)).session, 20)
        assert not (stage.workspace / "sentinel").exists()
        assert EventKind.STARTED not in {event.draft.kind for event in await stage.events()}
        assert (await last(stage)).status is (CronStatus.OK if change.startswith("on_ask") else CronStatus.ERROR)


async def test_a_run_by_hand_asks_only_if_somebody_hears_the_answer(tmp_path: Path) -> None:
    """Without delivery it is refused as by night; with it the question leaves at once, and a gateway goes on."""
    steps = (call("exec", {"command": COMMAND}), say("I could not."), *ASKS)
    async with open_stage(tmp_path, steps, PARKS, start=False) as stage:
        said = await stage.cli("cron", "run", "nightly")
        assert "I could not." in said.out
        assert "Not run, nobody was there to ask" in said.out
        said = await stage.cli("cron", "run", "nightly", "--deliver")
        ident = await question(stage)
        assert said.out == f"Asked as #{ident}; the gateway goes on with the answer.\n"
        await stage.start()
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Logged.", timeout=20)
        assert (stage.workspace / "sentinel").read_text() == "ran\n"

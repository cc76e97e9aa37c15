"""/status as a person reads it: the day, and whether the record is whole, which is looked at once a day."""

from pathlib import Path

from sqlalchemy import text

from mtbot.gateway.standing import CHORE
from mtbot.simulator.script import call, say
from mtbot.storage.ledger import LedgerStore
from tests.contract.stage import CHIEF, Setting, Stage, open_stage

SETTING = Setting(allow="['^pwd$']", extra="budgets: {currency: EUR, day: {tokens: 300000}}")
STEPS = (
    call("exec", {"command": "pwd"}),
    call("exec", {"command": "touch a"}),
    call("exec", {"command": "rm -rf ."}),
    say("Done."),
    call("exec", {"command": "touch b"}),
    say("Not b."),
)
DAY_MS = 86_400_000


async def standing(stage: Stage) -> list[str]:
    """The last two lines of /status."""
    asked = await stage.telegram.say(CHIEF, None, "/status")
    shown = await stage.telegram.shown(CHIEF.id, "Record: ", after=asked)
    return shown.text.splitlines()[-2:]


async def checked(stage: Stage) -> int:
    """When the record was last found whole, which is soon after the start."""
    chores = LedgerStore(stage.engine.office.db)
    while (at := await chores.last(CHORE)) is None:
        await stage.engine.office.stores.trail.head()
    return at


async def test_status_counts_the_day_and_the_record(tmp_path: Path) -> None:
    """Each command once, by what became of it in the end; yesterday's count no more."""
    async with open_stage(tmp_path, STEPS, SETTING) as stage:
        await stage.telegram.say(CHIEF, None, "go on")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Done.", timeout=20)
        said = await stage.telegram.say(CHIEF, None, "and b")
        await stage.telegram.shown(CHIEF.id, "Run this on", after=said, timeout=20)
        await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Not b.", timeout=20)
        at = stage.clock.clock_text(await checked(stage))
        head = await stage.engine.office.stores.trail.head()
        assert await standing(stage) == [
            "Today: 4 commands (1 by rule, 1 approved, 1 denied, 1 refused) · 720 of 300,000 tokens",
            f"Record: {head.seq} events, chain whole, checked {at}",
        ]
        stage.clock.skipped_ms += DAY_MS
        assert (await standing(stage))[0] == "Today: 0 commands · 0 of 300,000 tokens"


async def test_the_owner_is_told_of_a_record_that_is_not_whole(tmp_path: Path) -> None:
    """On the day on which it happens, and /status goes on saying so."""
    async with open_stage(tmp_path, STEPS, SETTING) as stage:
        await stage.telegram.say(CHIEF, None, "go on")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await checked(stage)
        change = text("UPDATE exec_audit SET command = 'ls' WHERE seq = 1")
        await stage.engine.office.db.write(lambda session: session.connection().execute(change))
        stage.clock.skipped_ms += DAY_MS
        await stage.restart()
        await stage.telegram.shown(CHIEF.id, "The record is not whole: event 1: ", timeout=20)
        assert (await standing(stage))[1].startswith("Record: ")
        assert "events, not whole, event 1: " in (await standing(stage))[1]

"""Jobs: one run an occurrence, never two at once, and what did not run is on record and said."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.cron import scheduler as module
from mtbot.cron.job import Job, Ran
from mtbot.cron.scheduler import latest
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import SessionId
from mtbot.domain.record import CronStatus
from mtbot.domain.turn import (
    SYSTEM,
)
from mtbot.gateway.lanes import Offered
from tests.unit.approvals.samples import MINUTE
from tests.unit.cron.house import DAY, HOUR, JOB, SEVEN, House, ended


async def test_a_run_is_on_record_and_its_result_delivered(house: House) -> None:
    """With how long it took and when it is due next."""
    assert await house.run() == Ran(CronStatus.OK, "3 pools healthy.")
    assert await house.said() == ["3 pools healthy.\n0 s · next: Sat 07:00 (+00:00)"]
    last = await house.last()
    assert (last.status, last.due_ms, last.started_ms, last.finished_ms, last.error) == (
        CronStatus.OK,
        SEVEN,
        SEVEN,
        SEVEN,
        "",
    )
    assert [(inbound.text, inbound.sender, inbound.address.label) for inbound in house.flow.begun] == [
        ("check", SYSTEM, "job:nightly")
    ]
    assert house.flow.wakes == 1


async def test_an_occurrence_happens_once(house: House) -> None:
    """A second timer, or a second process, finds it claimed."""
    await house.run()
    assert await house.run() is None
    assert len(house.flow.begun) == 1


async def test_no_reply_and_no_target_say_nothing(house: House) -> None:
    """The run is on record all the same."""
    house.flow.end = ended(" NO_REPLY ")
    assert await house.run() == Ran(CronStatus.OK, "")
    house.flow.end = ended("words")
    await house.run(SEVEN + DAY, deliver=False)
    await house.run(SEVEN + 2 * DAY, replace(JOB, deliver_to=None))
    assert await house.said() == []


async def test_what_did_not_run_is_told_with_what_would_permit_it(house: House) -> None:
    """Apart: what nobody could be asked about, what policy refused, what ran."""
    house.flow.end = ended(
        "Through.",
        refused=("certbot renew (no rule)",),
        denied=("rm -rf x (files.rm-recursive)",),
        permits=("mtclaw policy allow 'certbot renew'",),
        ran=tuple(f"ls {number}" for number in range(14)),
    )
    ran = await house.run()
    assert ran is not None
    lines = ran.text.splitlines()
    assert lines[:4] == [
        "Through.",
        "Not run, nobody was there to ask: `certbot renew (no rule)`",
        "To permit it, on nas: `mtclaw policy allow 'certbot renew'`",
        "Not run, refused by policy: `rm -rf x (files.rm-recursive)`",
    ]
    assert lines[4].endswith("`ls 11` and 2 more")


async def test_a_secret_in_a_result_is_masked(house: House) -> None:
    """In the chat and in the record."""
    house.flow.end = ended("it is swordfish9", "model.auth")
    await house.run()
    assert "swordfish9" not in str(await house.said()) + (await house.last()).error
    assert (await house.last()).status is CronStatus.ERROR


async def test_a_run_that_takes_too_long_is_stopped_and_told(house: House) -> None:
    """It is halted, waited for, and its chat hears of the limit."""
    house.flow.end = None
    ran = await house.run(job=replace(JOB, timeout=0.01))
    assert ran == Ran(CronStatus.ERROR, "nightly: stopped after 0 s, its time limit.")
    assert house.flow.halted == ["cron:job:nightly"]
    assert (await house.last()).status is CronStatus.ERROR


@pytest.mark.parametrize("offered", [Offered.FULL, Offered.CLOSED, Offered.DROPPED])
async def test_a_session_that_takes_nothing_in(house: House, offered: Offered) -> None:
    """The run is an error, at once."""
    house.flow.end, house.flow.offered = None, offered
    assert await house.run() == Ran(CronStatus.ERROR, "nightly: not run, its session takes nothing in now.")


async def test_a_message_that_was_dropped_before_it_began(house: House) -> None:
    """A shutdown does not have to wait for the job's time limit."""
    house.flow.end = ended("", "dropped")
    assert await house.run() == Ran(CronStatus.ERROR, "nightly: not run, the gateway was stopped before it began.")


async def test_two_runs_of_a_job_never_overlap(house: House) -> None:
    """The second is skipped, with the reason on record."""
    house.flow.end = None
    first = asyncio.create_task(house.run())
    await house.flow.seen.wait()
    assert await house.run(SEVEN + MINUTE) is None
    skipped = await house.last()
    assert (skipped.due_ms, skipped.status, skipped.error) == (
        SEVEN + MINUTE,
        CronStatus.SKIPPED,
        "the run before it had not ended",
    )
    house.flow.watchers[SessionId("cron:job:nightly")](ended("late"))
    assert (await first) == Ran(CronStatus.OK, "late")


async def test_a_run_of_its_own_session_is_forgotten(house: House) -> None:
    """Ephemeral: each run has a session that nobody sees again."""
    await house.run(job=replace(JOB, ephemeral=True))
    assert house.flow.begun[0].address.label == f"job:nightly:run-{SEVEN}"


async def test_the_timer_runs_the_latest_occurrence(house: House) -> None:
    """Rung late, it is still that one; rung again, it is done."""
    house.office.clock.now = SEVEN + 90_000
    await house.scheduler._due(JOB)
    await house.scheduler._due(JOB)
    await house.scheduler.close()
    assert (await house.last()).due_ms == SEVEN
    assert len(house.flow.begun) == 1


async def test_an_occurrence_that_was_slept_through_is_noted_and_said(house: House) -> None:
    """Not run hours late: on record as skipped, once, with a silent line in its chat."""
    await house.run()
    await house.said()
    house.office.clock.now = SEVEN + DAY + 3 * HOUR
    await house.scheduler._due(JOB)
    await house.scheduler._due(JOB)
    last = await house.last()
    assert (last.due_ms, last.status, last.error) == (SEVEN + DAY, CronStatus.SKIPPED, "mtclaw was not running")
    assert await house.said() == ["nightly: not run 07:00, I was not running then."]
    assert len(house.flow.begun) == 1


async def test_a_database_that_fails_ends_no_timer(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next occurrence has its chance."""

    async def locked(*_args: object) -> None:
        raise StorageError("locked")

    monkeypatch.setattr(house.office.stores.cron_runs, "claim", locked)
    monkeypatch.setattr(house.office.stores.cron_runs, "last", locked)
    await house.scheduler._due(JOB)
    await house.scheduler.close()
    house.office.clock.now = SEVEN + 3 * HOUR
    await house.scheduler._due(JOB)
    assert house.flow.begun == []


async def test_the_clockwork_rings_and_stops(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enabled jobs are rung by the library's timer; when it is cancelled nothing rings any more."""
    rung: list[str] = []
    rings = asyncio.Event()

    class Soon:
        """A schedule that is always due."""

        def next_after(self, at_ms: int) -> int:
            return at_ms + 10

    async def due(job: Job) -> None:
        rung.append(job.name)
        rings.set()

    jobs = (replace(JOB, schedule=Soon()), replace(JOB, name="off", enabled=False))  # type: ignore[arg-type] # as much as a timer uses
    here = House(house.office, house.flow, jobs)
    monkeypatch.setattr(here.scheduler, "_due", due)
    running = asyncio.create_task(here.scheduler.run())
    async with asyncio.timeout(10):
        await rings.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert set(rung) == {"nightly"}


def test_the_latest_occurrence_in_a_span() -> None:
    """The end counts, the beginning does not."""
    assert latest(JOB.schedule, SEVEN - DAY, SEVEN) == SEVEN
    assert latest(JOB.schedule, SEVEN, SEVEN + HOUR) is None
    assert module.LATE_MS == HOUR

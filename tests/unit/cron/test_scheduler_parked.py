"""Runs that wait for a person: no task, no time limit, one end, and nothing beside them."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.cron import scheduler as module
from mtbot.cron.job import Job, Ran
from mtbot.domain.ids import ApprovalId, ChatId, SessionId, TurnId
from mtbot.domain.jobs import JobEnd, RunEnd
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import CronStatus
from mtbot.domain.turn import (
    Address,
    Message,
    Role,
    SurfaceName,
    TurnState,
    Usage,
)
from tests.unit.approvals.samples import BOT
from tests.unit.cron.house import DAY, JOB, SEVEN, House, ended


def parked(label: str = "job:nightly") -> TurnState:
    """A turn of a job that waits."""
    return replace(ended("").state, address=Address(SurfaceName.CRON, BOT, ChatId(0), label=label))


async def wait_for_question(house: House, job: Job = JOB) -> Ran | None:
    """A run whose turn asks something."""
    house.flow.end = None
    running = asyncio.create_task(house.run(job=job))
    await house.flow.seen.wait()
    house.scheduler.parked(parked(job.address(SEVEN).label), ApprovalId("K7QD"))
    return await running


async def test_a_run_that_asks_is_no_task_any_more(house: House) -> None:
    """Nothing is said and nothing is closed; the time limit does not count while a person thinks."""
    assert await wait_for_question(house) == Ran(CronStatus.STARTED, "", ApprovalId("K7QD"))
    assert (await house.last()).status is CronStatus.STARTED
    assert await house.said() == []
    assert house.flow.halted == []


async def test_a_parked_run_that_goes_on_ends_with_its_turn(house: House) -> None:
    """What is said goes into the transaction of the turn; while it works the next occurrence is skipped."""
    await wait_for_question(house)
    house.scheduler.resumed(parked())
    assert await house.run(SEVEN + DAY) is None
    assert (await house.last()).error == "the run before it had not ended"
    end = replace(ended("3 pools healthy."), state=parked())
    closing = house.scheduler.closing(end)
    assert [str(item.text) for item in closing.items] == ["3 pools healthy.\nnext: Sat 07:00 (+00:00)"]
    assert closing.run == RunEnd(SessionId("cron:job:nightly"), CronStatus.OK)
    house.flow.watchers[SessionId("cron:job:nightly")](replace(end, written=True))
    await house.scheduler.close()
    assert await house.said() == []
    house.flow.end = ended("again")
    assert await house.run(SEVEN + 2 * DAY) == Ran(CronStatus.OK, "again")


async def test_a_parked_run_that_asks_again_waits_again(house: House) -> None:
    """As the first time."""
    await wait_for_question(house)
    house.scheduler.resumed(parked())
    house.scheduler.parked(parked(), ApprovalId("M3XA"))
    await house.scheduler.close()
    assert (await house.last()).status is CronStatus.STARTED


async def test_a_parked_run_that_goes_on_has_its_time_limit(house: House) -> None:
    """Stopped like any other, and its chat hears of it."""
    job = replace(JOB, timeout=0.01)
    here = House(house.office, house.flow, (job,))
    await wait_for_question(here, replace(JOB, timeout=5.0))
    here.scheduler.resumed(parked())
    await here.scheduler.close()
    assert here.flow.halted == ["cron:job:nightly"]
    assert await here.said() == ["nightly: stopped after 0 s, its time limit.\nnext: Sat 07:00 (+00:00)"]
    assert (await here.last()).status is CronStatus.ERROR


async def test_a_turn_that_cannot_be_stopped_is_told_once_and_keeps_the_job_busy(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words come too late; after its end the job runs again."""
    monkeypatch.setattr(module, "STOP_SECONDS", 0.0)
    monkeypatch.setattr(house.flow, "halt", house.flow.halted.append)
    house.flow.end = None
    ran = await house.run(job=replace(JOB, timeout=0.01))
    assert ran == Ran(CronStatus.ERROR, "nightly: stopped after 0 s, its time limit.")
    assert await house.run(SEVEN + DAY) is None
    late = replace(ended("late"), state=parked())
    assert house.scheduler.closing(late) == JobEnd()
    house.flow.watchers[SessionId("cron:job:nightly")](late)
    await asyncio.sleep(0)
    house.flow.end = ended("again")
    assert await house.run(SEVEN + 2 * DAY) == Ran(CronStatus.OK, "again")


async def test_a_turn_of_a_job_that_is_gone_closes_its_run(house: House) -> None:
    """Its results had a place in the job's entry; the question itself says what became of it."""
    gone = parked("job:weekly")
    house.scheduler.resumed(gone)
    house.scheduler.parked(gone, ApprovalId("K7QD"))
    closing = house.scheduler.closing(replace(ended("words"), state=gone))
    error = "weekly: there is no such job any more."
    assert closing == JobEnd(run=RunEnd(SessionId("cron:job:weekly"), CronStatus.ERROR, error))


async def test_a_turn_that_nobody_follows_says_nothing(house: House) -> None:
    """As after it was given up."""
    assert house.scheduler.closing(replace(ended("words"), state=parked())) == JobEnd()


async def test_a_run_of_its_own_session_that_asked_is_kept_until_the_next(house: House) -> None:
    """The question is about it, so whoever looks at the question can read it; then it goes."""
    job = replace(JOB, ephemeral=True)
    await wait_for_question(house, job)
    asked = SessionId(f"cron:job:nightly:run-{SEVEN}")
    await house.office.stores.history.flush(
        TurnFlush(
            TurnId("t"),
            job.address(SEVEN),
            (Message(Role.USER, "check"),),
            Usage(),
            (),
            run=RunEnd(asked, CronStatus.OK),
        ),
        SEVEN,
    )
    assert await house.office.stores.history.summary(asked) is not None
    house.flow.end = ended("again")
    await house.run(SEVEN + DAY, job)
    assert await house.office.stores.history.summary(asked) is None

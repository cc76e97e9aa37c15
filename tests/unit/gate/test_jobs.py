"""Jobs run behind their turns, end once, and are known for a while afterwards."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from mtbot.domain.call import Outcome, Status
from mtbot.domain.job import Job, JobId, JobLimits, Killed
from mtbot.gate import jobs as subject
from mtbot.gate.jobs import KEPT, Jobs, lasting
from tests.unit.approvals.samples import REDACTOR, Clock, call, safe

LIMITS = JobLimits(2, 60.0)


class Work:
    """Runs until it is let go, or stopped."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.deaf = False

    async def do(self) -> Outcome:
        """Wait; a stop is how it ended, unless it is deaf to it."""
        while not self.go.is_set():
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                if not self.deaf:
                    return Outcome(Status.STOPPED, safe("stopped"))
        return Outcome(Status.OK, safe("whole result"), 0, 1000)


@pytest.fixture
def names() -> Iterator[int]:
    """Numbers for names."""
    return count(1)


@pytest.fixture
def jobs(names: Iterator[int]) -> Jobs:
    """No job yet."""
    made = Jobs(Clock(), REDACTOR)
    made.name = lambda: f"J{next(names)}"
    return made


def begin(jobs: Jobs, work: Work) -> Job:
    """Start one."""
    return jobs.start(jobs.fresh(), call("sh job.sh"), safe("sh job.sh"), work.do())


async def test_a_job_ends_by_itself_and_is_reported_once(jobs: Jobs) -> None:
    """Then it is over, and what it came to can still be read."""
    reported: list[Job] = []

    async def report(job: Job) -> None:
        reported.append(job)

    jobs.report = report
    work = Work()
    job = begin(jobs, work)
    assert (jobs.all(), jobs.find(" #j1 "), job.outcome) == ((job,), job, None)
    work.go.set()
    while not reported:
        await asyncio.sleep(0)
    (over,) = reported
    assert over.outcome == Outcome(Status.OK, safe("whole result"), 0, 1000)
    assert (jobs.all(), jobs.find("J1")) == ((over,), over)
    assert jobs.tail(over) == "whole result"
    assert await jobs.kill(job.id) is Killed.NOT_RUNNING
    assert await jobs.kill(JobId("J9")) is Killed.UNKNOWN
    assert jobs.find("J9") is None


async def test_a_kill_waits_for_the_end(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not for ever for one that does not end."""
    job, work = begin(jobs, Work()), Work()
    assert await jobs.kill(job.id) is Killed.ENDED
    ended = jobs.find(job.id)
    assert ended is not None
    assert ended.outcome is not None
    assert ended.outcome.status is Status.STOPPED
    work.deaf = True
    stuck = begin(jobs, work)
    monkeypatch.setattr(subject, "KILL_SECONDS", 0.01)
    assert await jobs.kill(stuck.id) is Killed.ENDING
    work.go.set()
    await jobs.close()


async def test_what_it_writes_is_shown_in_whole_masked_lines(jobs: Jobs) -> None:
    """Half a line could be half a secret."""
    job = begin(jobs, Work())
    assert jobs.tail(job) == ""
    jobs.written = lambda ident: f"{ident} swordfish9\nsword" if ident == job.call else ""
    shown = jobs.tail(job)
    assert (shown.startswith(f"{job.call} ‹secret:"), shown.endswith("\n"), "sword" in shown) == (True, True, False)
    await jobs.close()


async def test_limits_are_looked_at_before_anything_starts(jobs: Jobs) -> None:
    """None here, none at all, no more, or no more because the process ends."""
    assert "nobody would be there" in jobs.why_not(None)
    assert jobs.why_not(JobLimits(0, 60.0)) == "background jobs are switched off"
    assert jobs.why_not(LIMITS) == ""
    begin(jobs, Work())
    assert jobs.why_not(JobLimits(1, 60.0)) == "no more than 1 may run at once, and J1 runs already"
    begin(jobs, Work())
    assert jobs.why_not(LIMITS) == "no more than 2 may run at once, and J1, J2 run already"
    await jobs.close()
    assert jobs.why_not(LIMITS) == "mtclaw is shutting down"
    assert all(job.outcome is not None for job in jobs.all())


async def test_the_end_of_the_process_is_the_end_of_all(jobs: Jobs) -> None:
    """As a service of the gateway: cancelled, it sees every job to its end first."""
    running = asyncio.create_task(jobs.run())
    await asyncio.sleep(0)
    begin(jobs, Work())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [job.outcome.status for job in jobs.all() if job.outcome] == [Status.STOPPED]


async def test_a_report_that_fails_loses_nothing_else(jobs: Jobs) -> None:
    """The job is over all the same."""

    async def broken(_job: Job) -> None:
        raise RuntimeError("no chat")

    jobs.report = broken
    job = begin(jobs, Work())
    assert await jobs.kill(job.id) is Killed.ENDED


async def test_only_the_last_are_kept(jobs: Jobs) -> None:
    """And a name is used again only when nobody has it any more."""
    for _ in range(KEPT + 1):
        await jobs.kill(begin(jobs, Work()).id)
    assert (len(jobs.all()), jobs.find("J1")) == (KEPT, None)
    taken = iter(["J2", "J3", "J50"])
    jobs.name = lambda: next(taken)
    assert jobs.fresh() == "J50"


def test_only_a_job_has_the_time_of_a_job() -> None:
    """And only where there are jobs."""
    quick = call("sh job.sh")
    assert lasting(quick, LIMITS) is quick
    long = replace(quick, arguments={"command": "sh job.sh", "background": True})
    assert (lasting(long, LIMITS).timeout, lasting(long, None).timeout) == (60.0, long.timeout)

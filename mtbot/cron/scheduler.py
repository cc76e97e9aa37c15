"""Start jobs when they are due, once per occurrence, on a surface where nobody is there to be asked at once.

APScheduler is the alarm clock only: what a crontab line means is decided by schedule.py, and an occurrence happens
because its row was claimed, not because a timer rang. A run that waits for a person's answer is no task here: it is a
parked turn like any other, and the answer brings it back, also in another process.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC

import structlog

from mtbot.cron.job import Job, Ran, words
from mtbot.cron.schedule import Schedule
from mtbot.domain.errors import MtclawError
from mtbot.domain.ids import ApprovalId, SafeText, SessionId
from mtbot.domain.jobs import CronRuns, JobEnd, RunEnd
from mtbot.domain.ports import Clock, History, Masker, Outbox
from mtbot.domain.record import CronRun, CronStatus, OutboxItem, OutKind
from mtbot.domain.turn import SYSTEM, Inbound, InboundKind, SourceRef, TurnState
from mtbot.gateway.jobs import Finished
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.turns import Turns

STOP_SECONDS = 10.0
MISSED_WINDOW_MS = 86_400_000
LATE_MS = 3_600_000

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CronStores:
    """Where occurrences are claimed and results leave."""

    runs: CronRuns
    outbox: Outbox
    history: History


@dataclass(frozen=True, slots=True)
class Engine:
    """What runs a job's turn."""

    lanes: Lanes
    turns: Turns
    wake: Callable[[], None]


@dataclass(slots=True, eq=False)
class _Run:
    """A run that this process works on. ``ended`` gets its end, or the request that it waits for.

    ``due_ms`` and ``started_ms`` None: it was parked and goes on. ``given_up``: its end is on record although its turn has not ended.
    """

    job: Job
    session: SessionId
    due_ms: int | None = None
    deliver: bool = True
    started_ms: int | None = None
    timed_out: bool = False
    given_up: bool = False
    left: bool = False
    """Whoever waited for it went away; the end of its turn is still its end."""
    ended: "asyncio.Future[Finished | ApprovalId]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def hear(self, end: Finished | ApprovalId) -> None:
        """It ended, or waits; only the first word counts."""
        if not self.ended.done():
            self.ended.set_result(end)


def latest(schedule: Schedule, after_ms: int, until_ms: int) -> int | None:
    """The last occurrence after ``after_ms`` and not later than ``until_ms``."""
    found = None
    at = after_ms
    while (at := schedule.next_after(at)) <= until_ms:
        found = at
    return found


class Scheduler:
    """Fires jobs until it is closed; implements JobDesk for their turns."""

    def __init__(
        self, jobs: Sequence[Job], stores: CronStores, engine: Engine, clock: Clock, masker: Masker, host: str
    ) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._stores = stores
        self._engine = engine
        self._clock = clock
        self._masker = masker
        self._host = host
        self._running: dict[SessionId, _Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run_now(self, job: Job, due_ms: int, *, deliver: bool) -> Ran | None:
        """Run one occurrence to its end, or until it waits for a person.

        None if it exists already, or the run before it has not ended.
        """
        run = _Run(job, job.address(due_ms).session, due_ms, deliver, self._clock.now_ms())
        if await self._kept_off(run, due_ms):
            return None
        self._running[run.session] = run
        try:
            before = await self._stores.runs.begun(job.name)
            if before is not None and before.waiting is not None:
                await self._skip_waiting(run, due_ms, before, before.waiting)
                return None
            if await self._kept_off(run, due_ms):
                # its answer came while the row was read
                return None
            return await self._claimed(run, due_ms, before)
        finally:
            self._over(run)

    async def _kept_off(self, run: _Run, due_ms: int) -> bool:
        """Whether another run of the job is at work; unless it is the very same occurrence, this one is on record."""
        others = [one for one in self._running.values() if one is not run and one.job.name == run.job.name]
        if others and all(other.due_ms != due_ms for other in others):
            await self._skip(run, due_ms, "the run before it had not ended")
        return bool(others)

    def _over(self, run: _Run) -> None:
        """Nothing of the run is at work any more; one that nobody waits for counts until its turn has ended."""
        if (run.given_up or run.left) and not run.ended.done():
            run.ended.add_done_callback(lambda _end: self._over(run))
        elif self._running.get(run.session) is run:
            del self._running[run.session]

    async def _claimed(self, run: _Run, due_ms: int, before: CronRun | None) -> Ran | None:
        job, address, history = run.job, run.job.address(due_ms), self._stores.history
        if await self._stores.runs.claim(job.name, due_ms, run.session, self._clock.now_ms()) is None:
            return None
        if before is not None and ":run-" in before.session and before.status is not CronStatus.STARTED:
            # it had asked something, and so was kept for whoever looks at the question
            await history.clear(before.session)
        self._engine.turns.watch(run.session, run.hear)
        inbound = Inbound(address, SYSTEM, SourceRef(), InboundKind.TEXT, job.prompt)
        if self._engine.lanes.offer(run.session, inbound) not in (Offered.STARTED, Offered.QUEUED):
            return await self._unwritten(
                run, Ran(CronStatus.ERROR, f"{job.name}: not run, its session takes nothing in now.")
            )
        ran = await self._follow(run)
        if job.ephemeral and ran.waiting is None:
            await history.clear(run.session)
        return ran

    async def _follow(self, run: _Run) -> Ran:
        """Wait for the end of a run, within its time; a run that waits for a person has all the time in the world."""
        try:
            async with asyncio.timeout(run.job.timeout):
                await asyncio.shield(run.ended)
        except TimeoutError:
            run.timed_out = True
            self._engine.lanes.halt(run.session)
            await asyncio.wait([run.ended], timeout=STOP_SECONDS)
        except asyncio.CancelledError:
            run.left = True
            raise
        end = run.ended.result() if run.ended.done() else None
        if isinstance(end, str):
            return Ran(CronStatus.STARTED, "", end)
        ran = self._ran(run, end)
        if end is not None and end.written:
            return ran
        run.given_up = end is None
        return await self._unwritten(run, ran)

    async def _unwritten(self, run: _Run, ran: Ran) -> Ran:
        """The end of a run that was not written with its turn."""
        if await self._stores.runs.finish(RunEnd(run.session, ran.status, ran.error), self._clock.now_ms()):
            for item in self._items(run, ran):
                await self._stores.outbox.put(item, now_ms=self._clock.now_ms())
            self._engine.wake()
        return ran

    def resumed(self, state: TurnState) -> None:
        """A parked run goes on: its time runs again. Of a job that is gone nothing is said any more."""
        job = self._jobs.get(state.address.job)
        if job is None:
            return
        run = self._running[state.session] = _Run(job, state.session)
        self._engine.turns.watch(run.session, run.hear)
        self._start(self._resumed(run), job)

    async def _resumed(self, run: _Run) -> None:
        try:
            await self._follow(run)
        finally:
            self._over(run)

    def parked(self, state: TurnState, approval: ApprovalId) -> None:
        """A run waits for an answer."""
        run = self._running.get(state.session)
        if run is not None:
            run.hear(approval)

    def closing(self, end: Finished) -> JobEnd:
        """What is said when a run is over, and that it is over."""
        run, name = self._running.get(end.state.session), end.state.address.job
        if name not in self._jobs:
            return JobEnd(run=RunEnd(end.state.session, CronStatus.ERROR, f"{name}: there is no such job any more."))
        if run is None or run.given_up:
            return JobEnd()
        ran = self._ran(run, end)
        return JobEnd(self._items(run, ran), RunEnd(run.session, ran.status, ran.error))

    def _ran(self, run: _Run, end: Finished | None) -> Ran:
        name = run.job.name
        if run.timed_out or end is None:
            return Ran(CronStatus.ERROR, f"{name}: stopped after {run.job.timeout:.0f} s, its time limit.")
        if end.code == "dropped":
            return Ran(CronStatus.ERROR, f"{name}: not run, the gateway was stopped before it began.")
        ran = words(end, self._host)
        return Ran(ran.status, str(self._masker.mask(ran.text)))

    def _items(self, run: _Run, ran: Ran) -> tuple[OutboxItem, ...]:
        """What goes to the job's chat."""
        if not run.deliver or run.job.deliver_to is None or not ran.text:
            return ()
        return (OutboxItem(OutKind.REPLY, run.job.deliver_to, text=self._with_foot(run, ran.text)),)

    def _with_foot(self, run: _Run, text: str) -> SafeText:
        now, job = self._clock.now_ms(), run.job
        foot = [] if run.started_ms is None else [f"{(now - run.started_ms) / 1000:.0f} s"]
        if job.enabled:
            foot.append(f"next: {job.schedule.describe(job.schedule.next_after(now), now)}")
        return self._masker.mask("\n".join((text, " · ".join(foot))).rstrip())

    async def run(self) -> None:
        """Fire every enabled job when it is due, until cancelled. What was missed while nobody ran is noted, not run."""
        from apscheduler.schedulers.asyncio import AsyncIOScheduler  # noqa: PLC0415 - only where jobs are on

        from mtbot.cron.trigger import CrontabTrigger  # noqa: PLC0415 - as above

        for job in self._jobs.values():
            if job.enabled:
                await self._note_missed(job, self._clock.now_ms())
        clockwork = AsyncIOScheduler(timezone=UTC)
        for job in self._jobs.values():
            if job.enabled:
                clockwork.add_job(
                    self._due,
                    CrontabTrigger(job.schedule),
                    args=[job],
                    id=job.name,
                    misfire_grace_time=None,
                    coalesce=True,
                    max_instances=1,
                )
        clockwork.start()
        try:
            await asyncio.Event().wait()
        finally:
            clockwork.shutdown(wait=False)

    async def _due(self, job: Job) -> None:
        """The latest instant at or before now is the occurrence that the timer rang for; one long past is only noted."""
        now = self._clock.now_ms()
        due = latest(job.schedule, now - LATE_MS, now)
        if due is not None:
            self._start(self._fired(job, due), job)
            return
        try:
            await self._note_missed(job, now)
        except MtclawError as error:
            _log.error("cron.not_noted", job=job.name, code=error.code, error=str(error))

    async def _note_missed(self, job: Job, now_ms: int) -> None:
        """The latest occurrence since the job last ran, if nobody was there for it: on record, and said where it goes."""
        last = await self._stores.runs.last(job.name)
        due = None if last is None else latest(job.schedule, max(last.due_ms, now_ms - MISSED_WINDOW_MS), now_ms)
        if due is None:
            return
        _log.warning("cron.missed", job=job.name, due_ms=due)
        await self._skip(_Run(job, job.address(due).session), due, "mtclaw was not running")
        await self._notice(job, f"{job.name}: not run {self._clock.clock_text(due)}, I was not running then.")

    async def _skip(self, run: _Run, due_ms: int, why: str) -> None:
        await self._stores.runs.skipped(run.job.name, due_ms, run.session, self._clock.now_ms(), why)

    async def _skip_waiting(self, run: _Run, due_ms: int, before: CronRun, question: ApprovalId) -> None:
        """The run before it waits for an answer: on record each time, and said the first time."""
        last = await self._stores.runs.last(run.job.name)
        await self._skip(run, due_ms, f"the run before it waits for an answer to #{question}")
        if last is not None and last.id == before.id:
            at = self._clock.clock_text(due_ms)
            await self._notice(
                run.job,
                f"{run.job.name}: not run {at}, the run before it still waits for an answer to #{question}. "
                "Nor are the next ones until then.",
            )

    async def _notice(self, job: Job, text: str) -> None:
        if job.deliver_to is not None:
            item = OutboxItem(OutKind.NOTICE, job.deliver_to, text=self._masker.mask(text), silent=True)
            await self._stores.outbox.put(item, now_ms=self._clock.now_ms())
            self._engine.wake()

    def _start(self, work: Coroutine[None, None, None], job: Job) -> None:
        task = asyncio.create_task(self._guarded(work, job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fired(self, job: Job, due_ms: int) -> None:
        await self.run_now(job, due_ms, deliver=True)

    @staticmethod
    async def _guarded(work: Coroutine[None, None, None], job: Job) -> None:
        try:
            await work
        except MtclawError as error:
            _log.error("cron.run_failed", job=job.name, code=error.code, error=str(error))

    async def close(self) -> None:
        """Fire nothing more and wait for what runs (its lanes are being drained by now)."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

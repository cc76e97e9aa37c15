"""Start jobs when they are due, once per occurrence, on a surface where nobody can be asked.

APScheduler is the alarm clock only: what a crontab line means is decided by schedule.py, and an occurrence happens
because its row was claimed, not because a timer rang.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

import structlog

from mtbot.cron.schedule import Schedule
from mtbot.domain.errors import MtclawError
from mtbot.domain.ids import BotName, ChatId
from mtbot.domain.ports import Clock, CronRuns, History, Masker, Outbox
from mtbot.domain.record import CronStatus, OutboxItem, OutKind
from mtbot.domain.turn import SYSTEM, Address, Inbound, InboundKind, SourceRef, SurfaceName
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.leaving import NO_REPLY
from mtbot.gateway.turns import Finished, Turns

STOP_SECONDS = 10.0
MISSED_WINDOW_MS = 86_400_000
LATE_MS = 3_600_000
SHOWN_CALLS = 12
SHOWN_HINTS = 3

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the configuration compiled it. ``timeout`` is in seconds; ``deliver_to`` None keeps the result in the record."""

    name: str
    schedule: Schedule
    prompt: str
    timeout: float
    ephemeral: bool
    bot: BotName
    deliver_to: Address | None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended: its status, and the text that is delivered (empty: nothing to say)."""

    status: CronStatus
    text: str


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


def latest(schedule: Schedule, after_ms: int, until_ms: int) -> int | None:
    """The last occurrence after ``after_ms`` and not later than ``until_ms``."""
    found = None
    at = after_ms
    while (at := schedule.next_after(at)) <= until_ms:
        found = at
    return found


class Scheduler:
    """Fires jobs until it is closed."""

    def __init__(
        self, jobs: Sequence[Job], stores: CronStores, engine: Engine, clock: Clock, masker: Masker, host: str
    ) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._stores = stores
        self._engine = engine
        self._clock = clock
        self._masker = masker
        self._host = host
        self._running: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run_now(self, job: Job, due_ms: int, *, deliver: bool) -> Ran | None:
        """Run one occurrence to its end; None if it exists already or the job is still running."""
        session = self._address(job, due_ms).session
        if job.name in self._running:
            await self._stores.runs.skipped(
                job.name, due_ms, session, self._clock.now_ms(), "the run before it had not ended"
            )
            return None
        self._running.add(job.name)
        try:
            return await self._claimed(job, due_ms, deliver=deliver)
        finally:
            self._running.discard(job.name)

    async def _claimed(self, job: Job, due_ms: int, *, deliver: bool) -> Ran | None:
        address = self._address(job, due_ms)
        started = self._clock.now_ms()
        run = await self._stores.runs.claim(job.name, due_ms, address.session, started)
        if run is None:
            return None
        ran = await self._turn(job, address)
        ran = replace(ran, text=str(self._masker.mask(ran.text)))
        error = "" if ran.status is CronStatus.OK else ran.text
        await self._stores.runs.finish(run, ran.status, self._clock.now_ms(), error)
        if job.ephemeral:
            await self._stores.history.clear(address.session)
        if deliver and job.deliver_to is not None and ran.text:
            text = self._with_foot(job, ran.text, started)
            item = OutboxItem(OutKind.REPLY, job.deliver_to, text=self._masker.mask(text))
            await self._stores.outbox.put(item, now_ms=self._clock.now_ms())
            self._engine.wake()
        return ran

    async def _turn(self, job: Job, address: Address) -> Ran:
        ended: asyncio.Future[Finished] = asyncio.get_running_loop().create_future()
        self._engine.turns.watch(address.session, lambda end: None if ended.done() else ended.set_result(end))
        inbound = Inbound(address, SYSTEM, SourceRef(), InboundKind.TEXT, job.prompt)
        if self._engine.lanes.offer(address.session, inbound) not in (Offered.STARTED, Offered.QUEUED):
            return Ran(CronStatus.ERROR, f"{job.name}: not run, its session takes nothing in now.")
        try:
            async with asyncio.timeout(job.timeout):
                end = await asyncio.shield(ended)
            if end.code == "dropped":
                return Ran(CronStatus.ERROR, f"{job.name}: not run, the gateway was stopped before it began.")
            return self._words(end)
        except TimeoutError:
            self._engine.lanes.halt(address.session)
            await asyncio.wait([ended], timeout=STOP_SECONDS)
            return Ran(CronStatus.ERROR, f"{job.name}: stopped after {job.timeout:.0f} s, its time limit.")

    def _words(self, end: Finished) -> Ran:
        """The answer, and below it what did not run because nobody could be asked."""
        text = end.text.strip()
        parts = [] if text == NO_REPLY else [text]
        if end.state.refused:
            parts.append(f"Not run, nobody was there to ask: {_listed(end.state.refused)}")
        parts += [f"To permit it, on {self._host}: `{hint}`" for hint in dict.fromkeys(end.state.permits[:SHOWN_HINTS])]
        if end.state.denied:
            parts.append(f"Not run, refused by policy: {_listed(end.state.denied)}")
        if end.state.ran:
            parts.append(f"Ran by rule: {_listed(end.state.ran)}")
        return Ran(CronStatus.ERROR if end.code else CronStatus.OK, "\n".join(part for part in parts if part))

    def _with_foot(self, job: Job, text: str, started_ms: int) -> str:
        took = (self._clock.now_ms() - started_ms) / 1000
        now = self._clock.now_ms()
        following = f" · next: {job.schedule.describe(job.schedule.next_after(now), now)}" if job.enabled else ""
        return f"{text}\n{took:.0f} s{following}"

    @staticmethod
    def _address(job: Job, due_ms: int) -> Address:
        label = f"job:{job.name}" + (f":run-{due_ms}" if job.ephemeral else "")
        return Address(SurfaceName.CRON, job.bot, ChatId(0), label=label)

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
            self._fire(job, due)
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
        session = self._address(job, due).session
        await self._stores.runs.skipped(job.name, due, session, now_ms, "mtclaw was not running")
        _log.warning("cron.missed", job=job.name, due_ms=due)
        if job.deliver_to is not None:
            said = f"{job.name}: not run {self._clock.clock_text(due)}, I was not running then."
            item = OutboxItem(OutKind.NOTICE, job.deliver_to, text=self._masker.mask(said), silent=True)
            await self._stores.outbox.put(item, now_ms=now_ms)
            self._engine.wake()

    def _fire(self, job: Job, due_ms: int) -> None:
        task = asyncio.create_task(self._fired(job, due_ms))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fired(self, job: Job, due_ms: int) -> None:
        try:
            await self.run_now(job, due_ms, deliver=True)
        except MtclawError as error:
            _log.error("cron.run_failed", job=job.name, code=error.code, error=str(error))

    async def close(self) -> None:
        """Fire nothing more and wait for what runs (its lanes are being drained by now)."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)


def _listed(lines: Sequence[str]) -> str:
    """Calls in one line, each set off, at most SHOWN_CALLS of them."""
    shown = ", ".join(f"`{line.replace('`', '´')}`" for line in lines[:SHOWN_CALLS])
    return shown if len(lines) <= SHOWN_CALLS else f"{shown} and {len(lines) - SHOWN_CALLS} more"

"""Calls that go on behind their turn: started by the gate like any other, ended by their time, by a person or with us.

A job is a call that nobody waits for. It is on record as started before it runs and as ended when it is over, it can be
watched and ended meanwhile, and it never outlives the process that started it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace

import structlog

from mtbot.domain.call import Call, Decision, Outcome, Status, Verdict
from mtbot.domain.ids import SafeText
from mtbot.domain.job import Job, JobId, JobLimits, Killed
from mtbot.domain.ports import Clock, Masker
from mtbot.gate import answers
from mtbot.policy.effects import Prepared
from mtbot.policy.watchers import watcher_in

KEPT = 20
"""Jobs that are over and can still be looked at."""

KILL_SECONDS = 8.0
"""How long ending a job is waited for; its supervisor needs at most five, and names what it could not end."""

_log = structlog.get_logger()

Work = Coroutine[None, None, Outcome]


@dataclass(slots=True)
class _Running:
    job: Job
    task: "asyncio.Task[None]"
    stop: asyncio.Event


class Jobs:
    """The jobs of one process. ``written`` gives what a call has written lately; ``name`` makes a name.

    ``report`` is told of every job that ended. ``closing``: no more are started, and what ends now ends with the process.
    """

    def __init__(self, clock: Clock, masker: Masker) -> None:
        self._clock = clock
        self._masker = masker
        self.written: Callable[[str], str] = lambda _call: ""
        self.name: Callable[[], str] = lambda: "J"
        self._running: dict[JobId, _Running] = {}
        self._over: OrderedDict[JobId, Job] = OrderedDict()
        self.closing = False
        self.report: Callable[[Job], Awaitable[None]] = _nobody

    def unfit(self, call: Call, limits: JobLimits | None, prepared: Prepared, decision: Decision) -> str:
        """What the model is told of a call that policy does not refuse and that makes no sense here; empty if it does."""
        if decision.verdict is Verdict.REFUSE or prepared.readings is None:
            return ""
        if call.background:
            why = "what needs another user runs in the terminal of a person" if decision.elevates else ""
            why = why or self.why_not(limits)
            return answers.no_job(why) if why else ""
        found = watcher_in(prepared.readings)
        return answers.watcher(found, jobs=limits is not None and limits.at_once > 0) if found else ""

    def why_not(self, limits: JobLimits | None) -> str:
        """Why no job can be started now; empty if one can."""
        if self.closing:
            return "mtclaw is shutting down"
        if limits is None:
            return "nothing runs in the background here, because nobody would be there to watch or end it"
        if limits.at_once == 0:
            return "background jobs are switched off"
        if len(self._running) >= limits.at_once:
            named = ", ".join(self._running)
            runs = "runs" if len(self._running) == 1 else "run"
            return f"no more than {limits.at_once} may run at once, and {named} {runs} already"
        return ""

    def fresh(self) -> JobId:
        """A name that no job has; short names repeat by chance."""
        while True:
            name = JobId(self.name())
            if name not in self._running and name not in self._over:
                return name

    def start(self, name: JobId, call: Call, command: SafeText, work: Work) -> Job:
        """Have ``work`` done from now on, under a ``fresh`` name; cancelling it ends the call."""
        job = Job(name, call.id, call.address, call.requester, command, self._clock.now_ms(), call.timeout)
        stop = asyncio.Event()
        self._running[job.id] = _Running(job, asyncio.create_task(self._serve(job, work, stop)), stop)
        return job

    def leave(self, name: JobId, call: Call, command: SafeText, work: Work) -> Outcome:
        """Start it, and what the model is told of that."""
        job = self.start(name, call, command, work)
        return Outcome(Status.OK, self._masker.mask(answers.job_started(name, job.timeout)), job=name)

    def all(self) -> tuple[Job, ...]:
        """Those that are over first, then those that run; each oldest first."""
        return (*self._over.values(), *(one.job for one in self._running.values()))

    def find(self, name: str) -> Job | None:
        """By its name in any case, with or without a # before it."""
        ident = JobId(name.strip().lstrip("#").upper())
        running = self._running.get(ident)
        return running.job if running is not None else self._over.get(ident)

    def tail(self, job: Job) -> SafeText:
        """Whole lines only while it runs: half of a secret is a thing that no redactor knows."""
        if job.outcome is not None:
            return job.outcome.text
        written = self.written(str(job.call))
        return self._masker.mask(written[: written.rfind("\n") + 1])

    async def kill(self, job: JobId) -> Killed:
        """End it, and wait until it is over and on record, but not for ever."""
        running = self._running.get(job)
        if running is None:
            return Killed.NOT_RUNNING if job in self._over else Killed.UNKNOWN
        running.stop.set()
        _, late = await asyncio.wait([running.task], timeout=KILL_SECONDS)
        return Killed.ENDING if late else Killed.ENDED

    async def run(self) -> None:
        """Do nothing until cancelled; then end every job and see it on record."""
        try:
            await asyncio.Event().wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Start no more, and end all; returns when they are on record."""
        self.closing = True
        while running := tuple(self._running.values()):
            for one in running:
                one.stop.set()
            await asyncio.wait([one.task for one in running])

    async def _serve(self, job: Job, work: Work, stop: asyncio.Event) -> None:
        """Do the work to its end. A stop cancels it, never before its first step, so that it always tells how it ended."""
        task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            over = replace(job, outcome=task.result())
        finally:
            del self._running[job.id]
        self._over[job.id] = over
        while len(self._over) > KEPT:
            self._over.popitem(last=False)
        try:
            await self.report(over)
        # Whatever the report meets, the job is over and on record; the log says that nobody was told.
        except Exception:  # noqa: BLE001  a report may meet anything
            _log.exception("job.not_reported", job=job.id, call=job.call)


def lasting(call: Call, limits: JobLimits | None) -> Call:
    """The call with the time that it may take: a job has its own."""
    return replace(call, timeout=limits.timeout) if call.background and limits is not None else call


async def _nobody(_job: Job) -> None:
    return

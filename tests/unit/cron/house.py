"""A scheduler over a real database; lanes and turns are played."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from mtbot.cron.job import Job, Ran
from mtbot.cron.schedule import Schedule
from mtbot.cron.scheduler import CronStores, Engine, Scheduler
from mtbot.domain.ids import BotName, SessionId, TurnId
from mtbot.domain.record import CronRun
from mtbot.domain.turn import (
    SYSTEM,
    Address,
    Inbound,
    SourceRef,
    TurnState,
)
from mtbot.gateway.jobs import Finished
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.turns import Turns
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import BOT, MINUTE, PRIVATE, REDACTOR

HOUR = 60 * MINUTE
DAY = 24 * HOUR
SEVEN = DAY + 7 * HOUR
JOB = Job(
    "nightly",
    Schedule.parse("0 7 * * *", ZoneInfo("UTC")),
    "check",
    5.0,
    ephemeral=False,
    bot=BotName(BOT),
    deliver_to=PRIVATE,
)


@dataclass
class Flow:
    """Lanes and turns that end as a test wants; ``begun`` are the jobs' messages."""

    end: Finished | None = None
    offered: Offered = Offered.STARTED
    begun: list[Inbound] = field(default_factory=list)
    halted: list[SessionId] = field(default_factory=list)
    wakes: int = 0
    watchers: dict[SessionId, Callable[[Finished], None]] = field(default_factory=dict)
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, session: SessionId, watcher: Callable[[Finished], None]) -> None:
        """As Turns.watch."""
        self.watchers[session] = watcher

    def offer(self, session: SessionId, inbound: Inbound) -> Offered:
        """As Lanes.offer."""
        self.begun.append(inbound)
        self.seen.set()
        if self.end is not None:
            self.watchers[session](self.end)
        return self.offered

    def halt(self, session: SessionId) -> None:
        """As Lanes.halt; the turn ends stopped."""
        self.halted.append(session)
        self.watchers[session](ended("", "stopped"))

    def wake(self) -> None:
        """Something is to be said."""
        self.wakes += 1


def ended(text: str, code: str = "", **more: tuple[str, ...]) -> Finished:
    """The end of a job's turn."""
    address = Address(PRIVATE.surface, PRIVATE.bot, PRIVATE.chat)
    state = TurnState(TurnId("t"), address, SYSTEM, SourceRef(), ())
    return Finished(replace(state, **more), text, code)  # type: ignore[arg-type] # names of tuples of text


@dataclass
class House:
    """A scheduler over a real database."""

    office: Office
    flow: Flow
    jobs: tuple[Job, ...] = (JOB,)

    def __post_init__(self) -> None:
        stores = self.office.stores
        flow = self.flow
        lanes: Lanes = flow  # type: ignore[assignment] # as much of lanes as a scheduler uses
        turns: Turns = flow  # type: ignore[assignment] # as much of turns as a scheduler uses
        self.scheduler = Scheduler(
            self.jobs,
            CronStores(stores.cron_runs, stores.outbox, stores.history),
            Engine(lanes, turns, flow.wake),
            self.office.clock,
            REDACTOR,
            "nas",
        )

    async def run(self, due: int = SEVEN, job: Job = JOB, *, deliver: bool = True) -> Ran | None:
        """Run an occurrence."""
        return await self.scheduler.run_now(job, due, deliver=deliver)

    async def last(self) -> CronRun:
        """How the latest run stands."""
        found = await self.office.stores.cron_runs.last("nightly")
        assert found is not None
        return found

    async def said(self) -> list[str]:
        """What is to be said."""
        return [str(item.text) for item in await self.office.said()]

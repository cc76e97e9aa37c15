"""Build what talks to the network: the Telegram side, the scheduler, and the gateway that runs it all."""

import asyncio
import functools
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import structlog

from mtbot.approvals.cut_off import CutOffCards
from mtbot.bootstrap import collector
from mtbot.bootstrap.account import find_account
from mtbot.bootstrap.bots import BotParts, Bots, BotWays
from mtbot.bootstrap.chat_commands import commands_of
from mtbot.bootstrap.chores import daily_of, record_check
from mtbot.bootstrap.engine import Engine
from mtbot.bootstrap.limits import recall_questions, recall_turns
from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.outputs import outputs_of
from mtbot.bootstrap.reload import Reloader
from mtbot.bootstrap.sending import job_bot
from mtbot.bootstrap.system import RandomNames, short_host, user_name
from mtbot.bootstrap.trash import keeper_of
from mtbot.config.service import JobSettings, SessionKind
from mtbot.domain.errors import StateError
from mtbot.domain.ids import BotName
from mtbot.domain.live import Verbosity
from mtbot.domain.record import InboxRow
from mtbot.domain.turn import Address, Inbound, SurfaceName
from mtbot.gate.facts import FactFinder
from mtbot.gate.undo import Ground, TrashKeeper
from mtbot.gateway.answers import IntakeFrame
from mtbot.gateway.commands import About, Command, Commands
from mtbot.gateway.cut_off import CutOffs, NoticeFrame
from mtbot.gateway.drafts import DraftFrame, Drafting
from mtbot.gateway.edits import EditFrame, EditOffers
from mtbot.gateway.intake import Intake, IntakeStores
from mtbot.gateway.lifecycle import Gateway, Parts, Service
from mtbot.gateway.outputs import OutputDesk, OutputsFrame
from mtbot.gateway.pairing import Pairer, PairFrame
from mtbot.gateway.received import Received, Shelving
from mtbot.gateway.senders import Senders
from mtbot.gateway.standing import RecordCheck
from mtbot.gateway.status import Statuses, StatusFrame
from mtbot.gateway.throttle import Throttle
from mtbot.policy.limits import HourlyLimit
from mtbot.processes.confiner import sweep_private_directories
from mtbot.tools.shelf import WorkspaceShelf

if TYPE_CHECKING:
    from mtbot.cron.job import Job
    from mtbot.cron.scheduler import Scheduler

STATUS_SECONDS = 2.0
"""How long a stop waits for status messages to be taken away."""

_log = structlog.get_logger()


def build_gateway(engine: Engine) -> "Running":
    """A gateway over ``engine``; ``Running.run`` connects and serves."""
    ways = BotWays(engine.places.outward)
    statuses = Statuses(ways, ways, _status_frame(engine))
    engine.board.signs = engine.board.live = statuses
    wanted = functools.partial(_wants_drafts, engine)
    engine.board.writing = Drafting(ways, DraftFrame(engine.loaded.redactor.settled, wanted, statuses.written)).writing
    engine.board.ways[SurfaceName.PRIVATE] = ways
    engine.board.ways[SurfaceName.GROUP] = ways
    started = time.monotonic()
    running = Running(engine, ways)
    stores = engine.office.stores
    running.check = record_check(engine)
    commands = commands_of(engine, functools.partial(running.about, started=started), running.check)
    frame = IntakeFrame(
        engine.loaded.clock,
        engine.loaded.redactor,
        ways,
        engine.wake,
        lambda: engine.loaded.people,
        engine.places,
    )
    running.trash = keeper_of(engine.office, Ground(engine.profiles.gate, FactFinder(engine.profiles.world())))
    intake = Intake(
        engine.desk,
        engine.lanes,
        commands,
        IntakeStores(stores.inbox, stores.outbox, stores.consents),
        frame,
        running.trash,
    )
    clock = engine.loaded.clock
    cards = CutOffCards(engine.loaded.clock, engine.loaded.redactor, lambda: engine.loaded.people)
    notices = NoticeFrame(engine.loaded.clock, ways, engine.wake, intake.admits)
    cut_offs = CutOffs(stores.trail, stores.kept, stores.outbox, engine.lanes, cards, notices)
    intake.presses.on_notice, engine.turns.asked_again = cut_offs.press, cut_offs.asked
    running.cut_offs = cut_offs
    edit_frame = EditFrame(
        engine.loaded.clock, engine.loaded.redactor, ways, RandomNames().token, engine.wake, intake.admits
    )
    intake.edits = EditOffers(stores.edits, stores.inbox, engine.lanes, edit_frame)
    intake.files.received = _received(engine, ways)
    intake.senders = running.senders = Senders(stores.senders, clock)
    running.reloader = Reloader(engine)
    intake.pairer = running.pairer = _pairer(engine, running.reloader)
    commands.add(Command("pair", "", running.pairer.listed, frozenset()))
    intake.presses.turn_of, running.statuses = statuses.place_of, statuses
    running.intake, running.commands = intake, commands
    running.bots = Bots(engine, ways, intake, commands)
    running.scheduler = build_scheduler(engine)
    _throttle(engine, intake, cut_offs, running.begun)
    intake.presses.outputs = commands.outputs = _output_desk(engine)
    # a question in a terminal belongs to the process that shows it
    engine.recovery.serves = lambda address: address.surface is not SurfaceName.TERMINAL
    return running


def _throttle(engine: Engine, intake: Intake, cut_offs: CutOffs, begun: HourlyLimit) -> None:
    """One limit for every way in which a person may begin a turn."""
    throttle = Throttle(begun, engine.loaded.clock)

    def kept_off(inbound: Inbound) -> str | None:
        return throttle.keeps_off_press(inbound, engine.loaded.people.owner)

    intake.throttle = throttle
    intake.files.full = lambda inbound: throttle.full(inbound, engine.loaded.people.owner)
    intake.presses.kept_off = cut_offs.kept_off = kept_off
    if intake.edits is not None:
        intake.edits.kept_off = kept_off


def _received(engine: Engine, ways: BotWays) -> Received:
    clock, telegram = engine.loaded.clock, engine.loaded.settings.channels.telegram
    return Received(
        Shelving(
            ways,
            WorkspaceShelf(
                lambda address: engine.profiles.of(address).settings.agent.workspace, telegram.max_inbox_bytes
            ),
            telegram.max_file_bytes,
            telegram.max_inbox_bytes,
            lambda: clock.date(clock.now_ms()),
        )
    )


def _output_desk(engine: Engine) -> OutputDesk:
    loaded, stores = engine.loaded, engine.office.stores
    frame = OutputsFrame(
        stores.trail, stores.outbox, loaded.clock, loaded.redactor, lambda: engine.loaded.people, engine.wake
    )
    return OutputDesk(outputs_of(loaded), frame)


def _pairer(engine: Engine, reloader: Reloader) -> Pairer:
    async def reload() -> None:
        await reloader.reload()

    loaded, stores = engine.loaded, engine.office.stores
    frame = PairFrame(loaded.clock, loaded.redactor, lambda: engine.loaded.people, reload, engine.wake)
    return Pairer(stores.pairings, stores.outbox, frame)


def _verbosity(engine: Engine, address: Address) -> Verbosity:
    bot = engine.loaded.settings.channels.telegram.bots.get(address.bot)
    return Verbosity.QUIET if bot is None else bot.verbosity


def _wants_drafts(engine: Engine, address: Address) -> bool:
    return engine.loaded.settings.channels.telegram.drafts and _verbosity(engine, address) is not Verbosity.QUIET


def _status_frame(engine: Engine) -> StatusFrame:
    return StatusFrame(
        engine.office.cards,
        lambda: engine.loaded.people,
        engine.tail,
        time.monotonic,
        RandomNames().token,
        lambda address: _verbosity(engine, address),
        engine.office.stores.statuses,
    )


class Running:
    """A gateway from its first connection to its end."""

    intake: Intake
    commands: Commands
    bots: Bots
    statuses: Statuses
    pairer: Pairer
    senders: Senders
    cut_offs: CutOffs
    reloader: Reloader
    trash: TrashKeeper
    check: RecordCheck
    scheduler: "Scheduler"

    def __init__(self, engine: Engine, ways: BotWays) -> None:
        self.engine = engine
        self._ways = ways
        self._gateway: Gateway | None = None
        self.begun = HourlyLimit(engine.loaded.settings.limits.turns_per_hour)
        """The turns that each person began."""
        self.beside: list[Service] = []
        """What else is served once everything is open."""

    def about(self, inbound: Inbound, *, started: float) -> About:
        """What commands tell about the place of ``inbound``."""
        built = self.engine.profiles.of(inbound.address)
        own = len(built.settings.tools.exec.allow)
        packs = "".join(f"{pack} pack + " for pack in built.rules.packs)
        return About(
            host=short_host(),
            user=built.settings.tools.exec.user or user_name(),
            model=built.settings.agent.model,
            mode=built.rules.mode.value,
            rules=f"{packs}{own} of yours",
            uptime_s=round(time.monotonic() - started),
            containment=self.containment(built.not_contained),
            poll_age=lambda: self.poll_age(inbound.address.bot),
        )

    def containment(self, trouble: str = "") -> str:
        """What commands can be kept from here, in a few words. ``trouble``: why nothing can be, in one workspace."""
        known = self.engine.machinery.confiner.known
        if known is None:
            return "being tried"
        if trouble or not known.ready:
            return f"NOT CONTAINED: {trouble or '; '.join(known.missing)}"
        return f"ready: {', '.join(known.parts)}"

    def poll_age(self, bot: BotName) -> float | None:
        """Seconds since Telegram last answered a poll of that bot."""
        parts = self._ways.bots.get(bot)
        at = parts.poller.last_success_ms if parts else None
        return None if at is None else max(0.0, (self.engine.loaded.clock.now_ms() - at) / 1000)

    def poll_state(self, name: str) -> Mapping[str, object]:
        """How the polling of that bot stands: the age of the last answer in seconds, and what is wrong now."""
        parts = self._ways.bots.get(BotName(name))
        trouble = parts.poller.trouble if parts else "not connected yet"
        if BotName(name) in self._ways.refused:
            trouble = "Telegram does not accept its token"
        return {"poll_age_s": self.poll_age(BotName(name)), "trouble": trouble}

    async def run(self) -> int:
        """Connect, sweep, serve; the exit status. TokenRejected and StorageError end it with their reason."""
        parts = Parts(self.engine.lanes, self.engine.turns, self.engine.outbox, self._open, self._close)
        self._gateway = Gateway(parts)
        status = await self._gateway.run()
        if self._gateway.failure is not None:
            raise self._gateway.failure
        return status

    async def _open(self) -> Sequence[Service]:
        """Connect every bot, bring to rest what a crash left, and take up what came in before it."""
        account = find_account(self.engine.loaded.settings)
        await asyncio.to_thread(sweep_private_directories, account=account)
        self.engine.machinery.confiner.begin()
        await self.engine.places.load()
        now = self.engine.loaded.clock.now_ms()
        await recall_questions(self.engine.flow.questions, self.engine.office.stores.trail, now)
        await recall_turns(self.begun, self.engine.office.stores.inbox, now)
        bots = await self.bots.connect()
        rows = await self._sweep(bots)
        self.statuses.sweep([bot.name for bot in bots])
        for bot in bots:
            for row in rows:
                if row.bot == bot.name:
                    bot.poller.take_in(row)
        services: list[Service] = [functools.partial(self.bots.poll, bot) for bot in bots]
        services += [self.bots.introduce, self.engine.recovery.watch]
        services.append(daily_of(self.engine, self.check).run)
        if self.engine.loaded.settings.cron.enabled:
            services.append(self.scheduler.run)
        services += [self.engine.jobs.run, *self.beside]
        collector.wake()
        _log.info("gateway.ready", bots=[str(bot.name) for bot in bots])
        return services

    def stop(self) -> None:
        """Begin to stop, as if a signal had come."""
        if self._gateway is not None:
            self._gateway.stop()

    async def _sweep(self, bots: Sequence[BotParts]) -> tuple[InboxRow, ...]:
        pollers = {bot.name: bot.poller for bot in bots}

        await self.engine.office.stores.trail.begin(self.engine.loaded.clock.now_ms())
        await self._expire_trash()
        swept = await self.engine.recovery.sweep(tuple(pollers), lambda row: pollers[row.bot].read(row))
        # after the turns: a run whose turn still waits is none that was cut off
        await self.engine.office.stores.cron_runs.sweep(self.engine.loaded.clock.now_ms())
        if swept.interrupted or swept.cut or swept.again:
            _log.warning(
                "gateway.recovered", interrupted=swept.interrupted, cut_turns=swept.cut, taken_up=len(swept.again)
            )
        return swept.again

    async def _expire_trash(self) -> None:
        """Remove what was kept for long enough; a trash that cannot be read is no reason not to serve."""
        try:
            gone = await self.trash.expire()
        except StateError as error:
            _log.error("trash.not_expired", error=str(error))
            return
        if gone:
            _log.info("trash.expired", entries=[one.id for one in gone])

    async def _close(self) -> None:
        await self.scheduler.close()
        self.intake.files.close()
        await self.pairer.close()
        await self.senders.close()
        await self.cut_offs.close()
        await self.statuses.close(STATUS_SECONDS)
        for bot in self._ways.bots.values():
            await bot.transport.close()
        await self.engine.close()


def build_scheduler(engine: Engine) -> "Scheduler":
    """The scheduler over the engine, which tells it how the turns of its jobs go."""
    from mtbot.cron.scheduler import CronStores, Scheduler
    from mtbot.cron.scheduler import Engine as CronEngine

    stores = engine.office.stores
    scheduler = Scheduler(
        jobs_of(engine.loaded),
        CronStores(stores.cron_runs, stores.outbox, stores.history),
        CronEngine(engine.lanes, engine.turns, engine.wake),
        engine.loaded.clock,
        engine.loaded.redactor,
        short_host(),
    )
    engine.turns.jobs = scheduler
    return scheduler


def jobs_of(loaded: Loaded) -> "tuple[Job, ...]":
    """The jobs of the configuration, compiled."""
    return tuple(_job(loaded, job) for job in loaded.settings.cron.jobs)


def _job(loaded: Loaded, job: JobSettings) -> "Job":
    from mtbot.cron.job import Job
    from mtbot.cron.schedule import Schedule

    return Job(
        name=job.name,
        schedule=Schedule.parse(job.schedule, loaded.settings.zone),
        prompt=job.prompt,
        timeout=job.timeout,
        ephemeral=job.session is SessionKind.EPHEMERAL,
        bot=job_bot(loaded, job),
        deliver_to=told.place if (told := loaded.people.jobs.get(job.name)) else None,
        enabled=job.enabled,
    )

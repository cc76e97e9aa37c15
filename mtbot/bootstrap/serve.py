"""Whole programs: a gateway, one turn in a terminal, one run of a job, one message to a chat."""

import asyncio
import contextlib
import hashlib
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import structlog

from mtbot.bootstrap import collector
from mtbot.bootstrap.engine import Engine, build_engine
from mtbot.bootstrap.offline import Loaded, place_of, work
from mtbot.bootstrap.people import local_person
from mtbot.bootstrap.system import home_directory
from mtbot.domain.errors import ChatGone, ConfigError, ConsentError, StateError, Unreachable
from mtbot.domain.ids import ApprovalId, BotName, ChatId, ThreadId
from mtbot.domain.record import ApprovalState, OutboxItem, OutKind, Ruling, Via
from mtbot.domain.turn import SYSTEM, Address, Inbound, InboundKind, SourceRef, SurfaceName
from mtbot.gateway.turns import CANCELED
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import SpawnerProcess
from mtbot.storage.files import make_private_directory
from mtbot.storage.lock import InstanceLock

if TYPE_CHECKING:
    from mtbot.channels.telegram.show import TelegramWay
    from mtbot.channels.telegram.transport import Transport
    from mtbot.cron.job import Ran

_log = structlog.get_logger()


async def serve_gateway(loaded: Loaded, spawner: SpawnerProcess) -> int:
    """Run the gateway until it is stopped; its exit status. Refuses to start beside another on the same database or token."""
    from mtbot.bootstrap.control import build_control
    from mtbot.bootstrap.online import build_gateway

    telegram = loaded.settings.channels.telegram
    if not telegram.enabled or not telegram.bots:
        raise ConfigError(
            ("channels.telegram: not enabled, so there is nothing to serve",), hint="`mtclaw prompt` needs no Telegram"
        )
    if loaded.missing:
        raise ConfigError(loaded.missing)
    with _held(loaded):
        engine = build_engine(await work(loaded), Runner(spawner))
        _banner(engine)
        running = build_gateway(engine)
        running.beside.append(build_control(running).run)
        # it closes the engine itself, in the right order, and not at all while something is still being written
        return await running.run()


@contextlib.contextmanager
def _held(loaded: Loaded) -> Iterator[None]:
    """The one gateway of this database and, on this host, of each of its tokens. InUseError names who else it is."""
    with contextlib.ExitStack() as locks:
        for path in (place_of(loaded).lock, *_token_locks(loaded)):
            make_private_directory(path.parent)
            lock = InstanceLock(path)
            lock.acquire()
            locks.callback(lock.release)
        yield


def _token_locks(loaded: Loaded) -> Iterator[Path]:
    """A lock file for each bot, named by a hash of its token: two readers of one bot would each get half."""
    telegram = loaded.settings.channels.telegram
    for bot in telegram.bots:
        secret = loaded.secrets.get(telegram.token_ref(bot).key)
        if secret is not None:
            name = hashlib.sha256(secret.value.encode()).hexdigest()[:16]
            yield home_directory() / ".mtclaw" / "locks" / f"telegram-{name}.lock"


def _banner(engine: Engine) -> None:
    settings = engine.loaded.settings
    for warning in (*engine.loaded.warnings, *engine.profiles.warnings):
        _log.warning("config.warning", warning=warning)
    _log.info(
        "gateway.start",
        model=settings.base.agent.model,
        mode=settings.base.tools.exec.mode.value,
        workspace=str(settings.base.agent.workspace),
        database=engine.office.db.place.label,
    )
    if any(profile.tools.exec.mode.value == "auto" for profile in (settings.base, *settings.profiles.values())):
        _log.warning(
            "gateway.auto_mode", note="auto mode lets a model decide; it is beta and can be talked into things"
        )


@dataclass(frozen=True, slots=True)
class PromptWanted:
    """One turn in a terminal: what is said, in which session, and whether answers may come from a pipe."""

    text: str
    session: str
    piped: bool = False


async def run_prompt(loaded: Loaded, spawner: SpawnerProcess, wanted: PromptWanted, out: TextIO, err: TextIO) -> int:
    """Run one turn; the answer goes to ``out``, everything else to ``err``. 0, 1 after a failure, 130/143 on a signal."""
    from mtbot.channels.terminal import Terminal, TerminalInput

    engine = build_engine(await work(loaded), Runner(spawner))
    source = TerminalInput(sys.stdin.fileno(), piped=wanted.piped)
    terminal = Terminal(source, out, err)
    engine.board.ways[SurfaceName.TERMINAL] = terminal
    engine.profiles.attended = lambda _address: not source.closed
    me = local_person()
    address = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label=wanted.session)
    engine.recovery.serves = lambda place: place.session == address.session

    def decide(approval: ApprovalId, state: ApprovalState, via: Via, reason: str, lasts_ms: int) -> None:
        who = SYSTEM if state is ApprovalState.EXPIRED else me
        ruling = Ruling(state, who, via, 0, reason, lasts_ms)
        tasks.add(asyncio.ensure_future(_decide(engine, approval, ruling)))

    tasks: set[asyncio.Future[None]] = set()
    terminal.decide = decide
    inbound = Inbound(address, me, SourceRef(), InboundKind.TEXT, wanted.text)
    try:
        async with engine.turns.leasing.holding(address.session) as mine:
            if not mine:
                raise StateError(
                    f"another mtclaw process is at work in the session {wanted.session}",
                    hint="wait for it, or use --session NAME or --new",
                )
            await _cancel_open(engine, address)
            await engine.recovery.report()
            return await _one_turn(engine, address, inbound)
    finally:
        await engine.close()


async def _cancel_open(engine: Engine, address: Address) -> None:
    """Close the session's open questions: whoever was to answer them here is gone."""
    for approval in await engine.office.stores.consents.pending(address.session):
        ruling = Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, 0, CANCELED)
        await _decide(engine, approval.id, ruling)
    await engine.lanes.settle(address.session, 10.0)


async def _decide(engine: Engine, approval: ApprovalId, ruling: Ruling) -> None:
    ruling = replace(ruling, at_ms=engine.loaded.clock.now_ms())
    try:
        row = await engine.desk.decide(approval, ruling)
    except (ConsentError, StateError) as error:
        _log.warning("prompt.not_decided", error=str(error))
        row = await engine.office.stores.consents.get(approval)
    engine.lanes.resume(row.address.session, row.id)


async def _one_turn(engine: Engine, address: Address, inbound: Inbound) -> int:
    """Offer the inbound, serve the outbox until its turn is over, and say everything before leaving."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    engine.turns.watch(address.session, lambda end: None if ended.done() else ended.set_result(1 if end.code else 0))

    def stop() -> None:
        if not engine.lanes.halt(address.session).running and not ended.done():
            ended.set_result(1)

    interrupted = _at_signals(stop)
    outbox = asyncio.create_task(engine.outbox.run())
    watch = asyncio.create_task(engine.recovery.watch())
    collector.wake()
    engine.lanes.offer(address.session, inbound)
    status = await ended
    watch.cancel()
    await _cancel_open(engine, address)
    await engine.lanes.drain(10.0)
    await engine.outbox.close(5.0)
    outbox.cancel()
    await asyncio.gather(outbox, watch, return_exceptions=True)
    return 128 + interrupted[0] if interrupted else status


def _at_signals(stop: Callable[[], object]) -> list[int]:
    """Have the first Ctrl-C or SIGTERM call ``stop``; the list then holds which it was. A second one ends the process at once.

    By the loop, which is woken for it: what asyncio does by itself for Ctrl-C waits until something else wakes the loop, and
    never happens where a shell had it ignored, as it has for what it runs in the background.
    """
    came: list[int] = []

    def hear(number: int) -> None:
        if came:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(signal.Signals(number))
        came.append(number)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, hear, int(number))
    return came


class Interrupted(Exception):
    """A signal came; what ran was stopped and is on record. Its argument is the signal's number."""


async def run_job(loaded: Loaded, spawner: SpawnerProcess, name: str, *, deliver: bool, ephemeral: bool) -> str:
    """Run one job now; what it said. ConfigError for an unknown job, StateError while a gateway holds its session.

    Ctrl-C and SIGTERM stop it in order; then it raises Interrupted. When it has ended already, they come too late.
    """
    from mtbot.bootstrap.online import build_scheduler, jobs_of

    job = next((job for job in jobs_of(loaded) if job.name == name), None)
    if job is None:
        known = ", ".join(job.name for job in jobs_of(loaded)) or "none"
        raise ConfigError((f"cron.jobs: there is no job {name} (there are: {known})",))
    if deliver and job.deliver_to is None:
        raise ConfigError((f"cron.jobs: {name} has no deliver_to, so its result can't be delivered",))
    if not deliver:
        # nobody would hear what came of the answer
        quiet = {name: replace(told, asks=False) for name, told in loaded.people.jobs.items()}
        loaded = replace(loaded, people=replace(loaded.people, jobs=quiet))
    job = replace(job, ephemeral=job.ephemeral or ephemeral)
    holder = InstanceLock(place_of(loaded).lock).holder()
    if holder is not None and not job.ephemeral:
        raise StateError(f"the gateway (pid {holder}) is running and owns this job's session", hint="use --ephemeral")
    engine = build_engine(await work(loaded), Runner(spawner))
    outbox = asyncio.create_task(engine.outbox.run())

    async def run() -> "Ran | None":
        ran = await build_scheduler(engine).run_now(job, loaded.clock.now_ms(), deliver=deliver)
        if deliver and holder is None:
            await _deliver_rest(engine)
        return ran

    # a task of its own, so that a signal ends only that and nothing of what is put in order afterwards
    running = asyncio.create_task(run())
    came = _at_signals(running.cancel)
    collector.wake()
    try:
        ran = await running
        if ran is None:
            return "(not run: that occurrence has run already, or the run before it has not ended)"
        return f"Asked as #{ran.waiting}; the gateway goes on with the answer." if ran.waiting else ran.text
    except asyncio.CancelledError:
        if came:
            raise Interrupted(came[0]) from None
        raise
    finally:
        await engine.lanes.drain(10.0)
        await engine.outbox.close(1.0)
        outbox.cancel()
        await asyncio.gather(outbox, return_exceptions=True)
        await engine.close()


class _EachBot:
    """The way out of whichever bot an item belongs to, connected when its first item comes."""

    def __init__(self, loaded: Loaded, outward: Callable[[Address], Address]) -> None:
        self._loaded = loaded
        self._outward = outward
        self._opened: dict[BotName, tuple[Transport, TelegramWay]] = {}

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Hand on. Unreachable without the bot's token, so that the row stays; ChatGone without the bot."""
        from mtbot.bootstrap.bots import open_transport
        from mtbot.channels.telegram.pace import Pace
        from mtbot.channels.telegram.show import TelegramWay

        bot = item.address.bot
        if bot not in self._loaded.settings.channels.telegram.bots:
            raise ChatGone(f"there is no bot called {bot} any more")
        if bot not in self._opened:
            try:
                transport = open_transport(self._loaded, bot)
            except ConfigError as error:
                raise Unreachable(str(error)) from error
            self._opened[bot] = transport, TelegramWay(transport, Pace(asyncio.get_running_loop().time))
        return await self._opened[bot][1].deliver(replace(item, address=self._outward(item.address)), message)

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Nothing: no press arrives where nothing is listened to."""

    async def close(self) -> None:
        """Let every connection go."""
        for transport, _way in self._opened.values():
            await transport.close()


async def _deliver_rest(engine: Engine) -> None:
    """No gateway is there to send it: send what is queued from here."""
    await engine.places.load()
    ways = _EachBot(engine.loaded, engine.places.outward)
    engine.board.ways[SurfaceName.PRIVATE] = ways
    engine.board.ways[SurfaceName.GROUP] = ways
    try:
        await engine.outbox.close(30.0)
    finally:
        await ways.close()


async def send_text(loaded: Loaded, text: str, chat: int, thread: int | None, bot: str | None) -> None:
    """Send one message by the Bot API directly; nothing is recorded. ChannelError, ConfigError."""
    from mtbot.bootstrap.bots import open_transport
    from mtbot.channels.telegram.pace import Pace
    from mtbot.channels.telegram.show import TelegramWay

    bots = tuple(loaded.settings.channels.telegram.bots)
    name = bot or next(iter(bots), "")
    if name not in bots:
        raise ConfigError((f"channels.telegram.bots: there is no bot {name or '(none is configured)'}",))
    transport = open_transport(loaded, BotName(name))
    surface = SurfaceName.PRIVATE if chat > 0 else SurfaceName.GROUP
    address = Address(surface, BotName(name), ChatId(chat), None if thread is None else ThreadId(thread))
    way = TelegramWay(transport, Pace(asyncio.get_running_loop().time))
    try:
        await way.deliver(OutboxItem(OutKind.REPLY, address, text=loaded.redactor.mask(text)), None)
    finally:
        await transport.close()

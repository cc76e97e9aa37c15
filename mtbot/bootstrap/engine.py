"""The flow from an inbound to the outbox, built over an open office and a runner; surfaces are added by who needs them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import structlog

from mtbot.agent.loop import Agent, Writing
from mtbot.approvals.cut_off import CutOffCards
from mtbot.approvals.desk import Desk
from mtbot.bootstrap.account import account_for_commands
from mtbot.bootstrap.confinement import guard_of
from mtbot.bootstrap.offline import Current, Loaded, Office
from mtbot.bootstrap.profiles import Kit, Profiles
from mtbot.bootstrap.sending import Put
from mtbot.bootstrap.system import RandomNames
from mtbot.config.secrets import Secret
from mtbot.config.service import Api
from mtbot.config.settings import ModelRef, Settings
from mtbot.config.values import SecretRef
from mtbot.domain.errors import ConfigError, ProviderError, ProviderKind
from mtbot.domain.ids import BotName, CallId, ChatId, SafeText, SessionId
from mtbot.domain.live import Live, Running, Unwatched
from mtbot.domain.model import OnText
from mtbot.domain.ports import Clock, Deliverer, Outbox, Provider, Signs
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gate.consent import Consent, Judges
from mtbot.gate.facts import FactFinder
from mtbot.gate.gate import Gate
from mtbot.gate.jobs import Jobs
from mtbot.gate.listed import Listed
from mtbot.gateway.lanes import Lanes
from mtbot.gateway.outbox import Mail, OutboxWorker
from mtbot.gateway.places import Places, PlaceStores
from mtbot.gateway.recovery import Leftovers, Recovery
from mtbot.gateway.turns import TurnFrame, Turns, TurnStores
from mtbot.llm.anthropic import AnthropicProvider
from mtbot.llm.classifier import ModelClassifier
from mtbot.llm.fallback import Choice, Fallback
from mtbot.llm.http import HttpProvider, Server
from mtbot.llm.metering import Metered
from mtbot.llm.openai import OpenAIProvider
from mtbot.policy.classify import question
from mtbot.policy.limits import HourlyLimit
from mtbot.policy.ruleset import Mode
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.runner import Runner

_log = structlog.get_logger()

SLOTS = 4
"""Turns that are worked on at once; one that waits for a person holds no slot."""


class Providers:
    """The clients of all configured model servers, opened when first used."""

    def __init__(
        self,
        settings: Settings,
        secrets: Mapping[str, Secret],
        missing: tuple[str, ...],
        mask: Callable[[str], str],
    ) -> None:
        self._mask = mask
        self._settings = settings
        self._secrets = secrets
        self._missing = missing
        self._open: dict[tuple[str, int], HttpProvider] = {}
        self._chains: dict[tuple[ModelRef, ...], Provider] = {}

    def get(self, name: str, *, retries: int | None = None) -> HttpProvider:
        """The client of the provider called ``name``. ConfigError if its key, or the proxy to go by, cannot be had."""
        settings = self._settings.providers[name]
        tries = settings.max_retries if retries is None else retries
        if (name, tries) not in self._open:
            key = self._secret(settings.key_ref(name), "key")
            proxy = settings.proxy or self._secret(settings.proxy_ref(name), "proxy")
            server = Server(settings.base_url, key, settings.timeout, tries, settings.stream, proxy=proxy)
            client = AnthropicProvider if settings.api is Api.ANTHROPIC else OpenAIProvider
            self._open[name, tries] = client(server, mask=self._mask)
        return self._open[name, tries]

    def chain(self, refs: tuple[ModelRef, ...]) -> Provider:
        """What asks those models, the later ones only while the ones before cannot answer. ConfigError as in get."""
        if refs not in self._chains:
            choices = [Choice(f"{ref.provider}/{ref.model}", self._metered(ref), ref.model) for ref in refs]
            self._chains[refs] = Fallback(choices, _passed_over)
        return self._chains[refs]

    def _metered(self, ref: ModelRef) -> Provider:
        price = self._settings.providers[ref.provider].prices.get(ref.model)
        return Metered(self.get(ref.provider), price.price if price is not None else None)

    def _secret(self, ref: SecretRef, noun: str) -> str:
        if not ref.named:
            return ""
        secret = self._secrets.get(ref.key)
        if secret is None:
            problems = tuple(line for line in self._missing if line.startswith(ref.key))
            raise ConfigError(problems or (f"{ref.key}: there is no {noun}",))
        return secret.value

    async def close(self) -> None:
        """Close all connections."""
        for provider in self._open.values():
            await provider.close()


class LiveClassifier:
    """The classifier of whatever profile is in auto mode as the configuration stands, without retries."""

    def __init__(self, current: Current, providers: Providers) -> None:
        self._current = current
        self._providers = providers

    async def ask(self, command: str, cwd: str, shell: Sequence[str]) -> str:
        """Its raw answer. ProviderError, also where no profile is in auto mode any more."""
        loaded = self._current.loaded
        for bot in (None, *loaded.settings.channels.telegram.bots):
            settings = loaded.settings.profile_for(bot).tools.exec
            if Mode(settings.mode.value) is Mode.AUTO:
                ref = loaded.settings.model_ref(settings.auto.model)
                provider = self._providers.get(ref.provider, retries=0)
                return await ModelClassifier(provider, ref.model, question).ask(command, cwd, shell)
        raise ProviderError(ProviderKind.BAD_REQUEST, "no profile is in auto mode")


class _NoSigns:
    def working(self, address: Address) -> None:
        del address

    def resting(self, address: Address) -> None:
        del address


@dataclass(slots=True)
class Switchboard:
    """Ways out and signs by surface, filled in as surfaces are built; calls before that are quiet."""

    ways: dict[SurfaceName, Deliverer]
    signs: Signs
    writing: Writing = lambda _address: nullcontext()
    live: Live = field(default_factory=Unwatched)

    def begins(self, running: Running) -> None:
        """Pass on."""
        self.live.begins(running)

    async def ends(self, running: Running) -> None:
        """Pass on."""
        await self.live.ends(running)

    def written(self, address: Address) -> AbstractContextManager[OnText | None]:
        """Pass on."""
        return self.writing(address)

    def working(self, address: Address) -> None:
        """Pass on."""
        self.signs.working(address)

    def resting(self, address: Address) -> None:
        """Pass on."""
        self.signs.resting(address)


@dataclass(frozen=True, slots=True)
class Machinery:
    """What talks to the outside: models, and the children that commands run in."""

    providers: Providers
    runner: Runner
    confiner: Confiner


@dataclass(frozen=True, slots=True)
class Flow:
    """What turns an inbound into what is said; ``questions`` is the limit of what people are asked."""

    turns: Turns
    lanes: Lanes
    outbox: OutboxWorker
    recovery: Recovery
    places: Places
    jobs: Jobs
    questions: HourlyLimit


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything of one process that works on turns."""

    office: Office
    profiles: Profiles
    machinery: Machinery
    board: Switchboard
    flow: Flow

    @property
    def turns(self) -> Turns:
        """Does steps."""
        return self.flow.turns

    @property
    def lanes(self) -> Lanes:
        """One step at a time per session."""
        return self.flow.lanes

    @property
    def outbox(self) -> OutboxWorker:
        """Delivers."""
        return self.flow.outbox

    @property
    def recovery(self) -> Recovery:
        """Sweeps at start and watches afterwards."""
        return self.flow.recovery

    @property
    def jobs(self) -> Jobs:
        """What goes on behind its turn."""
        return self.flow.jobs

    @property
    def places(self) -> Places:
        """Which chats can be reached."""
        return self.flow.places

    @property
    def desk(self) -> Desk:
        """The desk."""
        return self.office.desk

    @property
    def loaded(self) -> Loaded:
        """The configuration."""
        return self.office.loaded

    def tail(self, call: CallId) -> SafeText:
        """The end of what a running command wrote so far, without a line that may still become a secret."""
        return self.loaded.redactor.stream().feed(self.machinery.runner.tail(str(call)))

    def wake(self) -> None:
        """Something was queued to be said."""
        self.outbox.wake()

    async def close(self) -> None:
        """End every child, then the connections, then the database."""
        await self.machinery.confiner.close()
        await self.machinery.runner.close()
        await self.machinery.providers.close()
        await self.office.close()


def _profiles(office: Office, runner: Runner, providers: Providers) -> tuple[Confiner, Profiles]:
    """Who commands run as, what holds them, and every profile over that. ConfigError if they cannot run so here."""
    loaded = office.loaded
    guard, account = guard_of(loaded), account_for_commands(loaded.settings)
    confiner = Confiner(runner, guard, account)
    children = RunnerChildren(runner, confiner)
    return confiner, Profiles(
        Kit(loaded, children, guard, providers.chain, office.stores.spending, confiner.ready, account)
    )


def build_engine(office: Office, runner: Runner) -> Engine:
    """Build the flow; nothing runs yet."""
    loaded, stores = office.loaded, office.stores
    providers = Providers(loaded.settings, loaded.secrets, loaded.missing, loaded.redactor.mask)
    confiner, profiles = _profiles(office, runner, providers)
    questions = HourlyLimit(loaded.settings.limits.questions_per_hour)
    judges = Judges(office.desk, lambda: office.loaded.people, LiveClassifier(office.current, providers), questions)
    gate = Gate(
        profiles.gate,
        FactFinder(profiles.world(), confiner.ready, office.desk.grants.standing),
        Consent(judges, stores.trail, loaded.clock, loaded.redactor),
        stores.trail,
        loaded.clock,
        loaded.redactor,
    )
    names = RandomNames()
    gate.live = board = Switchboard({}, _NoSigns())
    gate.jobs.written, gate.jobs.name = runner.tail, names.job
    agent = Agent(Listed(gate, lambda: office.loaded.people, loaded.redactor), profiles.mind, names)
    agent.writing = board.written
    turns = Turns(
        agent,
        _turn_stores_of(office),
        TurnFrame(
            loaded.clock,
            names,
            loaded.redactor,
            board,
            str(office.db.instance),
            _history_turns(profiles),
            lambda address: profiles.attended(address),  # noqa: PLW0108 - it is set anew where nobody is there
            board,
            lambda actor, address: office.loaded.people.still_welcome(actor, address),  # noqa: PLW0108 - the configuration may be read anew
        ),
    )
    lanes = Lanes(turns.step, SLOTS)
    lanes.dropped = turns.forget
    outbox = OutboxWorker(Mail(stores.outbox, stores.consents), board.ways, loaded.clock, loaded.redactor)
    recovery = _recovery_of(office, lanes)
    places = Places(
        PlaceStores(stores.chats, stores.inbox, stores.outbox),
        lambda: office.loaded.people,
        loaded.clock,
        loaded.redactor,
    )
    outbox.on_gone, outbox.closed = places.lost, places.closed
    office.desk.wake = turns.wake = recovery.wake = places.wake = outbox.wake
    profiles.put = _putting(stores.outbox, loaded.clock, outbox.wake)
    outbox.on_unasked = recovery.unasked
    recovery.unsure = outbox.settle_ambiguous
    flow = Flow(turns, lanes, outbox, recovery, places, gate.jobs, questions)
    return Engine(office, profiles, Machinery(providers, runner, confiner), board, flow)


def _turn_stores_of(office: Office) -> TurnStores:
    stores = office.stores
    return TurnStores(
        stores.history,
        stores.consents,
        stores.leases,
        stores.inbox,
        stores.host_runs,
        stores.memories,
        stores.kept,
    )


def _recovery_of(office: Office, lanes: Lanes) -> Recovery:
    loaded, stores = office.loaded, office.stores
    return Recovery(
        Leftovers(
            stores.trail,
            stores.trail,
            stores.consents,
            stores.inbox,
            stores.outbox,
            stores.history,
            stores.host_runs,
        ),
        office.desk,
        lanes,
        CutOffCards(loaded.clock, loaded.redactor, lambda: office.loaded.people),
        loaded.clock,
        loaded.redactor,
    )


def _putting(outbox: Outbox, clock: Clock, wake: Callable[[], None]) -> Put:
    async def put(item: OutboxItem) -> None:
        await outbox.put(item, now_ms=clock.now_ms())
        wake()

    return put


def _passed_over(model: str, kind: ProviderKind) -> None:
    _log.warning("model.cannot_answer", model=model, kind=kind.value)


def _history_turns(profiles: Profiles) -> Callable[[SessionId], int]:
    def turns(session: SessionId) -> int:
        bot = str(session).split(":")[1] if str(session).startswith("telegram:") else ""
        place = Address(SurfaceName.PRIVATE, BotName(bot), ChatId(0))
        return profiles.of(place).settings.agent.max_history_turns

    return turns

"""A gate over a real database, a tool that does as a test says, and a record that can fail and pause."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mtbot.domain.again import Keep
from mtbot.domain.call import Call, Outcome, Permit, Risk, Status, ToolDefault, ToolSpec
from mtbot.domain.ids import ApprovalId, CallId, SafeText
from mtbot.domain.live import Live
from mtbot.domain.ports import Tool
from mtbot.domain.record import AuditEvent, EventDraft, EventKind
from mtbot.domain.turn import Address, ToolCall, TurnState
from mtbot.gate.consent import Consent, Judges
from mtbot.gate.facts import FactFinder, Surroundings
from mtbot.gate.gate import Done, Gate, GateProfile, Waiting
from mtbot.policy.deny import compile_rules
from mtbot.policy.ruleset import Mode, Root, RuleSet
from mtbot.policy.sensitive import Places
from mtbot.tools.world import HostWorld
from tests.unit.approvals.office import Office, yes
from tests.unit.approvals.samples import PRIVATE, REDACTOR, Names, state

CRON = replace(PRIVATE, surface=type(PRIVATE.surface).CRON, label="job:nightly")
SPEC = ToolSpec(
    "exec",
    "Run.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    Risk.EXEC,
    ToolDefault.ASK,
)


@dataclass
class Shell:
    """The exec tool without a shell; it does as it is told by a test."""

    fault: Exception | None = None
    holds: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    permits: list[Permit] = field(default_factory=list)
    spec: ToolSpec = SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Perform; a cancelled command still tells how it ended."""
        self.permits.append(permit)
        self.begun.set()
        if self.fault is not None:
            raise self.fault
        if self.holds is not None:
            try:
                await self.holds.wait()
            except asyncio.CancelledError:
                return Outcome(Status.STOPPED, REDACTOR.mask("status: stopped by the person"))
        return Outcome(Status.OK, REDACTOR.mask("exit_code: 0"), exit_code=0)


@dataclass
class Log:
    """The record of an office, with the faults and pauses that a test wants at an event's kind."""

    office: Office
    faults: dict[EventKind, Exception] = field(default_factory=dict)
    pauses: dict[EventKind, asyncio.Event] = field(default_factory=dict)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Write."""
        await self._meet(drafts[0].kind)
        return await self.office.stores.trail.append(*drafts)

    async def start(
        self,
        draft: EventDraft,
        approval: ApprovalId | None,
        grant: ApprovalId | None = None,
        keep: Keep | None = None,
    ) -> AuditEvent:
        """Start."""
        await self._meet(draft.kind)
        return await self.office.stores.trail.start(draft, approval, grant, keep)

    async def end(self, draft: EventDraft, started: int) -> AuditEvent:
        """End."""
        await self._meet(draft.kind)
        return await self.office.stores.trail.end(draft, started)

    async def _meet(self, kind: EventKind) -> None:
        if kind in self.faults:
            raise self.faults[kind]
        if kind in self.pauses:
            self.reached.set()
            await self.pauses[kind].wait()


class Classifier:
    """Answers as told."""

    def __init__(self, answer: str | Exception, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.answer = answer
        self.meanwhile = meanwhile

    async def ask(self, command: str, cwd: str, shell: object) -> str:
        """Its raw answer."""
        self.meanwhile()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class House:
    """A gate over an office."""

    office: Office
    cwd: str
    shell: Shell = field(default_factory=Shell)
    mode: Mode = Mode.APPROVAL
    classifier: Classifier | None = None
    tools: Mapping[str, Tool] | None = None
    attended: bool | None = None
    denied: tuple[str, ...] = ()
    live: Live | None = None
    minutes: int = 0
    environment: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.log = Log(self.office)
        self.names = Names()

    def gate(self) -> Gate:
        """As bootstrap builds it."""
        home = "/nowhere"
        places = Places(home=home)

        def rules() -> RuleSet:
            """As they stand at that moment."""
            return RuleSet(
                mode=self.mode,
                deny=compile_rules(self.denied),
                places=places,
                roots=(Root(self.cwd),),
                grant_minutes=self.minutes,
            )

        ready = self.mode is Mode.AUTO

        def profile(_address: Address) -> GateProfile:
            around = Surroundings(home, self.environment, containment_ready=ready, attended=self.attended)
            tools = {"exec": self.shell} if self.tools is None else self.tools
            return GateProfile(tools, rules(), self.cwd, ("/bin/bash", "-c"), 5.0, around)

        judges = Judges(self.office.desk(), lambda: self.office.people, self.classifier)
        world = HostWorld(home=home, path=("/usr/bin", "/bin"), places=places)
        consent = Consent(judges, self.log, self.office.clock, REDACTOR)
        finder = FactFinder(world, None, self.office.desk().grants.standing)
        gate = Gate(profile, finder, consent, self.log, self.office.clock, REDACTOR)
        gate.live = self.live or gate.live
        return gate

    async def submit(self, command: str = "touch x", address: Address = PRIVATE) -> Done | Waiting:
        """A fresh call."""
        return await self.gate().submit(wanted(command), turn(command, address), self.names)

    async def resume(self, approval: ApprovalId, command: str = "touch x") -> Done:
        """Go on after a ruling."""
        row = await self.office.stores.consents.get(approval)
        return await self.gate().resume(wanted(command), turn(command), row)

    async def kinds(self) -> list[EventKind]:
        """What is on record, in order."""
        found = await self.office.stores.trail.page(limit=100)
        return [event.draft.kind for event in reversed(found)]


def wanted(command: str) -> ToolCall:
    """What the model wrote."""
    return ToolCall(CallId("m1"), "exec", f'{{"command": "{command}"}}')


def turn(command: str, address: Address = PRIVATE) -> TurnState:
    """The turn that it belongs to."""
    return replace(state(), address=address, open_calls=(wanted(command),))


async def asked(house: House, command: str = "touch x") -> ApprovalId:
    """Have a call asked about."""
    waiting = await house.submit(command)
    assert isinstance(waiting, Waiting)
    return waiting.approval


async def approved(house: House) -> ApprovalId:
    """Have it approved too."""
    ident = await asked(house)
    await house.office.desk().decide(ident, yes())
    return ident

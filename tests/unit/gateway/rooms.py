"""Turns over a real database, a scripted model and a scripted gate."""

import asyncio
from dataclasses import dataclass, field, replace

from mtbot.agent.budget import Purse
from mtbot.agent.loop import Agent, Mind
from mtbot.domain.call import ToolSpec
from mtbot.domain.errors import ProviderError
from mtbot.domain.ids import ApprovalId, BotName, Digest
from mtbot.domain.model import ModelAnswer
from mtbot.domain.record import ApprovalState, InboxRow, OutboxItem, Ruling, Via
from mtbot.domain.turn import Address, Inbound, InboundKind, Role, SourceRef, ToolCall, TurnState
from mtbot.gate.gate import Done, Waiting
from mtbot.gateway.jobs import Finished
from mtbot.gateway.lanes import Rest, Resume
from mtbot.gateway.turns import TurnFrame, Turns, TurnStores
from tests.unit.agent.scenes import EXEC, Model, ScriptedGate, free_purse
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import BOT, CHIEF, PRIVATE, REDACTOR, Names, call, question

SESSION = PRIVATE.session
CRON = replace(PRIVATE, surface=type(PRIVATE.surface).CRON, label="job:nightly")


@dataclass
class Signs:
    """Who is seen at work."""

    at: list[Address] = field(default_factory=list)
    seen: int = 0

    def working(self, address: Address) -> None:
        """Begin."""
        self.at.append(address)
        self.seen += 1

    def resting(self, address: Address) -> None:
        """End."""
        self.at.remove(address)


class Asking(ScriptedGate):
    """A gate that asks a person for real."""

    def __init__(self, office: Office, *script: Done) -> None:
        super().__init__(*script)
        self.office = office

    async def submit(self, wanted: ToolCall, state: TurnState, names: object) -> Done | Waiting:
        """Ask about everything."""
        of = call("id", turn=str(state.id), ident=f"c{len(self.seen)}")
        self.seen.append(wanted.arguments)
        return Waiting(await self.office.desk().ask(question(of), state))


@dataclass
class Room:
    """Turns over a real database, a scripted model and a scripted gate."""

    office: Office
    model: Model
    gate: ScriptedGate
    names: Names = field(default_factory=Names)
    signs: Signs = field(default_factory=Signs)
    ends: list[Finished] = field(default_factory=list)
    sums_at: int = 0
    listed: bool = True
    tools: tuple[ToolSpec, ...] = (EXEC,)
    purse: Purse = field(default_factory=free_purse)

    def __post_init__(self) -> None:
        mind = Mind(self.model, "sim-1", None, self.tools, "You are mtclaw.", 20, 40, self.purse, self.sums_at)
        stores = self.office.stores
        self.turns = Turns(
            Agent(self.gate, lambda _address: mind, self.names),
            TurnStores(
                stores.history,
                stores.consents,
                stores.leases,
                stores.inbox,
                stores.host_runs,
                stores.memories,
                stores.kept,
            ),
            TurnFrame(
                self.office.clock,
                self.names,
                REDACTOR,
                self.signs,
                "me",
                lambda _session: 40,
                lambda _address: True,
                listed=lambda _actor, _address: self.listed,
            ),
        )
        self.turns.watch(SESSION, self.ends.append)

    async def said(self) -> list[str]:
        """What is to be said, in words."""
        return [words(item) for item in await self.office.said()]

    async def history(self) -> list[tuple[Role, str]]:
        """What the session holds."""
        return [(m.role, m.content) for m in await self.office.stores.history.load(SESSION, 40, 100_000)]


def words(item: OutboxItem) -> str:
    """An item as text."""
    return str(item.text if item.text is not None else item.card.title if item.card is not None else "")


def inbound(text: str = "hello", update: int | None = 5, address: Address = PRIVATE) -> Inbound:
    """A message."""
    return Inbound(address, CHIEF, SourceRef(update, 6), InboundKind.TEXT, text)


async def stored(office: Office, update: int = 5) -> None:
    """Its row is on disk."""
    row = InboxRow(BotName(BOT), update, Digest(f"{update:064}"), "{}")
    assert await office.stores.inbox.store([row], office.clock.now)


async def nothing_left(office: Office) -> None:
    """No open row, no lease, no parked turn."""
    assert await office.stores.inbox.waiting(BotName(BOT)) == ()
    assert await office.stores.leases.acquire(SESSION, "other", office.clock.now, office.clock.now + 1)


def room(office: Office, *script: ModelAnswer | ProviderError, gate: tuple[Done, ...] = ()) -> Room:
    """A room with these scripts."""
    return Room(office, Model(*script), ScriptedGate(*gate))


class Hanging(Model):
    """A model that does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def complete(self, request: object, on_text: object = None) -> ModelAnswer:
        """Wait for ever."""
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError


async def cut(here: Room, item: Inbound | Resume, *, closing: bool, times: int = 1) -> Rest | None:
    """Begin a step, cut it when it waits, and let it end."""
    assert isinstance(here.model, Hanging)
    task = asyncio.create_task(here.turns.step(SESSION, item))
    await here.model.reached.wait()
    here.turns.closing = closing
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    return await task


def asking(office: Office, *script: ModelAnswer, gate: tuple[Done, ...] = ()) -> Room:
    """A room where every call is asked about."""
    return Room(office, Model(*script), Asking(office, *gate))


async def parked(here: Room) -> ApprovalId:
    """Begin a turn that parks; its request."""
    await stored(here.office)
    rest = await here.turns.step(SESSION, inbound())
    assert isinstance(rest, Rest)
    return rest.approval


async def rule(here: Room, ident: ApprovalId, state: ApprovalState, via: Via = Via.BUTTON, reason: str = "") -> None:
    """Rule on it."""
    await here.office.desk().decide(ident, Ruling(state, CHIEF, via, 0, reason))

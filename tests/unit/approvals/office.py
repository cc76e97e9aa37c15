"""A desk over a real database, with everything that a test turns."""

from dataclasses import dataclass, field

from mtbot.approvals.card import Cards, Place
from mtbot.approvals.desk import Desk, DeskStores
from mtbot.bootstrap.stores import Stores
from mtbot.domain.ids import ApprovalId, CallId
from mtbot.domain.ports import Question
from mtbot.domain.record import (
    ApprovalState,
    EventDraft,
    OutboxItem,
    Ruling,
    Via,
)
from mtbot.domain.turn import Actor
from mtbot.policy.people import Approvers, Deciders, People
from mtbot.storage.engine import Database
from tests.unit.approvals.samples import (
    CHIEF,
    DEPLOY,
    GROUP,
    MINUTE,
    REDACTOR,
    Clock,
    Names,
    call,
    question,
    state,
)

NOT_REQUESTER = Approvers(Deciders.NOT_REQUESTER)
DEPLOYS = question(call("./deploy.sh", address=GROUP, requester=DEPLOY), detail=("1 script",))
"""Deploy wants something in the group."""


@dataclass
class Office:
    """A desk over a database, with everything that a test turns."""

    db: Database
    stores: Stores
    people: People
    clock: Clock
    names: Names = field(default_factory=Names)
    timeout: int = 30 * MINUTE
    minutes: int = 15
    wakes: int = 0

    def desk(self, stores: Stores | None = None) -> Desk:
        """A desk as bootstrap builds it."""
        found = stores or self.stores
        desk = Desk(
            DeskStores(found.consents, found.outbox, found.grants),
            lambda: self.people,
            Cards(Place("nas", "mtclaw"), self.clock, REDACTOR),
            self.clock,
            self.names,
            lambda _address: self.timeout,
        )
        desk.wake = self._woken
        desk.grants.minutes = lambda _address: self.minutes
        return desk

    def _woken(self) -> None:
        self.wakes += 1

    async def ask(self, what: Question = DEPLOYS) -> ApprovalId:
        """Ask, as the gate does."""
        return await self.desk().ask(what, state(what.call))

    async def said(self) -> list[OutboxItem]:
        """Everything that is queued to be said, in order, taken out of the queue."""
        items = []
        while rows := await self.stores.outbox.next(["private", "group"], self.clock.now):
            for row in rows:
                assert await self.stores.outbox.claim(row.id)
                await self.stores.outbox.sent(row.id, None)
                items.append(row.item)
        return items

    async def events(self, of: str = "c1") -> list[EventDraft]:
        """What is on record about a call."""
        return [event.draft for event in await self.stores.trail.trail_of(CallId(of))]


def yes(decider: Actor = CHIEF, via: Via = Via.BUTTON, at_ms: int = 0) -> Ruling:
    """A press on Approve."""
    return Ruling(ApprovalState.APPROVED, decider, via, at_ms)


def no(decider: Actor = CHIEF, reason: str = "", via: Via = Via.REPLY) -> Ruling:
    """A denial."""
    return Ruling(ApprovalState.DENIED, decider, via, 0, reason)

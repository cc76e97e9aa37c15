"""Grants after they were given: which hold now, which a chat is shown, and how one ends before its time.

A grant is given at the desk, by the ruling on a question (approvals/desk). It is judged again at each use, against the
people and the settings of that moment; whoever could deny the question may take it back.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace

from mtbot.approvals.card import Cards
from mtbot.domain.call import Call, Stage
from mtbot.domain.errors import (
    AlreadyDecided,
    ConsentError,
    NoSuchApproval,
    NotAllowed,
    NotWrittenYet,
    RecordUnavailable,
    StorageError,
)
from mtbot.domain.grant import MINUTE_MS, Grant, Grants
from mtbot.domain.ids import ApprovalId, SessionId
from mtbot.domain.ports import Clock
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    Card,
    CardKind,
    Choice,
    ChoiceAction,
    EventDraft,
    EventKind,
    OutboxItem,
    OutKind,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import SYSTEM, Actor, Address
from mtbot.policy.grants import holds
from mtbot.policy.people import People, Say
from mtbot.redaction.display import display

MAX_SHOWN = 10
"""Grants that one message lists; a chat with more of them is told of the rest by number."""

MAX_COMMAND = 120
"""Characters of a command in a list."""


class GrantDesk:
    """Knows which grants hold. ``minutes`` says how long one may last at a place (0: none), ``wake`` wakes the outbox."""

    def __init__(self, store: Grants, people: Callable[[], People], cards: Cards, clock: Clock) -> None:
        self._store = store
        self._people = people
        self._cards = cards
        self._clock = clock
        self._owed: dict[ApprovalId, Ruling] = {}
        self._stopped: dict[SessionId, int] = {}
        self.minutes: Callable[[Address], int] = lambda _address: 0
        self.wake: Callable[[], None] = lambda: None

    def lasting(self, row: Approval, ruling: Ruling) -> int:
        """For how long that yes is (ms); NotAllowed if it was to last and this one can only be given once."""
        if not ruling.lasts_ms or ruling.state is not ApprovalState.APPROVED:
            return 0
        if row.offer is None:
            raise NotAllowed("This one can only be approved once.")
        lasts = min(ruling.lasts_ms, row.offer.ms, self.minutes(row.address) * MINUTE_MS)
        if lasts <= 0:
            raise NotAllowed("Approving for a while is switched off by now; Approve once still works.")
        return lasts

    async def standing(self, call: Call) -> tuple[Grant, ...]:
        """The grants that hold for that call's place and person now. Never raises: what cannot be read does not hold."""
        try:
            found = await self._store.live(self._clock.now_ms(), call.address.session)
        except StorageError:
            return ()
        return tuple(
            grant
            for grant in found
            if grant.address == call.address and grant.requester.key == call.requester.key and self._holds(grant)
        )

    async def here(self, address: Address) -> tuple[Grant, ...]:
        """Every grant that holds in that chat, whoever it is for, the oldest first. StorageError."""
        return tuple(grant for grant in await self.all() if grant.concerns(address))

    async def all(self) -> tuple[Grant, ...]:
        """Every grant that holds anywhere, the oldest first. StorageError."""
        return tuple(grant for grant in await self._store.live(self._clock.now_ms()) if self._holds(grant))

    def _holds(self, grant: Grant) -> bool:
        if grant.id in self._owed or grant.given_ms <= self._stopped.get(grant.address.session, -1):
            return False
        return holds(grant, self._people(), self._clock.now_ms(), self.minutes(grant.address))

    async def revoke(self, ident: ApprovalId, ruling: Ruling) -> Grant:
        """Take a grant back; after this no use of it starts any more.

        NotAllowed, AlreadyDecided (it was over), NoSuchApproval. NotWrittenYet: it counts in this process from now on, and
        ``write_owed`` makes up for the rest.
        """
        grant = await self._store.get(ident)
        if not self._may_end(grant, ruling.decider):
            raise NotAllowed("This one is not yours to take back.")
        ruling = replace(ruling, state=ApprovalState.REVOKED, at_ms=max(ruling.at_ms, self._clock.now_ms()))
        # it counts here from now on, however long the database takes
        self._owed[ident] = ruling
        try:
            found = await self._store.revoke(ident, ruling, _draft(grant, ruling), *self._told(grant, ruling))
        except AlreadyDecided:
            self._owed.pop(ident, None)
            raise self._over(await self._store.get(ident)) from None
        except NoSuchApproval:
            self._owed.pop(ident, None)
            raise
        except RecordUnavailable as fault:
            raise NotWrittenYet(fault.message, hint=fault.hint) from fault
        self._owed.pop(ident, None)
        self.wake()
        return found

    def _over(self, grant: Grant) -> AlreadyDecided:
        if grant.revoked is None:
            return AlreadyDecided(ApprovalState.EXPIRED.value, self._people().name(SYSTEM), grant.until_ms)
        who = self._people().name(grant.revoked.decider)
        return AlreadyDecided(ApprovalState.REVOKED.value, who, grant.revoked.at_ms)

    async def end_all(self, address: Address, by: Actor) -> tuple[list[ApprovalId], list[ApprovalId]]:
        """Take back the grants of that conversation for whoever stops it: those that ended, and those not theirs.

        StorageError while they cannot be read; what was given there up to now does not hold in this process even so.
        """
        now = self._clock.now_ms()
        try:
            found = await self._store.live(now, address.session)
        except StorageError:
            self._stopped[address.session] = now
            raise
        mine = [grant for grant in found if self._may_end(grant, by)]
        ruling = Ruling(ApprovalState.REVOKED, by, Via.STOP, now)
        self._owed |= {grant.id: ruling for grant in mine}
        for grant in mine:
            try:
                await self.revoke(grant.id, ruling)
            except NotWrittenYet:
                break
            except ConsentError:
                continue  # it is over
        return [grant.id for grant in mine], [grant.id for grant in found if grant not in mine]

    def _may_end(self, grant: Grant, by: Actor) -> bool:
        return self._people().may_deny(by, grant.address, grant.requester) is Say.YES

    async def write_owed(self) -> None:
        """Write down every revocation that could not be written when it was made. StorageError while it cannot be."""
        for ident, ruling in tuple(self._owed.items()):
            with contextlib.suppress(ConsentError):
                await self.revoke(ident, ruling)
            self._owed.pop(ident, None)

    def card(self, grants: tuple[Grant, ...]) -> Card:
        """The list that ``/grants`` shows, with a button for each."""
        lines = [self.line(grant) for grant in grants[:MAX_SHOWN]]
        if len(grants) > MAX_SHOWN:
            lines.append(f"and {len(grants) - MAX_SHOWN} more; `/grants revoke ID` takes back any of them")
        choices = tuple(
            Choice(f"🚫 Revoke #{grant.id}", ChoiceAction.REVOKE, grant.token) for grant in grants[:MAX_SHOWN]
        )
        one = len(grants) == 1
        title = f"Approved for a while, so {'this runs' if one else 'these run'} here without a question:"
        return Card(
            CardKind.NOTICE,
            self._cards.line(title),
            self._cards.masked(""),
            tuple(map(self._cards.line, lines)),
            choices,
            silent=True,
        )

    def line(self, grant: Grant) -> str:
        """One grant in one line: its name, until when, for whom, by whom, how often it was used, the command."""
        people, until = self._people(), self._clock.clock_text(grant.until_ms)
        shown = " ".join(display(grant.command).split())
        shown = shown if len(shown) <= MAX_COMMAND else f"{shown[: MAX_COMMAND - 1]}…"
        used = f"{grant.uses} run{'' if grant.uses == 1 else 's'} since"
        who = f"for {people.name(grant.requester)}, by {people.name(grant.giver)}"
        return f"#{grant.id} until {until}, {who}, {used}: {shown}"

    def _told(self, grant: Grant, ruling: Ruling) -> tuple[OutboxItem, ...]:
        """What the chat hears of it, unless the answer to /stop or /new says it there anyway."""
        if ruling.via is Via.STOP:
            return ()
        at, who = self._clock.clock_text(ruling.at_ms), self._people().name(ruling.decider)
        shown = " ".join(display(grant.command).split())[:MAX_COMMAND]
        card = Card(
            CardKind.NOTICE,
            self._cards.line(f"🚫 Denied from now on: {shown}"),
            self._cards.masked(""),
            (self._cards.line(f"#{grant.id} was revoked by {who} {at}; the next time I ask again."),),
            silent=True,
        )
        return (OutboxItem(OutKind.NOTICE, grant.address, card=card, silent=True),)


def _draft(grant: Grant, ruling: Ruling) -> EventDraft:
    address = grant.address
    return EventDraft(
        kind=EventKind.APPROVAL_RESOLVED,
        at_ms=ruling.at_ms,
        session=address.session,
        call=grant.call,
        tool="exec",
        command=grant.command,
        bot=address.bot,
        chat=address.chat,
        thread=address.thread,
        requester=grant.requester.key,
        decider=ruling.decider.key,
        via=ruling.via,
        word=Word.DENIED_USER,
        stage=Stage.GRANT.value,
        rule=grant.rule,
        reason="grant revoked",
        approval=grant.id,
    )

"""The only writer of rulings: opens a request, decides it once, lets it lapse, says how it ended.

A ruling is one compare-and-set in the store, made together with its audit event; whoever loses reads who won. The
decider is judged against the people of that moment, not of the moment of the question.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from mtbot.approvals.card import Cards
from mtbot.approvals.grants import GrantDesk
from mtbot.domain.call import Call, Decision, Outcome
from mtbot.domain.errors import (
    AlreadyDecided,
    ConsentError,
    NameTaken,
    NotAllowed,
    NotWrittenYet,
    RecordUnavailable,
    StorageError,
)
from mtbot.domain.grant import Grants, rule_of
from mtbot.domain.ids import ApprovalId, Digest, SafeText
from mtbot.domain.ports import Clock, Consents, Names, Outbox, Question
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    EventDraft,
    EventKind,
    OutboxItem,
    OutKind,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import SYSTEM, Actor, Address, TurnState
from mtbot.policy.people import People, Say

_WORDS = {
    ApprovalState.APPROVED: Word.APPROVED,
    ApprovalState.DENIED: Word.DENIED_USER,
    ApprovalState.EXPIRED: Word.EXPIRED,
    ApprovalState.REVOKED: Word.DENIED_USER,
}

_WHY_NOT = {
    Say.NOT_LISTED: "You are not on the list of this chat.",
    Say.OWN_REQUEST: "You asked for this one. {deciders} can decide.",
    Say.NOT_YOURS: "This one is not yours to decide. {deciders} can decide.",
    Say.CANNOT_TELL: "Who you are in the chat can't be told from here. {deciders} can decide, with the button there.",
    Say.HOST_ONLY: "This can only be run at the host itself, by `mtclaw approvals run {id}`.",
    Say.OWNER_ONLY: "Only the owner can approve this one. {deciders} can decide.",
    Say.OWN_TERMINAL: "This changes the user, so it runs in your own terminal: `mtclaw approvals run {id}`",
    Say.JOB_GONE: "The job that asked this is gone from the configuration, or asks no more.",
}

NAME_TRIES = 8
"""How often a fresh name is tried; short names repeat by chance, but eight times in a row means that none is left."""

MIN_TIMEOUT_MS = 1000
"""No question lapses in the moment in which it is asked."""


@dataclass(frozen=True, slots=True)
class DeskStores:
    """Where requests live and where what is said about them leaves."""

    consents: Consents
    outbox: Outbox
    grants: Grants


class Desk:
    """Opens and decides requests. ``wake`` is called after something was queued to be said."""

    def __init__(
        self,
        stores: DeskStores,
        people: Callable[[], People],
        cards: Cards,
        clock: Clock,
        names: Names,
        timeout_ms: Callable[[Address], int],
    ) -> None:
        self._stores = stores
        self._people = people
        self._cards = cards
        self._clock = clock
        self._names = names
        self._timeout_ms = timeout_ms
        self._owed: dict[ApprovalId, Ruling] = {}
        self.grants = GrantDesk(stores.grants, people, cards, clock)
        self.wake: Callable[[], None] = lambda: None
        self.grants.wake = lambda: self.wake()  # noqa: PLW0108 - it is set later

    async def ask(self, question: Question, state: TurnState) -> ApprovalId:
        """Write the request, the parked turn and the question in one transaction. RecordUnavailable: nothing asked."""
        for _ in range(NAME_TRIES):
            try:
                return await self._ask(question, state)
            except NameTaken:
                continue
        raise RecordUnavailable("no free name for a new request was found")

    async def _ask(self, question: Question, state: TurnState) -> ApprovalId:
        people, call, now = self._people(), question.call, self._clock.now_ms()
        ident, token = self._names.approval(), self._names.token()
        expires = now + max(MIN_TIMEOUT_MS, self._timeout_ms(call.address))
        deciders = people.deciders_line(call.address, call.requester, owner_only=question.owner_only)
        names = (people.asker(call.address, call.requester), "" if question.elevates else deciders)
        card = self._cards.question(question, ident, token, expires, names)
        place = call.address
        if not question.elevates:  # whoever answers that one is at the host
            place = people.ask_at(call.address, call.requester, owner_only=question.owner_only) or place
        approval = Approval(
            id=ident,
            call=call.id,
            turn=call.turn,
            address=call.address,
            requester=call.requester,
            tool=call.tool,
            command=str(question.display),
            digest=question.digest,
            card=card,
            token=token,
            opened_ms=now,
            expires_ms=expires,
            elevates=question.elevates,
            owner_only=question.owner_only,
            asked_at=None if place == call.address else place,
            offer=question.offer,
        )
        draft = self._draft(approval, EventKind.APPROVAL_REQUESTED, now, reason=str(question.why), cwd=call.cwd)
        quote = state.ref.message if place == call.address else None
        await self._stores.consents.open(
            approval, state, draft, OutboxItem(OutKind.CARD, place, card=card, quote=quote, approval=ident)
        )
        self.wake()
        return ident

    async def decide(self, approval: ApprovalId, ruling: Ruling) -> Approval:
        """Rule once. NotAllowed names why, AlreadyDecided who was first; a late yes is AlreadyDecided (expired).

        A yes that has not run yet can still be REVOKED. A no or a revocation counts even when it cannot be written down (NotWrittenYet):
        nobody can approve that question here any more, and ``write_owed`` makes up for it.

        A ruling counts from the moment in which it gets here, never from an earlier one that it may claim.
        """
        row = await self._stores.consents.get(approval)
        self._check(row, ruling)
        ruling = replace(ruling, lasts_ms=self.grants.lasting(row, ruling))
        ruling = replace(
            ruling,
            at_ms=max(ruling.at_ms, self._clock.now_ms()),
            reason=str(self._cards.masked(ruling.reason)),
        )
        if row.state is ApprovalState.PENDING and ruling.at_ms >= row.expires_ms:
            await self.lapse(row)
            row = await self._stores.consents.get(approval)
        taken_back = ruling.state is ApprovalState.REVOKED and row.state is ApprovalState.APPROVED
        if row.state is ApprovalState.PENDING or taken_back:
            no = self._owed.get(approval)
            if no is not None and ruling.state is ApprovalState.APPROVED:
                raise AlreadyDecided(no.state.value, self._people().name(no.decider), no.at_ms)
            try:
                return await self._rule(row, ruling)
            except AlreadyDecided:
                row = await self._stores.consents.get(approval)
            except RecordUnavailable as fault:
                if ruling.state not in (ApprovalState.DENIED, ApprovalState.REVOKED):
                    raise
                self._owed[approval] = ruling
                raise NotWrittenYet(fault.message, hint=fault.hint) from fault
        raise _decided(row, self._people())

    async def write_owed(self) -> None:
        """Write down every no that could not be written when it was given. StorageError while that is not possible.

        If another process has let the same question be approved meanwhile, that yes is taken back.
        """
        for approval, no in tuple(self._owed.items()):
            for ruling in (no, replace(no, state=ApprovalState.REVOKED)):
                try:
                    await self.decide(approval, ruling)
                except ConsentError:
                    continue
                break
            self._owed.pop(approval, None)
        await self.grants.write_owed()

    async def lapse(self, row: Approval) -> None:
        """Let a request expire; somebody else's ruling in between is fine."""
        ruling = Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, row.expires_ms, "timeout")
        try:
            await self._rule(row, ruling)
        except AlreadyDecided:
            return

    async def lapse_due(self) -> tuple[Approval, ...]:
        """Expire every request whose time is over; those that this call closed."""
        due = await self._stores.consents.due(self._clock.now_ms())
        for row in due:
            await self.lapse(row)
        return due

    async def ended(self, approval: Approval, outcome: Outcome) -> None:
        """Put how the call ended below its question; the record has it already, so a failure here is let go."""
        if approval.ruling is None:
            return
        card = self._cards.ended(approval, self._people().name(approval.ruling.decider), outcome)
        await self._say(OutboxItem(OutKind.EDIT, approval.place, card=card, approval=approval.id))

    async def taken_back(self, approval: ApprovalId, by: Actor) -> None:
        """Revoke a yes whose turn ``by`` stopped before it began; one that has begun stands. RecordUnavailable.

        Whoever may stop a turn may not always deny its question; then it is mtclaw that takes the yes back.
        """
        ruling = Ruling(ApprovalState.REVOKED, by, Via.STOP, self._clock.now_ms())
        for one in (ruling, replace(ruling, decider=SYSTEM)):
            try:
                await self.decide(approval, one)
            except NotAllowed:
                continue
            except ConsentError:
                pass
            return

    async def undone(self, approval: Approval, by: Actor) -> None:
        """Put below an approved question that ``by`` brought back what its call had taken away. Best effort."""
        if approval.ruling is None:
            return
        people = self._people()
        card = self._cards.undone(approval, people.name(approval.ruling.decider), people.name(by), self._clock.now_ms())
        await self._say(OutboxItem(OutKind.EDIT, approval.place, card=card, approval=approval.id, silent=True))

    def check_undo(self, row: Approval, by: Actor) -> None:
        """NotAllowed unless ``by`` could decide the question now: a way back is theirs who have a say about the way."""
        self._check(row, Ruling(ApprovalState.APPROVED, by, Via.BUTTON, self._clock.now_ms()))

    async def refused(self, call: Call, shown: SafeText, decision: Decision) -> None:
        """Tell the chat what was not run, by which rule, and what its owner could do about it."""
        card = self._cards.refused(shown, decision)
        await self._say(OutboxItem(OutKind.NOTICE, call.address, card=card, silent=True))

    async def _say(self, item: OutboxItem) -> None:
        try:
            await asyncio.shield(self._stores.outbox.put(item, now_ms=self._clock.now_ms()))
        except StorageError:
            return
        self.wake()

    async def _rule(self, row: Approval, ruling: Ruling) -> Approval:
        draft, item = self.announcement(row, ruling)
        ruled = await self._stores.consents.rule(row.id, ruling, draft, item)
        self.wake()
        return ruled

    def announcement(self, row: Approval, ruling: Ruling) -> tuple[EventDraft, OutboxItem]:
        """What is written of a ruling together with it: its event, and the question with how it was decided."""
        decider = self._people().name(ruling.decider)
        at = max(ruling.at_ms, self._clock.now_ms())
        draft = self._draft(row, EventKind.APPROVAL_RESOLVED, at, ruling=ruling, reason=ruling.reason)
        card = self._cards.ruled(row, ruling, decider)
        return draft, OutboxItem(OutKind.EDIT, row.place, card=card, approval=row.id, silent=True)

    def _check(self, row: Approval, ruling: Ruling) -> None:
        """NotAllowed unless the decider may, as the configuration stands. mtclaw itself may end a request, never grant it."""
        people = self._people()
        yes = ruling.state is ApprovalState.APPROVED
        if ruling.decider == SYSTEM and not yes:
            return
        if yes:
            say = people.may_decide(
                ruling.decider, row.address, row.requester, elevates=row.elevates, owner_only=row.owner_only
            )
        else:
            say = people.may_deny(ruling.decider, row.address, row.requester)
        if say is not Say.YES:
            names = people.decider_names(row.address, row.requester, owner_only=row.owner_only)
            raise NotAllowed(_WHY_NOT[say].format(deciders=" or ".join(names) or "Nobody here", id=row.id))

    def _draft(
        self,
        row: Approval,
        kind: EventKind,
        at_ms: int,
        *,
        ruling: Ruling | None = None,
        reason: str = "",
        cwd: str = "",
    ) -> EventDraft:
        address = row.address
        return EventDraft(
            kind=kind,
            at_ms=at_ms,
            session=address.session,
            call=row.call,
            tool=row.tool,
            command=row.command,
            cwd=cwd,
            bot=address.bot,
            chat=address.chat,
            thread=address.thread,
            requester=row.requester.key,
            decider=ruling.decider.key if ruling else "",
            via=ruling.via if ruling else Via.NONE,
            digest=Digest(row.digest),
            word=_WORDS[ruling.state] if ruling else Word.NONE,
            stage="person",
            reason=reason,
            approval=row.id,
            detail=f"{rule_of(row.id)} until {ruling.at_ms + ruling.lasts_ms}" if ruling and ruling.lasts_ms else "",
        )


def _decided(row: Approval, people: People) -> AlreadyDecided:
    ruling = row.ruling
    who: Actor = ruling.decider if ruling else SYSTEM
    return AlreadyDecided(row.state.value, people.name(who), ruling.at_ms if ruling else row.expires_ms)

"""The buttons of a cut-off notice: show what is on record, ask for it again, put it away.

Asking again is a request like any other: policy judges the call as things stand now, and where it says so a person is
asked. It is for exactly the call that was cut off where that is kept (domain/again); otherwise the model has to propose it.
The buttons stay until the request is written down, so that a crash in between costs nothing but another press.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from mtbot.approvals.cut_off import MARK, CutOffCards
from mtbot.domain.again import KeptCalls, KeptState
from mtbot.domain.crash import CrashLog
from mtbot.domain.errors import ChannelError, StorageError
from mtbot.domain.ports import Clock, Deliverer, Outbox
from mtbot.domain.record import AuditEvent, ChoiceAction, EventKind, OutboxItem, OutKind
from mtbot.domain.turn import Actor, Address, Inbound, InboundKind, SourceRef, TurnState
from mtbot.gateway.again import ASKED
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.recovery import address_of_event

NOTHING = "This button does nothing any more."
TAKEN = (Offered.STARTED, Offered.QUEUED, Offered.KEPT)


@dataclass(frozen=True, slots=True)
class NoticeFrame:
    """What surrounds the presses: time, the way out, a wake-up for the outbox, whether somebody may speak there."""

    clock: Clock
    ways: Deliverer
    wake: Callable[[], None]
    admits: Callable[[Inbound], bool]


class CutOffs:
    """Acts on presses of notices. Each answers with the short note that the presser sees.

    ``kept_off`` says why the presser may begin no turn now.
    """

    def __init__(
        self,
        record: CrashLog,
        kept: KeptCalls,
        outbox: Outbox,
        lanes: Lanes,
        cards: CutOffCards,
        frame: NoticeFrame,
    ) -> None:
        self._record = record
        self._kept = kept
        self._outbox = outbox
        self._lanes = lanes
        self._cards = cards
        self._frame = frame
        self._in_words: set[int] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self.kept_off: Callable[[Inbound], str | None] = lambda _inbound: None

    async def press(self, inbound: Inbound, word: str, token: str) -> str:
        """Do what the button says. Never raises for a database that cannot be read."""
        try:
            started = await self._started(inbound, token)
            if started is None:
                return NOTHING
            events = await self._record.trail_of(started.draft.call)
            end = next((one for one in events if one.draft.kind in (EventKind.FINISHED, EventKind.FAILED)), None)
            if word == ChoiceAction.SHOW:
                text = self._cards.story(events)
                item = OutboxItem(OutKind.NOTICE, inbound.address, text=text, quote=inbound.ref.message, silent=True)
                await self._outbox.put(item, now_ms=self._frame.clock.now_ms())
                self._frame.wake()
                return "On record."
            if word == ChoiceAction.DISMISS:
                return await self._dismiss(inbound, started, end)
            if word == ChoiceAction.ASK_AGAIN:
                return await self._again(inbound, started, end)
        except StorageError:
            return "The record cannot be read now."
        return NOTHING

    def asked(self, state: TurnState) -> None:
        """A turn came to rest. If it asks again for a call, have the notice say so, in case a request came of it."""
        if state.repeats is not None:
            task = asyncio.create_task(self._settle(state, state.repeats.start))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Let go of notices that are being changed."""
        for task in tuple(self._closing):
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _settle(self, state: TurnState, start: int) -> None:
        try:
            standing = await self._kept.standing(start)
            started = await self._record.event(start)
        except StorageError:
            return
        if started is not None and standing is not None and standing.state is KeptState.ASKED:
            await self._close(
                state.address, state.ref.message, started, None, ("Asked to run it again", state.requester)
            )

    async def _dismiss(self, inbound: Inbound, started: AuditEvent, end: AuditEvent | None) -> str:
        await self._kept.dismiss(started.seq, inbound.sender, self._frame.clock.now_ms())
        standing = await self._kept.standing(started.seq)
        if standing is not None and standing.state is KeptState.ASKED:
            return self._cards.dealt_with(standing)
        await self._close(inbound.address, inbound.ref.message, started, end, ("Dismissed", inbound.sender))
        return "Dismissed."

    async def _started(self, inbound: Inbound, token: str) -> AuditEvent | None:
        """The event that a token names, if its notice belongs to the chat of the press."""
        number = token.removeprefix(MARK)
        if not number.isdecimal() or len(number) > 18:
            return None
        event = await self._record.event(int(number))
        if event is None or event.draft.kind is not EventKind.STARTED:
            return None
        place = self._cards.place(address_of_event(event), event)
        here = inbound.address
        return event if place is not None and (place.bot, place.chat) == (here.bot, here.chat) else None

    async def _again(self, inbound: Inbound, started: AuditEvent, end: AuditEvent | None) -> str:
        standing = await self._kept.standing(started.seq)
        if standing is None or (standing.state is KeptState.KEPT and standing.call is None):
            return await self._again_in_words(inbound, started, end)
        said = self._cards.dealt_with(standing)
        if said:
            return said
        again = replace(self._message(inbound, started, ASKED), repeats=started.seq)
        session, notice = again.address.session, inbound.ref.message
        if notice is not None and (self._lanes.waits(session, notice) or self._lanes.works_on(session, notice)):
            return "It is being asked for already."
        waits_for = self._lanes.resting(session)
        said = self._offer(again)
        return (
            f"Waiting for #{waits_for} above; this comes next." if not said and waits_for else said or "Asking again."
        )

    async def _again_in_words(self, inbound: Inbound, started: AuditEvent, end: AuditEvent | None) -> str:
        """Nothing is kept of it: it had ended, is too long, or another key or an older mtclaw wrote it down."""
        if started.seq in self._in_words:
            return NOTHING
        said = self._offer(self._message(inbound, started, self._cards.again(started)))
        if said:
            return said
        self._in_words.add(started.seq)
        await self._close(inbound.address, inbound.ref.message, started, end, ("Asked to run it again", inbound.sender))
        return "The exact call is not kept, so I ask the model to propose it again."

    def _message(self, inbound: Inbound, started: AuditEvent, text: str) -> Inbound:
        source = SourceRef(None, inbound.ref.message)
        return Inbound(address_of_event(started), inbound.sender, source, InboundKind.TEXT, text)

    def _offer(self, again: Inbound) -> str:
        """Hand it to its lane; why that cannot be, or nothing."""
        if not self._frame.admits(again):
            return NOTHING
        kept_off = self.kept_off(again)
        if kept_off is not None:
            return kept_off
        if self._lanes.offer(again.address.session, again) not in TAKEN:
            return "I am still working on earlier messages; try again."
        return ""

    async def _close(
        self, place: Address, notice: int | None, started: AuditEvent, end: AuditEvent | None, what: tuple[str, Actor]
    ) -> None:
        """Take the buttons away and say what was done by whom; best effort, because nothing hangs on it."""
        card = self._cards.closed(started, end, *what)
        try:
            await self._frame.ways.deliver(OutboxItem(OutKind.EDIT, place, card=card), notice)
        except ChannelError:
            return

"""The buttons of a cut-off notice: show what is on record, ask for it again, put it away.

Asking again is a request like any other: the model proposes the call, policy judges it, and a person is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mtbot.approvals.cut_off import MARK, CutOffCards
from mtbot.domain.crash import CrashLog
from mtbot.domain.errors import ChannelError, StorageError
from mtbot.domain.ports import Clock, Deliverer, Outbox
from mtbot.domain.record import AuditEvent, ChoiceAction, EventKind, OutboxItem, OutKind
from mtbot.domain.turn import Inbound, InboundKind, SourceRef
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

    def __init__(self, record: CrashLog, outbox: Outbox, lanes: Lanes, cards: CutOffCards, frame: NoticeFrame) -> None:
        self._record = record
        self._outbox = outbox
        self._lanes = lanes
        self._cards = cards
        self._frame = frame
        self._asked: set[int] = set()
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
        except StorageError:
            return "The record cannot be read now."
        if word == ChoiceAction.DISMISS:
            await self._close(inbound, started, end, "Dismissed")
            return "Dismissed."
        if word == ChoiceAction.ASK_AGAIN:
            return await self._again(inbound, started, end)
        return NOTHING

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
        again = Inbound(
            address_of_event(started),
            inbound.sender,
            SourceRef(None, inbound.ref.message),
            InboundKind.TEXT,
            self._cards.again(started),
        )
        if started.seq in self._asked or not self._frame.admits(again):
            return NOTHING
        kept_off = self.kept_off(again)
        if kept_off is not None:
            return kept_off
        if self._lanes.offer(again.address.session, again) not in TAKEN:
            return "I am still working on earlier messages; try again."
        self._asked.add(started.seq)
        await self._close(inbound, started, end, "Asked to run it again")
        return "Asking again."

    async def _close(self, inbound: Inbound, started: AuditEvent, end: AuditEvent | None, what: str) -> None:
        """Take the buttons away; best effort, because nothing hangs on it."""
        card = self._cards.closed(started, end, what, inbound.sender)
        try:
            await self._frame.ways.deliver(OutboxItem(OutKind.EDIT, inbound.address, card=card), inbound.ref.message)
        except ChannelError:
            return

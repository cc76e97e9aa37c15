"""A message that was edited runs nothing: its author is offered to have the new text used, and a press does so once."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from mtbot.domain.edits import Edited, Edits
from mtbot.domain.errors import ChannelError, SealError, StorageError
from mtbot.domain.ids import SessionId
from mtbot.domain.ports import Clock, Deliverer, Inbox, Masker
from mtbot.domain.record import Card, CardKind, Choice, ChoiceAction, OutboxItem, OutKind
from mtbot.domain.turn import Inbound, InboundKind
from mtbot.gateway.lanes import Lanes, Offered

REMEMBERED = 2000
"""Messages whose text is known, so that an edit which changes nothing to be read is told from one that does."""

TITLE = "Use the edited text?"
WORKED_ON = "I am working on the earlier text; /stop ends that."
STILL_WAITING = "The earlier text is still waiting and comes first; /stop drops it."
NOTHING = "This button does nothing any more."

TAKEN = (Offered.STARTED, Offered.QUEUED, Offered.KEPT)


@dataclass(frozen=True, slots=True)
class EditFrame:
    """What surrounds edits: time, masking, the way out, fresh tokens, a wake-up, whether somebody may speak there."""

    clock: Clock
    masker: Masker
    ways: Deliverer
    token: Callable[[], str]
    wake: Callable[[], None]
    admits: Callable[[Inbound], bool]


class EditOffers:
    """Offers edited texts, and has them used. ``kept_off`` says why nobody may begin a turn with one now."""

    def __init__(self, edits: Edits, inbox: Inbox, lanes: Lanes, frame: EditFrame) -> None:
        self._edits = edits
        self._inbox = inbox
        self._lanes = lanes
        self._frame = frame
        self._known: OrderedDict[tuple[SessionId, int], bytes] = OrderedDict()
        self.kept_off: Callable[[Inbound], str | None] = lambda _inbound: None

    def said(self, inbound: Inbound) -> bool:
        """Remember what a message says; whether that is new."""
        if inbound.ref.message is None:
            return True
        key = (inbound.address.session, inbound.ref.message)
        digest = hashlib.sha256(f"{inbound.command}\n{inbound.text}".encode("utf-8", "replace")).digest()
        new = self._known.get(key) != digest
        self._known[key] = digest
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return new

    async def heard(self, inbound: Inbound) -> None:
        """Offer the text of an edit, unless only something that I cannot see has changed. StorageError."""
        author, message = inbound.sender.user, inbound.ref.message
        if not self.said(inbound) or author is None or message is None:
            return
        text = f"/{inbound.command} {inbound.text}".strip() if inbound.command else inbound.text
        token = self._frame.token()
        choices = (Choice("Use it", ChoiceAction.USE, token),)
        card = replace(self._card(self._where(inbound.address.session, message)), choices=choices)
        item = OutboxItem(OutKind.NOTICE, inbound.address, card=card, quote=message, silent=True)
        edited = Edited(inbound.address, message, author, text)
        if await self._edits.offer(edited, token, item, self._frame.clock.now_ms()):
            self._frame.wake()

    async def press(self, inbound: Inbound, token: str) -> str:
        """Use the text, once, if its author wants it. The press's row is closed here, or by the turn that takes it."""
        try:
            edited = await self._edits.look(token)
        except SealError:
            edited = None
        except StorageError:
            await self._done(inbound)
            return "The database cannot be read now; press again later."
        here, update = inbound.address, inbound.ref.update
        if edited is None or update is None or (here.bot, here.chat) != (edited.address.bot, edited.address.chat):
            await self._done(inbound)
            return NOTHING
        if inbound.sender.user != edited.author:
            await self._done(inbound)
            return "Only the person who wrote that message can have it used."
        again = replace(inbound, address=edited.address, kind=InboundKind.TEXT, text=edited.text, addressed=True)
        again = replace(again, ref=replace(inbound.ref, message=edited.message), press_token="", press_id="")
        if not self._frame.admits(again) or not await self._edits.use(token, update):
            await self._done(inbound)
            return NOTHING
        return await self._offer(inbound, again, token, update)

    async def _offer(self, inbound: Inbound, again: Inbound, token: str, update: int) -> str:
        """Put the text into its lane; if there is no room, it may be used later."""
        message = again.ref.message or 0
        kept_off = self.kept_off(again)
        if kept_off is not None:
            await self._edits.release(token, update)
            await self._done(inbound)
            return kept_off
        where = self._where(again.address.session, message)
        offered = self._lanes.offer(again.address.session, again)
        if offered in TAKEN:
            at = self._frame.clock.clock_text(self._frame.clock.now_ms())
            await self._close(inbound, f"Taken up {at}.")
            return f"Taken up. {where}".strip()
        if offered is not Offered.CLOSED:
            await self._edits.release(token, update)
            await self._done(inbound)
        return "I am still working on earlier messages; try again."

    def _where(self, session: SessionId, message: int) -> str:
        """What becomes of the earlier text at this moment."""
        if self._lanes.waits(session, message):
            return STILL_WAITING
        return WORKED_ON if self._lanes.works_on(session, message) else ""

    def _card(self, line: str) -> Card:
        mask = self._frame.masker.mask
        return Card(CardKind.NOTICE, mask(TITLE), mask(""), (mask(line),) if line else (), silent=True)

    async def _close(self, inbound: Inbound, line: str) -> None:
        """Take the button away; best effort, because the store knows that it was used."""
        item = OutboxItem(OutKind.EDIT, inbound.address, card=self._card(line))
        try:
            await self._frame.ways.deliver(item, inbound.ref.message)
        except ChannelError:
            return

    async def _done(self, inbound: Inbound) -> None:
        if inbound.ref.update is not None:
            await self._inbox.done(inbound.address.bot, inbound.ref.update)

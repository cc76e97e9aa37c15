"""What becomes of something that came in: a text joins its lane, presses and commands go past it, the rest is counted.

A person who waits for a question to be answered, or wants to stop, is never queued behind the turn that waits.
"""

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from mtbot.approvals.cut_off import MARK
from mtbot.approvals.desk import Desk
from mtbot.domain.chats import ChatChange
from mtbot.domain.errors import (
    AlreadyDecided,
    ChannelError,
    NoSuchApproval,
    NotAllowed,
    NotWrittenYet,
    StateError,
    StorageError,
)
from mtbot.domain.ids import ApprovalId
from mtbot.domain.ports import Clock, Consents, Deliverer, Inbox, Masker, Outbox
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    Card,
    CardKind,
    Choice,
    ChoiceAction,
    OutboxItem,
    OutKind,
    Ruling,
    Via,
    withdraws,
)
from mtbot.domain.trash import Undo
from mtbot.domain.turn import Address, Inbound, InboundKind, surface
from mtbot.gateway.commands import NOT_WRITTEN_YET, Commands
from mtbot.gateway.edits import EditOffers
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.places import Places
from mtbot.gateway.received import FileMessages
from mtbot.policy.people import Admission, People


@dataclass(frozen=True, slots=True)
class IntakeStores:
    """What intake reads and writes."""

    inbox: Inbox
    outbox: Outbox
    consents: Consents


@dataclass(frozen=True, slots=True)
class IntakeFrame:
    """What surrounds intake: time, masking, the way to answer a press, a wake-up for the outbox, people, places."""

    clock: Clock
    masker: Masker
    presses: Deliverer
    wake: Callable[[], None]
    people: Callable[[], People]
    places: Places


class Intake:
    """Takes in one inbound at a time.

    ``on_notice`` acts on a button of a cut-off notice and says what it did; ``edits`` deals with edited messages;
    ``files`` has those of a message kept before a turn begins with it.
    """

    def __init__(
        self, desk: Desk, lanes: Lanes, commands: Commands, stores: IntakeStores, frame: IntakeFrame, back: Undo
    ) -> None:
        self._desk = desk
        self._lanes = lanes
        self._commands = commands
        self._stores = stores
        self._frame = frame
        self._back = back
        self.ignored: Counter[Admission] = Counter()
        self.edits: EditOffers | None = None
        self.files = FileMessages(self._text, self._say, self._done)
        self.on_notice: Callable[[Inbound, str, str], Awaitable[str]] = _no_notice

    def admits(self, inbound: Inbound) -> bool:
        """Whether this may come in at all; whoever it is from, it is judged again when it is acted on."""
        return self._frame.people().admit(inbound) is Admission.ADMIT

    def inward(self, address: Address) -> Address:
        """The place by which ``address`` is known here."""
        return self._frame.places.inward(address)

    def heeds(self, change: ChatChange) -> bool:
        """Whether a change of a chat concerns us."""
        return self._frame.places.heeds(change)

    async def changed(self, change: ChatChange) -> None:
        """Act on a change of a chat."""
        await self._frame.places.changed(change)

    async def receive(self, inbound: Inbound) -> None:
        """Act on ``inbound``; when this returns, its inbox row is closed unless a turn took it or will."""
        admission = self._frame.people().admit(inbound)
        if admission is not Admission.ADMIT:
            await self._done(inbound)
            await self.turn_away(inbound)
            return
        if not withdraws(inbound):
            await self._frame.places.heard_from(inbound.address)
        if inbound.kind in (InboundKind.TEXT, InboundKind.COMMAND) and self.edits is not None:
            self.edits.said(inbound)
        if withdraws(inbound):
            # closing its row first would make it wait for a database that somebody else holds
            await (self._press(inbound) if inbound.kind is InboundKind.PRESS else self._command(inbound))
            await self._done(inbound)
        elif inbound.kind is InboundKind.EDIT:
            await self._edit(inbound)
        elif inbound.press_token.startswith(f"{ChoiceAction.USE}.") and self.edits is not None:
            await self._note(inbound, await self.edits.press(inbound, inbound.press_token.partition(".")[2]))
        elif inbound.kind is InboundKind.PRESS:
            await self._done(inbound)
            await self._press(inbound)
        elif inbound.kind is InboundKind.COMMAND and self._commands.find(inbound.command):
            await self._done(inbound)
            await self._command(inbound)
        else:
            await self.files.take(inbound)

    async def _edit(self, inbound: Inbound) -> None:
        """An edit runs nothing: a text is offered to be used, a command is not, because it is said again as easily."""
        if self.edits is not None and self._commands.find(inbound.command) is None:
            await self.edits.heard(inbound)
        await self._done(inbound)

    async def _command(self, inbound: Inbound) -> None:
        command = self._commands.find(inbound.command)
        if command is not None:
            await self._say(inbound, await command.run(inbound))

    async def turn_away(self, inbound: Inbound) -> None:
        """Count what nobody has to be told of; tell the presser of a button, and the owner of a new group, once."""
        admission = self._frame.people().admit(inbound)
        self.ignored[admission] += 1
        if inbound.kind is InboundKind.PRESS:
            await self._note(inbound, "You are not on the list of this chat.")
        if admission is Admission.UNKNOWN_GROUP:
            await self._frame.places.stranger(inbound.address.bot, inbound.address.chat)

    async def _text(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.COMMAND:
            inbound = replace(inbound, kind=InboundKind.TEXT, text=f"/{inbound.command} {inbound.text}".strip())
        if inbound.quoted is not None:
            approval = await self._stores.consents.by_message(inbound.address, inbound.quoted)
            if approval is not None and approval.state is ApprovalState.PENDING:
                await self._done(inbound)
                await self._rule(inbound, approval, ApprovalState.DENIED, Via.REPLY, inbound.text)
                return
        session = inbound.address.session
        offered = self._lanes.offer(session, inbound)
        if offered is Offered.KEPT:
            await self._tell_waiting(inbound, self._lanes.resting(session))
        elif offered is Offered.FULL:
            await self._done(inbound)
            await self._say(
                inbound, "I am still working on your earlier messages; this one was dropped. /stop clears them."
            )
        elif offered is Offered.DROPPED:
            await self._done(inbound)
        # CLOSED: the gateway stops; the row stays open and the next start takes it up

    async def _tell_waiting(self, inbound: Inbound, waiting: ApprovalId | None) -> None:
        mask = self._frame.masker.mask
        approval = await self._stores.consents.get(waiting) if waiting is not None else None
        if approval is None or approval.state is not ApprovalState.PENDING:
            return  # it was ruled on meanwhile, so the message is next without anybody's doing
        card = Card(
            CardKind.NOTICE,
            mask(f"Waiting for #{waiting} above; your message is next."),
            mask(""),
            (),
            (Choice(f"🚫 Deny #{waiting} and go on", ChoiceAction.DENY, approval.token),),
            silent=True,
        )
        await self._put(OutboxItem(OutKind.NOTICE, inbound.address, card=card, quote=inbound.ref.message, silent=True))

    async def _press(self, inbound: Inbound) -> None:
        word, _, token = inbound.press_token.partition(".")
        if token.startswith(MARK):
            await self._note(inbound, await self.on_notice(inbound, word, token))
            return
        try:
            approval = await self._stores.consents.by_token(token)
        except NoSuchApproval:
            await self._note(inbound, "This button belongs to nothing that I know. Nothing ran.")
            return
        except StorageError:
            await self._note(inbound, "The database cannot be read, so nothing can be approved now.")
            return
        if not approval.concerns(inbound.address):
            await self._note(inbound, "This button belongs to another chat.")
            return
        if approval.message is None and inbound.ref.message is not None and approval.place == inbound.address:
            # the question had arrived although nobody could tell: now its buttons can be taken away
            with contextlib.suppress(StorageError):
                await self._stores.consents.shown(approval.id, inbound.ref.message)
        if word == ChoiceAction.APPROVE:
            await self._rule(inbound, approval, ApprovalState.APPROVED, Via.BUTTON, "")
        elif word == ChoiceAction.DENY:
            await self._rule(inbound, approval, ApprovalState.DENIED, Via.BUTTON, "")
        elif word == ChoiceAction.ASK_AGAIN:
            await self._ask_again(inbound, approval)
        elif word == ChoiceAction.UNDO:
            await self._undo(inbound, approval)
        else:
            await self._note(inbound, "This button does nothing any more.")

    async def _rule(self, inbound: Inbound, approval: Approval, state: ApprovalState, via: Via, reason: str) -> None:
        ruling = Ruling(state, inbound.sender, via, self._frame.clock.now_ms(), reason)
        try:
            await self._desk.decide(approval.id, ruling)
        except AlreadyDecided as lost:
            at = self._frame.clock.clock_text(lost.at_ms)
            what = "expired, nothing ran" if lost.state == ApprovalState.EXPIRED else f"{lost.state} by {lost.decider}"
            self._lanes.resume(approval.address.session, approval.id)
            await self._answer(inbound, f"Already {what} {at}.")
        except NotAllowed as refused:
            await self._answer(inbound, refused.message)
        except NotWrittenYet:
            await self._answer(inbound, NOT_WRITTEN_YET)
        except StorageError as error:
            await self._answer(inbound, f"That could not be written down, so it does not count: {error.message}")
        else:
            # the lane first: a slow answer to the button must not hold up what was decided
            self._lanes.resume(approval.address.session, approval.id)
            await self._note(inbound, "Approved." if state is ApprovalState.APPROVED else "Denied.")

    async def _ask_again(self, inbound: Inbound, approval: Approval) -> None:
        again = replace(
            inbound,
            address=approval.address,
            kind=InboundKind.TEXT,
            text=f"(The request #{approval.id} expired before anybody answered. Please propose the same call again.)",
            ref=replace(inbound.ref, update=None),
            addressed=True,
        )
        mine = surface(approval.address.surface).attended and self.admits(again)
        if approval.state is not ApprovalState.EXPIRED or not mine:
            await self._note(inbound, "This button does nothing any more.")
            return
        offered = self._lanes.offer(approval.address.session, again)
        taken = offered in (Offered.STARTED, Offered.QUEUED, Offered.KEPT)
        await self._note(inbound, "Asking again." if taken else "I am still working on earlier messages; try again.")

    async def _undo(self, inbound: Inbound, approval: Approval) -> None:
        try:
            self._desk.check_undo(approval, inbound.sender)
            await self._back.undo(approval, inbound.sender, Via.BUTTON)
        except (NotAllowed, StateError) as refused:
            await self._note(inbound, str(self._frame.masker.mask(refused.message)))
        else:
            await self._note(inbound, "Restored.")
            await self._desk.undone(approval, inbound.sender)

    async def _answer(self, inbound: Inbound, text: str) -> None:
        """Tell the person: a note on the button, or a line where there was none."""
        if inbound.kind is InboundKind.PRESS:
            await self._note(inbound, text)
        else:
            await self._say(inbound, text)

    async def _note(self, inbound: Inbound, text: str) -> None:
        if inbound.press_id:
            await self._frame.presses.answer_press(inbound.address.bot, inbound.press_id, text)

    async def _say(self, inbound: Inbound, text: str) -> None:
        if text:
            item = OutboxItem(
                OutKind.NOTICE,
                inbound.address,
                text=self._frame.masker.mask(text),
                quote=inbound.ref.message,
                silent=True,
            )
            try:
                await self._put(item)
            except StorageError:
                # a full disk is when a person most needs to hear what a command did
                with contextlib.suppress(ChannelError):
                    await self._frame.presses.deliver(item, None)

    async def _put(self, item: OutboxItem) -> None:
        await self._stores.outbox.put(item, now_ms=self._frame.clock.now_ms())
        self._frame.wake()

    async def _done(self, inbound: Inbound) -> None:
        """Close the inbox row. What stops something goes on without: twice does no harm, and not at all would."""
        try:
            for update in inbound.ref.updates:
                await self._stores.inbox.done(inbound.address.bot, update)
        except StorageError:
            if not withdraws(inbound) and inbound.kind is not InboundKind.PRESS:
                raise


async def _no_notice(_inbound: Inbound, _word: str, _token: str) -> str:
    return "This button does nothing any more."

"""What becomes of something that came in: a text joins its lane, presses and commands go past it, the rest is counted.

A person who waits for a question to be answered, or wants to stop, is never queued behind the turn that waits.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from mtbot.approvals.desk import Desk
from mtbot.domain.chats import ChatChange
from mtbot.domain.errors import NoSuchApproval, StorageError
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import Consents, Inbox, Outbox
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    Card,
    CardKind,
    Choice,
    ChoiceAction,
    OutboxItem,
    OutKind,
    Via,
    withdraws,
)
from mtbot.domain.trash import Undo
from mtbot.domain.turn import Address, Inbound, InboundKind, SurfaceName
from mtbot.gateway.answers import Answers, IntakeFrame
from mtbot.gateway.commands import Commands
from mtbot.gateway.edits import EditOffers
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.pairing import Pairer
from mtbot.gateway.presses import Presses
from mtbot.gateway.received import FileMessages
from mtbot.gateway.senders import Senders
from mtbot.gateway.throttle import Throttle
from mtbot.policy.people import Admission


@dataclass(frozen=True, slots=True)
class IntakeStores:
    """What intake reads and writes."""

    inbox: Inbox
    outbox: Outbox
    consents: Consents


class Intake:
    """Takes in one inbound at a time.

    ``presses`` acts on buttons, ``edits`` deals with edited messages, ``files`` has those of a message kept
    before a turn begins with it; ``pairer`` knows what becomes of a code that a stranger sends.
    """

    def __init__(
        self, desk: Desk, lanes: Lanes, commands: Commands, stores: IntakeStores, frame: IntakeFrame, back: Undo
    ) -> None:
        self._lanes = lanes
        self._commands = commands
        self._stores = stores
        self._frame = frame
        self._answers = Answers(stores.outbox, frame)
        self.presses = Presses(desk, lanes, commands, stores.consents, self._answers, back)
        self.ignored: Counter[Admission] = Counter()
        self.edits: EditOffers | None = None
        self.throttle: Throttle | None = None
        self.pairer: Pairer | None = None
        self.senders: Senders | None = None
        self.files = FileMessages(self._text, self._answers.say, self._done)

    def admits(self, inbound: Inbound) -> bool:
        """Whether this may come in at all; whoever it is from, it is judged again when it is acted on."""
        return self._answers.admits(inbound)

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
            await (self.presses.press(inbound) if inbound.kind is InboundKind.PRESS else self._command(inbound))
            await self._done(inbound)
        elif inbound.kind is InboundKind.EDIT:
            await self._edit(inbound)
        elif inbound.press_token.startswith(f"{ChoiceAction.USE}.") and self.edits is not None:
            await self._answers.note(inbound, await self.edits.press(inbound, inbound.press_token.partition(".")[2]))
        elif inbound.kind is InboundKind.PRESS:
            await self._done(inbound)
            await self.presses.press(inbound)
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
            await self._answers.say(inbound, await command.run(inbound))

    async def turn_away(self, inbound: Inbound) -> None:
        """Count what nobody has to be told of; tell the presser of a button, and the owner of a new group, once."""
        admission = self._frame.people().admit(inbound)
        self.ignored[admission] += 1
        if self.senders is not None:
            self.senders.note(inbound, admission)
        if inbound.kind is InboundKind.PRESS:
            await self._answers.note(inbound, "You are not on the list of this chat.")
        if admission is Admission.MAY_PAIR and self.pairer is not None:
            await self._answers.say(inbound, await self.pairer.stranger(inbound))
        elif inbound.command == "pair" and inbound.address.surface is SurfaceName.GROUP and self.pairer is not None:
            await self._answers.say(inbound, await self.pairer.seen(inbound))
        if admission is Admission.UNKNOWN_GROUP:
            await self._frame.places.stranger(inbound.address.bot, inbound.address.chat)

    async def _text(self, inbound: Inbound) -> None:
        if inbound.kind is InboundKind.COMMAND:
            inbound = replace(inbound, kind=InboundKind.TEXT, text=f"/{inbound.command} {inbound.text}".strip())
        if inbound.quoted is not None:
            approval = await self._stores.consents.by_message(inbound.address, inbound.quoted)
            if approval is not None and approval.state is ApprovalState.PENDING:
                await self._done(inbound)
                await self.presses.rule(inbound, approval, ApprovalState.DENIED, Via.REPLY, inbound.text)
                return
        kept_off = self.throttle.keeps_off(inbound, self._frame.people().owner) if self.throttle else None
        if kept_off is not None:
            await self._done(inbound)
            await self._answers.say(inbound, kept_off)
            return
        session = inbound.address.session
        offered = self._lanes.offer(session, inbound)
        if offered is Offered.KEPT:
            await self._tell_waiting(inbound, self._lanes.resting(session))
        elif offered is Offered.FULL:
            await self._done(inbound)
            await self._answers.say(
                inbound, "I am still working on your earlier messages; this one was dropped. /stop clears them."
            )
        elif offered is Offered.DROPPED:
            await self._done(inbound)
        # CLOSED: the gateway stops; the row stays open and the next start takes it up

    async def _tell_waiting(self, inbound: Inbound, waiting: ApprovalId | None) -> None:
        if waiting is None:
            return
        try:
            approval = await self._stores.consents.get(waiting)
        except NoSuchApproval:
            # its conversation was removed at the host, so nothing is to be waited for
            self._lanes.free(inbound.address.session, waiting)
            return
        if approval.state is not ApprovalState.PENDING:
            return  # it was ruled on meanwhile, so the message is next without anybody's doing
        card = _waiting_card(approval, self._frame.masker.mask)
        await self._answers.put(
            OutboxItem(OutKind.NOTICE, inbound.address, card=card, quote=inbound.ref.message, silent=True)
        )

    async def _done(self, inbound: Inbound) -> None:
        """Close the inbox row. What stops something goes on without: twice does no harm, and not at all would."""
        try:
            for update in inbound.ref.updates:
                await self._stores.inbox.done(inbound.address.bot, update)
        except StorageError:
            if not withdraws(inbound) and inbound.kind is not InboundKind.PRESS:
                raise


def _waiting_card(approval: Approval, mask: Callable[[str], SafeText]) -> Card:
    """What is answered to a message that has to wait for a question."""
    return Card(
        CardKind.NOTICE,
        mask(f"Waiting for #{approval.id} above; your message is next."),
        mask(""),
        (),
        (Choice(f"🚫 Deny #{approval.id} and go on", ChoiceAction.DENY, approval.token),),
        silent=True,
    )

"""The buttons: each press is acted on once, at once, and answered with its effect."""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mtbot.approvals.cut_off import MARK
from mtbot.approvals.desk import Desk
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotAllowed, NotWrittenYet, StateError, StorageError
from mtbot.domain.grant import MINUTE_MS
from mtbot.domain.ports import Clock, Consents
from mtbot.domain.record import Approval, ApprovalState, ChoiceAction, Ruling, Via
from mtbot.domain.trash import Undo
from mtbot.domain.turn import Address, Inbound, InboundKind, SourceRef, surface
from mtbot.gateway import grants
from mtbot.gateway.answers import Answers
from mtbot.gateway.commands import NOT_WRITTEN_YET, Commands
from mtbot.gateway.lanes import Lanes, Offered
from mtbot.gateway.outputs import OutputDesk


class Presses:
    """Acts on presses, and rules on what a person answered in words.

    ``on_notice`` acts on a button of a cut-off notice and says what it did; ``turn_of`` knows where the turn is that a Stop
    button belongs to; ``kept_off`` why a presser may begin no turn now.
    """

    def __init__(
        self, desk: Desk, lanes: Lanes, commands: Commands, consents: Consents, answers: Answers, back: Undo
    ) -> None:
        self._desk = desk
        self._lanes = lanes
        self._commands = commands
        self._consents = consents
        self._answers = answers
        self._back = back
        self.outputs: OutputDesk | None = None
        self.turn_of: Callable[[str], Address | None] = lambda _token: None
        self.kept_off: Callable[[Inbound], str | None] = lambda _inbound: None
        self.on_notice: Callable[[Inbound, str, str], Awaitable[str]] = _no_notice

    async def press(self, inbound: Inbound) -> None:
        """Do what the button says. Never raises for a database that cannot be read or written."""
        word, _, token = inbound.press_token.partition(".")
        if word == ChoiceAction.STOP:
            await self._stop(inbound, token)
            return
        if token.startswith(MARK):
            await self._answers.note(inbound, await self.on_notice(inbound, word, token))
            return
        try:
            approval = await self._consents.by_token(token)
        except NoSuchApproval:
            await self._answers.note(inbound, "This button belongs to nothing that I know. Nothing ran.")
            return
        except StorageError:
            await self._answers.note(inbound, "The database cannot be read, so nothing can be approved now.")
            return
        if not approval.concerns(inbound.address):
            await self._answers.note(inbound, "This button belongs to another chat.")
            return
        if word == ChoiceAction.REVOKE:
            # pressed in a list, so nothing is learnt of the question's own message
            said = await grants.revoke(self._desk.grants, self._consents, self._answers.clock, inbound, approval.id)
            await self._answers.note(inbound, said)
            return
        if approval.message is None and inbound.ref.message is not None and approval.place == inbound.address:
            # the question had arrived although nobody could tell: now its buttons can be taken away
            with contextlib.suppress(StorageError):
                await self._consents.shown(approval.id, inbound.ref.message)
        if word == ChoiceAction.APPROVE:
            await self.rule(inbound, approval, ApprovalState.APPROVED, Via.BUTTON, "")
        elif word == ChoiceAction.GRANT:
            # a button that no question showed is told that it cannot
            lasts = approval.offer.ms if approval.offer else MINUTE_MS
            await self.rule(inbound, approval, ApprovalState.APPROVED, Via.BUTTON, "", lasts)
        elif word == ChoiceAction.DENY:
            await self.rule(inbound, approval, ApprovalState.DENIED, Via.BUTTON, "")
        elif word == ChoiceAction.ASK_AGAIN:
            await self._ask_again(inbound, approval)
        elif word == ChoiceAction.UNDO:
            await self._undo(inbound, approval)
        elif word == ChoiceAction.OUTPUT and self.outputs is not None:
            await self._send_output(inbound, approval, self.outputs)
        else:
            await self._answers.note(inbound, "This button does nothing any more.")

    async def _stop(self, inbound: Inbound, token: str) -> None:
        """The Stop button of a status message: /stop, as long as that turn is worked on."""
        place, command = self.turn_of(token), self._commands.find("stop")
        if place is None or command is None:
            await self._answers.note(inbound, "That is over already.")
            return
        wanted = replace(inbound, address=place, kind=InboundKind.COMMAND, command="stop", ref=SourceRef())
        if not self._answers.admits(wanted):
            await self._answers.note(inbound, "You are not on the list of this chat.")
            return
        said = await command.run(wanted)
        await self._answers.say(wanted, said)
        await self._answers.note(inbound, "Stopped.")

    async def rule(
        self, inbound: Inbound, approval: Approval, state: ApprovalState, via: Via, reason: str, lasts_ms: int = 0
    ) -> None:
        """Rule on a request, for ``lasts_ms`` if not for this once, and tell the person what became of it."""
        ruling = Ruling(state, inbound.sender, via, self._answers.clock.now_ms(), reason, lasts_ms)
        try:
            ruled = await self._desk.decide(approval.id, ruling)
        except AlreadyDecided as lost:
            at = self._answers.clock.clock_text(lost.at_ms)
            what = "expired, nothing ran" if lost.state == ApprovalState.EXPIRED else f"{lost.state} by {lost.decider}"
            self._lanes.resume(approval.address.session, approval.id)
            await self._answers.answer(inbound, f"Already {what} {at}.")
        except NotAllowed as refused:
            await self._answers.answer(inbound, refused.message)
        except NotWrittenYet:
            await self._answers.answer(inbound, NOT_WRITTEN_YET)
        except StorageError as error:
            await self._answers.answer(
                inbound, f"That could not be written down, so it does not count: {error.message}"
            )
        else:
            # the lane first: a slow answer to the button must not hold up what was decided
            self._lanes.resume(approval.address.session, approval.id)
            said = "Denied." if state is ApprovalState.DENIED else _yes(ruled, self._answers.clock)
            await self._answers.note(inbound, said)

    async def _ask_again(self, inbound: Inbound, approval: Approval) -> None:
        again = replace(
            inbound,
            address=approval.address,
            kind=InboundKind.TEXT,
            text=f"(The request #{approval.id} expired before anybody answered. Please propose the same call again.)",
            ref=replace(inbound.ref, update=None),
            addressed=True,
        )
        mine = surface(approval.address.surface).attended and self._answers.admits(again)
        if approval.state is not ApprovalState.EXPIRED or not mine:
            await self._answers.note(inbound, "This button does nothing any more.")
            return
        kept_off = self.kept_off(again)
        if kept_off is not None:
            await self._answers.note(inbound, kept_off)
            return
        offered = self._lanes.offer(approval.address.session, again)
        taken = offered in (Offered.STARTED, Offered.QUEUED, Offered.KEPT)
        await self._answers.note(
            inbound, "Asking again." if taken else "I am still working on earlier messages; try again."
        )

    async def _send_output(self, inbound: Inbound, approval: Approval, outputs: OutputDesk) -> None:
        try:
            said = await outputs.send(approval.call, inbound.address, inbound.ref.message)
        except StorageError as error:
            said = f"That cannot be sent now: {error.message}"
        await self._answers.note(inbound, said or "Coming as a file.")

    async def _undo(self, inbound: Inbound, approval: Approval) -> None:
        try:
            self._desk.check_undo(approval, inbound.sender)
            await self._back.undo(approval, inbound.sender, Via.BUTTON)
        except (NotAllowed, StateError) as refused:
            await self._answers.note(inbound, str(self._answers.masker.mask(refused.message)))
        else:
            await self._answers.note(inbound, "Restored.")
            await self._desk.undone(approval, inbound.sender)


async def _no_notice(_inbound: Inbound, _word: str, _token: str) -> str:
    return "This button does nothing any more."


def _yes(ruled: Approval, clock: Clock) -> str:
    ruling = ruled.ruling
    if ruling is None or not ruling.lasts_ms:
        return "Approved."
    until = clock.clock_text(ruling.at_ms + ruling.lasts_ms)
    return f"Approved until {until}: exactly this, in this chat, for who asked. /grants takes it back."

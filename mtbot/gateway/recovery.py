"""What a start finds left over, and what a running gateway has to notice by itself: lapses and rulings made elsewhere.

Nothing that may have run is run again. What was cut off is written down as interrupted and told to its chat.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from mtbot.approvals.desk import Desk
from mtbot.domain.errors import ConsentError, MtclawError
from mtbot.domain.ids import ApprovalId, BotName, SessionId, ThreadId, TurnId
from mtbot.domain.ports import AuditLog, Clock, Consents, CrashLog, History, Inbox, Masker, Outbox, TurnFlush
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    AuditEvent,
    Card,
    CardKind,
    EventKind,
    InboxRow,
    OutboxItem,
    OutboxRow,
    OutKind,
    Ruling,
    Via,
)
from mtbot.domain.turn import SYSTEM, Address, Message, Role, SurfaceName, Usage
from mtbot.gateway.lanes import Lanes

LOOK_SECONDS = 5.0
"""How often rulings that another process made are looked for."""

CUT_OFF = "Cut off: I am back. This was running; how it ended is unknown, and I have not run it again:"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Where a crash leaves traces."""

    log: AuditLog
    crashes: CrashLog
    consents: Consents
    inbox: Inbox
    outbox: Outbox
    history: History


@dataclass(frozen=True, slots=True)
class Swept:
    """What the start found: messages that nobody has acted on yet, oldest first."""

    again: tuple[InboxRow, ...]
    interrupted: int
    cut: int


class Recovery:
    """Sweeps at start and watches afterwards.

    ``serves`` says which places are this process's own: a turn of another one is never taken up. ``unsure`` deals with
    what a dead process was sending.
    """

    def __init__(self, left: Leftovers, desk: Desk, lanes: Lanes, clock: Clock, masker: Masker) -> None:
        self._left = left
        self._desk = desk
        self._lanes = lanes
        self._clock = clock
        self._masker = masker
        self.wake: Callable[[], None] = lambda: None
        self.serves: Callable[[Address], bool] = lambda _address: True
        self.unsure: Callable[[Sequence[OutboxRow]], Awaitable[None]] = _leave

    async def sweep(self, bots: tuple[BotName, ...], address_of: Callable[[InboxRow], Address | None]) -> Swept:
        """Bring the state of a dead process to rest; the returned rows are to be taken in again."""
        pending = [one for one in await self._left.consents.pending() if self.serves(one.address)]
        interrupted = await self._interrupted(pending)
        asked = await self._asked_for(pending)
        again: list[InboxRow] = []
        cut = 0
        for bot in bots:
            for row in await self._left.inbox.waiting(bot):
                if not row.taken:
                    again.append(row)
                    continue
                await self._left.inbox.done(row.bot, row.update)
                address = address_of(row)
                if address is None or (row.bot, row.update) in asked or address.session in interrupted:
                    continue
                cut += 1
                text = "I was cut off while I worked on your last message. Nothing is repeated by itself; ask again."
                await self._tell(OutboxItem(OutKind.NOTICE, address, text=self._masker.mask(text)))
        for approval in pending:
            self._lanes.rest(approval.address.session, approval.id)
        await self.unsure(await self._left.outbox.ambiguous())
        await self.look()
        return Swept(tuple(again), len(interrupted), cut)

    async def _asked_for(self, pending: Sequence[Approval]) -> set[tuple[BotName, int | None]]:
        """The messages whose turns wait for an answer, so that nothing of them was cut off."""
        found: set[tuple[BotName, int | None]] = set()
        for approval in pending:
            try:
                state = await self._left.consents.parked(approval.turn)
            except MtclawError as error:
                _log.error("recovery.unreadable_turn", approval=approval.id, code=error.code, error=str(error))
                continue
            if state is not None:
                found.add((state.address.bot, state.ref.update))
        return found

    async def _interrupted(self, pending: Sequence[Approval]) -> set[SessionId]:
        """Write down what was running, tell its chat, and leave a note for the session's next turn; their sessions."""
        sessions = set()
        for event in await self._left.crashes.unfinished():
            draft = replace(
                event.draft,
                kind=EventKind.INTERRUPTED,
                at_ms=self._clock.now_ms(),
                reason="the process that ran it is gone; how it ended is unknown",
                detail=f"started={event.seq}",
            )
            await self._left.log.append(draft)
            sessions.add(event.draft.session)
            address = address_of_event(event)
            if address is not None:
                card = self._cut_off_card(event, [one for one in pending if one.address.session == address.session])
                await self._leave_note(event, address, OutboxItem(OutKind.NOTICE, address, card=card))
        return sessions

    async def _leave_note(self, event: AuditEvent, address: Address, item: OutboxItem) -> None:
        """The turn's own entries are gone with its process: the model is told what the person is told."""
        mask = self._masker.mask
        said = (
            f"{CUT_OFF}\n{event.draft.command}\n(started {self._clock.clock_text(event.draft.at_ms)}; "
            "do not run it again unless the person asks for it)"
        )
        entries = (
            Message(Role.USER, "(A message of mine was being worked on when the process of the bot ended.)"),
            Message(Role.ASSISTANT, str(mask(said))),
        )
        turn = TurnId(f"interrupted-{event.seq}")
        await self._left.history.flush(TurnFlush(turn, address, entries, Usage(), (item,)), self._clock.now_ms())
        self.wake()

    def _cut_off_card(self, event: AuditEvent, still_open: Sequence[Approval]) -> Card:
        mask = self._masker.mask
        lines = [f"Started {self._clock.clock_text(event.draft.at_ms)}"]
        if event.draft.approval is not None:
            lines[0] += f" · approved as #{event.draft.approval}"
        for approval in still_open:
            until = self._clock.clock_text(approval.expires_ms)
            lines.append(f"Still open from before: #{approval.id} (until {until}). Its buttons work.")
        return Card(CardKind.NOTICE, mask(CUT_OFF), mask(event.draft.command), tuple(map(mask, lines)))

    async def look(self) -> None:
        """Let what is due lapse, and go on with every turn of ours that was ruled on (also by another process)."""
        await self._desk.lapse_due()
        for approval in await self._left.consents.resumable():
            if self.serves(approval.address):
                self._lanes.resume(approval.address.session, approval.id)

    async def unasked(self, approval: ApprovalId, why: str) -> None:
        """A question that nobody will see: close it, so that its turn goes on without it."""
        ruling = Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, self._clock.now_ms(), f"no_approver: {why}")
        try:
            row = await self._desk.decide(approval, ruling)
        except ConsentError:
            return
        self._lanes.resume(row.address.session, row.id)

    async def watch(self) -> None:
        """Look again and again: every five seconds, and when the next question lapses."""
        while True:
            try:
                await self.look()
                wait = await self._until_next()
            except MtclawError as error:
                _log.error("recovery.look_failed", error=str(error))
                wait = LOOK_SECONDS
            await asyncio.sleep(wait)

    async def _until_next(self) -> float:
        now = self._clock.now_ms()
        due = [approval.expires_ms for approval in await self._left.consents.pending()]
        return min(LOOK_SECONDS, max(0.05, (min(due) - now) / 1000)) if due else LOOK_SECONDS

    async def _tell(self, item: OutboxItem) -> None:
        await self._left.outbox.put(item, now_ms=self._clock.now_ms())
        self.wake()


async def _leave(_rows: Sequence[OutboxRow]) -> None:
    return


def address_of_event(event: AuditEvent) -> Address | None:
    """The chat that an event belongs to; None for terminal and cron sessions."""
    draft = event.draft
    if not str(draft.session).startswith("telegram:"):
        return None
    kind = SurfaceName.PRIVATE if draft.chat > 0 else SurfaceName.GROUP
    return Address(kind, draft.bot, draft.chat, ThreadId(draft.thread) if draft.thread else None)

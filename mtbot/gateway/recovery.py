"""What a start finds left over, and what a running gateway has to notice by itself: lapses and rulings made elsewhere.

Nothing that may have run is run again. What was cut off is written down as interrupted and told to its chat.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from mtbot.approvals.desk import Desk
from mtbot.domain.errors import MtclawError
from mtbot.domain.ids import BotName, ThreadId
from mtbot.domain.ports import AuditLog, Clock, Consents, CrashLog, Inbox, Masker, Outbox
from mtbot.domain.record import AuditEvent, Card, CardKind, EventKind, InboxRow, OutboxItem, OutKind
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway.lanes import Lanes

LOOK_SECONDS = 5.0
"""How often rulings that another process made are looked for."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Where a crash leaves traces."""

    log: AuditLog
    crashes: CrashLog
    consents: Consents
    inbox: Inbox
    outbox: Outbox


@dataclass(frozen=True, slots=True)
class Swept:
    """What the start found: messages that nobody has acted on yet, oldest first."""

    again: tuple[InboxRow, ...]
    interrupted: int
    cut: int


class Recovery:
    """Sweeps at start and watches afterwards."""

    def __init__(self, left: Leftovers, desk: Desk, lanes: Lanes, clock: Clock, masker: Masker) -> None:
        self._left = left
        self._desk = desk
        self._lanes = lanes
        self._clock = clock
        self._masker = masker
        self.wake: Callable[[], None] = lambda: None

    async def sweep(self, bots: tuple[BotName, ...], address_of: Callable[[InboxRow], Address | None]) -> Swept:
        """Bring the state of a dead process to rest; the returned rows are to be taken in again."""
        interrupted = await self._interrupted()
        again: list[InboxRow] = []
        cut = 0
        for bot in bots:
            for row in await self._left.inbox.waiting(bot):
                if not row.taken:
                    again.append(row)
                    continue
                await self._left.inbox.done(row.bot, row.update)
                address = address_of(row)
                if address is not None:
                    cut += 1
                    text = (
                        "I was cut off while I worked on your last message. Nothing is repeated by itself; ask again."
                    )
                    await self._tell(OutboxItem(OutKind.NOTICE, address, text=self._masker.mask(text)))
        for approval in await self._left.consents.pending():
            self._lanes.rest(approval.address.session, approval.id)
        await self.look()
        return Swept(tuple(again), interrupted, cut)

    async def _interrupted(self) -> int:
        events = await self._left.crashes.unfinished()
        for event in events:
            draft = replace(
                event.draft,
                kind=EventKind.INTERRUPTED,
                at_ms=self._clock.now_ms(),
                reason="the process that ran it is gone; how it ended is unknown",
                detail=f"started={event.seq}",
            )
            await self._left.log.append(draft)
            address = address_of_event(event)
            if address is not None:
                await self._tell(OutboxItem(OutKind.NOTICE, address, card=self._cut_off_card(event)))
        return len(events)

    def _cut_off_card(self, event: AuditEvent) -> Card:
        mask = self._masker.mask
        at = self._clock.clock_text(event.draft.at_ms)
        return Card(
            CardKind.NOTICE,
            mask("Cut off: I am back. This was running; how it ended is unknown, and I have not run it again:"),
            mask(event.draft.command),
            (mask(f"started {at}"),),
        )

    async def look(self) -> None:
        """Let what is due lapse, and go on with every turn that was ruled on (also by another process)."""
        for approval in await self._desk.lapse_due():
            self._lanes.resume(approval.address.session, approval.id)
        for approval in await self._left.consents.resumable():
            self._lanes.resume(approval.address.session, approval.id)

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


def address_of_event(event: AuditEvent) -> Address | None:
    """The chat that an event belongs to; None for terminal and cron sessions."""
    draft = event.draft
    if not str(draft.session).startswith("telegram:"):
        return None
    kind = SurfaceName.PRIVATE if draft.chat > 0 else SurfaceName.GROUP
    return Address(kind, draft.bot, draft.chat, ThreadId(draft.thread) if draft.thread else None)

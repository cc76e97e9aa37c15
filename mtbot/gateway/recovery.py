"""What a start finds left over, and what a running gateway has to notice by itself: lapses and rulings made elsewhere.

Nothing that may have run is run again. What was cut off is written down as interrupted and told to its chat.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from mtbot.approvals.cut_off import CutOffCards
from mtbot.approvals.desk import Desk
from mtbot.domain.crash import CrashLog
from mtbot.domain.errors import ConsentError, MtclawError, NoSuchApproval
from mtbot.domain.host_run import HostRuns
from mtbot.domain.ids import ApprovalId, BotName, SessionId, ThreadId, TurnId
from mtbot.domain.ports import AuditLog, Clock, Consents, History, Inbox, Masker, Outbox, TurnFlush
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    AuditEvent,
    EventKind,
    InboxRow,
    OutboxItem,
    OutboxRow,
    OutKind,
    Ruling,
    Via,
)
from mtbot.domain.turn import SYSTEM, Address, Inbound, Message, Role, SurfaceName, Usage
from mtbot.gateway.lanes import Lanes

LOOK_SECONDS = 5.0
"""How often rulings that another process made are looked for."""

MAX_RAN = 12
"""So many of the calls that ran by rule are named in a notice."""

MAX_LINE = 200

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
    host_runs: HostRuns


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

    def __init__(
        self, left: Leftovers, desk: Desk, lanes: Lanes, cards: CutOffCards, clock: Clock, masker: Masker
    ) -> None:
        self._left = left
        self._desk = desk
        self._lanes = lanes
        self._cards = cards
        self._clock = clock
        self._masker = masker
        self.wake: Callable[[], None] = lambda: None
        self.serves: Callable[[Address], bool] = lambda _address: True
        self.unsure: Callable[[Sequence[OutboxRow]], Awaitable[None]] = _leave

    async def sweep(self, bots: tuple[BotName, ...], inbound_of: Callable[[InboxRow], Inbound | None]) -> Swept:
        """Bring the state of a dead process to rest; the returned rows are to be taken in again."""
        pending = [one for one in await self._left.consents.pending() if self.serves(one.address)]
        interrupted = await self.report()
        asked = await self._asked_for(pending)
        again: list[InboxRow] = []
        cut = 0
        for bot in bots:
            for row in await self._left.inbox.waiting(bot):
                if not row.taken:
                    again.append(row)
                    continue
                await self._left.inbox.done(row.bot, row.update)
                inbound = inbound_of(row)
                if inbound is None or (row.bot, row.update) in asked or inbound.address.session in interrupted:
                    continue
                cut += 1
                await self._tell_cut_turn(inbound)
        at_host = [one.approval for one in await self._left.host_runs.running() if self.serves(one.approval.address)]
        for approval in (*pending, *at_host):
            self._lanes.rest(approval.address.session, approval.id)
        await self.unsure(await self._left.outbox.ambiguous())
        await self.look()
        return Swept(tuple(again), len(interrupted), cut)

    async def _tell_cut_turn(self, inbound: Inbound) -> None:
        """A turn that was cut while nothing ran, and what had run for it."""
        text = "I was cut off while I worked on your last message. Nothing is repeated by itself; ask again."
        ran = await self._ran(inbound.address.session, inbound.ref.message)
        if ran:
            text += f"\nRan by rule: {', '.join(ran)}"
        said = self._masker.mask(text)
        item = OutboxItem(OutKind.NOTICE, inbound.address, text=said, quote=inbound.ref.message)
        entries = (
            Message(Role.USER, str(self._masker.mask(inbound.text or "(edited)"))),
            Message(Role.ASSISTANT, str(said)),
        )
        turn = TurnId(f"cut-{inbound.address.bot}-{inbound.ref.update}")
        flush = TurnFlush(turn, inbound.address, entries, Usage(), (item,))
        await self._left.history.flush(flush, self._clock.now_ms())
        self.wake()

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
                found.update((state.address.bot, update) for update in state.ref.updates)
        return found

    async def report(self) -> set[SessionId]:
        """Write down what was running, tell its chat, and leave a note for the session's next turn; their sessions.

        The same for what had ended while its turn was never finished. Safe beside live processes: only what a dead one
        left is touched.
        """
        pending = await self._left.consents.pending()
        sessions, known = set(), set()
        for started in await self._left.crashes.unfinished():
            draft = replace(
                started.draft,
                kind=EventKind.INTERRUPTED,
                at_ms=self._clock.now_ms(),
                reason="the process that ran it is gone; how it ended is unknown",
                detail=f"started={started.seq}",
            )
            await self._left.log.append(draft)
            known.add(started.seq)
            sessions.add(await self._tell_cut_off(started, None, pending))
        for started, end in await self._left.crashes.cut_short():
            if started.seq not in known:
                unknown = end.draft.kind is EventKind.INTERRUPTED
                sessions.add(await self._tell_cut_off(started, None if unknown else end, pending))
        return sessions

    async def _tell_cut_off(
        self, started: AuditEvent, end: AuditEvent | None, pending: Sequence[Approval]
    ) -> SessionId:
        """One notice and one note, in one transaction that also closes the turn."""
        address = address_of_event(started)
        proposed = (await self._left.crashes.trail_of(started.draft.call))[0]
        ran = await self._ran(address.session, proposed.draft.message, started)
        place = self._cards.place(address, started)
        items: tuple[OutboxItem, ...] = ()
        if place is not None:
            still_open = [one for one in pending if one.address.session == address.session]
            items = (OutboxItem(OutKind.NOTICE, place, card=self._cards.notice(started, end, ran, still_open)),)
        turn = TurnId(f"interrupted-{started.seq}")
        if started.draft.approval is not None:
            with contextlib.suppress(NoSuchApproval):
                turn = (await self._left.consents.get(started.draft.approval)).turn
        flush = TurnFlush(turn, address, self._cards.note(started, end, ran), Usage(), items)
        await self._left.history.flush(flush, self._clock.now_ms())
        self.wake()
        return address.session

    async def _ran(self, session: SessionId, message: int | None, but: AuditEvent | None = None) -> tuple[str, ...]:
        """What ran by rule for that message, one short line each, so that nothing of it stays unseen."""
        if message is None:
            return ()
        events = await self._left.crashes.ran_for(session, message)
        lines = [
            " ".join(event.draft.command.split()) if event.draft.tool == "exec" else event.draft.tool
            for event in events
            if event.draft.approval is None and (but is None or event.draft.call != but.draft.call)
        ]
        return tuple(line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…" for line in lines[:MAX_RAN])

    async def look(self) -> None:
        """Let what is due lapse, and go on with every turn of ours that was ruled on (also by another process)."""
        await self._desk.write_owed()
        await self._desk.lapse_due()
        await self._free_cut_off()
        await self._free_removed()
        for approval in await self._left.consents.resumable():
            if self.serves(approval.address):
                self._lanes.resume(approval.address.session, approval.id)

    async def _free_cut_off(self) -> None:
        """A call that was run at the host by a process that is gone: told like any other, and its lane is free again."""
        dead = [one.approval for one in await self._left.host_runs.running() if one.dead]
        if any(self.serves(approval.address) for approval in dead):
            await self.report()
            for approval in dead:
                self._lanes.resume(approval.address.session, approval.id)

    async def _free_removed(self) -> None:
        """A request that is gone because its conversation was removed by another process: its lane waits for nothing."""
        for session, approval in self._lanes.rests():
            try:
                await self._left.consents.get(approval)
            except NoSuchApproval:
                self._lanes.free(session, approval)

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
        due = await self._left.consents.next_due()
        return LOOK_SECONDS if due is None else min(LOOK_SECONDS, max(0.05, (due - now) / 1000))


async def _leave(_rows: Sequence[OutboxRow]) -> None:
    return


def address_of_event(event: AuditEvent) -> Address:
    """The place that an event belongs to."""
    draft = event.draft
    kind, _, label = str(draft.session).partition(":")
    if kind == "cli":
        return Address(SurfaceName.TERMINAL, draft.bot, draft.chat, label=label)
    if kind == "cron":
        return Address(SurfaceName.CRON, draft.bot, draft.chat, label=label)
    surface = SurfaceName.PRIVATE if draft.chat > 0 else SurfaceName.GROUP
    return Address(surface, draft.bot, draft.chat, ThreadId(draft.thread) if draft.thread else None)

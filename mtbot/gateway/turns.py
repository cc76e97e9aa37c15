"""One step of a turn: load, advance, then park or write everything down in one transaction and hand it to the outbox.

Whatever happens in between (an answer, a question, a stop, a fault), the session that is left is well formed and the
person hears of it.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from mtbot.agent.loop import Agent, close_open_calls
from mtbot.domain.again import KeptCalls
from mtbot.domain.errors import MtclawError, NoSuchApproval, StorageError
from mtbot.domain.host_run import HostRuns, Ran
from mtbot.domain.ids import BotName, SessionId
from mtbot.domain.jobs import JobEnd, RunEnd
from mtbot.domain.live import Live, Unwatched
from mtbot.domain.memory import Memories, from_outside
from mtbot.domain.ports import Clock, Consents, History, Inbox, Leases, Masker, Names, Signs, TurnFlush
from mtbot.domain.record import Approval, ApprovalState, CronStatus, OutboxItem, OutKind, Ruling, Via
from mtbot.domain.turn import (
    Actor,
    Address,
    Failed,
    Inbound,
    Message,
    Parked,
    Reply,
    Role,
    TurnEnd,
    TurnState,
    Usage,
)
from mtbot.gateway.again import NOT_KEPT, repeating
from mtbot.gateway.jobs import Finished, JobDesk, NoJobs
from mtbot.gateway.lanes import Item, Rest, Resume
from mtbot.gateway.leases import Leasing
from mtbot.gateway.leaving import items_of
from mtbot.gateway.memory import MemoryFrame, Recall
from mtbot.redaction.display import display
from mtbot.redaction.structured import masked_message

STOPPED = "(stopped by the person)"
SHUT_DOWN = "I was shut down in the middle of this. What had run is above; ask again if it is still wanted."
CANCELED = "canceled"
"""The reason of a request whose asker went away: there is nobody to tell."""

_log = structlog.get_logger()
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TurnStores:
    """Where turns come from and where they are written."""

    history: History
    consents: Consents
    leases: Leases
    inbox: Inbox
    host_runs: HostRuns
    memories: Memories
    kept: KeptCalls


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """What surrounds every turn: time, names, masking, signs of life, who holds leases, how much history counts.

    ``attended`` says whether somebody can be asked at a place, ``listed`` whether a person is still on its list.
    """

    clock: Clock
    names: Names
    masker: Masker
    signs: Signs
    holder: str
    history_turns: Callable[[SessionId], int]
    attended: Callable[[Address], bool]
    live: Live = Unwatched()
    listed: Callable[[Actor, Address], bool] = lambda _actor, _address: True


class Turns:
    """Does steps. ``wake`` is called after something was queued to be said, ``asked_again`` when a turn comes to rest."""

    def __init__(self, agent: Agent, stores: TurnStores, frame: TurnFrame) -> None:
        self._agent = agent
        self._stores = stores
        self._frame = frame
        self._watchers: dict[SessionId, Callable[[Finished], None]] = {}
        self._working: dict[SessionId, list[TurnState]] = {}
        around = MemoryFrame(frame.clock, frame.masker, frame.live, frame.listed)
        self._recall = Recall(agent, stores.history, stores.memories, around, frame.history_turns)
        self._recall.wake = lambda: self.wake()  # noqa: PLW0108 - it is set later
        self.leasing = Leasing(stores.leases, frame.holder, frame.clock)
        self.wake: Callable[[], None] = lambda: None
        self.jobs: JobDesk = NoJobs()
        self.asked_again: Callable[[TurnState], None] = lambda _state: None
        self.closing = False

    def watch(self, session: SessionId, watcher: Callable[[Finished], None]) -> None:
        """Have ``watcher`` called once with the end of the session's next turn."""
        self._watchers[session] = watcher

    def forget(self, inbound: Inbound) -> None:
        """That message was dropped before a turn began with it: whoever waits for the turn's end is told."""
        self._finished(self._fresh(inbound), "", "dropped")

    def doing(self, session: SessionId) -> str:
        """The call that the session's turn is at, in one masked line; empty when it is at none."""
        kept = self._working.get(session)
        return _call_line(kept[-1], self._frame.masker) if kept else ""

    def at_work(self) -> tuple[tuple[SessionId, str], ...]:
        """Every session whose turn is being worked on, and what it is at (``doing``)."""
        return tuple((session, self.doing(session)) for session in self._working)

    async def step(self, session: SessionId, item: Item) -> Rest | None:
        """Do one item of a lane. Never raises: a fault of ours becomes a sentence, a log line and a closed turn."""
        kept: list[TurnState] = []
        renewer: asyncio.Task[None] | None = None
        self._working[session] = kept
        try:
            if not await self.leasing.take(session):
                return await self._busy(item)
            renewer = asyncio.create_task(self.leasing.renew(session))
            if isinstance(item, Resume):
                return await self._resume(item, kept)
            return await self._begin(item, kept)
        except asyncio.CancelledError:
            try:
                return await _whole(self._cut_off(kept, item))
            except MtclawError as error:
                _log.error("turn.not_cut_off", session=session, code=error.code, error=str(error))
                return None
        except MtclawError as error:
            _log.error("turn.failed", session=session, code=error.code, error=str(error))
            told = f"That did not work: {self._frame.masker.mask(error.message)}"
            return await _whole(self._broken(kept, item, told, passing=isinstance(error, StorageError)))
        # The last line of a lane: whatever it is, the session must live and the person must hear of it.
        except Exception:  # noqa: BLE001  the session must live
            _log.exception("turn.crashed", session=session)
            told = "Something went wrong inside me. The owner finds it in the log."
            return await _whole(self._broken(kept, item, told))
        finally:
            self._working.pop(session, None)
            if renewer is not None:
                renewer.cancel()
            await _whole(self.leasing.give_back(session))

    def _fresh(self, inbound: Inbound) -> TurnState:
        """A turn that begins with ``inbound``."""
        return TurnState(
            id=self._frame.names.turn(),
            address=inbound.address,
            requester=inbound.sender,
            ref=inbound.ref,
            messages=(Message(Role.USER, inbound.text),),
        )

    async def _begin(self, inbound: Inbound, kept: list[TurnState]) -> Rest | None:
        frame, state = self._frame, self._fresh(inbound)
        kept.append(state)
        await self._take(inbound)
        frame.signs.working(state.address)
        try:
            state, past = await self._recall.begin(state)
            # what came from outside in an earlier turn is still before the model's eyes
            state = replace(state, tainted=any(map(from_outside, (*past.notes, *past.history, *state.messages))))
            kept.append(state)
            if inbound.repeats is not None:
                standing = await self._stores.kept.standing(inbound.repeats)
                again = repeating(state, standing, inbound.repeats, frame.names)
                if again is None:
                    return await self._last_words(state.say(Message(Role.ASSISTANT, NOT_KEPT)), NOT_KEPT, "not_kept")
                kept.append(state := again)
            return await self._settle(await self._agent.advance(state, past, kept.append))
        finally:
            frame.signs.resting(state.address)

    async def _resume(self, item: Resume, kept: list[TurnState]) -> Rest | None:
        frame = self._frame
        try:
            approval = await self._stores.consents.get(item.approval)
        except NoSuchApproval:
            return None
        ran = await _ran_at_host(self._stores.host_runs, item, kept)
        state = await self._stores.consents.parked(approval.turn) if ran is None else ran.state
        if state is None or (ran is None and not await self._is_unused(item)):
            return await self._open_question(approval.address.session)
        kept.append(state)
        if item.stopped and approval.ruling is not None:
            # the yes was not acted on yet, and whoever stops the turn takes it back
            approval = replace(approval, state=ApprovalState.DENIED, ruling=_taken_back(approval.ruling))
        if state.address.job:
            self.jobs.resumed(state)
        past = await self._recall.past(state.address)
        # while it waited, a job may have ended and left what it read before the model's eyes
        state = replace(state, tainted=state.tainted or any(map(from_outside, (*past.notes, *past.history))))
        kept.append(state)
        frame.signs.working(state.address)
        try:
            outcome = None if ran is None else ran.outcome
            end = await self._agent.resume(state, approval, past, kept.append, outcome)
            return await self._settle(end, approval)
        finally:
            frame.signs.resting(state.address)

    async def _is_unused(self, item: Resume) -> bool:
        """Whether a parked turn waits for this very request, and it is ruled on: a late second call finds neither."""
        return any(one.id == item.approval for one in await self._stores.consents.resumable())

    async def _open_question(self, session: SessionId) -> Rest | None:
        """What the session's lane has to rest on, by the store and not by memory."""
        pending = await self._stores.consents.pending(session)
        return Rest(pending[0].id) if pending else None

    async def _settle(self, end: TurnEnd, approval: Approval | None = None) -> Rest | None:
        self.asked_again(end.state)
        if isinstance(end, Parked):
            # the question is there already: whoever cuts the turn now finds it open
            await _whole(self._done(end.state))
            if end.state.address.job:
                self.jobs.parked(end.state, end.approval)
            return Rest(end.approval)
        if isinstance(end, Failed):
            state = end.state.say(Message(Role.ASSISTANT, end.text))
            await self._flush(state, end.text, end.code)
            return None
        assert isinstance(end, Reply)
        silent = approval is not None and approval.ruling is not None and approval.ruling.reason == CANCELED
        await self._flush(end.state, end.text, "", silent=silent)
        return None

    async def _cut_off(self, kept: list[TurnState], item: Item) -> Rest | None:
        """A turn that was cancelled: by /stop (whose answer tells the person) or because the gateway stops."""
        if isinstance(item, Resume) and (self.closing or not kept) and await self._is_unused(item):
            # nothing of the ruling was acted on: the next start does, or, after a stop, nobody
            if kept and kept[-1].address.job:
                self.jobs.parked(kept[-1], item.approval)
            return Rest(item.approval) if self.closing else await self._resume(replace(item, stopped=True), kept)
        if not kept:
            if isinstance(item, Resume):
                return None
            if self.closing:
                # its row is open, so the next start takes the message up
                self.forget(item)
                return None
            kept = [self._fresh(item)]
        text = SHUT_DOWN if self.closing else ""
        state = close_open_calls(kept[-1]).say(Message(Role.ASSISTANT, text or STOPPED))
        return await self._last_words(state, text, "shutdown" if self.closing else "stopped")

    async def _broken(self, kept: list[TurnState], item: Item, text: str, *, passing: bool = False) -> Rest | None:
        """A turn that failed inside: write down what there is; if even that fails, the log has it.

        ``passing``: the database may come back, and a ruling that was not acted on is tried again then.
        """
        if not kept and isinstance(item, Resume):
            if passing:
                return Rest(item.approval)
            return await self._give_up(item, text)
        state = kept[-1] if kept else self._fresh(item) if isinstance(item, Inbound) else None
        assert state is not None
        return await self._last_words(close_open_calls(state).say(Message(Role.ASSISTANT, text)), text, "internal")

    async def _give_up(self, item: Resume, text: str) -> Rest | None:
        """A parked turn that cannot be read any more: close it, and say so where it was."""
        with contextlib.suppress(MtclawError):
            approval = await self._stores.consents.get(item.approval)
            reply = OutboxItem(OutKind.REPLY, approval.place, text=self._frame.masker.mask(text))
            run = RunEnd(approval.address.session, CronStatus.ERROR, str(reply.text)) if approval.address.job else None
            lost = TurnFlush(approval.turn, approval.address, (), Usage(), (reply,), run=run)
            await self._stores.history.flush(lost, self._frame.clock.now_ms())
            self.wake()
        return None

    async def _last_words(self, state: TurnState, text: str, code: str) -> Rest | None:
        self.asked_again(state)
        try:
            await self._flush(state, text, code)
        except MtclawError as error:
            _log.error("turn.not_written", session=state.session, code=error.code, error=str(error))
            self._finished(state, text, code)
        return None

    async def _busy(self, item: Item) -> Rest | None:
        """Another process works in this session and did not finish in time."""
        if isinstance(item, Inbound):
            state = replace(self._fresh(item), messages=())
            await self._flush(state, "This conversation is in use by another process. Please try again.", "busy")
            return None
        return Rest(item.approval)

    async def _flush(self, state: TurnState, text: str, code: str, *, silent: bool = False) -> None:
        frame = self._frame
        attended = frame.attended(state.address)
        job = self.jobs.closing(Finished(state, text, code)) if state.address.job else JobEnd()
        items = () if silent else (*job.items, *items_of(state, text, frame.masker, attended=attended))
        flush = TurnFlush(
            turn=state.id,
            address=state.address,
            messages=tuple(self._masked(message) for message in state.messages),
            usage=state.spent,
            items=items,
            inbox=tuple((BotName(state.address.bot), update) for update in state.ref.updates),
            run=job.run,
        )
        # a cancelled write is finished all the same, and a second one would say it all twice
        await _whole(self._stores.history.flush(flush, frame.clock.now_ms()))
        self.wake()
        self._finished(state, text, code, written=True)

    def _finished(self, state: TurnState, text: str, code: str, *, written: bool = False) -> None:
        watcher = self._watchers.pop(state.session, None)
        if watcher is not None:
            watcher(Finished(state, text, code, written))

    def _masked(self, message: Message) -> Message:
        return masked_message(message, self._frame.masker.mask)

    async def _take(self, inbound: Inbound) -> None:
        whose = inbound.sender.user
        for update in inbound.ref.updates:
            await self._stores.inbox.take(inbound.address.bot, update, whose)
            whose = None  # an album is one turn

    async def _done(self, state: TurnState) -> None:
        for update in state.ref.updates:
            await self._stores.inbox.done(state.address.bot, update)


def _call_line(state: TurnState, masker: Masker) -> str:
    if not state.open_calls:
        return ""
    call = state.open_calls[0]
    try:
        said = str(json.loads(call.arguments)["command"])
    except (ValueError, KeyError, TypeError):
        said = call.name
    line = " ".join(display(str(masker.mask(said))).split())
    return line if len(line) <= 200 else f"{line[:199]}…"


async def _whole(work: Coroutine[None, None, _T]) -> _T:
    """Do ``work`` to its end, however often the lane is cancelled meanwhile: the step is ending anyway."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    return task.result()


def _taken_back(ruling: Ruling) -> Ruling:
    """The ruling after its turn was stopped before anything ran."""
    return replace(ruling, state=ApprovalState.DENIED, via=Via.STOP)


async def _ran_at_host(runs: HostRuns, item: Resume, kept: list[TurnState]) -> Ran | None:
    """The turn whose call a person ran at the host. It is taken once, so a cancelled take is not lost."""
    taking = asyncio.ensure_future(runs.take(item.approval))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        await asyncio.wait([taking])
        if not taking.exception() and (ran := taking.result()) is not None:
            kept.append(ran.state.answer(str(ran.outcome.text)))
        raise

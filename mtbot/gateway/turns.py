"""One step of a turn: load, advance, then park or write everything down in one transaction and hand it to the outbox.

Whatever happens in between (an answer, a question, a stop, a fault), the session that is left is well formed and the
person hears of it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace

import structlog

from mtbot.agent.loop import Agent, close_open_calls
from mtbot.domain.errors import MtclawError, NoSuchApproval
from mtbot.domain.ids import BotName, SessionId
from mtbot.domain.ports import Clock, Consents, History, Inbox, Leases, Masker, Names, Signs, TurnFlush
from mtbot.domain.record import Approval, ApprovalState, Card, CardKind, OutboxItem, OutKind
from mtbot.domain.turn import (
    Failed,
    Inbound,
    Message,
    Parked,
    Reply,
    Role,
    SurfaceName,
    ToolCall,
    TurnEnd,
    TurnState,
)
from mtbot.gateway.lanes import Item, Rest, Resume

NO_REPLY = "NO_REPLY"
HISTORY_BYTES = 262_144
LEASE_MS = 60_000
LEASE_TRIES = 130
SHOWN_RUNS = 12

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TurnStores:
    """Where turns come from and where they are written."""

    history: History
    consents: Consents
    leases: Leases
    inbox: Inbox


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """What surrounds every turn: time, names, masking, signs of life, who holds leases, how much history counts."""

    clock: Clock
    names: Names
    masker: Masker
    signs: Signs
    holder: str
    history_turns: Callable[[SessionId], int]


@dataclass(frozen=True, slots=True)
class Finished:
    """How a turn ended, for whoever started it without a person (cron) or waits for it (prompt)."""

    state: TurnState
    text: str
    code: str = ""


class Turns:
    """Does steps. ``wake`` is called after something was queued to be said."""

    def __init__(self, agent: Agent, stores: TurnStores, frame: TurnFrame) -> None:
        self._agent = agent
        self._stores = stores
        self._frame = frame
        self._watchers: dict[SessionId, Callable[[Finished], None]] = {}
        self.wake: Callable[[], None] = lambda: None
        self.closing = False

    def watch(self, session: SessionId, watcher: Callable[[Finished], None]) -> None:
        """Have ``watcher`` called once with the end of the session's next turn."""
        self._watchers[session] = watcher

    async def step(self, session: SessionId, item: Item) -> Rest | None:
        """Do one item of a lane. Never raises: a fault of ours becomes a sentence, a log line and a closed turn."""
        kept: list[TurnState] = []
        renewer: asyncio.Task[None] | None = None
        try:
            if not await self._lease(session):
                return await self._busy(item)
            renewer = asyncio.create_task(self._renew(session))
            if isinstance(item, Resume):
                return await self._resume(item, kept)
            return await self._begin(item, kept)
        except asyncio.CancelledError:
            await self._shielded(self._cut_off(kept))
            return None
        except MtclawError as error:
            _log.error("turn.failed", session=session, code=error.code, error=str(error))
            await self._shielded(
                self._broken(kept, item, f"That did not work: {self._frame.masker.mask(error.message)}")
            )
            return None
        # The last line of a lane: whatever it is, the session must live and the person must hear of it.
        except Exception:  # noqa: BLE001
            _log.exception("turn.crashed", session=session)
            await self._shielded(
                self._broken(kept, item, "Something went wrong inside me. The owner finds it in the log.")
            )
            return None
        finally:
            if renewer is not None:
                renewer.cancel()
            await self._shielded(self._release(session))

    async def _begin(self, inbound: Inbound, kept: list[TurnState]) -> Rest | None:
        frame = self._frame
        await self._take(inbound)
        session = inbound.address.session
        history = await self._stores.history.load(session, frame.history_turns(session), HISTORY_BYTES)
        state = TurnState(
            id=frame.names.turn(),
            address=inbound.address,
            requester=inbound.sender,
            ref=inbound.ref,
            messages=(Message(Role.USER, inbound.text),),
        )
        kept.append(state)
        frame.signs.working(state.address)
        try:
            return await self._settle(await self._agent.advance(state, history, kept.append))
        finally:
            frame.signs.resting(state.address)

    async def _resume(self, item: Resume, kept: list[TurnState]) -> Rest | None:
        frame = self._frame
        try:
            approval = await self._stores.consents.get(item.approval)
        except NoSuchApproval:
            return None
        state = await self._stores.consents.parked(approval.turn)
        if state is None:
            return None
        if approval.state is ApprovalState.PENDING:
            return Rest(approval.id)
        kept.append(state)
        session = state.session
        history = await self._stores.history.load(session, frame.history_turns(session), HISTORY_BYTES)
        frame.signs.working(state.address)
        try:
            return await self._settle(await self._agent.resume(state, approval, history, kept.append), approval)
        finally:
            frame.signs.resting(state.address)

    async def _settle(self, end: TurnEnd, approval: Approval | None = None) -> Rest | None:
        if isinstance(end, Parked):
            await self._done(end.state)
            return Rest(end.approval)
        if isinstance(end, Failed):
            state = end.state.say(Message(Role.ASSISTANT, end.text))
            await self._flush(state, end.text, end.code)
            return None
        assert isinstance(end, Reply)
        silent = approval is not None and approval.state is ApprovalState.REVOKED
        await self._flush(end.state, end.text, "", silent=silent)
        return None

    async def _cut_off(self, kept: list[TurnState]) -> None:
        """A turn that was cancelled: by /stop (whose answer tells the person) or because the gateway stops."""
        if not kept:
            return
        state = close_open_calls(kept[-1])
        note = "I was shut down in the middle of this. What had run is above; ask again if it is still wanted."
        text = note if self.closing else ""
        state = state.say(Message(Role.ASSISTANT, note if self.closing else "(stopped by the person)"))
        await self._flush(state, text, "shutdown" if self.closing else "stopped")

    async def _broken(self, kept: list[TurnState], item: Item, text: str) -> None:
        """A turn that failed inside: write down what there is; if even that fails, the log has it."""
        if not kept:
            if isinstance(item, Inbound):
                self._finished(
                    TurnState(self._frame.names.turn(), item.address, item.sender, item.ref, ()), text, "internal"
                )
            return
        state = close_open_calls(kept[-1]).say(Message(Role.ASSISTANT, text))
        try:
            await self._flush(state, text, "internal")
        except MtclawError as error:
            _log.error("turn.not_written", session=state.session, code=error.code, error=str(error))
            self._finished(state, text, "internal")

    async def _busy(self, item: Item) -> Rest | None:
        """Another process works in this session and did not finish in time."""
        if isinstance(item, Inbound):
            state = TurnState(self._frame.names.turn(), item.address, item.sender, item.ref, ())
            await self._flush(state, "This conversation is in use by another process. Please try again.", "busy")
            return None
        return Rest(item.approval)

    async def _flush(self, state: TurnState, text: str, code: str, *, silent: bool = False) -> None:
        frame = self._frame
        items = () if silent else self._items(state, text)
        flush = TurnFlush(
            turn=state.id,
            address=state.address,
            messages=tuple(self._masked(message) for message in state.messages),
            usage=state.spent,
            items=items,
            inbox=() if state.ref.update is None else ((BotName(state.address.bot), state.ref.update),),
        )
        await self._stores.history.flush(flush, frame.clock.now_ms())
        self.wake()
        self._finished(state, text, code)

    def _finished(self, state: TurnState, text: str, code: str) -> None:
        watcher = self._watchers.pop(state.session, None)
        if watcher is not None:
            watcher(Finished(state, text, code))

    def _items(self, state: TurnState, text: str) -> tuple[OutboxItem, ...]:
        """What the turn says in its own place; a job's words are put together by cron, which knows where they go."""
        if state.address.surface is SurfaceName.CRON:
            return ()
        mask = self._frame.masker.mask
        items = []
        if state.ran:
            card = Card(CardKind.NOTICE, mask(ran_line(state.ran)), mask(""), (), silent=True)
            items.append(OutboxItem(OutKind.NOTICE, state.address, card=card, silent=True))
        if text and text.strip() != NO_REPLY:
            items.append(OutboxItem(OutKind.REPLY, state.address, text=mask(text), quote=state.ref.message))
        return tuple(items)

    def _masked(self, message: Message) -> Message:
        mask = self._frame.masker.mask
        calls = tuple(ToolCall(c.id, c.name, str(mask(c.arguments))) for c in message.calls)
        return replace(message, content=str(mask(message.content)), calls=calls)

    async def _take(self, inbound: Inbound) -> None:
        if inbound.ref.update is not None:
            await self._stores.inbox.take(inbound.address.bot, inbound.ref.update)

    async def _done(self, state: TurnState) -> None:
        if state.ref.update is not None:
            await self._stores.inbox.done(state.address.bot, state.ref.update)

    async def _lease(self, session: SessionId) -> bool:
        """Take the session's lease; another process gets a minute to finish."""
        frame = self._frame
        for _ in range(LEASE_TRIES):
            now = frame.clock.now_ms()
            if await self._stores.leases.acquire(session, frame.holder, now, now + LEASE_MS):
                return True
            await asyncio.sleep(0.5)
        return False

    async def _renew(self, session: SessionId) -> None:
        """Keep the lease while a long step runs."""
        frame = self._frame
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            now = frame.clock.now_ms()
            with contextlib.suppress(MtclawError):
                await self._stores.leases.acquire(session, frame.holder, now, now + LEASE_MS)

    async def _release(self, session: SessionId) -> None:
        try:
            await self._stores.leases.release(session, self._frame.holder)
        except MtclawError as error:
            _log.warning("lease.not_released", session=session, error=str(error))

    @staticmethod
    async def _shielded(work: Coroutine[None, None, None]) -> None:
        """Finish ``work`` even if the lane is cancelled meanwhile."""
        await asyncio.shield(asyncio.ensure_future(work))


def ran_line(ran: tuple[str, ...]) -> str:
    """What ran without a question, in one line: ``Ran 3 commands by rule: docker ps, ...``."""
    if len(ran) == 1:
        return f"Ran by rule: {ran[0]}"
    shown = ", ".join(ran[:SHOWN_RUNS])
    more = f" and {len(ran) - SHOWN_RUNS} more" if len(ran) > SHOWN_RUNS else ""
    return f"Ran by rule, {len(ran)} calls: {shown}{more}"

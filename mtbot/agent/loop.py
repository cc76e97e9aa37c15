"""``advance``: ask the model, take each of its calls through the gate, until there is an answer or a person is needed.

Nothing here waits for a person: a call that needs one ends the step with ``Parked``, and ``resume`` goes on from the
written state.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from mtbot.agent.budget import Purse
from mtbot.agent.circles import circling
from mtbot.agent.compaction import Attempt, Part, Reach, longest, request_for, summed_up
from mtbot.agent.context import Past, Window, in_words
from mtbot.domain.call import Outcome, Status, ToolSpec, Verdict
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import SessionId
from mtbot.domain.memory import Summary
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.ports import Names, Provider
from mtbot.domain.record import Approval, ApprovalState, Via
from mtbot.domain.turn import Address, Failed, Message, Parked, Reply, Role, ToolCall, TurnEnd, TurnState, surface
from mtbot.gate.gate import CallStopped, Done, Waiting
from mtbot.redaction.display import shows

_T = TypeVar("_T")

Writing = Callable[[Address], AbstractContextManager[OnText | None]]
"""Open while an answer is written for a place: gives what sees it grow, None where nobody looks."""

CUT = "Not run: the answer was cut off while this call was being written. Send the call again, shorter."
STOPPED = "(not run: the turn was stopped)"
STOPPED_HERE = "(stopped by the person)"
EMPTY = "The model gave no answer. Please try again, or say it differently."
EMPTY_TRIES = 2

_SENTENCES = {
    ProviderKind.AUTH: "The model refused my key. The owner can check it with `mtclaw doctor`.",
    ProviderKind.RATE: "The model is limiting my requests. Please try again in a little while.",
    ProviderKind.QUOTA: "The quota at the model's provider is used up. The owner has to raise it.",
    ProviderKind.CONTEXT: "This conversation has become too long for the model. /new starts a fresh one.",
    ProviderKind.BAD_REQUEST: "The model did not accept the request: {detail}",
    ProviderKind.TRANSIENT: "The model's service is having trouble. Please try again.",
    ProviderKind.TIMEOUT: "The model did not answer in time. Please try again.",
    ProviderKind.NETWORK: "The model can't be reached from here. Please try again later.",
    ProviderKind.GARBLED: "The model's answer could not be read. Please try again.",
}


@dataclass(frozen=True, slots=True)
class Mind:
    """What the loop needs of a profile at the moment of a step; ``sums_at`` as in Reach."""

    provider: Provider
    model: str
    temperature: float | None
    tools: tuple[ToolSpec, ...]
    system: str
    max_steps: int
    turns: int
    purse: Purse
    sums_at: int = 0


class CallGate(Protocol):
    """The gate, as far as the loop needs it (gate/gate)."""

    async def submit(self, wanted: ToolCall, state: TurnState, names: Names) -> Done | Waiting:
        """Take a fresh call through the gate. CallStopped if the turn is cancelled while it performs."""
        ...

    async def resume(self, wanted: ToolCall, state: TurnState, approval: Approval) -> Done:
        """Go on with a call that a person ruled on. CallStopped as above."""
        ...


class Agent:
    """The loop. ``mind`` gives the profile of an address as the configuration stands."""

    def __init__(self, gate: CallGate, mind: Callable[[Address], Mind], names: Names) -> None:
        self._gate = gate
        self._mind = mind
        self._names = names
        self.too_long: Callable[[SessionId], None] = lambda _session: None
        """Is told of a conversation that a model found too long."""
        self.writing: Writing = lambda _address: nullcontext()

    def reach(self, address: Address) -> Reach:
        """How much of a conversation is shown there as it is."""
        mind = self._mind(address)
        return Reach(mind.turns, mind.sums_at)

    async def sum_up(self, state: TurnState, before: Summary | None, entries: Sequence[Message], part: Part) -> Attempt:
        """A summary of ``entries``, which are ``part`` of the turn's conversation, on top of the one before. StorageError."""
        mind = self._mind(state.address)
        replaced = part.size + (len(before.text.encode()) if before is not None else 0)
        length = longest(self.reach(state.address), replaced)
        request = request_for(mind.model, before, entries, min(mind.sums_at, replaced), length)
        return await summed_up((mind.provider, request), mind.purse, state, length)

    async def advance(self, state: TurnState, past: Past, keep: Callable[[TurnState], None]) -> TurnEnd:
        """Go on with a turn until its next end. ``keep`` is told every new state, so that a cancelled turn is not lost."""
        mind = self._mind(state.address)
        window = Window(mind.turns)
        empty = 0
        while True:
            calls_done = await self._calls(state, keep)
            if isinstance(calls_done, Parked):
                return calls_done
            state = calls_done
            circle = circling(state)
            if circle:
                return _said(state, circle)
            if state.step >= mind.max_steps:
                text = f"I stopped after {mind.max_steps} steps without coming to an end. Say if I should go on."
                return _said(state, text)
            refusal = await mind.purse.refusal(state)
            if refusal is not None:
                return Failed(state, refusal.code, refusal.text)
            try:
                answer, window = await self._ask(mind, window, past, state)
            except ProviderError as error:
                return Failed(state, f"model.{error.kind}", sentence(error))
            await mind.purse.pay(state, answer.usage)
            state = replace(state, step=state.step + 1, spent=state.spent + answer.usage)
            if answer.calls:
                state = _with_calls(state, answer)
                keep(state)
                continue
            final = _final(answer)
            if final is None and empty < EMPTY_TRIES - 1:
                empty += 1
                continue
            return _said(state, EMPTY if final is None else final)

    async def resume(
        self,
        state: TurnState,
        approval: Approval,
        past: Past,
        keep: Callable[[TurnState], None],
        ran: Outcome | None = None,
    ) -> TurnEnd:
        """Go on with a parked turn whose question was ruled on; one that lapsed or was stopped ends without the model.

        Where nobody is there, so does one that was denied: there is nobody whom another proposal could serve.
        ``ran``: a person ran its call at the host already, and this is how that ended.
        """
        if ran is None:
            done = await self._guarded(self._gate.resume(state.open_calls[0], state, approval), state, keep)
        else:
            done = Done(ran, asked=True)
        state = self._answered(state, done)
        keep(state)
        if approval.state in (ApprovalState.EXPIRED, ApprovalState.REVOKED):
            return _closed(state, approval)
        if approval.ruling is not None and approval.ruling.via is Via.STOP:
            # whoever stopped it was answered already
            return Reply(close_open_calls(state).say(Message(Role.ASSISTANT, STOPPED_HERE)), "")
        if approval.state is ApprovalState.DENIED and not surface(state.address.surface).attended:
            return _closed(state, approval)
        return await self.advance(state, past, keep)

    async def _calls(self, state: TurnState, keep: Callable[[TurnState], None]) -> TurnState | Parked:
        while state.open_calls:
            step = await self._guarded(self._gate.submit(state.open_calls[0], state, self._names), state, keep)
            if isinstance(step, Waiting):
                return Parked(state, step.approval)
            state = self._answered(state, step)
            keep(state)
        return state

    async def _guarded(self, work: Awaitable[_T], state: TurnState, keep: Callable[[TurnState], None]) -> _T:
        """Await the gate; if the turn is cancelled while a tool performs, its outcome is kept before going up."""
        try:
            return await work
        except CallStopped as stopped:
            keep(close_open_calls(self._answered(state, stopped.done)))
            raise asyncio.CancelledError from None

    async def _ask(self, mind: Mind, window: Window, past: Past, state: TurnState) -> tuple[ModelAnswer, Window]:
        """One answer; a context that is too long is mended once."""
        try:
            return await self._complete(mind, window, past, state), window
        except ProviderError as error:
            if error.kind is not ProviderKind.CONTEXT or window.squeezed:
                raise
        self.too_long(state.session)
        tight = window.tighter(len(state.messages))
        return await self._complete(mind, tight, past, state), tight

    async def _complete(self, mind: Mind, window: Window, past: Past, state: TurnState) -> ModelAnswer:
        messages = window.assemble(mind.system, past, state.messages)
        if not mind.tools:
            messages = in_words(messages)
        with self.writing(state.address) as on_text:
            return await mind.provider.complete(
                ModelRequest(mind.model, messages, mind.tools, mind.temperature), on_text
            )

    def _answered(self, state: TurnState, done: Done) -> TurnState:
        """The first open call answered; what ran or was refused without a question is noted for the person."""
        outcome, decision, shown = done.outcome, done.decision, done.shown
        state = replace(state.answer(str(outcome.text)), tainted=state.tainted or outcome.tainted)
        if decision is None or done.asked:
            return state
        if outcome.status is not Status.REFUSED and decision.grant is not None:
            return replace(state, granted=(*state.granted, f"{shown} (#{decision.grant.id})"))
        if outcome.status is not Status.REFUSED and decision.verdict is Verdict.RUN:
            return replace(state, ran=(*state.ran, shown))
        if outcome.status is not Status.REFUSED:
            return state
        line = f"{shown} ({decision.rule or 'no rule'})"
        if decision.verdict is Verdict.REFUSE:
            return replace(state, denied=(*state.denied, line))
        permits = (*state.permits, decision.permit_hint) if decision.permit_hint else state.permits
        return replace(state, refused=(*state.refused, line), permits=permits)


def close_open_calls(state: TurnState) -> TurnState:
    """Every open call answered as not run, so that the history stays well formed."""
    while state.open_calls:
        state = state.answer(STOPPED)
    return state


def _closed(state: TurnState, approval: Approval) -> Reply | Failed:
    """The end of a turn that came to nothing with its question; a job's run has failed with it."""
    state, how = close_open_calls(state), approval.state.value
    if approval.state is not ApprovalState.EXPIRED:
        reason = approval.ruling.reason if approval.ruling else ""
        how = f"was {how} ({reason})" if reason and approval.state is ApprovalState.DENIED else f"was {how}"
    text = f"#{approval.id} {how}, nothing ran."
    if surface(state.address.surface).attended:
        return _said(state, text)
    return Failed(state, approval.state.value, text)


def sentence(error: ProviderError) -> str:
    """What a person is told about a model that could not answer."""
    return _SENTENCES[error.kind].format(detail=error.message)


def _said(state: TurnState, text: str) -> Reply:
    """The end of a turn with ``text`` as its last entry, so that the model knows later what the person was told."""
    return Reply(state.say(Message(Role.ASSISTANT, text)), text)


def _with_calls(state: TurnState, answer: ModelAnswer) -> TurnState:
    """The state with the model's calls open; calls of an answer that was cut are answered at once and never run."""
    state = state.say(Message(Role.ASSISTANT, answer.text, calls=answer.calls))
    state = replace(state, open_calls=answer.calls)
    if answer.finish in (Finish.LENGTH, Finish.FILTERED):
        while state.open_calls:
            state = state.answer(CUT)
    return state


def _final(answer: ModelAnswer) -> str | None:
    """The text of an answer without calls; None if there is nothing to show."""
    if answer.refusal:
        return f"The model declined: {answer.refusal}"
    if answer.finish is Finish.FILTERED:
        return "The provider's content filter stopped the answer."
    text = answer.text.strip() if shows(answer.text) else ""
    if answer.finish is Finish.LENGTH:
        cut = "The answer was cut off at the model's length limit"
        return f"{text}\n\n({cut}.)" if text else f"{cut} before it said anything."
    return text or None

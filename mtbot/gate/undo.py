"""Bring back, on record, what a call took away; and remove from the trash, on record, what nobody wants back.

A person's press or command is the yes here, so nobody is asked. Everything else is as for any call: what policy refuses
is not done, and nothing is done before it is on record.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from mtbot.domain.call import (
    Access,
    Call,
    Decision,
    Facts,
    Outcome,
    PathArg,
    Risk,
    Stage,
    Status,
    ToolDefault,
    ToolSpec,
    Verdict,
)
from mtbot.domain.errors import NotAllowed, StateError
from mtbot.domain.ids import BotName, ChatId, TurnId
from mtbot.domain.ports import AuditLog, Clock, Masker, Names
from mtbot.domain.record import Approval, Via, Word
from mtbot.domain.trash import TrashBin, Trashed
from mtbot.domain.turn import SYSTEM, Actor, Address, SurfaceName
from mtbot.gate.events import Events
from mtbot.gate.facts import FactFinder
from mtbot.gate.gate import GateProfile
from mtbot.policy.effects import prepare
from mtbot.policy.evaluate import evaluate

HOST = Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="trash")
"""What is done to the trash outside a chat is on record as a session of its own."""

RESTORE = ToolSpec(
    name="restore",
    description="Bring back from the trash.",
    schema={},
    risk=Risk.WRITE_LOCAL,
    default=ToolDefault.ASK,
    path_args=(PathArg("paths", Access.WRITE),),
)


@dataclass(frozen=True, slots=True)
class Ground:
    """By what a way back is judged: the profile of its chat, and a look at the host."""

    profiles: Callable[[Address], GateProfile]
    finder: FactFinder


@dataclass(frozen=True, slots=True)
class _Errand:
    """One thing that is done to the trash."""

    call: Call
    facts: Facts
    decision: Decision
    by: Actor
    via: Via


class TrashKeeper:
    """Does what people want done with the trash. Without ``ground`` it serves the owner of this host alone."""

    def __init__(
        self,
        trash: TrashBin,
        log: AuditLog,
        names: Names,
        clock: Clock,
        masker: Masker,
        ground: Ground | None = None,
    ) -> None:
        self._trash = trash
        self._log = log
        self._names = names
        self._clock = clock
        self._ground = ground
        self._events = Events(clock, masker)
        self._turn = asyncio.Lock()

    async def undo(self, approval: Approval, by: Actor, via: Via) -> None:
        """Bring back what the call of ``approval`` took away. NotAllowed by policy; StateError says why it cannot be."""
        async with self._turn:
            found = next((one for one in await self._trash.listed() if one.call == approval.call), None)
            if found is None:
                raise StateError("It is not in the trash any more.")
            await self._bring_back(found, approval.address, by, via)

    async def restore(self, ident: str, by: Actor, via: Via) -> Trashed:
        """Bring back an entry by its id; what it was. NotAllowed, StateError."""
        async with self._turn:
            found = next((one for one in await self._trash.listed() if one.id == ident), None)
            if found is None:
                raise StateError(
                    f"there is nothing called {ident[:20]} in the trash", hint="`mtclaw trash list` lists it"
                )
            await self._bring_back(found, HOST, by, via)
            return found

    async def empty(self, before_ms: int, by: Actor, via: Via) -> tuple[Trashed, ...]:
        """Delete for good what came into the trash before that moment; what it was. StateError."""
        return await self._remove(lambda one: one.at_ms < before_ms, by, via, "a person empties the trash")

    async def expire(self) -> tuple[Trashed, ...]:
        """Delete for good what was kept for as long as was said; what it was. StateError."""
        now = self._clock.now_ms()
        return await self._remove(lambda one: one.until_ms <= now, SYSTEM, Via.POLICY, "kept for as long as was said")

    async def _bring_back(self, found: Trashed, address: Address, by: Actor, via: Via) -> None:
        call = self._call("restore", {"id": found.id, "paths": list(found.paths)}, address, by)
        if self._ground is None:
            facts, decision = Facts(), _by_hand("the owner of this host brings it back")
        else:
            profile = self._ground.profiles(address)
            call = replace(call, cwd=profile.cwd)
            prepared = prepare(call, RESTORE, profile.rules)
            facts = await self._ground.finder.gather(call, prepared, profile.around, tainted=False)
            decision = evaluate(prepared, facts)
        errand = _Errand(call, facts, decision, by, via)
        await self._carry_out(errand, lambda: self._trash.bring_back(found.id))

    async def _remove(self, goes: Callable[[Trashed], bool], by: Actor, via: Via, why: str) -> tuple[Trashed, ...]:
        async with self._turn:
            found = tuple(one for one in await self._trash.listed() if goes(one))
            if not found:
                return ()
            arguments: dict[str, object] = {
                "ids": [one.id for one in found],
                "paths": [path for one in found for path in one.paths],
            }
            call = self._call("empty", arguments, HOST, by)
            decision = _by_hand(why)
            if by == SYSTEM:
                decision = replace(decision, verdict=Verdict.RUN, rule="trash.keep_days")
            await self._carry_out(_Errand(call, Facts(), decision, by, via), lambda: self._remove_all(found))
            return found

    async def _remove_all(self, found: Sequence[Trashed]) -> None:
        for one in found:
            await self._trash.remove(one.id)

    async def _carry_out(self, errand: _Errand, work: Callable[[], Awaitable[None]]) -> None:
        """Decided, started, done, ended: as for any call."""
        call, facts, decision = errand.call, errand.facts, errand.decision
        await self._log.append(*self._events.decided(call, facts, decision, None))
        if decision.verdict is Verdict.REFUSE:
            raise NotAllowed(f"Not restored: {decision.reason}.")
        draft = self._events.started(call, facts, decision, call.digest(facts), None)
        if errand.by != SYSTEM:
            draft = replace(draft, word=Word.APPROVED, via=errand.via, decider=errand.by.key)
        event = await self._log.start(draft, None)
        began = self._clock.now_ms()
        fault: StateError | None = None
        try:
            await work()
        except StateError as error:
            fault = error
        outcome = Outcome(
            Status.OK if fault is None else Status.FAILED,
            self._events.masked(fault.message if fault else "done"),
            duration_ms=max(0, self._clock.now_ms() - began),
        )
        await self._log.end(self._events.ended(draft, event, outcome), event.seq)
        if fault is not None:
            raise fault

    def _call(self, tool: str, arguments: dict[str, object], address: Address, by: Actor) -> Call:
        return Call(self._names.call(), TurnId(""), tool, arguments, "/", address, by)


def _by_hand(why: str) -> Decision:
    """A decision that nobody has to make: who asks is who decides."""
    return Decision(Verdict.ASK, Stage.PERSON, None, why)

"""Every tool call passes here: facts, decision, record, consent, permit, perform, record.

Two promises are kept by shape. Only this module makes a Permit, and only out of a STARTED event that is already on
disk; a tool cannot perform without one. A question to a person is a row, so nothing here waits for one.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from mtbot.domain.again import keep
from mtbot.domain.call import Basis, Call, CallNeeds, Decision, Facts, Outcome, Permit, Stage, Status, Verdict
from mtbot.domain.errors import NotUsable, RecordUnavailable
from mtbot.domain.ids import ApprovalId, CallId, SafeText
from mtbot.domain.job import JobId, JobLimits
from mtbot.domain.live import Live, Running, Unwatched
from mtbot.domain.ports import AuditLog, Clock, Masker, Names, Tool
from mtbot.domain.record import Approval, ApprovalState, AuditEvent, EventDraft
from mtbot.domain.turn import Address, Repeats, ToolCall, TurnState
from mtbot.gate import answers
from mtbot.gate.arguments import BadArguments, read_arguments, texts_in
from mtbot.gate.consent import Consent
from mtbot.gate.events import Events
from mtbot.gate.facts import FactFinder, Surroundings, as_decided, at_host, urls_of_people
from mtbot.gate.jobs import Jobs, lasting
from mtbot.gate.shielded import perform, to_the_end
from mtbot.policy.effects import Prepared, prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.ruleset import RuleSet

TOLD_REFUSALS = 3
"""Refusals of one turn that its chat hears of one by one; a model that goes on and on must not flood it."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GateProfile:
    """What the gate needs to know about the profile that serves an address."""

    tools: Mapping[str, Tool]
    rules: RuleSet
    cwd: str
    shell: tuple[str, ...]
    timeout: float
    around: Surroundings
    jobs: JobLimits | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The call has its outcome. ``decision`` is None where it never came to one (unknown tool, bad arguments).

    ``shown`` is the call in one masked line; ``asked``: a person ruled on it, so they know.
    """

    outcome: Outcome
    decision: Decision | None = None
    shown: str = ""
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person was asked; the turn is parked already."""

    approval: ApprovalId


class CallStopped(Exception):  # not an error: how a cancelled call hands its outcome up
    """The turn was cancelled while a tool performed; ``done`` is how the call ended, already on record."""

    def __init__(self, done: Done) -> None:
        super().__init__("stopped")
        self.done = done


@dataclass(frozen=True, slots=True)
class _Case:
    """One call on its way through the gate."""

    call: Call
    tool: Tool
    profile: GateProfile
    prepared: Prepared
    facts: Facts
    decision: Decision
    extra: Mapping[str, str] = field(default_factory=dict)
    repeats: int | None = None


class Gate:
    """The gate. ``profiles`` gives the profile of an address as the configuration stands at that moment.

    ``live`` is told what runs, for whoever shows it. ``jobs`` has the calls that go on behind their turn.
    """

    def __init__(
        self,
        profiles: Callable[[Address], GateProfile],
        finder: FactFinder,
        consent: Consent,
        log: AuditLog,
        clock: Clock,
        masker: Masker,
    ) -> None:
        self._profiles = profiles
        self._finder = finder
        self._consent = consent
        self._log = log
        self._clock = clock
        self._masker = masker
        self._events = Events(clock, masker)
        self.live: Live = Unwatched()
        self.jobs = Jobs(clock, masker)

    async def submit(self, wanted: ToolCall, state: TurnState, names: Names) -> Done | Waiting:
        """Take a fresh call of the model through the gate. CallStopped if the turn is cancelled while it performs."""
        profile = self._profiles(state.address)
        call = _call(names.call(), wanted, {}, profile, state)
        tool = profile.tools.get(wanted.name)
        if tool is None:
            answer = answers.unknown_tool(self._masker.mask(wanted.name), tuple(profile.tools))
            return await self._turned_away(call, state, answer)
        arguments = read_arguments(wanted.arguments, tool.spec.schema, self._masker.mask)
        if isinstance(arguments, BadArguments):
            return await self._turned_away(call, state, answers.bad_arguments(wanted.name, arguments.reason))
        call = replace(call, arguments=arguments)
        if any(map(self._masker.made_mask, texts_in(arguments))):
            return await self._turned_away(call, state, answers.holds_mask(wanted.name))
        case = await self._decide(lasting(call, profile.jobs), tool, profile, state)
        if state.repeats is not None and not state.step:
            case = _compared(case, state.repeats)
        unfit = self.jobs.unfit(call, profile.jobs, case.prepared, case.decision)
        if unfit:
            return await self._turned_away(call, state, unfit)
        try:
            await self._log.append(*self._events.decided(case.call, case.facts, case.decision, state.ref.message))
        except RecordUnavailable as error:
            return self._unrecorded(error)
        return await self._act(case, state)

    async def _act(self, case: _Case, state: TurnState) -> Done | Waiting:
        if case.decision.verdict is Verdict.CLASSIFY:
            judged = await self._consent.classify(case.call, case.prepared, case.facts, case.profile.rules)
            case = _since(case, judged, await self._decide(case.call, case.tool, self._profiles(state.address), state))
            try:
                await self._log.append(self._events.judged(case.call, case.facts, case.decision, state.ref.message))
            except RecordUnavailable as error:
                return self._unrecorded(error)
        decision = case.decision
        if decision.grant is not None:
            try:
                return await self._perform(case, Basis.GRANT, None)
            except NotUsable as over:
                return await self._without_grants(case, state, over)
        if decision.verdict is Verdict.RUN:
            basis = Basis.CLASSIFIER if decision.stage is Stage.CLASSIFIER else Basis.RULE
            return await self._perform(case, basis if case.call.tool == "exec" else Basis.TOOL, None)
        if decision.verdict is Verdict.REFUSE:
            if case.facts.attended and len(state.denied) < TOLD_REFUSALS:
                await self._consent.tell_refused(case.call, self._events.line(case.call), decision)
            return self._refused(case, answers.refused(decision))
        try:
            asked, cancelled = await to_the_end(
                self._consent.ask(case.call, case.prepared, case.facts, decision, state)
            )
        except RecordUnavailable as error:
            return self._unrecorded(error)
        except NotUsable as error:
            return self._refused(case, f"Not run: {error.message}.")
        if isinstance(asked, str):
            # a question that is written stands, even if the turn is stopped this moment: whoever stops it finds it open
            return Waiting(ApprovalId(asked))
        if cancelled:
            raise asyncio.CancelledError
        return self._refused(case, asked.answer, asked.decision)

    async def _without_grants(self, case: _Case, state: TurnState, over: NotUsable) -> Done | Waiting:
        """A grant ended between the look and the start: go on as if it had not been there, which asks."""
        if over.why != "grant":
            return self._refused(case, f"Not run: {over.message}.")
        facts = replace(case.facts, grants=())
        case = replace(case, facts=facts, decision=evaluate(case.prepared, facts))
        try:
            await self._log.append(self._events.judged(case.call, facts, case.decision, state.ref.message))
        except RecordUnavailable as error:
            return self._unrecorded(error)
        return await self._act(case, state)

    async def resume(self, wanted: ToolCall, state: TurnState, approval: Approval) -> Done:
        """Go on with a call that a person ruled on: run exactly what was approved, or answer with what came instead."""
        ruling = approval.ruling
        if ruling is None or ruling.state is not ApprovalState.APPROVED:
            text = answers.ruled_out(ruling) if ruling else answers.cannot_ask("nobody has decided")
            return Done(self._said(text), asked=True)
        case = await self._asked(wanted, state, approval)
        if isinstance(case, Done):
            return case
        stop = self._void(case, approval)
        if stop is None:
            try:
                done = await self._perform(case, Basis.RULING, approval)
            except CallStopped as stopped:
                await to_the_end(self._consent.ended(approval, stopped.done.outcome))
                raise
        else:
            done = self._refused(case, stop)
            with contextlib.suppress(RecordUnavailable):
                await self._log.append(self._events.void(case.call, case.facts, case.decision, stop))
        _, cancelled = await to_the_end(self._consent.ended(approval, done.outcome))
        if cancelled:
            raise CallStopped(replace(done, asked=True))
        return replace(done, asked=True)

    async def standing(self, wanted: ToolCall, state: TurnState, approval: Approval) -> str:
        """Why a call that was asked about would not run now if it were approved; empty if it would."""
        case = await self._asked(wanted, state, approval)
        return str(case.outcome.text) if isinstance(case, Done) else self._void(case, approval) or ""

    async def _asked(self, wanted: ToolCall, state: TurnState, approval: Approval) -> _Case | Done:
        """A call that was asked about, looked at and decided anew; Done if there is no such tool any more."""
        profile = self._profiles(state.address)
        tool = profile.tools.get(wanted.name)
        arguments = read_arguments(wanted.arguments, tool.spec.schema) if tool else BadArguments("gone")
        if tool is None or isinstance(arguments, BadArguments):
            return Done(self._said(answers.unknown_tool(wanted.name, tuple(profile.tools))), asked=True)
        call = _call(approval.call, wanted, arguments, profile, state)
        # it was approved itself, so it does not rest on another yes
        case = await self._decide(lasting(call, profile.jobs), tool, profile, state, grants=False)
        if approval.elevates and case.decision.owner_only:
            decision = at_host(case.decision)
            case = replace(case, decision=decision, facts=as_decided(case.facts, decision))
        return case

    def _void(self, case: _Case, approval: Approval) -> str | None:
        """Why an old yes does not hold any more, as things stand now."""
        if case.decision.verdict is Verdict.REFUSE:
            return answers.refused(case.decision)
        if (case.decision.elevates, case.decision.owner_only) != (approval.elevates, approval.owner_only):
            return answers.changed("who may approve it")
        if not self._consent.still_welcome(approval):
            return "Not run: the person who asked for it, or who approved it, is no longer on the list."
        if case.call.digest(case.facts) != approval.digest:
            return answers.changed("what it would run (its script, directory, environment or program)")
        why = self.jobs.why_not(case.profile.jobs) if case.call.background else ""
        return answers.no_job(why) if why else None

    async def _decide(
        self, call: Call, tool: Tool, profile: GateProfile, state: TurnState, *, grants: bool = True
    ) -> _Case:
        prepared = prepare(call, tool.spec, profile.rules)
        if not grants:
            prepared = replace(prepared, wants=replace(prepared.wants, grant=False))
        facts = await self._finder.gather(
            call, prepared, profile.around, tainted=state.tainted, named_urls=urls_of_people(state)
        )
        decision = evaluate(prepared, facts)
        repeats = state.repeats.start if state.repeats else None
        return _Case(call, tool, profile, prepared, as_decided(facts, decision), decision, repeats=repeats)

    async def _perform(self, case: _Case, basis: Basis, approval: Approval | None) -> Done:
        call, decision = case.call, case.decision
        if approval is not None:
            # what a person approved runs as the question said, whatever a rule would say of it by now
            decision = replace(decision, profile=case.facts.profile, needs=CallNeeds())
        runs = call.command if approval is not None or decision.runs is None else decision.runs
        digest = call.digest(case.facts)
        name = self.jobs.fresh() if call.background else JobId("")
        draft = self._events.started(call, case.facts, decision, digest, approval, name)
        grant = None if approval is not None or decision.grant is None else decision.grant.id
        try:
            kept = keep(call, case.facts, digest, case.repeats)
            event, cancelled = await to_the_end(self._log.start(draft, approval.id if approval else None, grant, kept))
        except RecordUnavailable as error:
            return self._unrecorded(error)
        except NotUsable as error:
            if grant is not None:
                raise
            return self._refused(case, f"Not run: {error.message}.")
        if cancelled:
            never = self._said("Stopped before it began.", Status.STOPPED)
            await self._record_end(draft, event, never)
            raise CallStopped(Done(never, decision, self._events.line(call), asked=approval is not None))
        permit = _permit(replace(case, decision=decision), basis, runs, event)
        if name:
            line = self._events.masked(self._events.line(call))
            said = self.jobs.leave(name, call, line, self._as_job(case, draft, event, permit, approval))
            return Done(said, decision, f"{line} (job {name})", asked=approval is not None)
        running = Running(call.id, call.address, self._events.line(call), approval)
        self.live.begins(running)
        outcome, stopped = await perform(case.tool, call, permit, self._said)
        shown = f"{self._events.line(call)} (/output {outcome.whole})" if outcome.whole else self._events.line(call)
        done = Done(outcome, decision, shown, asked=approval is not None)
        cut = await self._record_end(draft, event, outcome)
        _, cancelled = await to_the_end(self.live.ends(running))
        if cut or cancelled or stopped:
            raise CallStopped(done)
        return done

    async def _as_job(
        self, case: _Case, draft: EventDraft, event: AuditEvent, permit: Permit, approval: Approval | None
    ) -> Outcome:
        """Perform while nobody waits; how it ends is written down, and below its question, as of any other call."""
        outcome, _ = await perform(case.tool, case.call, permit, self._said)
        await self._record_end(draft, event, outcome, cut=self.jobs.closing)
        if approval is not None:
            await to_the_end(self._consent.ended(approval, outcome))
        return outcome

    async def _record_end(self, draft: EventDraft, event: AuditEvent, outcome: Outcome, *, cut: bool = False) -> bool:
        """Write how it ended (``cut``: with us); if that fails, the next start tells. True: cancelled meanwhile."""
        ended = self._events.ended(draft, event, outcome, cut=cut)
        try:
            _, cancelled = await to_the_end(self._log.end(ended, event.seq))
        except RecordUnavailable as error:
            _log.error("gate.end_not_recorded", call=event.draft.call, error=str(error))
            return False
        return cancelled

    async def _turned_away(self, call: Call, state: TurnState, answer: str) -> Done:
        try:
            await self._log.append(*self._events.turned_away(call, answer, state.ref.message))
        except RecordUnavailable as error:
            return self._unrecorded(error)
        return Done(self._said(answer))

    def _refused(self, case: _Case, answer: str, decision: Decision | None = None) -> Done:
        return Done(self._said(answer), decision or case.decision, self._events.line(case.call))

    def _unrecorded(self, error: RecordUnavailable) -> Done:
        return Done(self._said(answers.no_record(error.message)))

    def _said(self, answer: str, status: Status = Status.REFUSED) -> Outcome:
        text: SafeText = self._masker.mask(answer)
        return Outcome(status, text)


def _since(case: _Case, judged: Decision, now: _Case) -> _Case:
    """A call after the classifier took its time: its word counts only where it would be asked the same now."""
    if case.call.tool not in now.profile.tools:
        judged = replace(judged, verdict=Verdict.REFUSE, reason="it is switched off by now")
    elif now.decision.verdict is not Verdict.CLASSIFY:
        judged = now.decision
    elif now.call.digest(now.facts) != case.call.digest(case.facts):
        judged = replace(judged, verdict=Verdict.ASK, reason="what it would run changed meanwhile")
    return replace(now, decision=judged)


def _permit(case: _Case, basis: Basis, runs: str, event: AuditEvent) -> Permit:
    decision, targets = case.decision, tuple(target.path for target in case.facts.targets)
    return Permit(
        event.draft.digest,
        basis,
        decision.profile,
        runs,
        decision.environment,
        event.seq,
        event.hash,
        targets,
        decision.needs,
    )


def _compared(case: _Case, repeats: Repeats) -> _Case:
    """A call that is asked for again: a person is told if it would not do what was cut off."""
    if case.decision.verdict is not Verdict.ASK or case.call.digest(case.facts) == repeats.digest:
        return case
    changed = "since it was cut off, its script, directory, environment or program has changed"
    return replace(case, decision=replace(case.decision, reason=f"{case.decision.reason}; {changed}"))


def _call(
    ident: CallId, wanted: ToolCall, arguments: Mapping[str, object], profile: GateProfile, state: TurnState
) -> Call:
    where = (profile.cwd, state.address, state.requester)
    return Call(ident, state.id, wanted.name, arguments, *where, profile.timeout, profile.shell)

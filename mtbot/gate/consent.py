"""Turn CLASSIFY and ASK into something final: a classifier's answer, a parked question, or a refusal.

Where nobody can be asked the answer is no, at once. The classifier sees the command, its directory and the shell, and
every doubt about its answer asks a person.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mtbot.approvals.card import too_long
from mtbot.domain.call import Call, Decision, Facts, Outcome, Stage, Verdict
from mtbot.domain.errors import ProviderError
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import AuditLog, Classifier, Clock, Desk, Masker, Question
from mtbot.domain.record import Approval, ApprovalState, EventKind, Via, Word
from mtbot.domain.turn import TurnState
from mtbot.gate import answers
from mtbot.gate.events import Events
from mtbot.gate.facts import as_decided, at_host
from mtbot.policy import grants
from mtbot.policy.classify import read_verdict
from mtbot.policy.effects import Prepared
from mtbot.policy.explain import card_lines, target_line
from mtbot.policy.later import may_wait
from mtbot.policy.limits import HourlyLimit
from mtbot.policy.people import People, Say
from mtbot.policy.ruleset import RuleSet
from mtbot.redaction.display import display

CLASSIFIER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class NotAsked:
    """Nobody was asked; ``answer`` is what the model reads."""

    answer: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class Judges:
    """Whom consent turns to: the desk for people, the classifier for auto mode (None: there is none).

    ``questions`` is how many one person's turns may put.
    """

    desk: Desk
    people: Callable[[], People]
    classifier: Classifier | None = None
    questions: HourlyLimit = field(default_factory=lambda: HourlyLimit(0))


class Consent:
    """Asks."""

    def __init__(self, judges: Judges, log: AuditLog, clock: Clock, masker: Masker) -> None:
        self._judges = judges
        self._log = log
        self._masker = masker
        self._clock = clock
        self._events = Events(clock, masker)

    async def classify(self, call: Call, prepared: Prepared, facts: Facts, rules: RuleSet) -> Decision:
        """What the classifier makes of the call: RUN, or ASK with the reason. Never raises."""
        asking = Decision(
            Verdict.ASK, Stage.CLASSIFIER, None, "the classifier gave no usable answer", commands=prepared.commands
        )
        classifier = self._judges.classifier
        if classifier is None:
            return replace(asking, reason="no classifier is configured")
        try:
            async with asyncio.timeout(CLASSIFIER_SECONDS):
                answer = await classifier.ask(call.command, call.cwd, call.shell)
        except TimeoutError:
            return replace(asking, reason="the classifier did not answer in time")
        except ProviderError as error:
            return replace(asking, reason=f"the classifier failed ({error.kind})")
        return read_verdict(answer, prepared, facts, rules)

    async def ask(
        self, call: Call, prepared: Prepared, facts: Facts, decision: Decision, state: TurnState
    ) -> ApprovalId | NotAsked:
        """Park the turn behind a question, or say why nobody was asked. RecordUnavailable: nothing was asked."""
        subject = call.command if call.tool == "exec" else _subject(call, facts)
        shown = self._masker.mask(display(str(self._masker.mask(subject))))
        if str(self._masker.mask(subject)).count("\n") != subject.count("\n"):
            # a mask over a private key may cover lines that are none; nobody can be asked about what is not shown
            hidden = replace(
                decision,
                verdict=Verdict.REFUSE,
                rule="input.hidden-lines",
                reason="it holds a private key, whose mask would hide lines from the person",
            )
            return await self._not_asked(call, facts, hidden, Word.REFUSED_TOO_LONG, answers.refused(hidden))
        if too_long(shown):
            refusal = replace(
                decision,
                verdict=Verdict.REFUSE,
                rule="input.too-long",
                reason="it is too long to be shown to a person whole",
            )
            return await self._not_asked(call, facts, refusal, Word.REFUSED_TOO_LONG, answers.refused(refusal))
        people = self._judges.people()
        if decision.owner_only and people.ask_at(call.address, call.requester, owner_only=True) is None:
            # the owner cannot be asked here, or may not answer: then it is like everything else that changes the user
            decision = at_host(decision)
            facts = as_decided(facts, decision)
        reachable = decision.elevates or people.ask_at(call.address, call.requester) is not None
        waits = people.asks_later(call.address) and may_wait(prepared, facts, decision)
        if not (facts.attended or waits) or not reachable:
            reason = "no_approver"
            final = replace(decision, reason=f"{reason}: {decision.reason}")
            return await self._not_asked(call, facts, final, Word.EXPIRED, answers.nobody_to_ask(decision))
        free = self._free_at(call)
        if free is not None:
            text = f"no more than {self._judges.questions.most} questions an hour, the next at {free}"
            final = replace(decision, reason=f"too_many_questions: {text}")
            return await self._not_asked(call, facts, final, Word.EXPIRED, answers.cannot_ask(text))
        lines = tuple(self._masker.mask(display(line)) for line in card_lines(prepared, facts))
        masked = self._masker.count(subject)
        question = Question(
            call=call,
            facts=facts,
            digest=call.digest(facts),
            display=shown,
            detail=lines,
            why=self._short(decision.reason),
            masked=masked,
            elevates=decision.elevates,
            owner_only=decision.owner_only,
            kept_days=prepared.spec.kept_days,
            # nobody could see in a list of grants what one with a secret in it permits
            # nor does a yes to a question that waited last longer than its one run
            offer=None if masked or not facts.attended else grants.offer(prepared, facts, decision),
        )
        asked = await self._judges.desk.ask(question, state)
        if call.requester.user is not None:
            self._judges.questions.count(call.requester.user, self._clock.now_ms())
        return asked

    def _free_at(self, call: Call) -> str | None:
        """When the requester's turns may put a question again; None: now."""
        who = call.requester.user
        free = None if who is None else self._judges.questions.free_at(who, self._clock.now_ms())
        return None if free is None else self._clock.clock_text(free)

    async def tell_refused(self, call: Call, line: str, decision: Decision) -> None:
        """Tell the people of an attended place what policy refused."""
        await self._judges.desk.refused(call, self._masker.mask(line), decision)

    async def ended(self, approval: Approval, outcome: Outcome) -> None:
        """Have the question say how its call ended."""
        await self._judges.desk.ended(approval, outcome)

    def still_welcome(self, approval: Approval) -> bool:
        """Whether the requester is still listed, and whoever approved may still decide (a uid was checked by its host)."""
        people, ruling = self._judges.people(), approval.ruling
        if not people.still_welcome(approval.requester, approval.address):
            return False
        if ruling is None or ruling.state is not ApprovalState.APPROVED:
            return True
        say = people.may_decide(
            ruling.decider,
            approval.address,
            approval.requester,
            elevates=approval.elevates,
            owner_only=approval.owner_only,
        )
        # by Via.TERMINAL comes only what that person runs themselves (gate/host_run)
        return say in (Say.YES, Say.CANNOT_TELL) or (say is Say.OWN_TERMINAL and ruling.via is Via.TERMINAL)

    async def _not_asked(self, call: Call, facts: Facts, decision: Decision, word: Word, answer: str) -> NotAsked:
        draft = self._events.judged(call, facts, decision, None)
        await self._log.append(
            replace(draft, kind=EventKind.APPROVAL_RESOLVED, word=word, via=Via.POLICY, stage=Stage.PERSON.value)
        )
        return NotAsked(answer, decision)

    def _short(self, reason: str) -> SafeText:
        """A reason fit for a question: masked, visible, at most 300 characters."""
        shown = display(str(self._masker.mask(reason))).replace("\n", " ")
        return self._masker.mask(shown if len(shown) <= 300 else shown[:299] + "…")


def _subject(call: Call, facts: Facts) -> str:
    """What a question about another tool shows: its target, and all that would be written."""
    if facts.targets:
        lines = [target_line(target, facts.home) for target in facts.targets]
    else:
        lines = [f"{value}" for name, value in sorted(call.arguments.items()) if name == "url"]
    content = call.arguments.get("content")
    if isinstance(content, str):
        lines += ["", content]
    old, new = call.arguments.get("old"), call.arguments.get("new")
    if isinstance(old, str) and isinstance(new, str):
        lines += ["", "Replace:", old, "", "With:", new]
    return "\n".join(lines) or call.tool

"""Audit events of a call, made from its values; every text in them is masked here."""

from dataclasses import replace

from mtbot.domain.call import Call, Decision, Facts, Outcome, Stage, Status, Verdict
from mtbot.domain.ids import Digest, SafeText
from mtbot.domain.ports import Clock, Masker
from mtbot.domain.record import Approval, AuditEvent, EventDraft, EventKind, Via, Word
from mtbot.redaction.display import display

MAX_COMMAND = 65_536
"""Characters of a command that the record keeps; longer ones end in a note of their length."""

MAX_TOOL = 64
"""Characters of a tool's name that the record keeps."""


_LEFT_OUT = frozenset({"content", "old", "new"})
"""Arguments that hold whole texts; the digest covers them."""


SHUT_DOWN = "the process that ran it was stopped, and the job with it"


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def kept(text: str) -> str:
    """``text`` as a column keeps it: well-formed Unicode, no NUL, cut with a note past MAX_COMMAND."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{SYMBOL FOR NULL}")
    if len(clean) <= MAX_COMMAND:
        return clean
    return f"{clean[:MAX_COMMAND]}… ({len(clean)} characters in all)"


class Events:
    """Makes the drafts."""

    def __init__(self, clock: Clock, masker: Masker) -> None:
        self._clock = clock
        self._masker = masker

    def masked(self, text: str) -> SafeText:
        """``text``, fit to be told."""
        return self._masker.mask(text)

    def base(self, kind: EventKind, call: Call, message: int | None) -> EventDraft:
        """An event about ``call`` with nothing decided yet."""
        address = call.address
        return EventDraft(
            kind=kind,
            at_ms=self._clock.now_ms(),
            session=address.session,
            call=call.id,
            tool=self._tool(call),
            command=self._subject(call),
            cwd=call.cwd,
            bot=address.bot,
            chat=address.chat,
            thread=address.thread,
            message=message,
            requester=call.requester.key,
        )

    def _tool(self, call: Call) -> str:
        """The tool's name; a model can write anything there."""
        return kept(display(" ".join(self._masker.mask(call.tool)[:MAX_TOOL].split())))

    def _subject(self, call: Call) -> str:
        if call.tool == "exec":
            return kept(str(self._masker.mask(call.command)))
        shown = " ".join(
            f"{name}={_told(value)}" for name, value in sorted(call.arguments.items()) if name not in _LEFT_OUT
        )
        return kept(str(self._masker.mask(shown)))

    def line(self, call: Call) -> str:
        """The call in one masked, visible line of at most 200 characters; other tools than exec begin with their name."""
        subject = display(self._subject(call)).replace("\n", "; ")
        text = subject if call.tool == "exec" else f"{self._tool(call)} {subject}".strip()
        return str(self._masker.mask(text if len(text) <= 200 else text[:199] + "…"))

    def decided(self, call: Call, facts: Facts, decision: Decision, message: int | None) -> tuple[EventDraft, ...]:
        """PROPOSED and DECIDED of a call that policy has looked at."""
        proposed = self.base(EventKind.PROPOSED, call, message)
        return proposed, self.judged(call, facts, decision, message)

    def judged(self, call: Call, facts: Facts, decision: Decision, message: int | None) -> EventDraft:
        """DECIDED: what policy (or the classifier) said."""
        word = Word.NONE
        via = Via.POLICY
        if decision.verdict is Verdict.REFUSE:
            word = Word.REFUSED_TOO_LONG if decision.rule == "input.too-long" else Word.DENIED_RULE
        elif decision.verdict is Verdict.RUN:
            word = Word.AUTO_ALLOWED if decision.stage is Stage.CLASSIFIER else Word.ALLOWED_RULE
        if decision.stage is Stage.CLASSIFIER:
            via = Via.CLASSIFIER
        decider = ""
        if decision.grant is not None:
            # a person said yes to this, a while ago; the rule names the grant
            word, via, decider = Word.APPROVED, decision.grant.via, decision.grant.giver.key
        return replace(
            self.base(EventKind.DECIDED, call, message),
            word=word,
            via=via,
            decider=decider,
            stage=decision.stage.value,
            rule=decision.rule or "",
            reason=kept(str(self._masker.mask(decision.reason))),
            digest=call.digest(facts),
            profile=decision.profile,
        )

    def turned_away(self, call: Call, answer: str, message: int | None) -> tuple[EventDraft, ...]:
        """A call that names no usable tool or has unusable arguments."""
        proposed = self.base(EventKind.PROPOSED, call, message)
        decided = replace(
            proposed,
            kind=EventKind.DECIDED,
            word=Word.DENIED_RULE,
            via=Via.POLICY,
            stage=Stage.INPUT.value,
            rule="input.call",
            reason=kept(str(self._masker.mask(answer))),
        )
        return proposed, decided

    def started(
        self,
        call: Call,
        facts: Facts,
        decision: Decision,
        digest: Digest,
        approval: Approval | None,
        job: str = "",
    ) -> EventDraft:
        """STARTED: committed before anything happens. ``job`` is the name under which it goes on behind its turn."""
        draft = self.judged(call, facts, decision, None)
        word, via, decider = draft.word, draft.via, draft.decider
        if approval is not None and approval.ruling is not None:
            word, via, decider = Word.APPROVED, approval.ruling.via, approval.ruling.decider.key
        return replace(
            draft,
            kind=EventKind.STARTED,
            word=word,
            via=via,
            decider=decider,
            digest=digest,
            approval=approval.id if approval else None,
            detail=f"job={job}" if job else "",
        )

    def ended(self, started: EventDraft, event: AuditEvent, outcome: Outcome, *, cut: bool = False) -> EventDraft:
        """FINISHED or FAILED, as the end of ``event``; INTERRUPTED if it was stopped because this process ends."""
        failed = outcome.status is not Status.OK and outcome.exit_code is None
        interrupted = cut and outcome.status is Status.STOPPED
        held = f" held: {', '.join(outcome.held)}" if outcome.held else ""
        left = f" left: {'; '.join(outcome.survivors)}" if outcome.survivors else ""
        return replace(
            started,
            kind=EventKind.INTERRUPTED if interrupted else EventKind.FAILED if failed else EventKind.FINISHED,
            at_ms=self._clock.now_ms(),
            reason=SHUT_DOWN if interrupted else outcome.status.value if outcome.status is not Status.OK else "",
            exit_code=outcome.exit_code,
            duration_ms=outcome.duration_ms,
            dropped=outcome.dropped,
            detail=kept(str(self._masker.mask(f"started={event.seq}{held}{left}"))),
        )

    def void(self, call: Call, facts: Facts, decision: Decision, why: str) -> EventDraft:
        """A yes that could not be used."""
        return replace(
            self.judged(call, facts, decision, None),
            kind=EventKind.FAILED,
            word=Word.EXPIRED,
            reason=kept(str(self._masker.mask(why))),
        )

"""A call's events as the one line that ``approvals list`` shows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import tzinfo

from mtbot.cli.output import moment
from mtbot.domain.call import Stage
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Via, Word
from mtbot.domain.turn import Actor, ActorKind
from mtbot.policy.people import People

_POLICY = {Via.POLICY: "policy", Via.CLASSIFIER: "classifier", Via.EXPIRY: "timeout"}


@dataclass(frozen=True, slots=True)
class Line:
    """One call. ``at_ms`` is when it was proposed, ``exit`` its exit code or how else it stands."""

    at_ms: int
    session: str
    decision: str
    decider: str
    exit: str
    duration_ms: int | None
    truncated: bool
    tool: str
    command: str
    call: str

    def cells(self, time: str) -> tuple[object, ...]:
        """The line as table cells."""
        took = "-" if self.duration_ms is None else f"{self.duration_ms / 1000:.1f} s"
        what = self.command if self.tool == "exec" else f"{self.tool} {self.command}"
        return time, self.session, self.decision, self.decider, self.exit, took, "yes" if self.truncated else "-", what

    def to_dict(self) -> dict[str, object]:
        """The line for JSON."""
        return asdict(self)


def line_of(events: Sequence[AuditEvent], people: People) -> Line:
    """What the events of one call come to."""
    first = events[0].draft
    word, decider, ended, duration, dropped = Word.NONE, "-", "-", None, 0
    for event in events:
        draft = event.draft
        if _ended_a_grant(draft):
            continue
        if draft.word is not Word.NONE:
            word = draft.word
            decider = _decider(draft.via, draft.decider, people)
            if draft.stage == Stage.GRANT:
                decider += f", {draft.rule}"
        if draft.kind is EventKind.APPROVAL_REQUESTED:
            ended = "waiting"
        elif draft.kind is EventKind.APPROVAL_RESOLVED:
            ended = "-"
        elif draft.kind is EventKind.STARTED:
            ended = "running"
        elif draft.kind in (EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED):
            duration, dropped = draft.duration_ms, draft.dropped or 0
            code = draft.exit_code
            ended = str(code) if code is not None else _end_word(draft.kind, draft.reason)
    return Line(
        at_ms=first.at_ms,
        session=str(first.session),
        decision=word.value or "pending",
        decider=decider,
        exit=ended,
        duration_ms=duration,
        truncated=dropped > 0,
        tool=first.tool,
        command=first.command,
        call=str(first.call),
    )


def _ended_a_grant(draft: EventDraft) -> bool:
    """Whether it is about the grant that the call's question gave, and so not about the call."""
    return draft.kind is EventKind.APPROVAL_RESOLVED and draft.stage == Stage.GRANT


def story_of(events: Sequence[AuditEvent], people: People, zone: tzinfo) -> list[str]:
    """Everything on record about one call, a line an event."""
    lines = [f"call {events[0].draft.call} in {events[0].draft.session}, {events[0].draft.cwd}"] if events else []
    for event in events:
        draft = event.draft
        parts = [
            f"{event.seq}",
            moment(draft.at_ms, zone),
            draft.kind.value,
            draft.word.value,
            draft.rule,
            draft.reason,
            draft.detail if draft.kind is EventKind.APPROVAL_RESOLVED else "",
        ]
        if draft.decider:
            parts.append(f"by {_decider(draft.via, draft.decider, people)} ({draft.via.value})")
        if draft.exit_code is not None:
            parts.append(f"exit {draft.exit_code}")
        if draft.duration_ms is not None:
            parts.append(f"{draft.duration_ms} ms")
        if draft.profile and draft.kind is EventKind.STARTED:
            parts.append(f"profile {draft.profile}")
        if draft.kind is EventKind.STARTED and draft.detail.startswith("job="):
            parts.append(draft.detail.replace("=", " "))
        parts += [part for part in draft.detail.split(" left: ")[0].split(" ", 1)[1:] if part.startswith("held: ")]
        lines.append("  ".join(part for part in parts if part))
    return lines


def _end_word(kind: EventKind, reason: str) -> str:
    if kind is EventKind.INTERRUPTED:
        return "interrupted"
    if kind is EventKind.FINISHED:
        return reason or "ok"
    return reason if reason in ("timed_out", "stopped", "failed") else "failed"


def _decider(via: Via, key: str, people: People) -> str:
    """Who decided: policy, classifier, timeout, or the person by name with their number."""
    if via in _POLICY or not key:
        return _POLICY.get(via, "policy")
    kind, _, number = key.partition(":")
    if not number.lstrip("-").isdigit():
        return key
    name = people.name(Actor(ActorKind(kind), int(number))) if kind == ActorKind.TELEGRAM else "uid"
    return f"{name} ({number})" if kind == ActorKind.TELEGRAM else f"uid {number}"

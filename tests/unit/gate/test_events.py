"""Audit events of a call: whole values, every text masked and fit for a column."""

from dataclasses import replace

import pytest

from mtbot.domain.call import Call, Decision, Facts, Outcome, Stage, Status, Verdict
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, Digest, ThreadId, TurnId
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    AuditEvent,
    Card,
    CardKind,
    EventDraft,
    EventKind,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName
from mtbot.gate.events import MAX_COMMAND, Events, kept
from mtbot.redaction.mask import Redactor

REDACTOR = Redactor({"model": "swordfish9"}, b"key")
CHIEF = Actor(ActorKind.TELEGRAM, 1001, "Chief")
REVIEW = Actor(ActorKind.TELEGRAM, 1003, "Review")
GROUP = Address(SurfaceName.GROUP, BotName("ops"), ChatId(-100), ThreadId(7))
FACTS = Facts()
CALL = Call(CallId("c1"), TurnId("t1"), "exec", {"command": "docker ps"}, "/srv", GROUP, CHIEF)
WRITE = replace(CALL, tool="write_file", arguments={"path": "notes", "mode": "append", "content": "long text"})
RUN = Decision(Verdict.RUN, Stage.ALLOW, "pack.docker-ps", "every command in it is allowed by a rule", profile="box")


class Clock:
    """Time that moves on by one with every look."""

    def __init__(self) -> None:
        self.now = 100

    def now_ms(self) -> int:
        """The next moment."""
        self.now += 1
        return self.now

    def clock_text(self, at_ms: int) -> str:
        """Not used here."""
        return str(at_ms)

    def day_text(self, at_ms: int) -> str:
        """Not used here either."""
        return str(at_ms)


@pytest.fixture
def events() -> Events:
    """A maker of drafts whose first one is at 101."""
    return Events(Clock(), REDACTOR)


BASE = EventDraft(
    EventKind.PROPOSED,
    101,
    GROUP.session,
    CallId("c1"),
    "exec",
    "docker ps",
    cwd="/srv",
    bot=BotName("ops"),
    chat=ChatId(-100),
    thread=ThreadId(7),
    message=42,
    requester="telegram:1001",
)
DECIDED = replace(
    BASE,
    kind=EventKind.DECIDED,
    at_ms=102,
    word=Word.ALLOWED_RULE,
    via=Via.POLICY,
    stage="allow",
    rule="pack.docker-ps",
    reason="every command in it is allowed by a rule",
    digest=CALL.digest(FACTS),
    profile="box",
)
STARTED = replace(DECIDED, kind=EventKind.STARTED, at_ms=101, message=None)


def approval(ruling: Ruling | None) -> Approval:
    """A request that was ruled on."""
    card = Card(CardKind.QUESTION, REDACTOR.mask("Run this"), REDACTOR.mask("docker ps"), ())
    digest = CALL.digest(FACTS)
    return Approval(
        ApprovalId("K7QD"),
        CALL.id,
        CALL.turn,
        GROUP,
        CHIEF,
        "exec",
        "docker ps",
        digest,
        card,
        "tok",
        0,
        9,
        ruling=ruling,
    )


def test_a_call_is_proposed_and_decided(events: Events) -> None:
    """Who, where, what, and what policy said."""
    assert events.decided(CALL, FACTS, RUN, 42) == (BASE, DECIDED)


@pytest.mark.parametrize(
    ("decision", "word", "via"),
    [
        (RUN, Word.ALLOWED_RULE, Via.POLICY),
        (replace(RUN, stage=Stage.CLASSIFIER), Word.AUTO_ALLOWED, Via.CLASSIFIER),
        (replace(RUN, verdict=Verdict.REFUSE, stage=Stage.DENY), Word.DENIED_RULE, Via.POLICY),
        (replace(RUN, verdict=Verdict.REFUSE, rule="input.too-long"), Word.REFUSED_TOO_LONG, Via.POLICY),
        (replace(RUN, verdict=Verdict.ASK, stage=Stage.MODE), Word.NONE, Via.POLICY),
        (replace(RUN, verdict=Verdict.ASK, stage=Stage.CLASSIFIER), Word.NONE, Via.CLASSIFIER),
        (replace(RUN, verdict=Verdict.CLASSIFY, stage=Stage.MODE), Word.NONE, Via.POLICY),
    ],
)
def test_the_word_follows_from_the_verdict(events: Events, decision: Decision, word: Word, via: Via) -> None:
    """In the record's own vocabulary."""
    draft = events.judged(CALL, FACTS, decision, None)
    assert (draft.word, draft.via) == (word, via)


def test_a_decision_without_a_rule_has_none(events: Events) -> None:
    """The column is empty."""
    assert events.judged(CALL, FACTS, replace(RUN, rule=None), None).rule == ""


def test_a_call_that_was_turned_away_is_on_record_as_well(events: Events) -> None:
    """Proposed and decided at one moment, by no rule of the owner's."""
    assert events.turned_away(CALL, "There is no tool", 42) == (
        BASE,
        replace(
            BASE,
            kind=EventKind.DECIDED,
            word=Word.DENIED_RULE,
            via=Via.POLICY,
            stage="input",
            rule="input.call",
            reason="There is no tool",
        ),
    )


def test_a_start_by_rule_names_the_rule(events: Events) -> None:
    """And no person."""
    assert events.started(CALL, FACTS, RUN, CALL.digest(FACTS), None) == STARTED


def test_a_start_by_a_person_names_the_person_and_the_request(events: Events) -> None:
    """With the road by which the yes came."""
    ruling = Ruling(ApprovalState.APPROVED, REVIEW, Via.COMMAND, 50)
    ask = replace(RUN, verdict=Verdict.ASK, stage=Stage.MODE)
    draft = events.started(CALL, FACTS, ask, Digest("ab"), approval(ruling))
    assert draft == replace(
        STARTED,
        stage="mode",
        word=Word.APPROVED,
        via=Via.COMMAND,
        decider="telegram:1003",
        digest=Digest("ab"),
        approval=ApprovalId("K7QD"),
    )


def test_a_request_without_a_ruling_gives_no_word(events: Events) -> None:
    """The store refuses such a start; the draft does not pretend."""
    ask = replace(RUN, verdict=Verdict.ASK, stage=Stage.MODE)
    draft = events.started(CALL, FACTS, ask, Digest("ab"), approval(None))
    assert (draft.word, draft.decider, draft.approval) == (Word.NONE, "", ApprovalId("K7QD"))


@pytest.mark.parametrize(
    ("outcome", "kind", "reason", "detail"),
    [
        (Outcome(Status.OK, REDACTOR.mask("x"), 0, 9, 3), EventKind.FINISHED, "", "started=7"),
        (Outcome(Status.OK, REDACTOR.mask("x"), None, 9, 3), EventKind.FINISHED, "", "started=7"),
        (Outcome(Status.FAILED, REDACTOR.mask("x"), 137, 9, 3), EventKind.FINISHED, "failed", "started=7"),
        (Outcome(Status.FAILED, REDACTOR.mask("x"), None, 9, 3), EventKind.FAILED, "failed", "started=7"),
        (
            Outcome(Status.TIMED_OUT, REDACTOR.mask("x"), None, 9, 3, survivors=("a swordfish9", "b")),
            EventKind.FAILED,
            "timed_out",
            f"started=7 left: a {REDACTOR.mask('swordfish9')}; b",
        ),
        (
            Outcome(Status.OK, REDACTOR.mask("x"), 0, 9, 3, survivors=("a",), held=("files", "network")),
            EventKind.FINISHED,
            "",
            "started=7 held: files, network left: a",
        ),
    ],
)
def test_the_end_belongs_to_its_start(
    events: Events, outcome: Outcome, kind: EventKind, reason: str, detail: str
) -> None:
    """Numbers as they were, and who is left over."""
    draft = replace(STARTED, at_ms=1)
    assert events.ended(draft, AuditEvent(7, "nas", draft, "", ""), outcome) == replace(
        draft,
        kind=kind,
        at_ms=101,
        reason=reason,
        exit_code=outcome.exit_code,
        duration_ms=9,
        dropped=3,
        detail=detail,
    )


def test_a_yes_that_could_not_be_used_is_on_record(events: Events) -> None:
    """As what it came to."""
    draft = events.void(CALL, FACTS, RUN, "Not run: swordfish9 changed")
    assert draft == replace(
        STARTED,
        kind=EventKind.FAILED,
        word=Word.EXPIRED,
        reason=f"Not run: {REDACTOR.mask('swordfish9')} changed",
    )


def test_no_secret_gets_into_any_text(events: Events) -> None:
    """Command, other tools' arguments, a tool's name, reasons."""
    call = replace(CALL, arguments={"command": "login swordfish9"})
    write = replace(WRITE, arguments={"path": "swordfish9", "content": "swordfish9"})
    forged = replace(CALL, tool="x swordfish9")
    decision = replace(RUN, reason="says swordfish9")
    drafts = [
        *events.decided(call, FACTS, decision, None),
        *events.decided(write, FACTS, decision, None),
        *events.turned_away(forged, "no tool swordfish9", None),
    ]
    assert "swordfish9" not in repr(drafts)


def test_a_tool_name_that_a_model_made_up_is_kept_short_and_visible(events: Events) -> None:
    """It can be a page, or turn the line around."""
    forged = replace(CALL, tool="exec\u202e\n" + "x" * 999, arguments={})
    assert events.base(EventKind.PROPOSED, forged, None).tool == "exec\\u202e " + "x" * 58


@pytest.mark.parametrize(
    ("call", "subject", "line"),
    [
        (CALL, "docker ps", "docker ps"),
        (replace(CALL, arguments={"command": "a\nb\u202e"}), "a\nb\u202e", "a; b\\u202e"),
        (WRITE, "mode=append path=notes", "write_file mode=append path=notes"),
        (replace(WRITE, arguments={}), "", "write_file"),
        (replace(CALL, arguments={"command": "x" * 201}), "x" * 201, "x" * 199 + "…"),
        (replace(CALL, arguments={"command": "x" * 200}), "x" * 200, "x" * 200),
    ],
)
def test_a_call_is_named_in_one_line(events: Events, call: Call, subject: str, line: str) -> None:
    """The record keeps it whole, the chat sees one line; what would be written is in neither."""
    assert events.base(EventKind.PROPOSED, call, None).command == subject
    assert events.line(call) == line


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("ls -l", "ls -l"),
        ("a\0b", "a␀b"),
        ("a\udcffb", "a?b"),
        ("x" * MAX_COMMAND, "x" * MAX_COMMAND),
        ("x" * (MAX_COMMAND + 1), "x" * MAX_COMMAND + f"… ({MAX_COMMAND + 1} characters in all)"),
    ],
)
def test_a_column_holds_text_that_any_database_takes(text: str, column: str) -> None:
    """No NUL, no half characters, not without end."""
    assert kept(text) == column

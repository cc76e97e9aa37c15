"""The words of a cut-off notice, whole."""

from dataclasses import replace

import pytest

from mtbot.approvals.cut_off import CutOffCards
from mtbot.domain.again import KeptState, Standing
from mtbot.domain.ids import ApprovalId, BotName, CallId, ChatId, SessionId
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Via, Word
from mtbot.domain.turn import Address, Role, SurfaceName
from tests.unit.approvals.samples import CHIEF, REDACTOR, START, Clock, approval, people, plain

CARDS = CutOffCards(Clock(), REDACTOR, people)
BOT, CHAT = BotName("ops"), ChatId(1001)
PRIVATE = Address(SurfaceName.PRIVATE, BOT, CHAT)
APPROVED = EventDraft(
    EventKind.STARTED,
    START,
    PRIVATE.session,
    CallId("c1"),
    "exec",
    "rsync -a /srv/photos/ backup:/photos/",
    bot=BOT,
    chat=CHAT,
    decider=CHIEF.key,
    via=Via.BUTTON,
    word=Word.APPROVED,
    approval=ApprovalId("T8WN"),
)


def event(draft: EventDraft) -> AuditEvent:
    """That draft in the record."""
    return AuditEvent(5, "nas", draft, "0" * 64, "1" * 64)


def test_a_call_of_unknown_end_names_who_allowed_it_and_what_is_still_open() -> None:
    """The command stays whole; three buttons name the event."""
    card = CARDS.notice(event(APPROVED), None, ("docker ps",), (approval(),))
    assert plain(card) == (
        "Cut off: I am back. This was running; how it ended is unknown, and I have not run it again:\n"
        "```\nrsync -a /srv/photos/ backup:/photos/\n```\n"
        "#T8WN · approved by Chief · started 19:06\n"
        "Before that ran by rule: docker ps\n"
        "Still open from before: #K7QD (until 19:36). Its buttons work.\n"
        "[Show]  [Ask to run it again]  [Dismiss]"
    )
    assert [choice.data for choice in card.choices] == ["show.#5", "again.#5", "dismiss.#5"]
    assert not card.silent


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (replace(APPROVED, kind=EventKind.FINISHED, exit_code=0), "exit 0"),
        (replace(APPROVED, kind=EventKind.FINISHED, reason="timed_out"), "timed_out"),
        (replace(APPROVED, kind=EventKind.FAILED), "failed"),
    ],
    ids=["exit", "timed-out", "failed"],
)
def test_a_call_that_had_ended_says_how(end: EventDraft, how: str) -> None:
    """Only the answer was lost."""
    card = CARDS.notice(event(APPROVED), event(end))
    assert card.title.startswith("Cut off: I am back. This had ended when I was cut off")
    assert card.lines == (f"#T8WN · approved by Chief · started 19:06 · {how}",)


@pytest.mark.parametrize(
    ("draft", "how"),
    [
        (replace(APPROVED, approval=None, via=Via.POLICY, rule="allow[0]"), "ran by rule allow[0]"),
        (replace(APPROVED, approval=None, via=Via.CLASSIFIER), "passed by the classifier"),
    ],
    ids=["rule", "classifier"],
)
def test_what_ran_without_a_question_says_by_what(draft: EventDraft, how: str) -> None:
    """Nobody is named who was not asked."""
    assert CARDS.notice(event(draft), None).lines == (f"{how} · started 19:06",)


def test_a_job_tells_the_owner_and_cannot_be_asked_for_again() -> None:
    """Nobody speaks in its session; a terminal that is gone hears nothing."""
    job = event(replace(APPROVED, session=SessionId("cron:nightly"), chat=ChatId(0)))
    assert [choice.label for choice in CARDS.notice(job, None).choices] == ["Show", "Dismiss"]
    cron = Address(SurfaceName.CRON, BOT, ChatId(0), label="nightly")
    assert CARDS.place(cron, job) == PRIVATE
    assert CARDS.place(Address(SurfaceName.TERMINAL, BotName(""), ChatId(0), label="local"), job) is None
    assert CARDS.place(PRIVATE, event(APPROVED)) == PRIVATE


def test_the_model_finds_it_in_the_history() -> None:
    """As a pair of entries, so that the history stays well formed."""
    person, said = CARDS.note(event(APPROVED), None)
    assert (person.role, said.role) == (Role.USER, Role.ASSISTANT)
    assert said.content.endswith(
        "rsync -a /srv/photos/ backup:/photos/\n(started 19:06; do not run it again unless the person asks for it)"
    )


def test_asking_again_says_that_a_value_is_masked() -> None:
    """What the record does not know, the model has to put in."""
    masked = event(replace(APPROVED, command="curl -H ‹secret:3f9a›"))
    assert "use the real ones.)\ncurl -H ‹secret:3f9a›" in CARDS.again(masked)
    assert "masked" not in CARDS.again(event(APPROVED))


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (Standing(KeptState.KEPT, CHIEF.key, START), ""),
        (Standing(KeptState.ASKED, CHIEF.key, START), "Chief asked for it again 19:06."),
        (Standing(KeptState.DISMISSED, CHIEF.key, START), "Chief dismissed it 19:06."),
        (Standing(KeptState.CLEARED), "This conversation was begun anew since, so that call is gone."),
    ],
)
def test_a_late_presser_is_told_what_was_done(standing: Standing, said: str) -> None:
    """Who was first and when, in words."""
    assert CARDS.dealt_with(standing) == said

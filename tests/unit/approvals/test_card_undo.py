"""The question of the trash, and the way back on it."""

from dataclasses import replace

from mtbot.domain.call import Outcome, Status
from mtbot.domain.record import ApprovalState, ChoiceAction, Ruling, Via
from tests.unit.approvals.samples import (
    CARDS,
    CHIEF,
    START,
    approval,
    asked,
    call,
    plain,
    question,
    safe,
)

OLD = "~/mtclaw-workspace/old-reports   (14 files, 3.1 MB)"
CARD = asked(replace(question(call(tool="trash"), display=OLD, why="trash asks first"), kept_days=30), "M3XA")
RULED = replace(
    approval(CARD),
    tool="trash",
    state=ApprovalState.APPROVED,
    ruling=Ruling(ApprovalState.APPROVED, CHIEF, Via.BUTTON, START),
)


def test_the_question_says_what_goes_and_until_when_it_can_come_back() -> None:
    """In the words of a person."""
    assert plain(CARD).splitlines()[:6] == [
        "Move to trash on nas?  #M3XA",
        "```",
        OLD,
        "```",
        "as mtclaw",
        "Can be restored until day 30.",
    ]


def test_after_the_move_there_is_a_way_back() -> None:
    """One button, which carries the question's own token."""
    ended = CARDS.ended(RULED, "Chief", Outcome(Status.OK, safe("moved"), undo="ABCDEF"))
    assert plain(ended).splitlines()[4:] == ["✅ Approved once by Chief 19:06 · moved", "[↩ Undo]"]
    assert [choice.data for choice in ended.choices] == [f"undo.{RULED.token}"]
    assert ended.choices[0].action is ChoiceAction.UNDO


def test_what_was_not_moved_has_no_way_back() -> None:
    """Nor has a call of a tool that keeps nothing."""
    for outcome in (Outcome(Status.REFUSED, safe("")), Outcome(Status.FAILED, safe(""))):
        assert CARDS.ended(RULED, "Chief", outcome).choices == ()
    assert plain(CARDS.ended(RULED, "Chief", Outcome(Status.REFUSED, safe("")))).endswith("19:06 · not run")


def test_afterwards_the_card_says_who_took_it_back() -> None:
    """Both stand there, and no button."""
    undone = CARDS.undone(RULED, "Chief", "Review", START + 60_000)
    assert plain(undone).splitlines()[4:] == ["✅ Approved once by Chief 19:06 · moved", "↩ Undone by Review 19:07"]

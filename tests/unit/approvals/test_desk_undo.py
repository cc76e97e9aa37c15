"""Who may take a call back, and where that is said."""

from dataclasses import replace

import pytest

from mtbot.domain.errors import NotAllowed
from mtbot.domain.record import ApprovalState, OutKind, Ruling, Via
from tests.unit.approvals.office import NOT_REQUESTER, Office
from tests.unit.approvals.samples import CHIEF, DEPLOY, START, STRANGER, approval, people


async def test_a_way_back_is_theirs_who_could_decide(office: Office) -> None:
    """As the lists stand at that moment."""
    desk = office.desk()
    desk.check_undo(approval(), CHIEF)
    with pytest.raises(NotAllowed, match="not on the list"):
        desk.check_undo(approval(), STRANGER)
    office.people = people(NOT_REQUESTER)
    with pytest.raises(NotAllowed, match="You asked for this one"):
        desk.check_undo(approval(), CHIEF)
    desk.check_undo(approval(), DEPLOY)


async def test_the_question_says_who_took_it_back(office: Office) -> None:
    """By an edit of its message, without a sound; a request that nobody ruled on has nothing to take back."""
    row = replace(
        approval(),
        tool="trash",
        state=ApprovalState.APPROVED,
        ruling=Ruling(ApprovalState.APPROVED, CHIEF, Via.BUTTON, START),
    )
    await office.desk().undone(approval(), DEPLOY)
    assert office.wakes == 0
    await office.desk().undone(row, DEPLOY)
    (queued,) = await office.stores.outbox.next([row.address.surface.value], START)
    assert (queued.item.kind, queued.item.approval, queued.item.silent) == (OutKind.EDIT, row.id, True)
    assert queued.item.card is not None
    assert [str(line) for line in queued.item.card.lines] == [
        "✅ Approved once by Chief 19:06 · moved",
        "↩ Undone by Deploy 19:06",
    ]

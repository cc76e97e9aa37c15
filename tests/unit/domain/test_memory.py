"""What marks a summary as made of text from outside, and that the mark never goes away."""

import pytest

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.memory import Summary, from_outside, tainted_by
from mtbot.domain.received import RECEIVED
from mtbot.domain.turn import Message, Role


@pytest.mark.parametrize(
    ("entry", "outside"),
    [
        (Message(Role.TOOL, f"This is {UNTRUSTED}."), True),
        (Message(Role.ASSISTANT, f"Its result is {UNTRUSTED}."), True),
        (Message(Role.USER, f"{RECEIVED}inbox/a.pdf]"), True),
        (Message(Role.USER, f"what is {UNTRUSTED}?"), False),
        (Message(Role.TOOL, RECEIVED), False),
        (Message(Role.SYSTEM, UNTRUSTED), False),
        (Message(Role.TOOL, "exit_code: 0"), False),
    ],
)
def test_only_where_such_text_can_stand_does_its_mark_count(entry: Message, *, outside: bool) -> None:
    """What a person says about it marks nothing."""
    assert from_outside(entry) is outside
    assert tainted_by(None, (Message(Role.USER, "hi"), entry)) is outside


def test_a_summary_of_a_marked_summary_is_marked() -> None:
    """Whatever else goes into it."""
    assert tainted_by(Summary("x", 3, 1, tainted=True), ())
    assert not tainted_by(Summary("x", 3, 1, tainted=False), (Message(Role.USER, "hi"),))

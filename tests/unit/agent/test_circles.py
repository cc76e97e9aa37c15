"""When a turn goes in circles."""

import pytest

from mtbot.agent.circles import DENIED_CALLS, IDLE_CALLS, SAME_CALLS, circling
from mtbot.domain.ids import CallId
from mtbot.domain.turn import Message, Role, ToolCall
from tests.unit.agent.scenes import begun

DENIED = "Not run: the person denied it."
OK = "exit_code: 0\nduration_ms: {}\noutput:\nup"


def after(*pairs: tuple[str, str]) -> str:
    """What is said after these calls, each of one answer, with these results; ids are used again."""
    state = begun()
    for arguments, result in pairs:
        call = ToolCall(CallId("c1"), "exec", arguments)
        state = state.say(
            Message(Role.ASSISTANT, "", calls=(call,)), Message(Role.TOOL, result, call_id=call.id, tool_name="exec")
        )
    return circling(state)


def test_an_ordinary_turn_goes_on() -> None:
    """Many calls, many results; an answer to no call; nothing at all."""
    assert after(*((f"ls {n}", OK.format(n)) for n in range(20))) == ""
    assert after() == ""
    stray = Message(Role.TOOL, "x", call_id=CallId("c"), tool_name="exec")
    assert circling(begun().say(*[stray] * SAME_CALLS)) == ""


def test_the_same_call_with_the_same_result() -> None:
    """However long it took, with others in between; another result is progress."""
    same = [("docker ps", OK.format(n)) for n in range(SAME_CALLS)]
    mixed = [
        one
        for pair in zip(same, [("uptime", f"exit_code: 0\n{n}") for n in range(SAME_CALLS)], strict=True)
        for one in pair
    ]
    said = "I stopped: the same call gave the same result 5 times. Say if I should go on."
    assert after(*same) == after(*mixed) == said
    assert after(*same[1:]) == ""
    assert after(*(("docker ps", f"exit_code: 0\nup {n}") for n in range(SAME_CALLS))) == ""


def test_a_cut_output_of_another_name_is_the_same_result() -> None:
    """Its name is new each time."""
    note = (
        "note: 9 bytes in the middle of the output were left out; the whole output is kept for the person: /output K{}"
    )
    assert after(*(("seq 9", f"exit_code: 0\n{note.format(n)}\noutput:\n1") for n in range(SAME_CALLS)))


@pytest.mark.parametrize("between", ["", "exit_code: 0"])
def test_calls_that_a_person_turns_down(between: str) -> None:
    """Whatever ran in between: a person must not be worn down."""
    pairs = [pair for n in range(DENIED_CALLS) for pair in ((f"rm {n}", DENIED), (f"ls {n}", between or DENIED))]
    said = "I stopped: 3 of my calls were denied. Say what you would rather have."
    assert after(*pairs) == (said if between else "I stopped: nothing of what I tried could be run, again and again.")
    assert after(*pairs[: 2 * (DENIED_CALLS - 1)] if between else pairs[: DENIED_CALLS - 1]) == ""


def test_calls_that_come_to_nothing() -> None:
    """In a row."""
    nothing = [(f"ls {n}", "Refused by policy (rule x): no.") for n in range(IDLE_CALLS)]
    assert after(*nothing) == "I stopped: nothing of what I tried could be run, again and again."
    assert after(*nothing[1:], ("ls", "exit_code: 0")) == ""

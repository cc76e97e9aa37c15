"""Faults are spent in order, and flood limits count what the support page names."""

import pytest

from mtbot.simulator import faults
from mtbot.simulator.faults import FaultQueue, FloodGate, FloodLimits


def test_faults_are_spent_in_order_by_method_and_bot() -> None:
    """A fault for another method or bot waits."""
    queue = FaultQueue()
    queue.add("sendMessage", faults.drop(), 2, None)
    queue.add("sendmessage", faults.hang(), 1, "other")
    queue.add("*", faults.refuse(), 1, None)

    taken = [queue.take(method, "mine") for method in ("SENDMESSAGE", "sendMessage", "sendMessage", "getMe", "getMe")]

    assert [fault.name if fault else None for fault in taken] == ["drop", "drop", "refuse", None, None]
    assert len(queue) == 1


def test_a_lasting_fault_ends_when_it_is_cleared() -> None:
    """Clearing one method leaves the others."""
    queue = FaultQueue()
    queue.add("getUpdates", faults.conflict(), faults.FOR_EVER, None)
    queue.add("getMe", faults.unauthorized(), 1, None)

    assert [fault.name for _ in range(3) if (fault := queue.take("getUpdates", "b"))] == ["409"] * 3
    queue.clear("getUpdates")
    assert queue.take("getUpdates", "b") is None
    queue.clear()
    assert queue.take("getMe", "b") is None


def test_a_fault_that_lasts_some_calls_counts_down() -> None:
    """Three times is three times."""
    queue = FaultQueue()
    queue.add("getMe", faults.bad_gateway(), 3, None)

    assert [queue.take("getMe", "b") is not None for _ in range(4)] == [True, True, True, False]


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    """Seconds that the test moves."""
    return _Clock()


def _waits(gate: FloodGate, chat: int, count: int) -> list[int]:
    refusals = [gate.admit("b", chat) for _ in range(count)]
    return [refusal.parameters["retry_after"] if refusal else 0 for refusal in refusals]


def test_a_burst_in_one_chat_passes_and_then_one_a_second(clock: _Clock) -> None:
    """A refused call does not count; another chat is not held up."""
    gate = FloodGate(FloodLimits(burst=3), clock)

    assert _waits(gate, 5, 5) == [0, 0, 0, 1, 1]
    assert _waits(gate, 6, 1) == [0]
    clock.now = 1.0
    assert _waits(gate, 5, 2) == [0, 1]
    clock.now = 60.0
    assert _waits(gate, 5, 4) == [0, 0, 0, 1]


def test_a_group_takes_twenty_a_minute(clock: _Clock) -> None:
    """The wait lasts until the oldest of the twenty is a minute old; a private chat has no such limit."""
    gate = FloodGate(FloodLimits(), clock)
    for _ in range(20):
        assert _waits(gate, -7, 1) == [0]
        assert _waits(gate, 7, 1) == [0]
        clock.now += 1.0

    assert _waits(gate, -7, 1) == [40]
    assert _waits(gate, 7, 1) == [0]
    clock.now = 60.0
    assert _waits(gate, -7, 1) == [0]


def test_a_bot_sends_thirty_a_second_in_all(clock: _Clock) -> None:
    """Over all chats; another bot has its own thirty."""
    gate = FloodGate(FloodLimits(), clock)
    first = [gate.admit("b", chat) for chat in range(1, 31)]

    assert first == [None] * 30
    assert _waits(gate, 31, 1) == [1]
    assert gate.admit("other", 31) is None
    clock.now = 1.0
    assert _waits(gate, 31, 1) == [0]

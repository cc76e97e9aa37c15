"""A turn remembers in which state it knows a file."""

from mtbot.domain.ids import TurnId
from mtbot.tools import seen
from mtbot.tools.seen import Seen, Stamp


def test_each_turn_knows_only_what_it_read() -> None:
    """What one turn has read is no knowledge of another."""
    memory, stamp = Seen(), Stamp(1, 2, 3, 4)
    memory.remember(TurnId("t1"), "/a", stamp)
    assert memory.recall(TurnId("t1"), "/a") == stamp
    assert memory.recall(TurnId("t2"), "/a") is None
    assert memory.recall(TurnId("t1"), "/b") is None


def test_the_latest_state_counts_and_the_oldest_is_forgotten() -> None:
    """Memory is bounded; what was touched last stays."""
    memory = Seen()
    for number in range(seen._KEPT):
        memory.remember(TurnId("t"), f"/{number}", Stamp(1, number, 0, 0))
    memory.remember(TurnId("t"), "/0", Stamp(1, 0, 9, 9))
    memory.remember(TurnId("t"), "/new", Stamp(2, 2, 2, 2))
    assert memory.recall(TurnId("t"), "/0") == Stamp(1, 0, 9, 9)
    assert memory.recall(TurnId("t"), "/1") is None

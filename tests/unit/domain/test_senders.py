"""Who was ignored lately: bounded, counted, and by a hash of their name."""

from dataclasses import replace

from mtbot.domain.ids import BotName, ChatId, UserId
from mtbot.domain.senders import MOST, Sender, merged, name_hash

ONE = Sender(BotName("main"), UserId(6666), ChatId(6666), name_hash("Stranger"), "not_listed", 2, 1000)


def test_a_name_is_recognised_and_not_told() -> None:
    """However it is spaced, and whatever is in it."""
    assert name_hash(" Strange \n r") == name_hash("Strange r")
    assert name_hash("Stranger") != name_hash("stranger")
    assert len(name_hash("\ud800")) == 8


def test_times_add_up_and_the_latest_comes_first() -> None:
    """What was noted last counts for the rest."""
    other = replace(ONE, user=UserId(7), last_ms=1500)
    later = replace(ONE, times=3, last_ms=2000, why="unknown_group")
    assert merged([ONE, other], [later]) == (replace(later, times=5), other)
    assert merged([], [ONE]) == (ONE,)


def test_only_so_many_are_kept() -> None:
    """The latest."""
    many = [replace(ONE, user=UserId(number), last_ms=number) for number in range(1, MOST + 10)]
    assert [one.last_ms for one in merged(many[:40], many[40:])] == list(range(MOST + 9, 9, -1))

"""How often is too often, and when it is over."""

from mtbot.domain.ids import UserId
from mtbot.policy.limits import HOUR_MS, MOST_PEOPLE, HourlyLimit

CHIEF, DEPLOY = UserId(1001), UserId(1002)


def test_the_window_slides() -> None:
    """The first one leaves after an hour, and with it comes the next chance."""
    limit = HourlyLimit(2)
    for at in (0, 1000):
        assert limit.free_at(CHIEF, at) is None
        limit.count(CHIEF, at)
    assert limit.free_at(CHIEF, 2000) == HOUR_MS
    assert limit.free_at(CHIEF, HOUR_MS - 1) == HOUR_MS
    assert limit.free_at(CHIEF, HOUR_MS) is None
    limit.count(CHIEF, HOUR_MS)
    assert limit.free_at(CHIEF, HOUR_MS + 1) == HOUR_MS + 1000


def test_everybody_has_their_own() -> None:
    """What one did is nothing to another."""
    limit = HourlyLimit(1)
    limit.count(CHIEF, 0)
    assert limit.free_at(DEPLOY, 1) is None


def test_none_is_no_limit() -> None:
    """And nothing is remembered for it."""
    limit = HourlyLimit(0)
    for at in range(10):
        limit.count(CHIEF, at)
        assert limit.free_at(CHIEF, at) is None


def test_a_clock_that_went_back_shuts_nobody_out() -> None:
    """Moments in the future are none that count."""
    limit = HourlyLimit(1)
    limit.count(CHIEF, 10 * HOUR_MS)
    assert limit.free_at(CHIEF, HOUR_MS) is None


def test_memory_is_bounded() -> None:
    """Who was still for longest is forgotten."""
    limit = HourlyLimit(1)
    for number in range(MOST_PEOPLE + 1):
        limit.count(UserId(number), number)
    assert limit.free_at(UserId(0), MOST_PEOPLE) is None
    assert limit.free_at(UserId(1), MOST_PEOPLE) is not None

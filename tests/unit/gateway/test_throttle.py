"""Who is kept off, and what they hear."""

from dataclasses import replace

from mtbot.domain.ids import ChatId, UserId
from mtbot.domain.turn import SYSTEM, SurfaceName
from mtbot.gateway import throttle as module
from mtbot.gateway.throttle import Throttle
from mtbot.policy.limits import HOUR_MS, HourlyLimit
from tests.unit.approvals.samples import CHIEF, PRIVATE, Clock
from tests.unit.gateway.rooms import inbound

OWNER = UserId(5)
SAID = (
    "You have asked 1 things within an hour, which is the limit for one person; this one was dropped. "
    "The next is free at 20:06."
)
GROUP = replace(PRIVATE, surface=SurfaceName.GROUP, chat=ChatId(-100))


def test_it_counts_over_all_chats_and_says_so_once_in_each() -> None:
    """A flood is answered by one line; when there is room again, the next flood is too."""
    clock = Clock()
    throttle = Throttle(HourlyLimit(1), clock)
    assert throttle.keeps_off(inbound(), OWNER) is None
    assert throttle.keeps_off(inbound(address=GROUP), OWNER) == SAID
    assert [throttle.keeps_off(inbound(address=GROUP), OWNER) for _ in range(5)] == [""] * 5
    assert throttle.keeps_off(inbound(), OWNER) == SAID
    clock.now += HOUR_MS
    assert throttle.keeps_off(inbound(), OWNER) is None
    assert (throttle.keeps_off(inbound(), OWNER) or "").startswith("You have asked")


def test_the_owner_and_the_clock_are_never_kept_off() -> None:
    """Whoever wrote the limit can lift it; a job has its schedule."""
    throttle = Throttle(HourlyLimit(1), Clock())
    for sender in (CHIEF, SYSTEM):
        assert [throttle.keeps_off(replace(inbound(), sender=sender), CHIEF.user) for _ in range(3)] == [None] * 3


def test_what_was_said_where_is_bounded() -> None:
    """Beyond it, it is said again."""
    throttle = Throttle(HourlyLimit(1), Clock())
    throttle.keeps_off(inbound(), OWNER)
    for number in range(module.MOST_TOLD):
        assert throttle.keeps_off(inbound(address=replace(GROUP, chat=ChatId(-1 - number))), OWNER)
    assert throttle.keeps_off(inbound(), OWNER)
    assert throttle.keeps_off(inbound(address=replace(GROUP, chat=ChatId(-1))), OWNER)

"""Keep one person from setting the assistant to work without end; what says so is itself said once."""

from mtbot.domain.ids import ChatId, UserId
from mtbot.domain.ports import Clock
from mtbot.domain.turn import Inbound
from mtbot.policy.limits import HourlyLimit

MOST_TOLD = 1000
"""So many chats are remembered in which it was said; then it is said again."""


class Throttle:
    """Admits messages that begin a turn. The owner is never kept off: whoever wrote the limit may lift it."""

    def __init__(self, limit: HourlyLimit, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._told: set[tuple[UserId, ChatId]] = set()

    def keeps_off(self, inbound: Inbound, owner: UserId | None) -> str | None:
        """None if a turn may begin with it, which is then counted; else what to say, empty if it was said already."""
        who = inbound.sender.user
        if who is None or who == owner:
            return None
        now = self._clock.now_ms()
        free = self._limit.free_at(who, now)
        if free is None:
            self._limit.count(who, now)
            self._told -= {one for one in self._told if one[0] == who}
            return None
        key = (who, inbound.address.chat)
        if key in self._told:
            return ""
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(key)
        return (
            f"You have asked {self._limit.most} things within an hour, which is the limit for one person; this one was "
            f"dropped. The next is free at {self._clock.clock_text(free)}."
        )

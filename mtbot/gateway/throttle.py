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
        self._told: set[tuple[UserId | None, ChatId]] = set()

    def full(self, inbound: Inbound, owner: UserId | None) -> bool:
        """Whether no turn may begin with it now; nothing is counted and nothing is said."""
        return self._free_at(inbound, owner) is not None

    def keeps_off(self, inbound: Inbound, owner: UserId | None) -> str | None:
        """None if a turn may begin with it, which is then counted; else what to say, empty if it was said already."""
        free, who = self._free_at(inbound, owner), inbound.sender.user
        if free is None:
            if who is not None and who != owner:
                self._limit.count(who, self._clock.now_ms())
                self._told -= {one for one in self._told if one[0] == who}
            return None
        key = (who, inbound.address.chat)
        if key in self._told:
            return ""
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(key)
        return self._sentence(free)

    def keeps_off_press(self, inbound: Inbound, owner: UserId | None) -> str | None:
        """The same for a button that begins a turn; said at each press, because only who presses sees it."""
        free = self._free_at(inbound, owner)
        return self.keeps_off(inbound, owner) if free is None else self._sentence(free)

    def _free_at(self, inbound: Inbound, owner: UserId | None) -> int | None:
        """When its sender may begin a turn again; None: now."""
        who = inbound.sender.user
        return None if who is None or who == owner else self._limit.free_at(who, self._clock.now_ms())

    def _sentence(self, free: int) -> str:
        return (
            f"You have asked {self._limit.most} things within an hour, which is the limit for one person; this one was "
            f"dropped. The next is free at {self._clock.clock_text(free)}."
        )

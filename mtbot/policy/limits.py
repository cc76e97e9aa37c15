"""How often somebody may do something in an hour: a sliding window for each, of bounded size. Pure: time is given."""

from collections import OrderedDict, deque

from mtbot.domain.ids import UserId

HOUR_MS = 3_600_000
MOST = 1000
"""The highest limit there is; so many moments are remembered of a person."""

MOST_PEOPLE = 1000
"""So many people are remembered; beyond them who has been still for longest is forgotten."""


class HourlyLimit:
    """At most ``most`` times in any hour, for each person; 0 is no limit. Times are Unix milliseconds."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._seen: OrderedDict[UserId, deque[int]] = OrderedDict()

    def free_at(self, who: UserId, now_ms: int) -> int | None:
        """None if it may be now, else when it may be again. A clock that went back frees nobody for longer than an hour."""
        seen = self._seen.get(who)
        if seen is None or not self.most:
            return None
        while seen and not now_ms - HOUR_MS < seen[0] <= now_ms:
            seen.popleft()
        return seen[0] + HOUR_MS if len(seen) >= self.most else None

    def count(self, who: UserId, now_ms: int) -> None:
        """It was done."""
        if not self.most:
            return
        self._seen.setdefault(who, deque(maxlen=self.most)).append(now_ms)
        self._seen.move_to_end(who)
        while len(self._seen) > MOST_PEOPLE:
            self._seen.popitem(last=False)

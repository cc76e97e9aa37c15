"""How fast one may speak: Telegram's flood limits as buckets, so that a 429 is the exception.

About one message a second in a chat with short bursts, twenty a minute in a group, thirty a second overall; edits
count. The real limits are not published, so what a 429 says always wins (the outbox obeys it).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

CHATS_REMEMBERED = 1000
BURST = 6
DRAFTS_PER_SECOND = 10


class Bucket:
    """``burst`` at once, then ``per_second``."""

    def __init__(self, burst: float, per_second: float, now: float) -> None:
        self.burst = burst
        self._rate = per_second
        self._level = burst
        self._at = now

    def level(self, now: float) -> float:
        """How many may be used at once; below nothing when some wait already."""
        return min(self.burst, self._level + (now - self._at) * self._rate)

    def take(self, now: float) -> float:
        """Take one; how many seconds to wait before it may be used."""
        self._level = self.level(now) - 1
        self._at = now
        return max(0.0, -self._level / self._rate)


class Pace:
    """The buckets of one bot."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._all = Bucket(30, 30, now())
        self._drafts = Bucket(DRAFTS_PER_SECOND, DRAFTS_PER_SECOND, now())
        self._chats: OrderedDict[int, tuple[Bucket, ...]] = OrderedDict()

    def delay(self, chat: int) -> float:
        """Take a place for a message to ``chat``; the seconds to wait for it."""
        now = self._now()
        return max(bucket.take(now) for bucket in (self._all, *self._of(chat, now)))

    def _of(self, chat: int, now: float) -> tuple[Bucket, ...]:
        buckets = self._chats.get(chat)
        if buckets is None:
            buckets = (Bucket(BURST, 1, now), Bucket(18, 1 / 3.2, now)) if chat < 0 else (Bucket(BURST, 1, now),)
            self._chats[chat] = buckets
            while len(self._chats) > CHATS_REMEMBERED:
                self._chats.popitem(last=False)
        self._chats.move_to_end(chat)
        return buckets

    def spare(self, chat: int) -> bool:
        """Take a place for something that may as well be left out; False, and nothing taken, when places are short."""
        now = self._now()
        if not self._is_calm(chat, now):
            return False
        for bucket in (self._all, *self._of(chat, now)):
            bucket.take(now)
        return True

    def spare_draft(self, chat: int) -> bool:
        """Take a place for a draft, which is no message but a kind of typing: it has places of its own.

        False, and nothing taken, when those are short or the places for messages are.
        """
        now = self._now()
        if self._drafts.level(now) < 1 or not self._is_calm(chat, now):
            return False
        self._drafts.take(now)
        return True

    def _is_calm(self, chat: int, now: float) -> bool:
        """Whether at least half of a burst of messages could be sent at once."""
        return all(bucket.level(now) >= bucket.burst / 2 for bucket in (self._all, *self._of(chat, now)))

    async def wait(self, chat: int) -> None:
        """Wait for a place."""
        seconds = self.delay(chat)
        if seconds > 0:
            await asyncio.sleep(seconds)

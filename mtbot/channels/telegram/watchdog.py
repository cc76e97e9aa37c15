"""Whether the long poll still hears its server: told apart are a poll that fails again and again and one that never ends.

Every poll has a deadline, so a healthy loop ends an attempt within a minute. A bot whose polling is dead while its sends
go through looks alive to everybody but the people who write to it.
"""

from collections.abc import Callable
from enum import StrEnum

SILENCE_SECONDS = 120.0
"""Without any answer for so long, the connections that are polled over are made anew."""

STUCK_SECONDS = 600.0
"""If no attempt ended for so long, in any way, the loop itself is stuck."""


class Health(StrEnum):
    """How polling stands."""

    FINE = "fine"
    SILENT = "silent"
    STUCK = "stuck"


class Watchdog:
    """Judges by a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ended = self._heard = now()

    def heard(self, wait: float = 0.0) -> None:
        """The server answered, if only to have us wait for so many seconds."""
        self._heard = self._now() + wait
        self.ended(wait)

    def ended(self, wait: float = 0.0) -> None:
        """An attempt ended, with or without an answer; the next one begins after so many seconds."""
        self._ended = self._now() + wait

    def renewed(self) -> None:
        """The connections were made anew: they get their time too."""
        self._heard = self._now()

    def look(self) -> Health:
        """How polling stands now."""
        now = self._now()
        if now - self._ended > STUCK_SECONDS:
            return Health.STUCK
        return Health.SILENT if now - self._heard > SILENCE_SECONDS else Health.FINE

"""Faults on demand and Telegram's flood limits: what a server does to a client besides answering it.

Both are asked before a call is performed. Faults are queued per method (or `*` for any) and spent in order, so a test
can say "the first two sends fail, the third passes" and mean it.
"""

import math
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum

from mtbot.simulator.values import ApiRefusal, Clock

ANY_METHOD = "*"
FOR_EVER = -1


class FaultKind(StrEnum):
    """What may go wrong. `drop` and `cut` perform the call first, `refuse` and `status` do not, `hang` waits."""

    STATUS = "status"
    HANG = "hang"
    DROP = "drop"
    CUT = "cut"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; `refusal` is sent as JSON for kind status, or `html` as the body of a proxy's error page."""

    kind: FaultKind
    name: str
    refusal: ApiRefusal | None = None
    status: int = 0
    html: str = ""
    times: int = 1


def unauthorized() -> Fault:
    """401, as after a revoked token."""
    return status(401, "Unauthorized")


def conflict() -> Fault:
    """409, as when another program polls with the same token."""
    return status(
        409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    )


def too_many(retry_after: int) -> Fault:
    """429 with the seconds after which the server will listen again."""
    refusal = ApiRefusal(429, f"Too Many Requests: retry after {retry_after}", {"retry_after": retry_after})
    return Fault(FaultKind.STATUS, "429", refusal, 429)


def status(code: int, description: str) -> Fault:
    """Any other JSON error."""
    return Fault(FaultKind.STATUS, str(code), ApiRefusal(code, description), code)


def bad_gateway() -> Fault:
    """502 with an HTML body, as from a proxy in front of the server."""
    page = (
        "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n"
    )
    return Fault(FaultKind.STATUS, "502", None, 502, page)


def hang() -> Fault:
    """No answer until the simulator is told to release; the call is performed then."""
    return Fault(FaultKind.HANG, "hang")


def drop() -> Fault:
    """Perform the call, then close the connection without a word: the client cannot know."""
    return Fault(FaultKind.DROP, "drop")


def cut() -> Fault:
    """Perform the call, send the headers and half of the body, then close."""
    return Fault(FaultKind.CUT, "cut")


def refuse() -> Fault:
    """Close the connection before anything is performed."""
    return Fault(FaultKind.REFUSE, "refuse")


class FaultQueue:
    """Faults waiting for their call, in order."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str | None, Fault]] = []

    def add(self, method: str, fault: Fault, times: int, bot: str | None) -> None:
        """Queue a fault for the next so many calls of a method; FOR_EVER until cleared."""
        self._waiting.append((method.lower(), bot, replace(fault, times=times)))

    def take(self, method: str, bot: str) -> Fault | None:
        """The fault for this call, used up by asking."""
        for at, (wanted, whose, fault) in enumerate(self._waiting):
            if wanted in {method.lower(), ANY_METHOD} and whose in {None, bot}:
                if fault.times == 1:
                    del self._waiting[at]
                elif fault.times != FOR_EVER:
                    self._waiting[at] = (wanted, whose, replace(fault, times=fault.times - 1))
                return fault
        return None

    def clear(self, method: str | None = None) -> None:
        """Forget the faults of one method, or all."""
        self._waiting = [item for item in self._waiting if method is not None and item[0] != method.lower()]

    def __len__(self) -> int:
        """How many entries wait."""
        return len(self._waiting)


@dataclass(frozen=True, slots=True)
class FloodLimits:
    """The limits that Telegram's support names; a burst may pass before the one per second per chat counts."""

    burst: int = 4
    group_per_minute: int = 20
    per_second: int = 30


class FloodGate:
    """Counts sends and edits over sliding windows of the injected clock."""

    def __init__(self, limits: FloodLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._chats: dict[tuple[str, int], deque[float]] = {}
        self._bots: dict[str, deque[float]] = {}

    def admit(self, bot: str, chat: int) -> ApiRefusal | None:
        """Count one message, or answer the 429 that it earns."""
        now = self._clock()
        in_chat = self._chats.setdefault((bot, chat), deque())
        of_bot = self._bots.setdefault(bot, deque())
        while in_chat and in_chat[0] <= now - 60:
            in_chat.popleft()
        while of_bot and of_bot[0] <= now - 1:
            of_bot.popleft()
        waits = [self._burst_wait(in_chat, now)]
        if chat < 0 and len(in_chat) >= self._limits.group_per_minute:
            waits.append(in_chat[-self._limits.group_per_minute] + 60 - now)
        if len(of_bot) >= self._limits.per_second:
            waits.append(of_bot[0] + 1 - now)
        if max(waits) > 0:
            return too_many(max(1, math.ceil(max(waits)))).refusal
        in_chat.append(now)
        of_bot.append(now)
        return None

    def _burst_wait(self, sent: deque[float], now: float) -> float:
        """Seconds until the leaky bucket of one chat has room: one leaks each second, `burst` fit."""
        level, last = 0.0, now
        for at in sent:
            level = max(0.0, level - (at - last)) + 1 if level else 1.0
            last = at
        level = max(0.0, level - (now - last))
        return max(0.0, level - (self._limits.burst - 1))

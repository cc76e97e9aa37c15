"""What a gateway does once a day: send the head of the record away, remove rows that are long done.

A chore is due a day after it was last done, also when the gateway was not running then: what was done is written down.
A chore that fails is tried again in an hour, and nothing else waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from mtbot.domain.errors import MtclawError
from mtbot.domain.ports import Clock, Ledger

DAY_MS = 86_400_000
LOOK_SECONDS = 3600.0

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Chore:
    """Something to be done daily; ``do`` raises MtclawError if it could not be done."""

    name: str
    do: Callable[[], Awaitable[None]]


class Daily:
    """Does chores when they are due."""

    def __init__(self, chores: Sequence[Chore], ledger: Ledger, clock: Clock) -> None:
        self._chores = chores
        self._ledger = ledger
        self._clock = clock

    async def look(self) -> None:
        """Do what is due."""
        for chore in self._chores:
            now = self._clock.now_ms()
            try:
                last = await self._ledger.last(chore.name)
                # a moment in the future is of a clock that was wrong
                if last is not None and now - DAY_MS < last <= now:
                    continue
                await chore.do()
                await self._ledger.did(chore.name, now)
            except MtclawError as error:
                _log.error("daily.failed", chore=chore.name, code=error.code, error=str(error))

    async def run(self) -> None:
        """Look every hour."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

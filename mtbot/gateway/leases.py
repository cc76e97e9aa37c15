"""Which process works in a session: a lease is taken for a step, kept while it runs, and given back."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import structlog

from mtbot.domain.errors import MtclawError
from mtbot.domain.ids import SessionId
from mtbot.domain.ports import Clock, Leases

LEASE_MS = 60_000
LEASE_TRIES = 130
HOLD_TRIES = 4
LEASE_PAUSE = 0.5

_log = structlog.get_logger()


class Leasing:
    """The leases of one process, which is called ``holder``."""

    def __init__(self, leases: Leases, holder: str, clock: Clock) -> None:
        self._leases = leases
        self._holder = holder
        self._clock = clock
        self._held: set[SessionId] = set()

    @contextlib.asynccontextmanager
    async def holding(self, session: SessionId) -> AsyncIterator[bool]:
        """Keep the session's lease also between steps, while a question is open; False if another process has it."""
        got = await self.take(session, HOLD_TRIES)
        renewer = asyncio.create_task(self.renew(session)) if got else None
        if got:
            self._held.add(session)
        try:
            yield got
        finally:
            self._held.discard(session)
            if renewer is not None:
                renewer.cancel()
                await self.give_back(session)

    async def take(self, session: SessionId, tries: int = LEASE_TRIES) -> bool:
        """Take the session's lease; another process gets a while to finish."""
        for attempt in range(tries):
            if attempt:
                await asyncio.sleep(LEASE_PAUSE)
            now = self._clock.now_ms()
            if await self._leases.acquire(session, self._holder, now, now + LEASE_MS):
                return True
        return False

    async def renew(self, session: SessionId) -> None:
        """Keep the lease while a long step runs; until cancelled."""
        while True:
            await asyncio.sleep(LEASE_MS / 3000)
            now = self._clock.now_ms()
            with contextlib.suppress(MtclawError):
                await self._leases.acquire(session, self._holder, now, now + LEASE_MS)

    async def give_back(self, session: SessionId) -> None:
        """Release it, unless it is held beyond the step; a lease that cannot be released lapses by itself."""
        if session in self._held:
            return
        try:
            await self._leases.release(session, self._holder)
        except MtclawError as error:
            _log.warning("lease.not_released", session=session, error=str(error))

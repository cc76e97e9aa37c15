"""Notes who is ignored; written down together and seldom, because anybody may write to a bot as often as they like."""

import asyncio
from collections import OrderedDict
from dataclasses import replace

import structlog

from mtbot.domain.errors import MtclawError
from mtbot.domain.ports import Clock
from mtbot.domain.senders import MOST, Sender, SenderBook, name_hash
from mtbot.domain.turn import Inbound
from mtbot.policy.people import Admission

WRITE_SECONDS = 2.0

NOTED = (Admission.NOT_LISTED, Admission.UNKNOWN_GROUP, Admission.MAY_PAIR)

_log = structlog.get_logger()


class Senders:
    """Notes, and writes down what was noted a little later."""

    def __init__(self, book: SenderBook, clock: Clock) -> None:
        self._book = book
        self._clock = clock
        self._noted: OrderedDict[tuple[str, int, int], Sender] = OrderedDict()
        self._writing: asyncio.Task[None] | None = None

    def note(self, inbound: Inbound, admission: Admission) -> None:
        """Somebody was ignored for that reason; chats and channels are nobody."""
        user, address = inbound.sender.user, inbound.address
        if user is None or admission not in NOTED:
            return
        why = Admission.NOT_LISTED if admission is Admission.MAY_PAIR else admission
        name, now = name_hash(inbound.sender.name), self._clock.now_ms()
        one = Sender(address.bot, user, address.chat, name, why.value, 1, now)
        before = self._noted.get(one.key)
        self._noted[one.key] = one if before is None else replace(one, times=before.times + 1)
        self._noted.move_to_end(one.key)
        while len(self._noted) > MOST:
            self._noted.popitem(last=False)
        if self._writing is None:
            self._writing = asyncio.create_task(self._later())

    async def close(self) -> None:
        """Write down what is noted."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
            self._writing = None
        await self._write()

    async def _later(self) -> None:
        await asyncio.sleep(WRITE_SECONDS)
        self._writing = None
        await self._write()

    async def _write(self) -> None:
        noted = tuple(self._noted.values())
        self._noted.clear()
        if noted:
            try:
                await self._book.add(noted)
            except MtclawError as error:
                _log.warning("senders.not_written", error=str(error))

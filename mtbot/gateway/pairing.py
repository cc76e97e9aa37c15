"""``/pair CODE``: somebody who is on no list yet shows that they sit at the other end of a code from the host.

The chat grants nothing by itself: the command on the host writes the person into the configuration, and only then does
the gateway read its people anew. Without an open code nothing is answered, so that nobody learns whether there is one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from mtbot.domain.errors import ConfigError, MtclawError
from mtbot.domain.ids import ChatId, UserId
from mtbot.domain.pairing import MAX_TRIES, Pairing, Pairings, Standing
from mtbot.domain.ports import Clock, Masker, Outbox
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Address, Inbound, SurfaceName
from mtbot.policy.people import People
from mtbot.redaction.display import display

LOOK_SECONDS = 0.5
HOST_SECONDS = 60.0
"""How long the host has to write down who sent the code."""

MAX_NAME = 60

SHOWN = "A code is never sent in a group: everybody has seen it, so it is void. Ask for a new one."

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PairFrame:
    """What surrounds pairing. ``reload`` reads the configuration anew: ConfigError, and nothing changes."""

    clock: Clock
    masker: Masker
    people: Callable[[], People]
    reload: Callable[[], Awaitable[None]]
    wake: Callable[[], None]


class Pairer:
    """Answers ``/pair``, and waits for the host in the background."""

    def __init__(self, pairings: Pairings, outbox: Outbox, frame: PairFrame) -> None:
        self._pairings = pairings
        self._outbox = outbox
        self._frame = frame
        self._waiting: set[asyncio.Task[None]] = set()

    async def stranger(self, inbound: Inbound) -> str:
        """Somebody who is not listed sent a code in their own chat: what they are told, nothing if none is open."""
        user = inbound.sender.user
        if user is None:
            return ""
        called = display(" ".join(inbound.sender.name.split()))[:MAX_NAME]
        now = self._frame.clock.now_ms()
        found = await self._pairings.attempt(inbound.address.bot, inbound.text, user, called, now)
        if found is None:
            return ""
        if found.standing is Standing.MATCHED:
            task = asyncio.create_task(self._wait(found, inbound.address))
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
            return "That is the code. Wait a moment, until the host has written you down."
        if found.standing is Standing.SPENT:
            many = len(found.wrong)
            await self._tell_owner(found, f"{many} senders guessed at the code to pair as {found.person}: it is void.")
            return "That is not the code, and it is void now. Ask for a new one."
        if found.done_with(user):
            if found.guessers == 1:  # of a flood the owner hears once
                await self._tell_owner(found, _guessed(found, user))
            return "That is not the code, and I take no more from you. Ask for a new one."
        return "That is not the code."

    async def listed(self, inbound: Inbound) -> str:
        """Somebody who is listed sent one: it is not for them, and one that was shown in a group is void."""
        found = await self._pairings.find(inbound.address.bot)
        open_one = found if found is not None and found.standing is Standing.OPEN else None
        if inbound.address.surface is SurfaceName.PRIVATE:
            return "You are on the list already; the code is for somebody who is not."
        if open_one is not None:
            await self._pairings.end(open_one, Standing.SPENT)
            return SHOWN
        return "A code is never sent in a group, only to me alone."

    async def seen(self, inbound: Inbound) -> str:
        """Somebody who is not heard said the code where others read it: it is void; nothing is said of any other."""
        found = await self._pairings.find(inbound.address.bot)
        if found is None or not found.open_with(inbound.text):
            return ""
        await self._pairings.end(found, Standing.SPENT)
        return SHOWN

    async def close(self) -> None:
        """Wait for nobody any more."""
        for task in tuple(self._waiting):
            task.cancel()
        if self._waiting:
            await asyncio.wait(self._waiting)

    async def _wait(self, pairing: Pairing, chat: Address) -> None:
        try:
            said = await self._taken_up(pairing)
            await self._say(chat, said)
        except MtclawError as error:
            _log.error("pairing.failed", bot=pairing.bot, error=str(error))

    async def _taken_up(self, pairing: Pairing) -> str:
        """What the person is told once the host has written them down, or has not."""
        for _ in range(round(HOST_SECONDS / LOOK_SECONDS)):
            found = await self._pairings.find(pairing.bot)
            if found is None or found.digest != pairing.digest:
                break
            if found.standing is Standing.WRITTEN:
                return await self._bound(pairing)
            await asyncio.sleep(LOOK_SECONDS)
        return "The host did not write you down. Ask for a new code."

    async def _bound(self, pairing: Pairing) -> str:
        try:
            await self._frame.reload()
        except ConfigError as error:
            _log.error("pairing.not_reloaded", bot=pairing.bot, error=str(error))
            return "You are written down, and I know you when I am started again."
        now = self._frame.clock.clock_text(self._frame.clock.now_ms())
        name = pairing.person[:1].upper() + pairing.person[1:]
        text = (
            f"{name} (id {pairing.user}, called {pairing.called or 'nothing'} on Telegram) was paired by a code from the "
            f"host at {now} and may speak to me now. To undo it, take {pairing.person} out of the configuration."
        )
        await self._tell_owner(pairing, text)
        return f"Hello {name}. I know you now. /help shows what you can do."

    async def _tell_owner(self, pairing: Pairing, text: str) -> None:
        owner = self._frame.people().owner
        if owner is not None and owner != pairing.user:
            await self._say(Address(SurfaceName.PRIVATE, pairing.bot, ChatId(int(owner))), text)

    async def _say(self, place: Address, text: str) -> None:
        item = OutboxItem(OutKind.NOTICE, place, text=self._frame.masker.mask(text), silent=True)
        await self._outbox.put(item, now_ms=self._frame.clock.now_ms())
        self._frame.wake()


def _guessed(pairing: Pairing, user: UserId) -> str:
    return (
        f"Somebody (id {user}) sent {MAX_TRIES} wrong codes to pair as {pairing.person} and is not answered any more. The code "
        "stays good for others; if there are more such senders, you hear of it only if they make it void."
    )

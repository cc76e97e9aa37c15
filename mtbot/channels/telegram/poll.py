"""The long poll: updates are on disk before they are confirmed, and one that cannot be read is set aside alone.

The loop heals by itself from everything but a rejected token. Acting on an update never holds up the next poll, and a
press or /stop never waits behind another update of its chat.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import structlog
from pydantic import ValidationError

from mtbot.channels.telegram.translate import Me, membership, translate
from mtbot.channels.telegram.transport import Transport
from mtbot.channels.telegram.updates import Update
from mtbot.channels.telegram.watchdog import Health, Watchdog
from mtbot.domain.chats import ChatChange
from mtbot.domain.errors import ChannelError, MtclawError, PollConflict, StorageError, Throttled, TokenRejected
from mtbot.domain.ids import BotName, Digest
from mtbot.domain.ports import Clock, Inbox
from mtbot.domain.record import InboxRow, withdraws
from mtbot.domain.turn import Address, Inbound, InboundKind

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
CONFLICT_PAUSE = 5.0
QUICK_SECONDS = 1.0
"""A poll that brings nothing new takes longer than this, unless something between here and Telegram answers in its place."""

WATCH_SECONDS = 10.0
"""How often somebody looks whether the loop is well."""

STOP_SECONDS = 5.0
PATIENCE = 0.5
"""Seconds that a /stop or a Deny waits for the database before it is acted on without."""

_log = structlog.get_logger()


class Door(Protocol):
    """Where what people said goes in (gateway/intake)."""

    def admits(self, inbound: Inbound) -> bool:
        """Whether it may come in at all; what may not leaves no trace on disk."""
        ...

    def inward(self, address: Address) -> Address:
        """The place by which ``address`` is known inside."""
        ...

    def heeds(self, change: ChatChange) -> bool:
        """Whether a change of a chat concerns us; a move counts from this moment on."""
        ...

    async def changed(self, change: ChatChange) -> None:
        """Act on a change that was stored."""
        ...

    async def turn_away(self, inbound: Inbound) -> None:
        """Deal with what may not come in."""
        ...

    async def receive(self, inbound: Inbound) -> None:
        """Act on what was stored."""
        ...


class Poller:
    """Polls for one bot and hands on what people said."""

    def __init__(self, transport: Transport, me: Me, inbox: Inbox, door: Door, clock: Clock) -> None:
        self._transport = transport
        self._me = me
        self._inbox = inbox
        self._door = door
        self._clock = clock
        self._offset: int | None = None
        self._chains: dict[Address, asyncio.Task[None]] = {}
        self._past: set[asyncio.Task[None]] = set()
        self._ahead: set[Digest] = set()
        self._conflict_told = self._silence_told = False
        self._idle = 0
        self._watchdog = Watchdog(time.monotonic)
        self.last_success_ms: int | None = None
        self.trouble = ""
        """Why it does not poll now; empty while it does."""

    async def run(self) -> None:
        """Poll until cancelled. TokenRejected ends it, and a loop that is stuck; everything else is waited out."""
        polling = asyncio.create_task(self._poll())
        try:
            while True:
                await asyncio.wait([polling], timeout=WATCH_SECONDS)
                if polling.done():
                    return polling.result()
                await self._look_after()
        finally:
            polling.cancel()
            await asyncio.wait([polling], timeout=STOP_SECONDS)

    async def _poll(self) -> None:
        pause = FIRST_PAUSE
        fault: MtclawError
        while True:
            heard = True
            try:
                await self._unhurried()
                pause, self._conflict_told, self.trouble = FIRST_PAUSE, False, ""
                continue
            except TokenRejected:
                raise
            except PollConflict as error:
                wait, fault = max(CONFLICT_PAUSE, pause), error
                self._tell_conflict(error)
            except Throttled as error:
                wait, fault = max(FIRST_PAUSE, error.retry_after), error
            except StorageError as error:
                _log.error("poll.not_stored", bot=self._me.name, error=str(error))
                wait, fault = pause, error
            except ChannelError as error:
                _log.warning("poll.failed", bot=self._me.name, error=str(error), retry_s=pause)
                wait, fault, heard = pause, error, False
            self.trouble = fault.message
            pause = min(LONGEST_PAUSE, pause * 2)
            (self._watchdog.heard if heard else self._watchdog.ended)(wait)
            await asyncio.sleep(wait)

    async def _look_after(self) -> None:
        """Make connections anew that nothing is heard over; give up a loop that is stuck. ChannelError."""
        health = self._watchdog.look()
        if health is Health.STUCK:
            raise ChannelError(f"polling of bot {self._me.name} is stuck", hint="the gateway has to be started again")
        if health is Health.SILENT:
            if not self._silence_told:
                self._silence_told = True
                _log.error("poll.silent", bot=self._me.name, hint="is the network up, and api.telegram.org reachable?")
            self._watchdog.renewed()
            await self._transport.renew()

    async def _unhurried(self) -> None:
        """Poll; pause behind it where a server answers at once, again and again, with nothing that is new."""
        offset, began = self._offset, time.monotonic()
        await self._once()
        if self._offset != offset or time.monotonic() - began >= QUICK_SECONDS:
            self._idle = 0
            return
        self._idle += 1
        if self._idle == 2:
            _log.warning(
                "poll.answered_at_once",
                bot=self._me.name,
                hint="does a proxy or a Bot API server of your own cut long polls short, or answer from a cache?",
            )
        if self._idle > 1:
            await asyncio.sleep(FIRST_PAUSE)

    async def _once(self) -> None:
        updates = await self._transport.updates(self._offset)
        self.last_success_ms = self._clock.now_ms()
        self._watchdog.heard()
        if self._silence_told:
            self._silence_told = False
            _log.info("poll.heard_again", bot=self._me.name)
        rows = [row for row in map(self._row, updates) if row is not None]
        read: list[tuple[InboxRow, Inbound | ChatChange]] = []
        admitted: dict[InboxRow, Inbound | ChatChange] = {}
        for row in rows:  # one after the other: a move changes how those behind it are read
            found = self._read(row)
            if found is None:
                continue
            read.append((row, found))
            if self._door.heeds(found) if isinstance(found, ChatChange) else self._door.admits(found):
                admitted[row] = found
        new = await self._store(admitted)
        if rows:
            self._offset = rows[-1].update + 1
        for row, found in read:
            if row not in admitted and isinstance(found, Inbound):
                self._start(self._safely(self._door.turn_away(found)))
        for row in new:
            if row.digest in self._ahead:
                self._start(self._safely(self._inbox.done(row.bot, row.update)))
            else:
                self._act(admitted[row])
        self._ahead.clear()

    async def _store(self, admitted: Mapping[InboxRow, Inbound | ChatChange]) -> tuple[InboxRow, ...]:
        """Commit them; if the database takes its time or refuses, what only stops something is acted on before it.

        After a StorageError nothing is confirmed, so all of it comes again; what was acted on is remembered.
        """
        storing = asyncio.ensure_future(self._inbox.store(list(admitted), self._clock.now_ms()))
        try:
            await asyncio.wait([storing], timeout=PATIENCE)
            if not storing.done() or storing.exception() is not None:
                for row, found in admitted.items():
                    if isinstance(found, Inbound) and withdraws(found) and row.digest not in self._ahead:
                        self._ahead.add(row.digest)
                        self._start(self._safely(self._door.receive(found)))
            return await storing
        finally:
            storing.cancel()

    def _tell_conflict(self, error: PollConflict) -> None:
        if not self._conflict_told:
            self._conflict_told = True
            _log.error(
                "poll.conflict",
                bot=self._me.name,
                error=error.message,
                hint="another process reads this bot's updates, a webhook is set, or the token is known to others",
            )

    def _row(self, update: dict[str, object]) -> InboxRow | None:
        ident = update.get("update_id")
        if not isinstance(ident, int):
            return None
        payload = json.dumps(update, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        digest = Digest(hashlib.sha256(payload.encode()).hexdigest())
        return InboxRow(BotName(self._me.name), ident, digest, payload)

    def read(self, row: InboxRow) -> Inbound | None:
        """What somebody said with a stored update; None if nobody did, or if it cannot be read (which is logged)."""
        found = self._read(row)
        return found if isinstance(found, Inbound) else None

    def _read(self, row: InboxRow) -> Inbound | ChatChange | None:
        try:
            raw = json.loads(row.payload)
            if "my_chat_member" in raw:
                return membership(raw, self._me)
            update = Update.model_validate(raw)
        except (ValidationError, ValueError) as error:
            _log.error("poll.update_set_aside", bot=row.bot, update=row.update, error=type(error).__name__)
            return None
        found = translate(update, self._me)
        return replace(found, address=self._door.inward(found.address)) if isinstance(found, Inbound) else found

    def take_in(self, row: InboxRow) -> None:
        """Act on an update that an earlier process stored, in the background."""
        found = self._read(row)
        if found is None or (isinstance(found, ChatChange) and not self._door.heeds(found)):
            self._start(self._safely(self._inbox.done(row.bot, row.update)))
        else:
            self._act(found)

    def _act(self, inbound: Inbound | ChatChange) -> None:
        """In order within its place; presses, /stop and changes of chats at once."""
        if isinstance(inbound, ChatChange):
            self._start(self._safely(self._door.changed(inbound)))
            return
        if inbound.kind is InboundKind.PRESS or inbound.command in ("stop", "kill"):
            self._start(self._safely(self._door.receive(inbound)))
            return
        before = self._chains.get(inbound.address)
        task = asyncio.create_task(self._after(before, inbound))
        self._chains[inbound.address] = task
        task.add_done_callback(lambda done: self._forget(inbound.address, done))

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._past.add(task)
        task.add_done_callback(self._past.discard)

    def _forget(self, address: Address, done: "asyncio.Task[None]") -> None:
        if self._chains.get(address) is done:
            del self._chains[address]

    async def _after(self, before: "asyncio.Task[None] | None", inbound: Inbound) -> None:
        if before is not None:
            await asyncio.wait([before])
        await self._safely(self._door.receive(inbound))

    async def _safely(self, work: Awaitable[None]) -> None:
        try:
            await work
        except MtclawError as error:
            _log.error("intake.failed", bot=self._me.name, code=error.code, error=str(error))
        # One message that cannot be dealt with must not end the chain of its chat; its row stays for the next start.
        except Exception:  # noqa: BLE001  one bad message must not end its chat
            _log.exception("intake.crashed", bot=self._me.name)

    async def settle(self) -> None:
        """Wait until everything taken in has been acted on."""
        pending: Sequence[asyncio.Task[None]] = (*self._chains.values(), *self._past)
        if pending:
            await asyncio.wait(pending)

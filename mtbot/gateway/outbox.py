"""Deliver what is to be said: in order within a chat, paced, once as far as the chat service allows.

A row is claimed before it is sent. What was certainly not sent goes back; what may have been sent is not sent twice,
because a second question with live buttons is worse than a lost line.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, StorageError, Throttled, TokenRejected, Unreachable
from mtbot.domain.ids import ApprovalId
from mtbot.domain.ports import Clock, Consents, Deliverer, Outbox
from mtbot.domain.record import OutboxRow, OutKind
from mtbot.domain.turn import SurfaceName

IDLE_SECONDS = 2.0
"""How long the worker rests when nobody wakes it: another process (the CLI) may have queued something."""

MAX_ATTEMPTS = 8

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Mail:
    """Where rows come from and what a card's message id is noted on."""

    outbox: Outbox
    consents: Consents


class OutboxWorker:
    """Sends until it is closed. ``ways`` maps a surface to its way out."""

    def __init__(self, mail: Mail, ways: Mapping[SurfaceName, Deliverer], clock: Clock) -> None:
        self._mail = mail
        self._ways = ways
        self._clock = clock
        self._more = asyncio.Event()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._closing = False
        self.on_gone: Callable[[OutboxRow, ChatGone], None] = lambda _row, _error: None

    def wake(self) -> None:
        """Something was queued."""
        self._more.set()

    async def run(self) -> None:
        """Deliver until ``close``."""
        while not self._closing:
            self._more.clear()
            try:
                rows = await self._mail.outbox.next([s.value for s in self._ways], self._clock.now_ms())
            except StorageError as error:
                _log.error("outbox.unreadable", error=str(error))
                rows = ()
            self._start(rows)
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._more.wait()
            except TimeoutError:
                continue

    async def close(self, seconds: float) -> bool:
        """Send what is queued now, as far as it goes in ``seconds``; True if everything under way ended."""
        self._closing = True
        self._more.set()
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            if self._busy:
                await asyncio.wait(self._busy.values(), timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
                continue
            try:
                rows = await self._mail.outbox.next([s.value for s in self._ways], self._clock.now_ms())
            except StorageError:
                break
            if not rows:
                return True
            self._start(rows)
        for task in self._busy.values():
            task.cancel()
        return not self._busy

    def _start(self, rows: Sequence[OutboxRow]) -> None:
        for row in rows:
            key = f"{row.item.address.bot}:{row.item.address.chat}:{row.item.address.label}"
            if key not in self._busy:
                self._busy[key] = asyncio.create_task(self._send(key, row))

    async def _send(self, key: str, row: OutboxRow) -> None:
        try:
            await self._deliver(row)
        except StorageError as error:
            _log.error("outbox.not_written", row=row.id, error=str(error))
        finally:
            self._busy.pop(key, None)
            self._more.set()

    async def _deliver(self, row: OutboxRow) -> None:
        outbox, now = self._mail.outbox, self._clock.now_ms()
        message = await self._message_of(row.item.approval) if row.item.kind is OutKind.EDIT else None
        if row.item.kind is OutKind.EDIT and message is None:
            await outbox.drop(row.id, "its question was never sent")
            return
        if not await outbox.claim(row.id):
            return
        try:
            sent = await self._ways[row.item.address.surface].deliver(row.item, message)
        except Throttled as error:
            await outbox.retry(row.id, now + int(error.retry_after * 1000) + 50)
        except (Unreachable, TokenRejected) as error:
            await self._again(row, error)
        except ChatGone as error:
            await outbox.drop(row.id, str(error))
            _log.warning("outbox.chat_gone", chat=row.item.address.chat, error=str(error))
            self.on_gone(row, error)
        except Ambiguous as error:
            await outbox.drop(row.id, f"ambiguous: {error}")
            _log.warning("outbox.ambiguous", row=row.id, kind=row.item.kind.value)
        except ChannelError as error:
            if error.status >= 500:
                await self._again(row, error)
                return
            await outbox.drop(row.id, str(error))
            _log.error("outbox.refused", row=row.id, kind=row.item.kind.value, error=str(error))
        except asyncio.CancelledError:
            await asyncio.shield(outbox.drop(row.id, "ambiguous: the gateway stopped while it was being sent"))
            raise
        else:
            await outbox.sent(row.id, sent)

    async def _again(self, row: OutboxRow, error: ChannelError) -> None:
        """Back off: 1, 2, 4 ... up to 60 s; a question is kept for as long as it may be answered."""
        if row.attempts >= MAX_ATTEMPTS and row.item.kind is not OutKind.CARD:
            await self._mail.outbox.drop(row.id, f"gave up: {error}")
            _log.error("outbox.gave_up", row=row.id, error=str(error))
            return
        wait = min(60_000, 1000 * 2 ** min(row.attempts, 6))
        await self._mail.outbox.retry(row.id, self._clock.now_ms() + wait)

    async def _message_of(self, approval: ApprovalId | None) -> int | None:
        return None if approval is None else (await self._mail.consents.get(approval)).message

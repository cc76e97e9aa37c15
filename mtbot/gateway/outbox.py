"""Deliver what is to be said: in order within a chat, paced, once as far as the chat service allows.

A row is claimed before it is sent. What was certainly not sent goes back; what may have been sent is not sent twice,
because a second question with live buttons is worse than a lost line.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from mtbot.domain.errors import (
    Ambiguous,
    ChannelError,
    ChatGone,
    ConsentError,
    MtclawError,
    StorageError,
    Throttled,
    TokenRejected,
    Unreachable,
)
from mtbot.domain.ids import ApprovalId
from mtbot.domain.ports import Clock, Consents, Deliverer, Masker, Outbox
from mtbot.domain.record import ApprovalState, Attachment, CardKind, OutboxItem, OutboxRow, OutKind
from mtbot.domain.turn import Address, SurfaceName

IDLE_SECONDS = 2.0
"""How long the worker rests when nobody wakes it: another process (the CLI) may have queued something."""

MAX_ATTEMPTS = 8
PATIENT_ATTEMPTS = 1440
"""While the server cannot be reached at all: one a minute for a day."""

BACK_OFF_MS = 1000
"""Until the second try; it doubles with each."""

LOST = "I could not send my last answer. Ask me to repeat it, or for a shorter one."
MISSING = "I can't tell whether my last answer reached you. If it did not, ask me to repeat it."
TWICE = "I can't tell whether this reached you before."

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Mail:
    """Where rows come from and what a card's message id is noted on."""

    outbox: Outbox
    consents: Consents


class OutboxWorker:
    """Sends until it is closed. ``ways`` maps a surface to its way out.

    ``on_unasked`` is told of a request whose question will never be seen, and why: nobody can answer it. ``on_gone`` is
    told of a chat that is not there, and says whether to send again; ``closed`` knows where nothing can be sent.
    """

    def __init__(self, mail: Mail, ways: Mapping[SurfaceName, Deliverer], clock: Clock, masker: Masker) -> None:
        self._mail = mail
        self._ways = ways
        self._clock = clock
        self._masker = masker
        self._more = asyncio.Event()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._closing = False
        self.on_gone: Callable[[Address, ChatGone], Awaitable[bool]] = _gone
        self.closed: Callable[[Address], bool] = lambda _address: False
        self.on_unasked: Callable[[ApprovalId, str], Awaitable[None]] = _nothing

    def wake(self) -> None:
        """Something was queued."""
        self._more.set()

    async def run(self) -> None:
        """Deliver until ``close``."""
        while not self._closing:
            self._more.clear()
            self._start(await self._due())
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
            rows = await self._due()
            if not rows:
                return True
            self._start(rows)
        late = list(self._busy.values())
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return not late

    async def _due(self) -> Sequence[OutboxRow]:
        try:
            return await self._mail.outbox.next([s.value for s in self._ways], self._clock.now_ms())
        except MtclawError as error:
            _log.error("outbox.unreadable", code=error.code, error=str(error))
            return ()

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
            await asyncio.sleep(IDLE_SECONDS)  # the row is still there: no use in asking for it at once
        # One row that cannot be sent must not silence its chat for ever; it is dropped and the log says why.
        except Exception as error:  # noqa: BLE001  one bad row must not silence its chat
            _log.exception("outbox.crashed", row=row.id, kind=row.item.kind.value)
            await self._lose(row, f"it could not be sent: {type(error).__name__}")
        finally:
            self._busy.pop(key, None)
            self._more.set()

    async def _deliver(self, row: OutboxRow) -> None:
        outbox, item = self._mail.outbox, row.item
        message = await self._message_of(item.approval) if item.kind is OutKind.EDIT else None
        if item.kind is OutKind.EDIT and message is None:
            await outbox.drop(row.id, "its question was never sent, or is gone")
            return
        if self.closed(item.address):
            await self._drop(row, "its chat can't be written to")
            return
        if not await outbox.claim(row.id):
            return
        try:
            sent = await self._ways[item.address.surface].deliver(item, message)
        except Throttled as error:
            await outbox.retry(row.id, self._clock.now_ms() + int(error.retry_after * 1000) + 50, _left(item, error))
        except (Unreachable, TokenRejected) as error:
            await self._again(row, error)
        except Ambiguous as error:
            await self._unsure(row, error)
        except ChannelError as error:
            if error.status >= 500:
                await self._again(row, error)
                return
            if isinstance(error, ChatGone) and await self.on_gone(item.address, error):
                await outbox.retry(row.id, self._clock.now_ms(), _left(item, error))
                return
            _log.error("outbox.refused", row=row.id, kind=item.kind.value, code=error.code, error=str(error))
            await (self._drop if isinstance(error, ChatGone) else self._lose)(row, str(error))
        except asyncio.CancelledError:
            # what is to be said about it waits for the next start, as after a crash
            await asyncio.shield(self._unsure(row, Ambiguous("the gateway stopped while it was being sent")))
            raise
        else:
            await self._note_sent(row, sent)

    async def _note_sent(self, row: OutboxRow, message: int | None) -> None:
        """Write down that it is sent, as soon as that is possible: until then nothing else goes to that chat."""
        while True:
            try:
                await self._mail.outbox.sent(row.id, message)
            except StorageError as error:
                _log.error("outbox.not_written", row=row.id, error=str(error))
                await asyncio.sleep(IDLE_SECONDS)
            else:
                return

    async def _unsure(self, row: OutboxRow, error: Ambiguous) -> None:
        """It may have arrived. An edit is done again; what a person would miss is followed by words without buttons."""
        _log.warning("outbox.ambiguous", row=row.id, kind=row.item.kind.value)
        if row.item.kind is OutKind.EDIT:
            await self._again(row, error)
            return
        await self._mail.outbox.drop(row.id, f"ambiguous: {error}")
        again = await self._in_words(_left(row.item, error) or row.item)
        if again is not None:
            await self._mail.outbox.put(again, now_ms=self._clock.now_ms())

    async def settle_ambiguous(self, rows: Sequence[OutboxRow]) -> None:
        """Rows that a dead process may or may not have sent: treated as if the connection had just broken."""
        for row in rows:
            await self._unsure(row, Ambiguous("the process ended while it was being sent"))

    async def _in_words(self, item: OutboxItem) -> OutboxItem | None:
        """An open question without buttons, to be answered by its name; a second live keyboard is never made.

        An answer is not said twice, but the person hears that one may be missing; so does a notice with buttons.
        """
        if item.file is not None:
            return self._about(item, f"I can't tell whether {_named(item.file)} reached you.")
        if item.kind is OutKind.REPLY:
            return self._about(item, MISSING)
        if item.kind is OutKind.NOTICE and item.card is not None and item.card.choices:
            card = replace(item.card, choices=(), lines=(*item.card.lines, self._masker.mask(TWICE)))
            return OutboxItem(OutKind.NOTICE, item.address, card=card, quote=item.quote)
        if item.kind is not OutKind.CARD or item.card is None or item.approval is None:
            return None
        try:
            approval = await self._mail.consents.get(item.approval)
        except ConsentError:
            return None
        if approval.state is not ApprovalState.PENDING:
            return None
        said = self._masker.mask(
            f"I can't tell whether this question reached you. To answer it: `/approve {approval.id}` or `/deny {approval.id}`"
        )
        card = replace(item.card, kind=CardKind.NOTICE, choices=(), lines=(*item.card.lines, said), silent=False)
        return OutboxItem(OutKind.NOTICE, item.address, card=card, quote=item.quote)

    def _about(self, item: OutboxItem, words: str) -> OutboxItem:
        return OutboxItem(OutKind.NOTICE, item.address, text=self._masker.mask(words), quote=item.quote)

    async def _lose(self, row: OutboxRow, why: str) -> None:
        """Drop what cannot be sent, and say so where a person would wait for it."""
        await self._drop(row, why)
        item = row.item
        if item.file is not None:
            words = f"I could not send {_named(item.file)}."
        elif item.kind is OutKind.REPLY and not item.silent:
            words = LOST
        else:
            return
        try:
            await self._mail.outbox.put(self._about(item, words), now_ms=self._clock.now_ms())
        except MtclawError as error:
            _log.error("outbox.not_written", row=row.id, code=error.code, error=str(error))

    async def _drop(self, row: OutboxRow, why: str) -> None:
        """Never to be sent; a question that nobody will see is taken back, so that its turn does not wait in vain."""
        try:
            await self._mail.outbox.drop(row.id, why)
            if row.item.kind is OutKind.CARD and row.item.approval is not None:
                await self.on_unasked(row.item.approval, why)
        except MtclawError as error:
            _log.error("outbox.not_written", row=row.id, code=error.code, error=str(error))

    async def _again(self, row: OutboxRow, error: ChannelError) -> None:
        """Back off: 1, 2, 4 ... up to 60 s; a question is kept for as long as it may be answered.

        A server that cannot be reached holds up everything alike, and what was to be said is still wanted afterwards.
        """
        most = PATIENT_ATTEMPTS if isinstance(error, Unreachable) else MAX_ATTEMPTS
        if row.attempts >= most and row.item.kind is not OutKind.CARD:
            _log.error("outbox.gave_up", row=row.id, error=str(error))
            await self._lose(row, f"gave up: {error}")
            return
        wait = min(60_000, BACK_OFF_MS * 2 ** min(row.attempts, 6))
        await self._mail.outbox.retry(row.id, self._clock.now_ms() + wait, _left(row.item, error))

    async def _message_of(self, approval: ApprovalId | None) -> int | None:
        """The message of a question; None if there is none, also when its session was cleared meanwhile."""
        try:
            return None if approval is None else (await self._mail.consents.get(approval)).message
        except ConsentError:
            return None


def _named(file: Attachment) -> str:
    name = str(file.name).replace("`", "´")
    return f"the file `{name}`"


def _left(item: OutboxItem, error: ChannelError) -> OutboxItem | None:
    """What is still to be sent of a question whose file is there already; None for all of it."""
    if not error.file_arrived or item.card is None:
        return None
    return replace(item, card=replace(item.card, attachment=None))


async def _gone(_address: Address, _error: ChatGone) -> bool:
    return False


async def _nothing(_approval: ApprovalId, _why: str) -> None:
    return

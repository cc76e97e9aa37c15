"""What a person is shown on Telegram: replies in parts, cards with buttons, edits, files, and a typing sign.

Link previews are off in every send. A reply that the server will not take with its entities goes out as plain text.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from functools import partial

import structlog
from aiogram.methods import (
    AnswerCallbackQuery,
    DeleteMessage,
    EditMessageText,
    SendChatAction,
    SendDocument,
    SendMessage,
)
from aiogram.types import (
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)

from mtbot.channels.telegram.pace import Pace
from mtbot.channels.telegram.render import Entity, EntityType, Part, plain, render, utf16_len
from mtbot.channels.telegram.session import CALL_SECONDS
from mtbot.channels.telegram.transport import Transport
from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, Throttled, Unreachable
from mtbot.domain.ids import BotName
from mtbot.domain.record import Card, CardKind, Choice, ChoiceAction, OutboxItem, OutKind
from mtbot.domain.turn import Address

MAX_UNITS = 4096
TYPING_SECONDS = 4.0
MANY_PARTS = 5
"""Messages that an answer may take; a longer one is sent as a file behind its beginning."""

LATER_PART_TRIES = 4
LATER_PART_PAUSE = 1.0
"""Seconds between them, where the server names none."""

INCOMPLETE = "(The reply above is incomplete.)"
UNSURE = "(I can't tell whether all of the reply above reached you.)"
UPLOAD_RATE = 100_000
"""Bytes a second that a line is expected to carry at least."""

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

_log = structlog.get_logger()


def card_part(card: Card) -> Part:
    """A card as text and entities: title, body verbatim, lines whose `code` is set off."""
    title, body = str(card.title), str(card.body)
    text = title
    entities: list[Entity] = []
    if card.kind is CardKind.QUESTION:
        entities.append(Entity(EntityType.BOLD, 0, utf16_len(title)))
    if body:
        text += "\n"
        entities.append(Entity(EntityType.PRE, utf16_len(text), utf16_len(body)))
        text += body
    for line in card.lines:
        text += "\n"
        text, found = _with_code(text, str(line))
        entities += found
    return Part(text, tuple(entities))


def _with_code(text: str, line: str) -> tuple[str, list[Entity]]:
    """``text`` with ``line`` behind it; what stands between backticks becomes code."""
    pieces = line.split("`")
    found = []
    if len(pieces) % 2 == 0:
        return text + line, []
    for index, piece in enumerate(pieces):
        if index % 2 and piece:
            found.append(Entity(EntityType.CODE, utf16_len(text), utf16_len(piece)))
        text += piece
    return text, found


_OWN_ROW = (ChoiceAction.GRANT, ChoiceAction.REVOKE)


def keyboard(choices: Sequence[Choice]) -> InlineKeyboardMarkup | None:
    """One row of buttons, below it one for each that allows or takes back more than this once; None for none."""
    if not choices:
        return None
    row = [_button(choice) for choice in choices if choice.action not in _OWN_ROW]
    alone = [[_button(choice)] for choice in choices if choice.action in _OWN_ROW]
    return InlineKeyboardMarkup(inline_keyboard=[row, *alone] if row else alone)


def _button(choice: Choice) -> InlineKeyboardButton:
    return InlineKeyboardButton(text=choice.label, callback_data=choice.data)


def entities_of(part: Part) -> list[MessageEntity]:
    """The formats of a message as they are sent."""
    return [
        MessageEntity(
            type=entity.type.value, offset=entity.offset, length=entity.length, url=entity.url, language=entity.language
        )
        for entity in part.entities
    ]


class Came(Enum):
    """Whether something arrived."""

    YES = "yes"
    PERHAPS = "perhaps"
    NOT = "not"


def _wait_after(error: ChannelError) -> float | None:
    """Seconds after which it may be sent again; None where that is of no use, or it may have arrived."""
    if isinstance(error, Throttled):
        return min(error.retry_after, 60.0)
    return LATER_PART_PAUSE if isinstance(error, Unreachable) or error.status >= 500 else None


async def _tried(send: Callable[[], Awaitable[object]]) -> Came:
    """Send something that comes after the first part; again while it was not sent for certain and may be soon."""
    for _ in range(LATER_PART_TRIES):
        try:
            await send()
        except Ambiguous:
            return Came.PERHAPS
        except ChannelError as error:
            wait = _wait_after(error)
            if wait is None:
                break
            await asyncio.sleep(wait)
        else:
            return Came.YES
    return Came.NOT


class TelegramWay:
    """One bot's way out; what goes where is decided by the item's address."""

    def __init__(self, transport: Transport, pace: Pace) -> None:
        self._transport = transport
        self._pace = pace

    async def deliver(self, item: OutboxItem, message: int | None) -> int | None:
        """Send or edit. Raises the ChannelError that fits; the first part decides, later ones are tried here."""
        if item.card is not None and item.kind is OutKind.EDIT and message is not None:
            await self._edit(item.address, item.card, message)
            return message
        if item.card is not None:
            return await self._card(item, item.card)
        if item.file is not None:
            return await self._upload(item, item.file.data, str(item.file.name), quote=item.quote)
        if item.text is None:
            return None
        parts = render(str(item.text))
        if not parts:
            return None
        first = await self._send(item, parts[0], quote=item.quote)
        came = await self._whole(item, str(item.text)) if len(parts) > MANY_PARTS else Came.NOT
        if came is Came.NOT:
            came = await self._rest(item, parts[1:])
        if came is not Came.YES:
            await self._remark(item, INCOMPLETE if came is Came.NOT else UNSURE)
        return first

    def prepare(self, item: OutboxItem) -> None:
        """Build what the first message would wait for, as if ``item`` were sent; nothing is."""
        (part, *_) = render(str(item.text))
        self._transport.prepare(_message(item, part, 1, None))
        self._transport.prepare(SendChatAction(chat_id=int(item.address.chat), action="typing"))

    async def _whole(self, item: OutboxItem, text: str) -> Came:
        """A very long answer as a file behind its beginning; NOT if no file can be sent, so that its parts are."""
        caption = f"The whole answer, {len(text):,} characters, of which you see the beginning above."

        async def send() -> None:
            await self._upload(item, text.encode("utf-8", "replace"), "answer.md", quote=None, caption=caption)

        return await _tried(send)

    async def _rest(self, item: OutboxItem, parts: Sequence[Part]) -> Came:
        """The parts behind the first, in order, up to one that cannot be sent."""
        all_of_it = Came.YES
        for part in parts:
            came = await _tried(partial(self._send, item, part, quote=None))
            if came is Came.NOT:
                return came
            all_of_it = came if came is Came.PERHAPS else all_of_it
        return all_of_it

    async def _remark(self, item: OutboxItem, words: str) -> None:
        """Say something about the reply above, if anything can be said there."""
        with contextlib.suppress(ChannelError):
            await self._send(item, Part(words, ()), quote=None)

    async def show(self, address: Address, card: Card, message: int | None) -> int | None:
        """A status card, new or in place of ``message``; None if the chat's pace has no room to spare for it."""
        if not self._pace.spare(int(address.chat)):
            return None
        if message is not None:
            await self._change(address, card, message)
            return message
        item = OutboxItem(OutKind.NOTICE, address, card=card, silent=True)
        return await self._post(item, card_part(card), quote=None, buttons=keyboard(card.choices))

    async def remove(self, address: Address, message: int) -> None:
        """Delete a message of our own."""
        await self._transport.call(DeleteMessage(chat_id=int(address.chat), message_id=message))

    async def _send(
        self, item: OutboxItem, part: Part, *, quote: int | None, buttons: InlineKeyboardMarkup | None = None
    ) -> int:
        await self._pace.wait(int(item.address.chat))
        return await self._post(item, part, quote=quote, buttons=buttons)

    async def _post(
        self, item: OutboxItem, part: Part, *, quote: int | None, buttons: InlineKeyboardMarkup | None
    ) -> int:
        method = _message(item, part, quote, buttons)
        try:
            sent = await self._transport.call(method)
        except ChannelError as error:
            # words that somebody waits for go out in any form; a question loses its own only where that is the fault
            formless = part.entities and (item.card is None or "entit" in error.message.lower())
            if error.status != 400 or isinstance(error, ChatGone) or not formless:
                raise
            _log.warning("show.plain", bot=str(item.address.bot), error=error.message)
            bare = plain(part.text)
            sent = await self._transport.call(method.model_copy(update={"text": bare[0].text, "entities": None}))
        return sent.message_id

    async def _card(self, item: OutboxItem, card: Card) -> int:
        send = partial(self._send, item, card_part(card), quote=item.quote, buttons=keyboard(card.choices))
        if card.attachment is None:
            return await send()
        await self._document(item, str(card.attachment))
        try:
            return await send()
        except ChannelError as error:
            error.file_arrived = True
            raise

    async def _document(self, item: OutboxItem, text: str) -> None:
        """The whole text as a file; its name begins with its own SHA-256."""
        data = text.encode("utf-8", "replace")
        await self._upload(item, data, f"{hashlib.sha256(data).hexdigest()[:12]}.txt", quote=None)

    async def _upload(self, item: OutboxItem, data: bytes, name: str, *, quote: int | None, caption: str = "") -> int:
        """Send a file, without a sound; a large one gets the time that it needs on a slow line."""
        await self._pace.wait(int(item.address.chat))
        method = SendDocument(
            chat_id=int(item.address.chat),
            message_thread_id=item.address.thread,
            document=BufferedInputFile(data, name),
            caption=caption or None,
            reply_parameters=_quote(quote),
            disable_notification=True,
        )
        sent = await self._transport.call(method, CALL_SECONDS + len(data) / UPLOAD_RATE)
        return sent.message_id

    async def _edit(self, address: Address, card: Card, message: int) -> None:
        await self._pace.wait(int(address.chat))
        await self._change(address, card, message)

    async def _change(self, address: Address, card: Card, message: int) -> None:
        part = card_part(card)
        method = EditMessageText(
            chat_id=int(address.chat),
            message_id=message,
            text=part.text,
            entities=entities_of(part) or None,
            reply_markup=keyboard(card.choices),
            link_preview_options=_NO_PREVIEW,
        )
        try:
            await self._transport.call(method)
        except ChannelError as error:
            if "not modified" not in error.message.lower():
                raise

    async def answer_press(self, bot: BotName, press_id: str, note: str) -> None:
        """Answer a press; best effort, because a decision never depends on it."""
        del bot
        try:
            await self._transport.call(
                AnswerCallbackQuery(callback_query_id=press_id, text=note[:200], show_alert=len(note) > 60)
            )
        except ChannelError:
            return


def _message(item: OutboxItem, part: Part, quote: int | None, buttons: InlineKeyboardMarkup | None) -> SendMessage:
    return SendMessage(
        chat_id=int(item.address.chat),
        message_thread_id=item.address.thread,
        text=part.text,
        entities=entities_of(part) or None,
        reply_parameters=_quote(quote),
        reply_markup=buttons,
        disable_notification=item.silent or None,
        link_preview_options=_NO_PREVIEW,
    )


def _quote(message: int | None) -> ReplyParameters | None:
    return None if message is None else ReplyParameters(message_id=message, allow_sending_without_reply=True)


class Typing:
    """Says "typing" while a turn is worked on; never raises and never outlives its turn."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._tasks: dict[Address, asyncio.Task[None]] = {}

    def working(self, address: Address) -> None:
        """Begin."""
        if address not in self._tasks:
            self._tasks[address] = asyncio.create_task(self._repeat(address))

    def resting(self, address: Address) -> None:
        """End."""
        task = self._tasks.pop(address, None)
        if task is not None:
            task.cancel()

    async def _repeat(self, address: Address) -> None:
        while True:
            try:
                await self._transport.call(
                    SendChatAction(chat_id=int(address.chat), message_thread_id=address.thread, action="typing")
                )
            except ChannelError:
                await asyncio.sleep(TYPING_SECONDS)
            await asyncio.sleep(TYPING_SECONDS)

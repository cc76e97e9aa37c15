"""An answer while it is written: sendMessageDraft, which shows a text for half a minute or until the next message.

For Telegram a draft is a kind of typing, known to private chats only, and not to every Bot API server. So nothing here is
an error for anybody: where drafts are not known there are none, and whatever else goes wrong rests them for a while.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from aiogram.methods import SendMessageDraft

from mtbot.channels.telegram.pace import CHATS_REMEMBERED, Pace
from mtbot.channels.telegram.render import Part, render
from mtbot.channels.telegram.show import entities_of
from mtbot.channels.telegram.transport import Transport
from mtbot.domain.errors import Ambiguous, ChannelError, Throttled, Unreachable
from mtbot.domain.ids import SafeText
from mtbot.domain.turn import Address

CALL_SECONDS = 5.0
EVERY_SECONDS = 1.0
"""Between two drafts in a chat, whatever is written there."""

AGAIN_SECONDS = 15.0
"""After so long what has not changed is shown again, before the client takes it away."""

TROUBLE_SECONDS = 15.0
REFUSED_SECONDS = 600.0

_UNKNOWN = ("not found", "unknown", "unsupported", "not supported", "not implemented")

_log = structlog.get_logger()


@dataclass(slots=True)
class _Chat:
    """``rests_until`` in monotonic seconds; what is shown, as what number, from which text, since when."""

    rests_until: float = 0.0
    number: int = 0
    text: str = ""
    part: Part | None = None
    shown_at: float = 0.0


class Drafts:
    """The drafts of one bot. ``monotonic`` gives seconds."""

    def __init__(self, transport: Transport, pace: Pace, monotonic: Callable[[], float]) -> None:
        self._transport = transport
        self._pace = pace
        self._now = monotonic
        self._chats: OrderedDict[int, _Chat] = OrderedDict()
        self._told: set[str] = set()
        self.known = True
        """Whether the server knows drafts, as far as it was asked."""

    async def show(self, address: Address, number: int, text: SafeText) -> bool:
        """Show the first message that ``text`` makes; False if it is not shown now. Never raises."""
        chat, now = self._chat(int(address.chat)), self._now()
        stands = chat.number == number and now - chat.shown_at < AGAIN_SECONDS
        if stands and chat.text == text:
            return True
        if not self.known or now < chat.rests_until or not (parts := render(str(text))):
            return False
        if stands and chat.part == parts[0]:
            chat.text = text
            return True
        if not self._pace.spare_draft(int(address.chat)):
            return False
        chat.rests_until = now + EVERY_SECONDS
        try:
            await self._send(address, number, parts[0])
        except ChannelError as error:
            chat.rests_until = self._now() + self._rest_after(error)
            return False
        chat.number, chat.text, chat.part, chat.shown_at = number, text, parts[0], self._now()
        return True

    async def _send(self, address: Address, number: int, part: Part) -> None:
        method = SendMessageDraft(
            chat_id=int(address.chat),
            draft_id=number,
            message_thread_id=address.thread,
            text=part.text,
            entities=entities_of(part) or None,
        )
        await self._transport.call(method, CALL_SECONDS)

    def _rest_after(self, error: ChannelError) -> float:
        """Seconds for which there are no drafts in a chat; none anywhere any more if the server knows no drafts."""
        if _is_unknown(error):
            self.known = False
            self._tell("draft.unknown", error)
        elif isinstance(error, Throttled):
            return error.retry_after
        elif isinstance(error, Ambiguous | Unreachable) or error.status >= 500:
            self._tell("draft.not_sent", error)
            return TROUBLE_SECONDS
        else:
            self._tell("draft.refused", error)
        return REFUSED_SECONDS

    def _tell(self, what: str, error: ChannelError) -> None:
        """Write it into the log, once."""
        if what not in self._told:
            self._told.add(what)
            _log.info(what, bot=str(self._transport.account.name), error=error.message)

    def _chat(self, chat: int) -> _Chat:
        found = self._chats.setdefault(chat, _Chat())
        self._chats.move_to_end(chat)
        while len(self._chats) > CHATS_REMEMBERED:
            self._chats.popitem(last=False)
        return found


def _is_unknown(error: ChannelError) -> bool:
    """Whether the server says that there is no such method; servers differ in how."""
    said = error.message.lower()
    return error.status == 404 or (error.status == 400 and "method" in said and any(one in said for one in _UNKNOWN))

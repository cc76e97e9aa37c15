"""One bot's way to its server: calls, long polls and files, each with a deadline and with errors in our own words."""

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx
from aiogram.client.default import DefaultBotProperties
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.exceptions import (
    ClientDecodeError,
    TelegramAPIError,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNotFound,
    TelegramUnauthorizedError,
)
from aiogram.methods import GetFile, TelegramMethod
from aiogram.utils.token import validate_token

from mtbot.channels.telegram.session import SLOWLY, Session, nameless, retry_after
from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, PollConflict, Throttled, TokenRejected, Unreachable
from mtbot.domain.ids import BotName
from mtbot.domain.received import FileRefused
from mtbot.net.ending import ended_well

POLL_SECONDS = 25
POLL_GRACE = 10.0
FILE_SECONDS = 300.0
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
MAX_DESCRIPTION = 4096
"""Characters of an error's description; a longer one is left out whole, because half a secret is none that can be masked."""

if TYPE_CHECKING:
    from aiogram import Bot

_ResultT = TypeVar("_ResultT")
_GONE = ("chat not found", "bot was kicked", "bot was blocked", "user is deactivated", "group chat was deactivated")


@dataclass(frozen=True, slots=True)
class Account:
    """A bot as it is reached: its name here, its token, its server ("" for Telegram's own), a proxy ("" for none).

    The proxy is an http, https, socks5 or socks5h address, which may hold a user and a password.
    """

    name: BotName
    token: str = field(repr=False)
    api_base_url: str = ""
    proxy: str = field(default="", repr=False)


class _Sender:
    """What a session wants to know of a bot. aiogram's own Bot imports every method that there is, to offer each as one."""

    def __init__(self, token: str) -> None:
        validate_token(token)
        self.token = token
        self.default = DefaultBotProperties()


class Transport:
    """One bot's way to its server."""

    def __init__(self, account: Account) -> None:
        base = account.api_base_url.rstrip("/")
        server = TelegramAPIServer.from_base(base) if base else PRODUCTION
        self._session = Session(server, account.proxy)
        # polls have connections of their own, which can be made anew without breaking what is being sent
        self._polls = Session(server, account.proxy)
        self._url = server.api_url(token=account.token, method="getUpdates")
        self._sender = cast("Bot", _Sender(account.token))
        self.account = account

    async def call(self, method: TelegramMethod[_ResultT], seconds: float | None = None) -> _ResultT:
        """Make one call, which may take ``seconds`` (else CALL_SECONDS). Raises the ChannelError that fits."""
        try:
            return await self._session(self._sender, method, None if seconds is None else round(seconds))
        except TelegramMigrateToChat as error:
            new = error.migrate_to_chat_id
            raise ChatGone(f"the group became a supergroup with the id {new}", status=400, moved_to=new) from None
        except TelegramUnauthorizedError:
            raise TokenRejected("Telegram does not accept this bot token", status=401) from None
        except TelegramConflictError as error:
            raise PollConflict(error.message, status=409) from None
        except TelegramForbiddenError as error:
            raise ChatGone(error.message) from None
        except TelegramAPIError as error:
            if any(text in error.message.lower() for text in _GONE):
                raise ChatGone(error.message, status=400) from None
            raise ChannelError(error.message, status=404 if isinstance(error, TelegramNotFound) else 400) from None
        except ClientDecodeError:
            raise Ambiguous("the Bot API server's answer could not be read") from None

    def prepare(self, method: TelegramMethod[Any]) -> None:
        """Build what a first call of this method would wait for; nothing is sent."""
        self._session.form(self._sender, method)

    async def updates(self, offset: int | None, limit: int = 100) -> list[dict[str, object]]:
        """A long poll for raw updates, with a hard deadline. Raises the ChannelError that fits."""
        body: dict[str, object] = {
            "timeout": POLL_SECONDS,
            "limit": limit,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset is not None:
            body["offset"] = offset
        try:
            post = partial(self._polls.client().post, self._url, json=body)
            answer = await ended_well(post, POLL_SECONDS + POLL_GRACE)
        except (TimeoutError, httpx.HTTPError) as error:
            raise (self._polls.unsent(error) or Unreachable("the long poll broke")) from nameless(error)
        self._polls.refuse(answer.status_code)
        return _updates_of(answer.status_code, answer.content)

    async def fetch(self, handle: str, most: int) -> bytes:
        """The bytes of a file that somebody sent. FileRefused if there are more than ``most``; ChannelError."""
        try:
            found = await self.call(GetFile(file_id=handle))
        except ChannelError as error:
            if "too big" in error.message.lower():
                raise FileRefused("it is larger than what the Bot API server hands out.") from None
            raise
        if not found.file_path or found.file_path.startswith("/"):
            raise FileRefused("the Bot API server keeps files on its own disk and does not hand them out.")
        url = self._session.api.file_url(token=self.account.token, path=found.file_path)
        return await self._session.file(url, most, FILE_SECONDS)

    async def renew(self) -> None:
        """Have the next poll go over fresh connections; one under way breaks."""
        await self._polls.close()

    async def close(self) -> None:
        """Close the connections, for good."""
        self._polls.over = self._session.over = True
        await self._polls.close()
        await self._session.close()


def _updates_of(status: int, content: bytes) -> list[dict[str, object]]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ChannelError(f"the Bot API server answered {status} without JSON", status=status) from None
    if not isinstance(data, dict):
        raise ChannelError("the Bot API server's answer is no object", status=status)
    if data.get("ok") is True and isinstance(data.get("result"), list):
        return [update for update in data["result"] if isinstance(update, dict)]
    text = str(data.get("description", ""))
    if len(text) > MAX_DESCRIPTION:
        text = f"(a description of {len(text)} characters)"
    code = data.get("error_code", status)
    if code == 401 or (code == 404 and "not found" in text.lower()):
        raise TokenRejected("Telegram does not accept this bot token", status=401)
    if code == 409:
        raise PollConflict(text, status=409)
    if code == 429:
        raise Throttled(SLOWLY, retry_after(data))
    raise ChannelError(f"getUpdates: {text or code}", status=code if isinstance(code, int) else status)

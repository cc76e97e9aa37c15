"""Calls to the Bot API: what went wrong is told apart by whether anything can have arrived.

A connection that was not made may be tried again; a connection that broke after the request was written is
``Ambiguous``. No error text holds the token, and nothing is read from the environment.
"""

import asyncio
import json
import ssl
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import aiohttp
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.session.base import BaseSession
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
from aiogram.types import Message
from aiogram.utils.token import validate_token

from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, PollConflict, Throttled, TokenRejected, Unreachable
from mtbot.domain.ids import BotName
from mtbot.domain.proxy import NOT_REACHED, WRONG_PASSWORD, refused
from mtbot.domain.received import FileRefused, size_text

CALL_SECONDS = 30.0
CONNECT_SECONDS = 10.0
POLL_SECONDS = 25
POLL_GRACE = 10.0
FILE_SECONDS = 300.0
PIECE = 65_536
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
MAX_DESCRIPTION = 4096
"""Characters of an error's description; a longer one is left out whole, because half a secret is none that can be masked."""

MAX_POLL_BYTES = 64 * 1024 * 1024

SLOWLY = "Telegram asks to slow down"

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


def _not_sent(error: Exception) -> Unreachable | None:
    """The failure after which nothing of a request can have arrived, in words; None where something may have."""
    match error:
        case aiohttp.ClientHttpProxyError(status=407):
            return Unreachable(WRONG_PASSWORD)
        case aiohttp.ClientHttpProxyError():
            return Unreachable(refused(f"it answered {error.status}"))
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(NOT_REACHED)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return Unreachable("the Bot API server can't be reached")
        case _:
            return None


def _trust(base: str, proxy: str) -> ssl.SSLContext:
    """Whom to trust there: one reading of the authorities serves every session; without TLS there is nobody to trust."""
    plain = base.lower().startswith("http://") and not proxy.lower().startswith("https://")
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else _authorities()


@cache
def _authorities() -> ssl.SSLContext:
    """Those that aiogram trusts."""
    found = AiohttpSession()._connector_init["ssl"]  # noqa: SLF001 - just what it would use itself
    assert isinstance(found, ssl.SSLContext)
    return found


class _Session(AiohttpSession):
    """aiogram's session with our reading of failures; 5xx bodies may be HTML and are not decoded."""

    via: str | None = None
    over = False
    """Whether there are no connections any more, not even new ones."""

    def __init__(self, api: TelegramAPIServer, proxy: str) -> None:
        # not aiogram's own beginning, which reads all the world's authorities for each session, for 20 ms
        BaseSession.__init__(self, api=api, timeout=CALL_SECONDS)
        self._session = None
        self._connector_type = aiohttp.TCPConnector
        self._connector_init = {"ssl": _trust(api.base, proxy), "limit": 100, "ttl_dns_cache": 3600}
        self._should_reset_connector = True
        self._proxy = None
        self._go_by(proxy)

    def _go_by(self, proxy: str) -> None:
        """Make every connection through that proxy."""
        if not proxy.startswith("socks"):
            self.via = proxy or None
            return
        from mtbot.channels.telegram.socks import SocksConnector, options  # noqa: PLC0415 - few have such a proxy

        self._connector_type = SocksConnector
        self._connector_init |= options(proxy)

    async def close(self) -> None:
        """Close the connections, and be back once they are closed.

        aiogram then waits another quarter of a second, which aiohttp before 3.13 needed: each end, reload and new poll would.
        """
        if self._session is not None:
            await self._session.close()

    async def create_session(self) -> aiohttp.ClientSession:
        """The connections; Unreachable once it is over, because nobody would close what was opened behind the end."""
        if self.over:
            raise Unreachable("the connection is closed")
        return await super().create_session()

    async def make_request(self, bot: "Bot", method: TelegramMethod[Any], timeout: int | None = None) -> Any:
        session = await self.create_session()
        url = self.api.api_url(token=bot.token, method=method.__api_method__)
        form = self.build_form_data(bot=bot, method=method)
        seconds = self.timeout if timeout is None else timeout
        try:
            async with session.post(
                url,
                data=form,
                proxy=self.via,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS),
            ) as answer:
                status, content = answer.status, await answer.text()
        except (TimeoutError, aiohttp.ClientError) as error:
            if fault := _not_sent(error):
                raise fault from _nameless(error)
            raise Ambiguous(f"the connection broke during {method.__api_method__}") from _nameless(error)
        if status >= 500:
            raise ChannelError(f"the Bot API server answered {status}", status=status)
        if status == 429:
            # read here, because aiogram takes a limit without seconds for a refusal of what was sent
            raise Throttled(SLOWLY, _retry_after(_mapping(content)))
        sent = _sent(content) if status == 200 and method.__returning__ in _MESSAGES else None
        return sent or self.check_response(bot=bot, method=method, status_code=status, content=content).result


_MESSAGES: tuple[object, ...] = (Message, Message | bool)


def _sent(content: str) -> Message | None:
    """A message of our own with nothing but its id, which is all that is wanted of it; None for any other answer.

    Reading the whole of it builds the validators of every type that a message may hold, 70 ms and 4 MB.
    """
    data = _mapping(content)
    result = data.get("result") if data.get("ok") is True else None
    ident = result.get("message_id") if isinstance(result, dict) else None
    return Message.model_construct(message_id=ident) if type(ident) is int else None


def _nameless(error: BaseException) -> RuntimeError:
    """A stand-in for an exception whose text may hold the URL and with it the token."""
    return RuntimeError(type(error).__name__)


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
        self._session = _Session(server, account.proxy)
        # polls have connections of their own, which can be made anew without breaking what is being sent
        self._polls = _Session(server, account.proxy)
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
        self._session.build_form_data(bot=self._sender, method=method)

    async def updates(self, offset: int | None, limit: int = 100) -> list[dict[str, object]]:
        """A long poll for raw updates, with a hard deadline. Raises the ChannelError that fits."""
        body: dict[str, object] = {
            "timeout": POLL_SECONDS,
            "limit": limit,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset is not None:
            body["offset"] = offset
        session = await self._polls.create_session()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        try:
            async with asyncio.timeout(POLL_SECONDS + POLL_GRACE):
                async with session.post(self._url, json=body, proxy=self._polls.via, timeout=timeout) as answer:
                    status, content = answer.status, await answer.content.read(MAX_POLL_BYTES)
                    while chunk := await answer.content.read(MAX_POLL_BYTES):
                        content += chunk
        except (TimeoutError, aiohttp.ClientError) as error:
            raise (_not_sent(error) or Unreachable("the long poll broke")) from _nameless(error)
        return _updates_of(status, content)

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
        session = await self._session.create_session()
        timeout = aiohttp.ClientTimeout(total=FILE_SECONDS, sock_connect=CONNECT_SECONDS)
        pieces, size = [], 0
        try:
            async with session.get(url, proxy=self._session.via, timeout=timeout) as answer:
                if answer.status != 200:
                    raise ChannelError(f"the Bot API server answered {answer.status}", status=answer.status)
                async for piece in answer.content.iter_chunked(PIECE):
                    size += len(piece)
                    if size > most:
                        raise FileRefused(f"it is larger than the {size_text(most)} that I may take.")
                    pieces.append(piece)
        except (TimeoutError, aiohttp.ClientError) as error:
            broke = Unreachable("the connection broke while the file was fetched")
            raise (_not_sent(error) or broke) from _nameless(error)
        return b"".join(pieces)

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
        raise Throttled(SLOWLY, _retry_after(data))
    raise ChannelError(f"getUpdates: {text or code}", status=code if isinstance(code, int) else status)


def _mapping(content: str) -> dict[str, object]:
    """The object that an answer is; an empty one for any other answer."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _retry_after(data: dict[str, object]) -> float:
    parameters = data.get("parameters")
    value = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return float(value) if isinstance(value, int | float) else 5.0

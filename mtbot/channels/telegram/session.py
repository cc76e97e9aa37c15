"""aiogram's session over httpx: what went wrong is told apart by whether anything can have arrived.

A connection that was not made may be tried again; a connection that broke after the request was written is
``Ambiguous``. No error text holds the token, and nothing is read from the environment.
"""

import json
import math
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from aiogram.client.session.base import BaseSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.methods import TelegramMethod
from aiogram.types import BufferedInputFile, InputFile, Message

from mtbot.domain.errors import Ambiguous, ChannelError, Throttled, Unreachable
from mtbot.domain.proxy import WRONG_PASSWORD
from mtbot.domain.received import FileRefused, size_text
from mtbot.net.client import not_sent, open_client
from mtbot.net.ending import ended_well

if TYPE_CHECKING:
    from aiogram import Bot

CALL_SECONDS = 30.0
CONNECT_SECONDS = 10.0
PIECE = 65_536
MOST_BYTES = 20_000_000
"""The largest file that Telegram hands out to a bot."""

SLOWLY = "Telegram asks to slow down"

_MESSAGES: tuple[object, ...] = (Message, Message | bool)


class Session(BaseSession):
    """aiogram's session with our client and our reading of failures; 5xx bodies may be HTML and are not decoded."""

    def __init__(self, api: TelegramAPIServer, proxy: str) -> None:
        super().__init__(api=api, timeout=CALL_SECONDS)
        place = urlsplit(api.base)
        self._server = f"{place.scheme}://{place.netloc}"
        self._proxy = proxy
        self._client: httpx.AsyncClient | None = None
        self.over = False
        """Whether there are no connections any more, not even new ones."""

    def client(self) -> httpx.AsyncClient:
        """The connections; Unreachable once it is over, because nobody would close what was opened behind the end."""
        if self.over:
            raise Unreachable("the connection is closed")
        if self._client is None:
            # how long a server may be silent, and what a whole exchange may take, is its caller's
            times = httpx.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
            self._client = open_client(self._server, self._proxy, timeout=times)
        return self._client

    async def close(self) -> None:
        """Close the connections; the next request opens others. What is under way breaks."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def form(self, bot: "Bot", method: TelegramMethod[Any]) -> tuple[dict[str, str], dict[str, tuple[str, bytes]]]:
        """The fields of a call, and its files by the names under which the fields attach them."""
        files: dict[str, InputFile] = {}
        fields: dict[str, str] = {}
        for name, value in method.model_dump(warnings=False).items():
            prepared = self.prepare_value(value, bot=bot, files=files)
            if prepared:
                fields[name] = prepared
        return fields, {key: _upload(key, file) for key, file in files.items()}

    async def make_request(self, bot: "Bot", method: TelegramMethod[Any], timeout: int | None = None) -> Any:
        """Make one call. The ChannelError or aiogram's own error that fits."""
        fields, files = self.form(bot, method)
        url = self.api.api_url(token=bot.token, method=method.__api_method__)
        try:
            post = partial(self.client().post, url, data=fields, files=files or None)
            answer = await ended_well(post, self.timeout if timeout is None else timeout)
        except (TimeoutError, httpx.HTTPError) as error:
            fault = self.unsent(error) or Ambiguous(f"the connection broke during {method.__api_method__}")
            raise fault from nameless(error)
        self.refuse(answer.status_code)
        content = answer.content.decode("utf-8", "replace")
        if answer.status_code == 429:
            # read here, because aiogram takes a limit without seconds for a refusal of what was sent
            raise Throttled(SLOWLY, retry_after(_mapping(content)))
        if answer.status_code >= 400 and not _mapping(content):
            # the page of a gateway in between: whatever was asked for, nobody did it
            raise _answered(answer.status_code)
        sent = _sent(content) if answer.status_code == 200 and method.__returning__ in _MESSAGES else None
        if sent is not None:
            return sent
        return self.check_response(bot=bot, method=method, status_code=answer.status_code, content=content).result

    def refuse(self, status: int) -> None:
        """Raise what a status says that is of no answer to a call: that of a proxy, a gateway, a page that moved."""
        if status == 407 and self._proxy:
            raise Unreachable(WRONG_PASSWORD)
        if status >= 500 or 300 <= status < 400:
            raise _answered(status)

    async def stream_content(
        self,
        url: str,
        headers: dict[str, Any] | None = None,
        timeout: int = 30,
        chunk_size: int = PIECE,
        raise_for_status: bool = True,
    ) -> AsyncGenerator[bytes, None]:
        """aiogram's own way to a file, which needs a connection for as long as whoever takes the pieces likes."""
        del headers, raise_for_status
        content = await self.file(url, MOST_BYTES, timeout)
        for start in range(0, len(content), chunk_size):
            yield content[start : start + chunk_size]

    async def file(self, url: str, most: int, seconds: float) -> bytes:
        """The bytes at ``url``. FileRefused if there are more than ``most``; ChannelError."""
        try:
            return await ended_well(partial(self._read, url, most), seconds)
        except (TimeoutError, httpx.HTTPError) as error:
            fault = self.unsent(error) or Unreachable("the connection broke while the file was fetched")
            raise fault from nameless(error)

    async def _read(self, url: str, most: int) -> bytes:
        found = bytearray()
        async with self.client().stream("GET", url) as answer:
            self.refuse(answer.status_code)
            if answer.status_code != 200:
                raise _answered(answer.status_code)
            async for piece in answer.aiter_bytes(PIECE):
                found += piece
                if len(found) > most:
                    raise FileRefused(f"it is larger than the {size_text(most)} that I may take.")
        return bytes(found)

    def unsent(self, error: Exception) -> Unreachable | None:
        """The failure after which nothing of a request can have arrived, in words; None where something may have."""
        said = not_sent(error, self._proxy)
        if said is None or self._proxy:
            return None if said is None else Unreachable(said)
        return Unreachable("the Bot API server can't be reached" + (f" ({said})" if said else ""))


def _answered(status: int) -> ChannelError:
    """The failure of which nothing but its status is known."""
    return ChannelError(f"the Bot API server answered {status}", status=status)


def _upload(key: str, file: InputFile) -> tuple[str, bytes]:
    """A file's name and its bytes, which mtclaw always has at hand."""
    assert isinstance(file, BufferedInputFile)
    return file.filename or key, file.data


def _sent(content: str) -> Message | None:
    """A message of our own with nothing but its id, which is all that is wanted of it; None for any other answer.

    Reading the whole of it builds the validators of every type that a message may hold, 70 ms and 4 MB.
    """
    data = _mapping(content)
    result = data.get("result") if data.get("ok") is True else None
    ident = result.get("message_id") if isinstance(result, dict) else None
    return Message.model_construct(message_id=ident) if type(ident) is int else None


def nameless(error: BaseException) -> RuntimeError:
    """A stand-in for an exception whose text may hold the URL and with it the token."""
    return RuntimeError(type(error).__name__)


def _mapping(content: str) -> dict[str, object]:
    """The object that an answer is; an empty one for any other answer."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def retry_after(data: dict[str, object]) -> float:
    """The seconds that a flood limit names, or a few."""
    parameters = data.get("parameters")
    value = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return 5.0
    return float(value)

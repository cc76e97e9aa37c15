"""What every client of a model server shares: one HTTP exchange, what may be tried again, and a key that shows nowhere.

What may be tried again is: a connection that was not made or broke, a busy or failing server, a limit with its waiting
time. A deterministic no is not; only a parameter that the model refuses is left out once, and that is remembered. No
error text holds the key: it is cut out of what a server says, and what httpx says is not chained.
"""

import asyncio
import itertools
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import httpx

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.llm.faults import read_error, retry_after
from mtbot.net.client import open_client
from mtbot.net.ending import ended_well
from mtbot.redaction.structured import masked_message

MAX_ANSWER = 16 * 1024 * 1024
MAX_ERROR = 65_536
MAX_DETAIL = 300
"""Characters of a provider's own words that are passed on; they are cut after they were masked."""

CONNECT_SECONDS = 15.0
LONGEST_WAIT = 60.0
STREAM_TIMEOUTS = 5
"""How many time-outs a streamed answer may take in all: it shows that it goes on, but nothing may go on for ever."""

SHOWN_KEY = "(the key)"
SHORTEST_KEY = 8
"""Characters; local servers are given words like ``none``, which stand in honest texts too."""

_RETRIED = frozenset({ProviderKind.RATE, ProviderKind.TRANSIENT, ProviderKind.NETWORK})

Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Server:
    """Where a provider is and how it is used; ``key`` empty means no key, ``timeout`` is in seconds.

    The time-out is for a whole answer. With ``stream`` an answer that somebody sees grow is streamed, and the time-out is
    for each silence in it; STREAM_TIMEOUTS of them are the most that it may take. ``proxy`` is an
    http, https, socks5 or socks5h address, which may hold a user and a password; empty is none.
    """

    base_url: str
    key: str = field(repr=False)
    timeout: float = 120.0
    retries: int = 3
    stream: bool = False
    proxy: str = field(default="", repr=False)


class HttpProvider(ABC):
    """Completes requests against one server, in a dialect that a subclass speaks.

    What is sent and what a server says of an error passes ``mask``: whoever knows secrets beside the key gives one.
    ``monotonic`` gives seconds.
    """

    def __init__(
        self,
        server: Server,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
        mask: Mask = str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._sleep = sleep
        self._mask = mask
        self._steps = itertools.count(1)
        self._refused: set[tuple[str, str]] = set()
        self._monotonic = monotonic
        self._whole_until: dict[str, float] = {}
        """Models whose streams broke, and until when they are asked for whole answers."""
        self._connect = min(CONNECT_SECONDS, server.timeout)
        self._client = open_client(
            server.base_url,
            server.proxy,
            timeout=httpx.Timeout(server.timeout, connect=self._connect),
            transport=transport,
        )

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """One answer, which ``on_text`` may see grow. ProviderError once retries are used up or the error is final."""
        request = replace(request, messages=tuple(masked_message(one, self._mask) for one in request.messages))
        attempt = 0
        while True:
            try:
                return await ended_well(partial(self._once, request, on_text))
            except ProviderError as error:
                if on_text is not None:
                    on_text("")
                if self._left_out(request, error, on_text):
                    continue
                wait = self._wait(error, attempt)
                if wait is None:
                    raise
            attempt += 1
            await self._sleep(wait)

    def _wait(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds until the next try; None if there is none."""
        if error.kind not in _RETRIED or attempt >= self._server.retries:
            return None
        wait = error.retry_after if error.retry_after is not None else min(8.0, 0.5 * 2**attempt)
        return wait if wait <= LONGEST_WAIT else None

    async def models(self) -> tuple[str, ...]:
        """The ids of the models that the server lists. ProviderError."""
        data = await ended_well(self._listed)
        listed = data.get("data") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            raise ProviderError(ProviderKind.GARBLED, "the list of models could not be read")
        return tuple(str(entry["id"]) for entry in listed if isinstance(entry, dict) and "id" in entry)

    async def _listed(self) -> object:
        async with self._exchange("GET", "models", None) as response:
            return read_json(await whole(response))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @abstractmethod
    async def _once(self, request: ModelRequest, on_text: OnText | None) -> ModelAnswer:
        """One try. ProviderError."""

    @abstractmethod
    def _signed(self, key: str) -> Mapping[str, str]:
        """The headers that carry the key."""

    def _fixed(self) -> Mapping[str, str]:
        """Headers that every request of the dialect has."""
        return {}

    @abstractmethod
    def _optional(self, request: ModelRequest, on_text: OnText | None) -> Mapping[str, bool]:
        """Parameters that can be done without, and whether this request has them; what is named first is left out first."""

    def _pruned(self, request: ModelRequest, body: dict[str, object]) -> dict[str, object]:
        """``body`` without what the model has refused before."""
        return {name: value for name, value in body.items() if (request.model, name) not in self._refused}

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, body: dict[str, object] | None, timeouts: int = 1
    ) -> AsyncIterator[httpx.Response]:
        """A response whose status is good; every fault, also one while it is read, is a ProviderError.

        It may take so many time-outs in all.
        """
        sent, headers = _encoded(body), self._headers()
        too_long = False
        try:
            with anyio.fail_after(self._server.timeout * timeouts) as whole_time:
                try:
                    async with self._client.stream(method, path, content=sent, headers=headers) as response:
                        if response.status_code >= 300:
                            text = (await _beginning(response)).decode("utf-8", "replace")
                            raise read_error(response.status_code, text, retry_after(response.headers))
                        yield response
                finally:
                    too_long = whole_time.cancel_called
        except ProviderError as error:
            error.message = str(self._mask(self._without_key(error.message)))[:MAX_DETAIL]
            error.args = (error.message,)
            raise
        except httpx.ConnectTimeout:
            raise ProviderError(ProviderKind.NETWORK, f"no connection within {self._connect:g} s") from None
        except (httpx.TimeoutException, TimeoutError):
            if timeouts > 1 and too_long:
                seconds = self._server.timeout * timeouts
                raise ProviderError(ProviderKind.TIMEOUT, f"no end of the answer within {seconds:g} s") from None
            raise ProviderError(ProviderKind.TIMEOUT, f"no answer within {self._server.timeout:g} s") from None
        except httpx.HTTPError as error:
            said = str(self._mask(self._without_key(f"{type(error).__name__}: {error}")))
            raise ProviderError(ProviderKind.NETWORK, f"the connection failed ({said})") from None

    def _headers(self) -> dict[str, str]:
        # a compressed answer could be small to send and huge to read
        plain = {"Content-Type": "application/json", "Accept-Encoding": "identity", **self._fixed()}
        key = self._server.key
        if not key:
            return plain
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(
                ProviderKind.AUTH,
                "the key holds characters that no key has",
                hint="check the key that api_key_env or api_key_file names",
            )
        return {**plain, **self._signed(key)}

    def _without_key(self, text: str) -> str:
        """``text`` without the key, also without a part of it where the text was cut."""
        key = self._server.key
        if len(key) < SHORTEST_KEY:
            return text
        text = text.replace(key, SHOWN_KEY)
        cut = next((n for n in range(len(key) - 1, SHORTEST_KEY - 1, -1) if text.endswith(key[:n])), 0)
        return text[: len(text) - cut]

    def _left_out(self, request: ModelRequest, error: ProviderError, on_text: OnText | None) -> bool:
        """Whether the model refused a parameter that can be done without; then it is left out from now on."""
        if error.kind is not ProviderKind.BAD_REQUEST:
            return False
        for parameter, sent in self._optional(request, on_text).items():
            wanted = (request.model, parameter)
            said = re.search(rf"\b{parameter}", error.message, re.IGNORECASE)
            if sent and said and wanted not in self._refused:
                self._refused.add(wanted)
                return True
        return False


async def capped(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body, piece by piece; ProviderError once it is more than any answer has."""
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_ANSWER:
            raise ProviderError(ProviderKind.GARBLED, "the answer is too large")
        yield part


async def whole(response: httpx.Response) -> bytes:
    """The whole body. ProviderError if it is too large."""
    return b"".join([part async for part in capped(response)])


async def _beginning(response: httpx.Response) -> bytes:
    """The beginning of an error's body, which is enough to tell what it is."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) >= MAX_ERROR:
            break
    return bytes(body[:MAX_ERROR])


def _encoded(body: dict[str, object] | None) -> bytes | None:
    """The body as UTF-8; half characters become question marks, because no server takes them."""
    return None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def read_json(text: bytes) -> object:
    """The value of a JSON text. ProviderError if it is none."""
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProviderError(ProviderKind.GARBLED, "the answer is no JSON") from error
    return body

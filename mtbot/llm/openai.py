"""One client for every server that speaks chat completions, on httpx.

What may be tried again is: a connection that was not made, a busy or failing server, a limit with its waiting time.
A deterministic no is not; only a parameter that the model refuses is left out once, and that is remembered.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelAnswer, ModelRequest
from mtbot.llm.dialect import read_answer, read_error, request_body

MAX_ANSWER = 16 * 1024 * 1024
LONGEST_WAIT = 60.0
_RETRIED = frozenset({ProviderKind.RATE, ProviderKind.TRANSIENT, ProviderKind.NETWORK})
_OPTIONAL = ("temperature",)


@dataclass(frozen=True, slots=True)
class Server:
    """Where a provider is and how it is used; ``key`` empty means no key, ``timeout`` is in seconds."""

    base_url: str
    key: str
    timeout: float = 120.0
    retries: int = 3


class OpenAIProvider:
    """Completes requests against one server."""

    def __init__(
        self,
        server: Server,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._server = server
        self._sleep = sleep
        self._steps = itertools.count(1)
        self._refused: set[tuple[str, str]] = set()
        headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
        self._client = httpx.AsyncClient(
            base_url=server.base_url.rstrip("/") + "/",
            headers=headers,
            timeout=httpx.Timeout(server.timeout, connect=min(15.0, server.timeout)),
            trust_env=False,
            transport=transport,
        )

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """One answer. ProviderError once retries are used up or the error is final."""
        for attempt in itertools.count():
            try:
                return await self._once(request)
            except ProviderError as error:
                if self._left_out(request, error):
                    continue
                if error.kind not in _RETRIED or attempt >= self._server.retries:
                    raise
                wait = error.retry_after if error.retry_after is not None else min(8.0, 0.5 * 2**attempt)
                if wait > LONGEST_WAIT:
                    raise
            await self._sleep(wait)
        raise AssertionError("unreachable")

    async def models(self) -> tuple[str, ...]:
        """The ids of the models that the server lists. ProviderError."""
        response = await self._send("GET", "models", None)
        data = _json(response)
        listed = data.get("data") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            raise ProviderError(ProviderKind.GARBLED, "the list of models could not be read")
        return tuple(str(entry["id"]) for entry in listed if isinstance(entry, dict) and "id" in entry)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _once(self, request: ModelRequest) -> ModelAnswer:
        body = request_body(request)
        for model, parameter in self._refused:
            if model == request.model:
                body.pop(parameter, None)
        response = await self._send("POST", "chat/completions", body)
        return read_answer(_json(response), f"call{next(self._steps)}")

    async def _send(self, method: str, path: str, body: dict[str, object] | None) -> httpx.Response:
        try:
            response = await self._client.request(method, path, json=body)
        except httpx.ConnectTimeout as error:
            raise ProviderError(ProviderKind.NETWORK, "no connection within 15 s") from error
        except httpx.TimeoutException as error:
            raise ProviderError(ProviderKind.TIMEOUT, f"no answer within {self._server.timeout:.0f} s") from error
        except httpx.HTTPError as error:
            raise ProviderError(ProviderKind.NETWORK, f"the connection failed ({type(error).__name__})") from error
        except UnicodeEncodeError as error:
            raise ProviderError(ProviderKind.BAD_REQUEST, "the request holds text that is not valid Unicode") from error
        if response.status_code >= 300:
            raise read_error(response.status_code, response.text[:20_000], _retry_after(response))
        if len(response.content) > MAX_ANSWER:
            raise ProviderError(ProviderKind.GARBLED, "the answer is too large")
        return response

    def _left_out(self, request: ModelRequest, error: ProviderError) -> bool:
        """Whether the model refused a parameter that can be done without; then it is left out from now on."""
        if error.kind is not ProviderKind.BAD_REQUEST or request.temperature is None:
            return False
        for parameter in _OPTIONAL:
            if parameter in error.message and (request.model, parameter) not in self._refused:
                self._refused.add((request.model, parameter))
                return True
        return False


def _json(response: httpx.Response) -> object:
    try:
        body: object = response.json()
    except (ValueError, RecursionError) as error:
        raise ProviderError(ProviderKind.GARBLED, "the answer is no JSON") from error
    return body


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of the Retry-After header, if it is a number."""
    try:
        value = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return value if 0 <= value < 86_400 else None

"""Fetch one public page: every hop resolved once, checked, and connected to at exactly the address that was checked.

Between a check and a connection a name may change its address, so the check sits inside the connection: the network
backend resolves, judges every answer and dials one of them, while TLS still proves the name. No proxy is ever used,
because a proxy would resolve again.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address

import httpcore
import httpx

from mtbot.policy.effects import host_of
from mtbot.tools.netguard import IPAddress, NoHost, read_address, refusal
from mtbot.tools.web_body import FetchFailed, FetchRefused, Page, content_type, is_text, named_type, read_body

MAX_HOPS = 3
MAX_URL = 8192
_REDIRECTS = (301, 302, 303, 307, 308)
_NAME = re.compile(rb"[a-z0-9._-]+\Z")
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; mtclaw)",
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}

Resolver = Callable[[str, int], Awaitable[tuple[str, ...]]]
Judge = Callable[[IPAddress, int], str | None]


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Every address of a name, as the system resolves it. OSError if there is none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def judge_public(address: IPAddress, port: int) -> str | None:
    """The judgement of production: only public addresses, on any port."""
    del port
    return refusal(address)


@dataclass(frozen=True, slots=True)
class Network:
    """How names become addresses and which addresses are permitted; tests put a loopback server behind both."""

    resolve: Resolver = resolve_host
    judge: Judge = judge_public

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of ``host``, all of them permitted. FetchRefused if a single one is not; OSError if none is known."""
        try:
            written = read_address(host)
        except NoHost as error:
            raise FetchRefused(f"{host} {error}") from None
        answers = (str(written),) if written is not None else await self.resolve(host, port)
        for answer in answers:
            why = self.judge(ip_address(answer), port)
            if why is not None:
                raise FetchRefused(f"{host} leads to {answer}, which {why}; only public addresses are fetched from")
        return answers


class _Backend(httpcore.AsyncNetworkBackend):
    """Dials what ``Network`` permits, and nothing that is not an address."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._dialer = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await self._network.addresses(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} is not known") from error
        failure: Exception = httpcore.ConnectError(f"{host} is not known")
        for address in addresses[:4]:
            try:
                return await self._dialer.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _Transport(httpx.AsyncBaseTransport):
    """httpx over a connection pool that has our backend."""

    def __init__(self, network: Network, context: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, max_connections=2, http1=True, http2=False, network_backend=_Backend(network)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    async def aclose(self) -> None:
        await self._pool.aclose()


class WebClient:
    """Fetches pages. ``hosts`` are those that the owner listed: a redirect never leads from one of them to a stranger,
    because what a listed host may be sent even by a turn that has read strange text would go on to anybody.
    """

    def __init__(self, max_bytes: int, hosts: tuple[str, ...], network: Network, context: ssl.SSLContext) -> None:
        self._max_bytes = max_bytes
        self._hosts = hosts
        self._network = network
        self._context = context

    async def fetch(self, url: str) -> Page:
        """The page at ``url`` after at most three redirects. FetchRefused or FetchFailed; it sets no time limit itself."""
        here = _parsed(url)
        transport = _Transport(self._network, self._context)
        async with httpx.AsyncClient(
            transport=transport,
            follow_redirects=False,
            trust_env=False,
            headers=_HEADERS,
            timeout=None,  # noqa: S113 - the caller bounds the whole fetch, all hops together
        ) as client:
            for _ in range(MAX_HOPS + 1):
                try:
                    found = await self._hop(client, here)
                except (httpx.HTTPError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as e:
                    raise FetchFailed(_told(here.host, e)) from e
                if isinstance(found, Page):
                    return found
                here = self._next(here, found)
        raise FetchFailed(f"{here.host} redirects more than {MAX_HOPS} times")

    async def _hop(self, client: httpx.AsyncClient, url: httpx.URL) -> Page | str:
        """One request: the page, or where it redirects to."""
        async with client.stream("GET", url) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return response.headers["location"]
            if not response.is_success:
                raise FetchFailed(f"{url.host} answers {response.status_code} {_phrase(response.status_code)}".rstrip())
            media_type, charset = content_type(response.headers.get("content-type", ""))
            if not is_text(media_type):
                raise FetchRefused(f"{url.host} sends {named_type(media_type)}, which is not text")
            body, cut = await read_body(response, self._max_bytes)
            return Page(str(url.copy_with(fragment=None)), media_type, charset, body, cut)

    def _next(self, here: httpx.URL, location: str) -> httpx.URL:
        try:
            target = _parsed(str(here.join(location)))
        except httpx.InvalidURL:
            raise FetchRefused(f"{here.host} redirects to what is no address") from None
        if here.host in self._hosts and target.host not in self._hosts and not _same_site(here.host, target.host):
            raise FetchRefused(
                f"{here.host} is listed and redirects to {target.host}, which is not; fetch that address itself if needed"
            )
        return target


def _parsed(url: str) -> httpx.URL:
    """An http(s) address that every reader of it takes for the same one. FetchRefused otherwise."""
    if len(url) > MAX_URL:
        raise FetchRefused(f"the address has over {MAX_URL} characters")
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise FetchRefused("the address cannot be read") from None
    if parsed.scheme not in ("http", "https"):
        raise FetchRefused("only http and https addresses are fetched")
    if parsed.userinfo:
        raise FetchRefused("an address with a user name or password in it is not fetched")
    if not parsed.host or not _reads_alike(url, parsed):
        raise FetchRefused("the address names no host, or one that can be read in two ways")
    return parsed


def _reads_alike(url: str, parsed: httpx.URL) -> bool:
    """Whether policy, which judged the host by its own reading, saw the host that would be connected to."""
    if ":" not in parsed.host and not _NAME.match(parsed.raw_host):
        return False
    try:
        return httpx.URL(scheme="http", host=host_of(url)).raw_host == parsed.raw_host
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return False


def _same_site(one: str, other: str) -> bool:
    """Whether one host is the other, or lies below it."""
    one, other = one.removeprefix("www."), other.removeprefix("www.")
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _told(host: str, error: Exception) -> str:
    """A network failure in words that hold nothing of the address but its host."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"{host} cannot prove that it is {host} (its certificate is not valid)"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpcore.ConnectError | httpx.ConnectError):
        return f"no connection to {host}"
    return f"the connection to {host} broke"

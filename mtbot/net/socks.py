"""Connections to a server through a SOCKS5 proxy (RFC 1928, 1929). Imported only where one is configured.

The proxy looks the server's name up. httpx has a way through such a proxy that waits without end for one that says
nothing, leaves connections open and raises errors that are not its own; the agreement itself is short.
"""

import asyncio
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from mtbot.domain.proxy import HUNG_UP, NO_ANSWER, NO_PROXY, NOT_REACHED, WRONG_PASSWORD, refused

_VERSION, _PASSWORD_VERSION, _CONNECT = 5, 1, 1
_NO_PASSWORD, _PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_LENGTHS: Final = {_IPV4: 4, _IPV6: 16}

_WHY: Final = {
    2: "connection not allowed by ruleset",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused by destination host",
    6: "TTL expired",
    8: "address type not supported",
}


class SocksTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport over connections that a ``SocksDialer`` makes, kept for so many seconds."""

    def __init__(self, proxy: str, context: ssl.SSLContext, kept: float) -> None:
        super().__init__(verify=context, trust_env=False)
        # it closes the connections of this pool and tells its errors as httpx's, as it would those of its own
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, keepalive_expiry=kept, network_backend=SocksDialer(proxy)
        )


class SocksDialer(httpcore.AsyncNetworkBackend):
    """Has the proxy connect; ``proxy`` is an address that the configuration accepts. No error text holds a part of it."""

    def __init__(self, proxy: str) -> None:
        parts = urlsplit(proxy)
        assert parts.hostname is not None
        assert parts.port is not None
        self._place = (parts.hostname, parts.port)
        self._user, self._password = (unquote(one or "").encode() for one in (parts.username, parts.password))
        self._dialer = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection with the server. httpcore's ConnectError, ConnectTimeout or ProxyError: nothing was sent."""
        try:
            async with asyncio.timeout(timeout):
                stream = await self._dialer.connect_tcp(*self._place, None, local_address, socket_options)
                try:
                    await self._agree(stream, host, port)
                except BaseException:
                    await stream.aclose()
                    raise
        except TimeoutError:
            raise httpcore.ConnectTimeout(NO_ANSWER) from None
        except (httpcore.ConnectError, OSError):
            raise httpcore.ConnectError(NOT_REACHED) from None
        except httpcore.NetworkError:
            raise httpcore.ProxyError(HUNG_UP) from None
        return stream

    async def _agree(self, stream: httpcore.AsyncNetworkStream, host: str, port: int) -> None:
        """The greeting, the password where the proxy wants one, and the request. ProxyError."""
        methods = [_NO_PASSWORD, _PASSWORD] if self._user else [_NO_PASSWORD]
        await stream.write(bytes([_VERSION, len(methods), *methods]))
        version, method = await _read(stream, 2)
        if version != _VERSION:
            raise httpcore.ProxyError(NO_PROXY)
        if method not in methods:
            raise httpcore.ProxyError(WRONG_PASSWORD)
        if method == _PASSWORD:
            given = b"".join(bytes([len(one)]) + one for one in (self._user, self._password))
            await stream.write(bytes([_PASSWORD_VERSION]) + given)
            if (await _read(stream, 2))[1]:
                raise httpcore.ProxyError(WRONG_PASSWORD)
        await stream.write(bytes([_VERSION, _CONNECT, 0]) + _address(host) + port.to_bytes(2))
        version, reply, _, kind = await _read(stream, 4)
        if version != _VERSION:
            raise httpcore.ProxyError(NO_PROXY)
        if reply:
            raise httpcore.ProxyError(refused(_WHY.get(reply, f"reply {reply}")))
        length = (await _read(stream, 1))[0] if kind == _NAME else _LENGTHS.get(kind)
        if length is None:
            raise httpcore.ProxyError(NO_PROXY)
        await _read(stream, length + 2)


def _address(host: str) -> bytes:
    """A host as a request names it."""
    try:
        number = ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if number.version == 4 else _IPV6]) + number.packed


async def _read(stream: httpcore.AsyncNetworkStream, count: int) -> bytes:
    """Exactly so many bytes: what comes behind them is not ours. ProxyError if there are fewer."""
    found = b""
    while len(found) < count:
        piece = await stream.read(count - len(found))
        if not piece:
            raise httpcore.ProxyError(HUNG_UP)
        found += piece
    return found

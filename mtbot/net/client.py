"""One kind of HTTP client for every server that the owner named, with or without a proxy.

Nothing is read from the environment: a proxy or an authority is named in the configuration or not used.
"""

import ssl
from functools import cache

import httpx

from mtbot.domain.proxy import NO_ANSWER, NOT_REACHED, WRONG_PASSWORD, refused

KEPT_SECONDS = 15.0
"""How long a connection that rests is kept for the next request."""


def open_client(
    base_url: str, proxy: str = "", *, timeout: httpx.Timeout, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """A client of the server at ``base_url``, by ``proxy`` unless that is empty. It opens nothing before its first request.

    The proxy is an http, https, socks5 or socks5h address, which may hold a user and a password. ``transport`` takes the
    place of connections altogether.
    """
    return httpx.AsyncClient(
        base_url=base_url.rstrip("/") + "/",
        timeout=timeout,
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=KEPT_SECONDS),
        verify=trusted(base_url),
        trust_env=False,
        transport=transport or _through_socks(base_url, proxy),
        proxy=_http_proxy(proxy),
    )


def trusted(base_url: str) -> ssl.SSLContext:
    """Whom to trust there: one reading of the authorities serves every client; without TLS there is nobody to trust."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if base_url.lower().startswith("http://") else _authorities()


@cache
def _authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


def _http_proxy(proxy: str) -> httpx.Proxy | None:
    if not proxy.startswith("http"):
        return None
    return httpx.Proxy(proxy, ssl_context=_authorities() if proxy.startswith("https:") else None)


def _through_socks(base_url: str, proxy: str) -> httpx.AsyncBaseTransport | None:
    if not proxy.startswith("socks"):
        return None
    from mtbot.net.socks import SocksTransport  # noqa: PLC0415 - few have such a proxy

    return SocksTransport(proxy, trusted(base_url), KEPT_SECONDS)


def not_sent(error: Exception, proxy: str) -> str | None:
    """Why nothing of a request can have arrived, in words without an address; None where something may have.

    What a server itself is called is the caller's business: "" where there is nothing more to be said of it.
    """
    if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError):
        return None
    tls = _tls_fault(error)
    if not proxy:
        return f"no agreement on TLS: {tls}" if tls else ""
    if isinstance(error, httpx.ProxyError):
        return _refusal(error, proxy)
    if isinstance(error, httpx.ConnectTimeout):
        return NO_ANSWER
    return f"no connection came about through the proxy ({tls})" if tls else NOT_REACHED


def _refusal(error: httpx.ProxyError, proxy: str) -> str:
    """What a SOCKS dialer says is in our words; what an HTTP proxy says is a status and its own."""
    said = str(error)
    if proxy.startswith("socks"):
        return said
    status = said.partition(" ")[0]
    return WRONG_PASSWORD if status == "407" else refused(f"it answered {status}")


def _tls_fault(error: BaseException | None) -> str:
    """The kind of fault for which TLS was not agreed on; empty if it was another."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return type(error).__name__
        error = error.__cause__ or error.__context__
    return ""

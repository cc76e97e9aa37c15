"""One client for every server: whom it trusts, what it takes from the environment, how a failure is put."""

import ssl
import sys
from collections.abc import AsyncIterator
from importlib.abc import MetaPathFinder

import httpcore
import httpx
import pytest

from mtbot.net.client import not_sent, open_client, trusted
from mtbot.simulator.model import ModelSimulator

TIMES = httpx.Timeout(5.0)


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    """A server that can be asked."""
    async with ModelSimulator(()) as server:
        yield server


def pool_context(client: httpx.AsyncClient, url: str) -> ssl.SSLContext:
    """What a connection to ``url`` verifies with."""
    found = client._transport_for_url(httpx.URL(url))
    assert isinstance(found, httpx.AsyncHTTPTransport)
    context = found._pool._ssl_context
    assert isinstance(context, ssl.SSLContext)
    return context


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9", "https://127.0.0.1:9", "socks5://127.0.0.1:9"])
@pytest.mark.parametrize("base", ["https://one.example/v1", "HTTPS://two.example", "http://127.0.0.1:9"])
async def test_every_certificate_is_verified_and_the_authorities_are_read_once(base: str, proxy: str) -> None:
    """Each reading costs a start 16 ms and a megabyte; a client that trusts nobody can't be led to TLS."""
    async with open_client(base, proxy, timeout=TIMES) as client:
        found = pool_context(client, base)
    assert (found.verify_mode, found.check_hostname) == (ssl.CERT_REQUIRED, True)
    plain = base.startswith("http:")
    assert (found.cert_store_stats()["x509_ca"] == 0) == plain
    assert (found is trusted("https://any.example")) == (not plain)


async def test_a_proxy_behind_tls_is_verified_too_where_the_server_is_not_behind_tls() -> None:
    """Its certificate is that of its own name."""
    async with open_client("http://127.0.0.1:9", "https://proxy.example:9", timeout=TIMES) as client:
        found = client._transport_for_url(httpx.URL("http://127.0.0.1:9"))
        assert isinstance(found, httpx.AsyncHTTPTransport)
        assert isinstance(found._pool, httpcore.AsyncHTTPProxy)
        assert found._pool._proxy_ssl_context is trusted("https://any.example")


def caused(error: httpx.ConnectError, cause: BaseException) -> httpx.ConnectError:
    """``error`` as it is raised because of ``cause``."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "proxy", "said"),
    [
        (httpx.ConnectError("no route"), "", ""),
        (httpx.ConnectTimeout("slow"), "", ""),
        (httpx.PoolTimeout("full"), "", ""),
        (caused(httpx.ConnectError("x"), ssl.SSLError()), "", "no agreement on TLS: SSLError"),
        (httpx.ReadError("broke"), "", None),
        (httpx.RemoteProtocolError("odd"), "http://p:1", None),
        (TimeoutError(), "http://p:1", None),
        (httpx.ConnectError("no route"), "http://p:1", "the proxy can't be reached"),
        (httpx.ConnectTimeout("slow"), "http://p:1", "the proxy does not answer"),
        (httpx.ProxyError("407 Who are you?"), "http://p:1", "the proxy wants another user and password"),
        (httpx.ProxyError("403 No"), "https://p:1", "the proxy makes no connection (it answered 403)"),
        (httpx.ProxyError("the proxy hung up"), "socks5://p:1", "the proxy hung up"),
        (
            caused(httpx.ConnectError("CERTIFICATE"), ssl.SSLCertVerificationError()),
            "http://p:1",
            "no connection came about through the proxy (SSLCertVerificationError)",
        ),
    ],
)
def test_what_was_certainly_not_sent_is_told_in_words_without_an_address(
    error: Exception, proxy: str, said: str | None
) -> None:
    """Whatever else failed may have arrived."""
    assert not_sent(error, proxy) == said


async def test_a_request_looks_for_no_module(model: ModelSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is missing would be looked for on the whole path again, at every lock of every request."""
    sought: list[str] = []

    class Watching(MetaPathFinder):
        def find_spec(self, fullname: str, path: object, target: object = None) -> None:
            sought.append(fullname)

    async with open_client(model.base_url, timeout=TIMES) as client:
        assert (await client.get("models")).status_code == 200
        monkeypatch.setattr(sys, "meta_path", [Watching(), *sys.meta_path])
        assert (await client.get("models")).status_code == 200
    assert sought == []

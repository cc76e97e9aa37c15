"""A model server behind a proxy, over real connections; nobody waits without end, and no secret is told."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelRequest
from mtbot.domain.turn import Message, Role
from mtbot.llm import http
from mtbot.llm.http import Server
from mtbot.llm.openai import OpenAIProvider
from mtbot.net import client as net
from mtbot.net import socks
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import say
from tests.integration.tools.certificates import authority_and_server
from tests.socks5 import SocksProxy

USER, PASSWORD = "reader", "p@ss word:1/2"
CREDENTIALS = "reader:p%40ss%20word%3A1%2F2@"
NAME = "model.invalid"
ASK = ModelRequest("test-model", (Message(Role.USER, "hello"),))


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    """A server that answers once."""
    async with ModelSimulator((say("Hello yourself."),)) as server:
        yield server


def to(model: ModelSimulator) -> tuple[str, int]:
    """Where the server is in truth, which only the proxy knows."""
    parts = urlsplit(model.base_url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@asynccontextmanager
async def going_by(
    proxy: str, *, base: str = f"http://{NAME}:8080/v1", retries: int = 0, stream: bool = False
) -> AsyncIterator[OpenAIProvider]:
    """A client of a server whose name nobody knows; it does not pause between tries."""

    async def at_once(seconds: float) -> None:
        assert seconds > 0

    client = OpenAIProvider(Server(base, "sk-test-0123456789", 5.0, retries, stream, proxy), sleep=at_once)
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("credentials", ["", CREDENTIALS], ids=["open", "password"])
async def test_a_model_answers_through_the_proxy(
    model: ModelSimulator, scheme: str, credentials: str, stream: bool
) -> None:
    """And the proxy is asked for the name: the name service here may lie."""
    user, password = (USER, PASSWORD) if credentials else ("", "")
    async with (
        SocksProxy(to(model), user=user, password=password) as proxy,
        going_by(f"{scheme}://{credentials}127.0.0.1:{proxy.port}", stream=stream) as client,
    ):
        answer = await client.complete(ASK, (lambda _text: None) if stream else None)
        assert (answer.text, proxy.asked) == ("Hello yourself.", [(NAME, 8080)])


@pytest.mark.parametrize(
    "bound", [bytes([3, 4]) + b"host", bytes([4]) + bytes(16)], ids=["a name", "an address of version 6"]
)
async def test_where_the_proxy_connects_from_is_read_and_let_go(model: ModelSimulator, bound: bytes) -> None:
    """It is of any kind, and not one byte of it is taken for an answer."""
    async with SocksProxy(to(model), bound=bound) as proxy, going_by(f"socks5://127.0.0.1:{proxy.port}") as client:
        assert (await client.complete(ASK)).text == "Hello yourself."


@pytest.mark.parametrize(
    ("knows", "credentials", "said"),
    [
        ({"user": USER, "password": "another"}, CREDENTIALS, "the proxy wants another user and password"),
        ({"user": USER, "password": PASSWORD}, "", "the proxy wants another user and password"),
        ({"refusal": 2}, "", "the proxy makes no connection (connection not allowed by ruleset)"),
        ({"refusal": 99}, CREDENTIALS, "the proxy makes no connection (reply 99)"),
        (
            {"nonsense": b"HTTP/1.1 400 Bad Request\r\n\r\n"},
            "",
            "what answers at the proxy's address is no SOCKS proxy",
        ),
        ({"nonsense": b"\x05"}, "", "the proxy hung up"),
        ({"nonsense": b"\x05\x00HTTP"}, "", "what answers at the proxy's address is no SOCKS proxy"),
        ({"bound": b"\x09"}, "", "what answers at the proxy's address is no SOCKS proxy"),
    ],
    ids=["wrong password", "no password", "not allowed", "unknown", "http", "hangs up", "http later", "odd address"],
)
async def test_a_proxy_that_refuses_is_told_in_a_line(
    model: ModelSimulator, knows: dict[str, object], credentials: str, said: str
) -> None:
    """Which holds neither key nor password; nothing has reached the server."""
    async with (
        SocksProxy(to(model), **knows) as proxy,  # type: ignore[arg-type] # the table is of mixed values
        going_by(f"socks5://{credentials}127.0.0.1:{proxy.port}") as client,
    ):
        with pytest.raises(ProviderError) as failed:
            await client.complete(ASK)
    error = failed.value
    assert (error.kind, error.message) == (ProviderKind.NETWORK, f"the connection failed (ProxyError: {said})")
    assert not [one for one in ("sk-test", PASSWORD, CREDENTIALS) if one in f"{error} {error!r} {error.__cause__!r}"]
    assert model.requests == ()


async def test_a_proxy_that_is_down_is_tried_again(model: ModelSimulator) -> None:
    """Like any connection that was not made, and then told."""
    async with SocksProxy(to(model)) as proxy, going_by(f"socks5://127.0.0.1:{proxy.port}", retries=2) as client:
        await proxy.stop()
        with pytest.raises(ProviderError, match=r"the connection failed \(ConnectError: the proxy can't be reached\)"):
            await client.complete(ASK)
        await proxy.start()
        assert (await client.complete(ASK)).text == "Hello yourself."


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_proxy_that_says_nothing_is_given_up(
    model: ModelSimulator, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """It takes the connection and never answers."""
    monkeypatch.setattr(http, "CONNECT_SECONDS", 0.1)
    async with (
        SocksProxy(to(model), nonsense=b"") as proxy,
        going_by(f"socks5://127.0.0.1:{proxy.port}", stream=stream) as client,
    ):
        with pytest.raises(ProviderError, match=r"no connection within 0\.1 s"):
            await client.complete(ASK, (lambda _text: None) if stream else None)


async def test_a_server_behind_the_proxy_without_tls_is_no_server(model: ModelSimulator) -> None:
    """The certificate is that of the server's name, whoever passes it on."""
    async with (
        SocksProxy(to(model)) as proxy,
        going_by(f"socks5://127.0.0.1:{proxy.port}", base=f"https://{NAME}/v1") as client,
    ):
        with pytest.raises(ProviderError, match=r"the connection failed \(ConnectError: .*SSL"):
            await client.complete(ASK)
        assert proxy.asked == [(NAME, 443)]


@pytest.mark.parametrize("name", [NAME, "another.invalid"])
async def test_tls_goes_through_the_proxy_and_proves_the_servers_name(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever runs the proxy can neither read nor answer."""
    trusted, server = authority_and_server(name)
    monkeypatch.setattr(net, "trusted", lambda _base: trusted)
    body = b'{"object": "list", "data": [{"id": "far-model"}]}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
    try:
        async with (
            SocksProxy(("127.0.0.1", listening.sockets[0].getsockname()[1])) as proxy,
            going_by(f"socks5://127.0.0.1:{proxy.port}", base=f"https://{NAME}/v1") as client,
        ):
            if name == NAME:
                assert await client.models() == ("far-model",)
            else:
                with pytest.raises(ProviderError, match=r"CERTIFICATE_VERIFY_FAILED"):
                    await client.models()
            assert proxy.asked == [(NAME, 443)]
    finally:
        listening.close()


async def test_an_http_proxy_is_told_its_password_and_the_server_is_not_asked_for(model: ModelSimulator) -> None:
    """The server's name is of nobody, so only the proxy can have answered."""
    host, port = to(model)
    async with going_by(f"http://{CREDENTIALS}{host}:{port}") as client:
        assert (await client.complete(ASK)).text == "Hello yourself."
    assert model.requests[0].headers["proxy-authorization"].startswith("Basic ")
    assert model.requests[0].headers["authorization"] == "Bearer sk-test-0123456789"


async def test_nothing_is_taken_from_the_environment(model: ModelSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy is named in the configuration or not used."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with going_by("", base=model.base_url) as client:
        assert (await client.complete(ASK)).text == "Hello yourself."


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("model.example", b"\x03\x0dmodel.example"),
        ("192.0.2.7", b"\x01\xc0\x00\x02\x07"),
        ("::1", b"\x04" + bytes(15) + b"\x01"),
    ],
)
def test_a_host_is_asked_for_as_what_it_is(host: str, written: bytes) -> None:
    """A name by its letters, a number by its bytes."""
    assert socks._address(host) == written


def test_without_such_a_proxy_nothing_of_it_is_loaded() -> None:
    """It would cost every start."""
    code = (
        "import sys\n"
        "from mtbot.llm.http import Server\n"
        "from mtbot.llm.openai import OpenAIProvider\n"
        "def loaded(proxy):\n"
        "    OpenAIProvider(Server('http://model.invalid', '', proxy=proxy))\n"
        "    return 'mtbot.net.socks' in sys.modules\n"
        "print(loaded(''), loaded('http://127.0.0.1:9'), loaded('socks5://127.0.0.1:9'))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False False True\n"

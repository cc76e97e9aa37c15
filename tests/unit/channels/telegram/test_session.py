"""What a session reads of an answer, and everything to Telegram by a real SOCKS5 server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpcore
import httpx
import pytest
from aiogram.methods import GetFile, SendMessage

from mtbot.channels.telegram import session
from mtbot.channels.telegram.account import who_am_i
from mtbot.channels.telegram.transport import Account, Transport
from mtbot.domain.errors import Unreachable
from mtbot.domain.ids import BotName
from mtbot.net import client as net
from mtbot.simulator.telegram import DEFAULT_TOKEN, TelegramSimulator
from mtbot.simulator.values import Attachment
from tests.integration.tools.certificates import authority_and_server
from tests.socks5 import SocksProxy

USER, PASSWORD = "reader", "p@ss word:1/2"
CREDENTIALS = "reader:p%40ss%20word%3A1%2F2@"
SERVER = ("bot-api.invalid", 8081)
SEND = SendMessage(chat_id=1001, text="hello")


def to(telegram: TelegramSimulator) -> tuple[str, int]:
    """Where the server is in truth, which only the proxy knows."""
    parts = urlsplit(telegram.base_url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


@asynccontextmanager
async def going_by(proxy: str, scheme: str = "http") -> AsyncIterator[Transport]:
    """A connection to a server whose name nobody knows."""
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, f"{scheme}://{SERVER[0]}:{SERVER[1]}", proxy))
    try:
        yield found
    finally:
        await found.close()


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("credentials", ["", CREDENTIALS], ids=["open", "password"])
async def test_calls_polls_and_files_go_by_the_proxy(
    telegram: TelegramSimulator, scheme: str, credentials: str
) -> None:
    """And the proxy is asked for the name: the name service here may lie."""
    user, password = (USER, PASSWORD) if credentials else ("", "")
    async with (
        SocksProxy(to(telegram), user=user, password=password) as proxy,
        going_by(f"{scheme}://{credentials}127.0.0.1:{proxy.port}") as transport,
    ):
        assert (await who_am_i(transport)).id == 7001001
        said = await telegram.say(1001, None, attach=Attachment(b"text", "a.txt"))
        assert len(await transport.updates(None)) == 1
        sent = next(message.attachment for message in telegram.chat(1001) if message.id == said)
        assert sent is not None
        assert await transport.fetch(sent.file_id, 10) == b"text"
        assert set(proxy.asked) == {SERVER}
        assert len(proxy.asked) >= 2  # polls have a connection of their own


async def test_a_proxy_that_asks_nobody_is_used_with_a_password_too(telegram: TelegramSimulator) -> None:
    """A user and a password are offered, not insisted on."""
    async with (
        SocksProxy(to(telegram)) as proxy,
        going_by(f"socks5://{CREDENTIALS}127.0.0.1:{proxy.port}") as transport,
    ):
        assert (await who_am_i(transport)).id == 7001001


@pytest.mark.parametrize(
    ("knows", "credentials", "said"),
    [
        ({"user": USER, "password": "another"}, CREDENTIALS, "the proxy wants another user and password"),
        ({"user": USER, "password": PASSWORD}, "", "the proxy wants another user and password"),
        ({"refusal": 2}, "", "the proxy makes no connection (connection not allowed by ruleset)"),
        ({"refusal": 4}, CREDENTIALS, "the proxy makes no connection (host unreachable)"),
        (
            {"nonsense": b"HTTP/1.1 400 Bad Request\r\n\r\n"},
            "",
            "what answers at the proxy's address is no SOCKS proxy",
        ),
        ({"nonsense": b"\x05"}, "", "the proxy hung up"),
    ],
    ids=["wrong password", "no password", "not allowed", "unreachable", "http", "hangs up"],
)
async def test_a_proxy_that_refuses_has_passed_nothing_on(
    telegram: TelegramSimulator, knows: dict[str, object], credentials: str, said: str
) -> None:
    """So the call may be made again; neither text nor causes hold the token, the password or the address."""
    async with (
        SocksProxy(to(telegram), **knows) as proxy,  # type: ignore[arg-type] # the table is of mixed values
        going_by(f"socks5://{credentials}127.0.0.1:{proxy.port}") as transport,
    ):
        for failing in (transport.call(SEND), transport.updates(None)):
            with pytest.raises(Unreachable) as failed:
                await failing
            assert str(failed.value) == said
            error: BaseException | None = failed.value
            while error is not None:
                shown = f"{error} {error!r}"
                assert not [one for one in (DEFAULT_TOKEN, PASSWORD, CREDENTIALS, "127.0.0.1") if one in shown]
                error = error.__cause__
    assert telegram.chat(1001) == ()


async def test_a_proxy_that_is_down_is_used_as_soon_as_it_is_up(telegram: TelegramSimulator) -> None:
    """Nothing has to be made anew for it."""
    async with SocksProxy(to(telegram)) as proxy, going_by(f"socks5://127.0.0.1:{proxy.port}") as transport:
        await proxy.stop()
        for failing in (transport.call(SEND), transport.updates(None)):
            with pytest.raises(Unreachable, match=r"^the proxy can't be reached$"):
                await failing
        await proxy.start()
        assert (await transport.call(SEND)).message_id == telegram.chat(1001)[-1].id


async def test_a_proxy_that_says_nothing_is_given_up(
    telegram: TelegramSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the connection and never answers."""
    monkeypatch.setattr(session, "CONNECT_SECONDS", 0.1)
    async with (
        SocksProxy(to(telegram), nonsense=b"") as proxy,
        going_by(f"socks5://127.0.0.1:{proxy.port}") as transport,
    ):
        for failing in (transport.call(SEND), transport.updates(None)):
            with pytest.raises(Unreachable, match=r"^the proxy does not answer$"):
                await failing


async def test_a_server_behind_the_proxy_without_tls_is_told_from_the_proxy(telegram: TelegramSimulator) -> None:
    """The proxy did its part; what is behind it is not what its name says."""
    async with (
        SocksProxy(to(telegram)) as proxy,
        going_by(f"socks5://127.0.0.1:{proxy.port}", "https") as transport,
    ):
        with pytest.raises(Unreachable, match=r"^no connection came about through the proxy \(\w+\)$"):
            await transport.call(SEND)


@pytest.mark.parametrize("name", [SERVER[0], "another.invalid"])
async def test_tls_goes_through_the_proxy_and_proves_the_servers_name(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever runs the proxy can neither read nor answer."""
    client, server = authority_and_server(name)
    monkeypatch.setattr(net, "trusted", lambda _base: client)
    body = b'{"ok": true, "result": {"id": 7, "is_bot": true, "first_name": "x", "username": "far_bot"}}'

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
    try:
        async with (
            SocksProxy(("127.0.0.1", listening.sockets[0].getsockname()[1])) as proxy,
            going_by(f"socks5://127.0.0.1:{proxy.port}", "https") as transport,
        ):
            if name == SERVER[0]:
                assert (await who_am_i(transport)).username == "far_bot"
            else:
                with pytest.raises(Unreachable, match=r"through the proxy \(SSLCertVerificationError\)$"):
                    await who_am_i(transport)
            assert proxy.asked == [SERVER]
    finally:
        listening.close()


async def test_polls_that_are_renewed_go_by_the_proxy_again(telegram: TelegramSimulator) -> None:
    """A fresh connection is no way around it."""
    async with SocksProxy(to(telegram)) as proxy, going_by(f"socks5://127.0.0.1:{proxy.port}") as transport:
        telegram.push_update(None, {"message": {"n": 1}})
        assert len(await transport.updates(None)) == 1
        before = len(proxy.asked)
        await transport.renew()
        assert len(await transport.updates(None)) == 1
        assert len(proxy.asked) == before + 1


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ('{"ok": true, "result": {"message_id": 5, "date": 1, "chat": {"id": 1, "type": "private"}}}', 5),
        ('{"ok": true, "result": {"message_id": 5, "whatever": "a newer server says"}}', 5),
        ('{"ok": true, "result": true}', None),
        ('{"ok": true, "result": {"message_id": "5"}}', None),
        ('{"ok": false, "result": {"message_id": 5}}', None),
        ("[" * 100_000, None),
        ("<html>", None),
        ("5", None),
    ],
)
def test_of_a_message_that_was_sent_its_id_is_read(answer: str, wanted: int | None) -> None:
    """Whatever else stands in it; any other answer is left to aiogram."""
    found = session._sent(answer)
    assert (None if found is None else found.message_id) == wanted


async def test_calls_that_are_given_up_leave_no_place_taken(telegram: TelegramSimulator) -> None:
    """At whatever step: a hundred places that nobody gives back, and nothing is sent any more."""
    transport = Transport(Account(BotName("ops"), DEFAULT_TOKEN, telegram.base_url))
    try:
        ends = set()
        for steps in range(150):
            call = asyncio.create_task(transport.call(SEND))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            ends.add(type((await asyncio.gather(call, return_exceptions=True))[0]).__name__)
        assert ends == {"CancelledError", "Message"}
        way = transport._session.client()._transport
        assert isinstance(way, httpx.AsyncHTTPTransport)
        assert isinstance(way._pool, httpcore.AsyncConnectionPool)
        assert way._pool._requests == []
        assert [one for one in way._pool.connections if not one.is_idle()] == []
    finally:
        await transport.close()


async def test_a_file_comes_in_pieces_to_whoever_asks_in_aiograms_way(telegram: TelegramSimulator) -> None:
    """Whole, and in order."""
    said = await telegram.say(1001, None, attach=Attachment(b"0123456789", "a.txt"))
    sent = next(message.attachment for message in telegram.chat(1001) if message.id == said)
    assert sent is not None
    transport = Transport(Account(BotName("ops"), DEFAULT_TOKEN, telegram.base_url))
    try:
        found = await transport.call(GetFile(file_id=sent.file_id))
        assert found.file_path is not None
        url = transport._session.api.file_url(DEFAULT_TOKEN, found.file_path)
        assert [piece async for piece in transport._session.stream_content(url, chunk_size=4)] == [
            b"0123",
            b"4567",
            b"89",
        ]
    finally:
        await transport.close()

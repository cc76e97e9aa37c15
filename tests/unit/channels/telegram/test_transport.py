"""Calls to the Bot API over real HTTP: each failure is told by whether anything can have arrived, without the token."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import httpx
import pytest
from aiogram.methods import GetMe, SendMessage

from mtbot.channels.telegram import session
from mtbot.channels.telegram import transport as module
from mtbot.channels.telegram.account import announce, drop_webhook, who_am_i
from mtbot.channels.telegram.transport import ALLOWED_UPDATES, Account, Transport
from mtbot.domain.errors import Ambiguous, ChannelError, ChatGone, PollConflict, Throttled, TokenRejected, Unreachable
from mtbot.domain.ids import BotName
from mtbot.domain.menu import Menu
from mtbot.net import client
from mtbot.simulator import faults
from mtbot.simulator.faults import Fault
from mtbot.simulator.telegram import DEFAULT_TOKEN, TelegramSimulator
from mtbot.simulator.values import Attachment
from tests.integration.tools.certificates import authority_and_server

SEND = SendMessage(chat_id=1001, text="hello")


@pytest.fixture
async def transport(telegram: TelegramSimulator) -> AsyncIterator[Transport]:
    """A connection to it."""
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, f"{telegram.base_url}/"))
    yield found
    await found.close()


CALLS: tuple[tuple[str, Callable[[], Fault], type[ChannelError], int], ...] = (
    ("401", faults.unauthorized, TokenRejected, 401),
    ("409", faults.conflict, PollConflict, 409),
    ("502", faults.bad_gateway, ChannelError, 502),
    ("drop", faults.drop, Ambiguous, 0),
    ("cut", faults.cut, Ambiguous, 0),
    ("403", lambda: faults.status(403, "Forbidden: bot was blocked by the user"), ChatGone, 403),
    ("gone", lambda: faults.status(400, "Bad Request: chat not found"), ChatGone, 400),
    ("400", lambda: faults.status(400, "Bad Request: message is too long"), ChannelError, 400),
    ("404", lambda: faults.status(404, "Not Found: method not found"), ChannelError, 404),
    ("413", lambda: replace(faults.bad_gateway(), status=413), ChannelError, 413),
)


@pytest.mark.parametrize(("fault", "kind", "status"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
async def test_a_failed_call_says_what_kind_of_failure_it_was(
    telegram: TelegramSimulator, transport: Transport, fault: Callable[[], Fault], kind: type[ChannelError], status: int
) -> None:
    """And its text and causes hold no token."""
    telegram.fault("sendMessage", fault())
    with pytest.raises(ChannelError) as failed:
        await transport.call(SEND)
    assert (type(failed.value), failed.value.status) == (kind, status)
    error: BaseException | None = failed.value
    while error is not None:
        assert DEFAULT_TOKEN not in f"{error} {error!r}"
        error = error.__cause__
    assert (await transport.call(SEND)).message_id == telegram.chat(1001)[-1].id


async def test_a_flood_limit_carries_its_seconds(telegram: TelegramSimulator, transport: Transport) -> None:
    """As the server named them."""
    telegram.fault("sendMessage", faults.too_many(7))
    with pytest.raises(Throttled) as slow:
        await transport.call(SEND)
    assert slow.value.retry_after == 7.0


async def test_a_group_that_moved_says_where_to(telegram: TelegramSimulator, transport: Transport) -> None:
    """The new id is an attribute."""
    telegram.group(-5, "old", members=(1001,))
    telegram.migrate(-5, -1005)
    with pytest.raises(ChatGone) as moved:
        await transport.call(SendMessage(chat_id=-5, text="x"))
    assert moved.value.moved_to == -1005


async def test_a_server_that_is_not_there_got_nothing(telegram: TelegramSimulator, transport: Transport) -> None:
    """So the call may be made again."""
    await telegram.stop()
    with pytest.raises(Unreachable):
        await transport.call(SEND)
    with pytest.raises(Unreachable):
        await transport.updates(None)


async def test_a_call_that_hangs_may_have_arrived(telegram: TelegramSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its deadline nobody knows."""
    monkeypatch.setattr(session, "CALL_SECONDS", 0.2)
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, telegram.base_url))
    telegram.fault("getMe", faults.hang())
    with pytest.raises(Ambiguous, match="the connection broke during getMe"):
        await found.call(GetMe())
    telegram.release()
    await found.close()


POLLS: tuple[tuple[str, Callable[[], Fault], type[ChannelError]], ...] = (
    ("401", faults.unauthorized, TokenRejected),
    ("404", lambda: faults.status(404, "Not Found"), TokenRejected),
    ("409", faults.conflict, PollConflict),
    ("429", lambda: faults.too_many(3), Throttled),
    ("502", faults.bad_gateway, ChannelError),
    ("500", lambda: faults.status(500, "Internal Server Error"), ChannelError),
    ("drop", faults.drop, Unreachable),
    ("cut", faults.cut, Unreachable),
)


@pytest.mark.parametrize(("fault", "kind"), [p[1:] for p in POLLS], ids=[p[0] for p in POLLS])
async def test_a_failed_poll_says_what_kind_of_failure_it_was(
    telegram: TelegramSimulator,
    transport: Transport,
    fault: Callable[[], Fault],
    kind: type[ChannelError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A poll changes nothing, so a broken one is simply made again."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0)
    telegram.fault("getUpdates", fault())
    with pytest.raises(ChannelError) as failed:
        await transport.updates(None)
    assert type(failed.value) is kind
    if isinstance(failed.value, Throttled):
        assert failed.value.retry_after == 3.0


async def test_updates_come_as_they_are(telegram: TelegramSimulator, transport: Transport) -> None:
    """Raw, in order, from the offset on; the kinds that are wanted are named every time."""
    telegram.push_update(None, {"message": {"nonsense": True}})
    telegram.push_update(None, {"message": {"more": 1}})
    found = await transport.updates(None)
    assert [update["message"] for update in found] == [{"nonsense": True}, {"more": 1}]
    last = found[-1]["update_id"]
    assert isinstance(last, int)
    telegram.push_update(None, {"message": {}})
    assert [update["message"] for update in await transport.updates(last + 1)] == [{}]
    assert telegram.calls("getUpdates")[-1].params["allowed_updates"] == list(ALLOWED_UPDATES)


@pytest.mark.parametrize("content", [b"no json", b"[]", b'{"ok": true}', b'{"ok": false, "error_code": "x"}'])
def test_an_answer_that_is_none(content: bytes) -> None:
    """Whatever a proxy writes is a failure and never an empty list."""
    with pytest.raises(ChannelError):
        module._updates_of(200, content)


def test_a_flood_limit_without_seconds_waits_a_little() -> None:
    """The parameter is not always there."""
    with pytest.raises(Throttled) as slow:
        module._updates_of(429, b'{"ok": false, "error_code": 429, "description": "Too Many Requests"}')
    assert slow.value.retry_after == 5.0


@pytest.mark.parametrize("seconds", ["-3", "NaN", "Infinity", "1e999", "true", '"7"', "null", "[]"])
def test_seconds_that_are_none_wait_a_little(seconds: str) -> None:
    """Nothing waits for ever, or not at all, because of a number that is no time."""
    with pytest.raises(Throttled) as slow:
        module._updates_of(429, f'{{"ok":false,"error_code":429,"parameters":{{"retry_after":{seconds}}}}}'.encode())
    assert slow.value.retry_after == 5.0


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (faults.too_many(0), 0.0),
        (faults.status(429, "Too Many Requests"), 5.0),
        (replace(faults.bad_gateway(), status=429), 5.0),
    ],
    ids=["none", "unnamed", "a proxy's page"],
)
async def test_a_send_that_meets_a_limit_without_seconds_is_no_refusal(
    telegram: TelegramSimulator, transport: Transport, limit: Fault, seconds: float
) -> None:
    """What was certainly not sent is sent later, and not given up."""
    telegram.fault("sendMessage", limit)
    with pytest.raises(Throttled) as slow:
        await transport.call(SEND)
    assert slow.value.retry_after == seconds


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (faults.status(404, "Not Found"), "the Bot API server answered 404"),
        (faults.bad_gateway(), "the Bot API server answered 502"),
        (faults.refuse(), "the connection broke while the file was fetched"),
    ],
    ids=["404", "502", "refuse"],
)
async def test_a_file_that_cannot_be_fetched_says_so_without_its_address(
    telegram: TelegramSimulator, transport: Transport, fault: Fault, words: str
) -> None:
    """The address of a file holds the token."""
    said = await telegram.say(1001, None, attach=Attachment(b"text", "a.txt"))
    sent = next(message.attachment for message in telegram.chat(1001) if message.id == said)
    assert sent is not None
    assert await transport.fetch(sent.file_id, 10) == b"text"
    telegram.fault("file", fault, times=3)  # a read is made again by itself where its connection was an old one
    with pytest.raises(ChannelError, match=words) as failed:
        await transport.fetch(sent.file_id, 10)
    error: BaseException | None = failed.value
    while error is not None:
        assert DEFAULT_TOKEN not in f"{error} {error!r}"
        error = error.__cause__


async def test_the_bots_own_account(telegram: TelegramSimulator, transport: Transport) -> None:
    """Who it is, its webhook gone, its commands known."""
    me = await who_am_i(transport)
    assert (me.name, me.id, me.username) == ("ops", 7001001, telegram.bot().account.person.username)
    telegram.bot().queue.webhook = "https://example.org/"
    await drop_webhook(transport)
    assert telegram.bot().queue.webhook == ""
    await announce(transport, [("stop", "x" * 300)])
    await announce(transport, [("new", "n")], Menu.GROUPS)
    await announce(transport, [("all", "a")], Menu.OWNER, 1001)
    assert telegram.bot().menus == {
        "all_private_chats": (("stop", "x" * 256),),
        "all_group_chats": (("new", "n"),),
        "chat:1001": (("all", "a"),),
    }
    telegram.fault("getMe", faults.unauthorized())
    with pytest.raises(TokenRejected, match="Telegram does not accept the token of bot ops"):
        await who_am_i(transport)


async def test_everything_goes_by_the_proxy(telegram: TelegramSimulator) -> None:
    """The server's name is of nobody, so only a proxy can have answered; calls and polls alike."""
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, "http://bot-api.invalid", telegram.base_url))
    try:
        assert (await who_am_i(found)).id == 7001001
        telegram.push_update(None, {"message": {"by": "proxy"}})
        assert [update["message"] for update in await found.updates(None)] == [{"by": "proxy"}]
    finally:
        await found.close()


async def test_an_http_proxy_is_told_its_password() -> None:
    """And the server behind it is not, nor is anybody who reads what went wrong."""
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    proxy = f"http://reader:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, "https://bot-api.invalid", proxy))
    try:
        for failing in (found.call(SEND), found.updates(None)):
            with pytest.raises(Unreachable, match=r"^the proxy wants another user and password$"):
                await failing
    finally:
        await found.close()
        server.close()
    wanted = b"Proxy-Authorization: Basic " + base64.b64encode(b"reader:p@ss") + b"\r\n"
    assert [(one.partition(b" HTTP")[0], wanted in one) for one in asked] == [
        (b"CONNECT bot-api.invalid:443", True)
    ] * 2


async def test_a_proxy_that_is_not_there_or_refuses_has_sent_nothing(telegram: TelegramSimulator) -> None:
    """So the call may be made again."""
    telegram.fault("*", faults.status(407, "Proxy Authentication Required"))
    for proxy in (telegram.base_url, "http://127.0.0.1:9"):
        found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, "https://bot-api.invalid", proxy))
        try:
            with pytest.raises(Unreachable):
                await found.call(SEND)
        finally:
            await found.close()


async def test_polls_go_on_over_fresh_connections(telegram: TelegramSimulator, transport: Transport) -> None:
    """What is sent meanwhile is not broken by it."""
    telegram.push_update(None, {"message": {"n": 1}})
    assert len(await transport.updates(None)) == 1
    await transport.renew()
    assert (await transport.call(SEND)).message_id == telegram.chat(1001)[-1].id
    assert len(await transport.updates(None)) == 1


async def test_closing_waits_for_the_connections_and_for_no_clock(
    telegram: TelegramSimulator, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway that ends or reads its configuration anew is not held up."""
    await transport.call(SEND)
    telegram.push_update(None, {"message": {"n": 1}})
    await transport.updates(None)
    opened = [one.client() for one in (transport._session, transport._polls)]
    pools = [one._transport._pool for one in opened if isinstance(one._transport, httpx.AsyncHTTPTransport)]
    held = [kept for pool in pools for kept in pool.connections]

    async def asleep(delay: float, result: object = None) -> None:
        assert delay == 0, f"it sleeps {delay} s after {result}"

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", asleep)
        await transport.close()
    assert [one.is_closed() for one in held] == [True, True]


async def test_a_poll_under_way_breaks_when_connections_are_renewed(
    telegram: TelegramSimulator, transport: Transport
) -> None:
    """So a watchdog that renews them is not deaf until the poll's own deadline."""
    poll = asyncio.create_task(transport.updates(None))
    await telegram.wait_for(lambda sim: sim.bot().queue.is_polled)
    await transport.renew()
    with pytest.raises(Unreachable, match="the long poll broke"):
        async with asyncio.timeout(5):
            await poll
    telegram.push_update(None, {"message": {"n": 1}})
    assert len(await transport.updates(None)) == 1


async def test_a_server_with_another_certificate_is_told_from_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who runs a server of their own learns what to mend; nothing was sent."""
    context, served = authority_and_server("another.invalid")
    monkeypatch.setattr(client, "trusted", lambda _base: context)
    reached: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.read(1))
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0, ssl=served)
    port = server.sockets[0].getsockname()[1]
    found = Transport(Account(BotName("ops"), DEFAULT_TOKEN, f"https://localhost:{port}"))
    said = "the Bot API server can't be reached (no agreement on TLS: SSLCertVerificationError)"
    try:
        for failing in (found.call(SEND), found.updates(None)):
            with pytest.raises(Unreachable, match=f"^{re.escape(said)}$"):
                await failing
    finally:
        await found.close()
        server.close()
    assert reached == []


async def test_a_server_that_moved_is_not_followed(telegram: TelegramSimulator, transport: Transport) -> None:
    """Whoever answers for it leads nobody, and the token with the call, to another."""
    for method, failing in (
        ("sendMessage", lambda: transport.call(SEND)),
        ("getUpdates", lambda: transport.updates(None)),
    ):
        telegram.fault(method, faults.status(302, "Found"))
        with pytest.raises(ChannelError, match="the Bot API server answered 302") as failed:
            await failing()
        assert (type(failed.value), failed.value.status) == (ChannelError, 302)


async def test_what_comes_behind_the_end_opens_nothing(telegram: TelegramSimulator, transport: Transport) -> None:
    """A sign of life that is still on its way when the gateway ends: nobody would close its connection."""
    await transport.call(GetMe())
    await transport.close()
    before = len(telegram.log)
    with pytest.raises(Unreachable, match="closed"):
        await transport.call(SEND)
    with pytest.raises(Unreachable, match="closed"):
        await transport.updates(None)
    with pytest.raises(Unreachable, match="closed"):
        await transport.fetch("any", 10)
    assert len(telegram.log) == before

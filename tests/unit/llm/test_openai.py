"""What the client does by itself; what servers do is in the dialect tests."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpcore
import httpx
import pytest

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall
from mtbot.llm import http
from mtbot.llm.openai import OpenAIProvider, Server
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import say

ASK = ModelRequest("m", (Message(Role.USER, "hello"),))
GOOD = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}


def provider(answer: Callable[[httpx.Request], httpx.Response], key: str = "", timeout: float = 5.0) -> OpenAIProvider:
    """A provider whose server is ``answer``."""
    server = Server("http://model.test/v1", key, timeout, 0)
    return OpenAIProvider(server, transport=httpx.MockTransport(answer))


async def failing(
    answer: Callable[[httpx.Request], httpx.Response], key: str = "", timeout: float = 5.0
) -> ProviderError:
    """The error that a request ends in."""
    with pytest.raises(ProviderError) as caught:
        await provider(answer, key, timeout).complete(ASK)
    return caught.value


async def endless(pause: float) -> AsyncIterator[bytes]:
    """A body that is never silent for long and never ends."""
    while True:
        await asyncio.sleep(pause)
        yield b" " * 1000


def test_the_key_is_not_in_the_description_of_a_server() -> None:
    """A repr ends up in logs."""
    assert "sk-secret" not in repr(Server("http://model.test/v1", "sk-secret"))


async def test_requests_go_where_the_server_is_and_ask_for_plain_bytes() -> None:
    """With the key in its header if there is one, and no header if not."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=GOOD)

    await provider(answer, "sk-secret").complete(ASK)
    await provider(answer).complete(ASK)
    assert [str(request.url) for request in seen] == ["http://model.test/v1/chat/completions"] * 2
    assert [request.headers.get("authorization") for request in seen] == ["Bearer sk-secret", None]
    assert {request.headers["accept-encoding"] for request in seen} == {"identity"}


async def test_a_key_that_no_header_can_carry_is_refused_without_saying_it() -> None:
    """A stray newline or a letter of another alphabet would otherwise be quoted by the library's own error."""
    for key in ("sk-secret\n", "sk-sеcret"):
        error = await failing(lambda _: httpx.Response(200, json=GOOD), key)
        assert error.kind is ProviderKind.AUTH
        assert "sk-s" not in f"{error}{error!r}"


async def test_an_answer_that_never_ends_is_too_slow_or_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dripping bytes do not extend the time-out, and a flood is not kept."""
    error = await failing(lambda _: httpx.Response(200, content=endless(0.001)), timeout=0.05)
    assert (error.kind, error.message) == (ProviderKind.TIMEOUT, "no answer within 0.05 s")
    monkeypatch.setattr(http, "MAX_ANSWER", 5000)
    error = await failing(lambda _: httpx.Response(200, content=endless(0)))
    assert (error.kind, error.message) == (ProviderKind.GARBLED, "the answer is too large")


async def test_an_error_that_never_ends_is_read_as_far_as_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is known by then."""
    monkeypatch.setattr(http, "MAX_ERROR", 3000)
    error = await failing(lambda _: httpx.Response(503, content=endless(0)))
    assert (error.kind, error.status) == (ProviderKind.TRANSIENT, 503)


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (httpx.ConnectTimeout("x"), ProviderKind.NETWORK, "no connection within 5 s"),
        (httpx.ReadTimeout("x"), ProviderKind.TIMEOUT, "no answer within 5 s"),
        (httpx.PoolTimeout("x"), ProviderKind.TIMEOUT, "no answer within 5 s"),
        (httpx.ConnectError("refused"), ProviderKind.NETWORK, "the connection failed (ConnectError: refused)"),
        (
            httpx.LocalProtocolError("bad header sk-secret-key"),
            ProviderKind.NETWORK,
            "the connection failed (LocalProtocolError: bad header (the key))",
        ),
    ],
)
async def test_every_fault_of_the_connection_has_its_kind(
    raised: httpx.HTTPError, kind: ProviderKind, message: str
) -> None:
    """In our words, without the key, and without the library's error behind it."""

    def answer(_: httpx.Request) -> httpx.Response:
        raise raised

    error = await failing(answer, "sk-secret-key")
    assert (error.kind, error.message) == (kind, message)
    assert error.__cause__ is None
    assert error.__suppress_context__


async def test_a_short_word_for_a_key_is_not_cut_out_of_honest_texts() -> None:
    """Local servers are given ``none`` or ``x``."""
    error = await failing(lambda _: httpx.Response(400, json={"error": {"message": "none of these"}}), "none")
    assert error.message == "none of these"


@pytest.mark.parametrize("body", [{"data": 5}, [], {"object": "list"}])
async def test_a_list_of_models_that_is_none_is_garbled(body: object) -> None:
    """Valid JSON of another shape."""
    with pytest.raises(ProviderError) as caught:
        await provider(lambda _: httpx.Response(200, json=body)).models()
    assert caught.value.kind is ProviderKind.GARBLED


async def test_entries_of_the_list_that_are_no_models_are_passed_over() -> None:
    """The rest counts."""
    body = {"data": [{"id": "a"}, {"name": "b"}, "c", {"id": 7}]}
    assert await provider(lambda _: httpx.Response(200, json=body)).models() == ("a", "7")


async def test_waits_grow_to_eight_seconds() -> None:
    """And stay there."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    server = Server("http://model.test/v1", "", 5.0, 6)
    transport = httpx.MockTransport(lambda _: httpx.Response(500))
    with pytest.raises(ProviderError):
        await OpenAIProvider(server, sleep=sleep, transport=transport).complete(ASK)
    assert slept == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


async def test_what_is_sent_and_what_is_said_of_an_error_is_masked() -> None:
    """A server gets no secret that stands in a message or a call, and its words are cut only after they were masked."""
    sent: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        sent.append(request.content.decode())
        return httpx.Response(400, json={"error": {"message": "x" * 295 + "swordfish9"}})

    def mask(text: str) -> str:
        return text.replace("swordfish9", "***")

    server = OpenAIProvider(
        Server("http://model.test/v1", "", 5.0, 0), transport=httpx.MockTransport(refuse), mask=mask
    )
    calls = (ToolCall(CallId("1"), "exec", '{"command": "swordfish9"}'),)
    messages = (Message(Role.USER, "swordfish9"), Message(Role.ASSISTANT, "", calls=calls))
    with pytest.raises(ProviderError) as caught:
        await server.complete(ModelRequest("m", messages))
    assert caught.value.message == "x" * 295 + "***"
    assert [("swordfish9" in text, text.count("***")) for text in sent] == [(False, 2)]


def streamed(body: AsyncIterator[bytes], timeout: float = 5.0) -> OpenAIProvider:
    """A provider whose server streams ``body`` to whoever looks."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    server = Server("http://model.test/v1", "", timeout, 0, stream=True)
    return OpenAIProvider(server, transport=httpx.MockTransport(answer))


async def drip(event: bytes, seconds: float) -> AsyncIterator[bytes]:
    """The same event again and again, without an end."""
    while True:
        await asyncio.sleep(seconds)
        yield event


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (b": still working\n\n", "no answer within 0.1 s"),
        (b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n', "no end of the answer within 0.5 s"),
    ],
    ids=["comments", "text"],
)
async def test_no_stream_goes_on_for_ever(event: bytes, words: str) -> None:
    """A comment is no sign of life, and text is one only for so long; neither is asked for again."""
    with pytest.raises(ProviderError) as caught:
        await streamed(drip(event, 0.005), 0.1).complete(ASK, lambda _text: None)
    assert (caught.value.kind, caught.value.message) == (ProviderKind.TIMEOUT, words)


async def test_a_list_of_models_has_the_time_of_an_answer() -> None:
    """Also at a server that streams: only an answer that goes on may take longer."""
    with pytest.raises(ProviderError, match=r"no answer within 0\.05 s"):
        await streamed(endless(0.001), 0.05).models()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_answers_that_are_given_up_leave_no_place_taken(stream: bool) -> None:
    """At whatever step somebody says /stop: a hundred places that nobody gives back, and no model is reached any more."""
    async with ModelSimulator(lambda _request: say("Hello yourself.")) as model:
        client = OpenAIProvider(Server(model.base_url, "sk-test-0123456789", 5.0, 0, stream))
        ends = set()
        for steps in range(150):
            asking = asyncio.create_task(client.complete(ASK, (lambda _text: None) if stream else None))
            for _ in range(steps):
                await asyncio.sleep(0)
            asking.cancel()
            ends.add(type((await asyncio.gather(asking, return_exceptions=True))[0]).__name__)
        assert ends == {"CancelledError", "ModelAnswer"}
        way = client._client._transport
        assert isinstance(way, httpx.AsyncHTTPTransport)
        assert isinstance(way._pool, httpcore.AsyncConnectionPool)
        assert way._pool._requests == []
        assert [one for one in way._pool.connections if not one.is_idle()] == []
        await client.close()

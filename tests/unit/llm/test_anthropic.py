"""Anthropic's Messages API: what is sent in its shape, and what comes back in ours."""

import json
from collections.abc import Callable

import httpx
import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.anthropic import MAX_TOKENS, AnthropicProvider, messages_body, read_message
from mtbot.llm.http import Server

EXEC = ToolSpec("exec", "Run.", {"type": "object"}, Risk.EXEC, ToolDefault.ASK)
ASK = ModelRequest("m", (Message(Role.SYSTEM, "Be short."), Message(Role.USER, "hello")), (EXEC,), 0.5)
GOOD = {"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}


def provider(answer: Callable[[httpx.Request], httpx.Response], retries: int = 0) -> AnthropicProvider:
    """A provider whose server is ``answer``."""

    async def sleep(seconds: float) -> None:
        del seconds

    server = Server("http://model.test/v1", "sk-ant-0123456789", 5.0, retries)
    return AnthropicProvider(server, sleep=sleep, transport=httpx.MockTransport(answer))


def called(ident: str, arguments: str = '{"command": "ls"}', name: str = "exec") -> ToolCall:
    """A call of the past."""
    return ToolCall(CallId(ident), name, arguments)


async def test_a_request_goes_where_the_messages_are() -> None:
    """With the key and the version in their headers, the system prompt apart, and a limit that has to be named."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=GOOD)

    assert (await provider(answer).complete(ASK)).text == "hi"
    [request] = seen
    assert str(request.url) == "http://model.test/v1/messages"
    assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == ("sk-ant-0123456789", "2023-06-01")
    assert "authorization" not in request.headers
    assert json.loads(request.content) == {
        "model": "m",
        "max_tokens": MAX_TOKENS,
        "system": "Be short.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "tools": [{"name": "exec", "description": "Run.", "input_schema": {"type": "object"}}],
        "temperature": 0.5,
    }


def test_results_of_one_answer_stand_in_one_message() -> None:
    """Before what the person says next; empty words are no block, and ids are as the API takes them."""
    history = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, " ", (called("a:1"), called("b"))),
        Message(Role.TOOL, "one", call_id=CallId("a:1")),
        Message(Role.TOOL, "", call_id=CallId("b")),
        Message(Role.USER, "and?"),
        Message(Role.ASSISTANT, ""),
    )
    body = messages_body(ModelRequest("m", history))
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a_1", "name": "exec", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "b", "name": "exec", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b", "content": ""},
                {"type": "text", "text": "and?"},
            ],
        },
    ]
    assert {"system", "tools", "temperature"}.isdisjoint(body)


@pytest.mark.parametrize("arguments", ['{"command": "l', "[1]", "[" * 5000])
def test_mangled_arguments_of_the_past_are_wrapped(arguments: str) -> None:
    """The API takes objects only."""
    history = (Message(Role.USER, "go"), Message(Role.ASSISTANT, "", (called("a", arguments, "bad name"),)))
    body = messages_body(ModelRequest("m", history))
    assert isinstance(body["messages"], list)
    block = body["messages"][1]["content"][0]
    assert (block["input"], block["name"]) == ({"unreadable": arguments}, "bad_name")


def test_calls_and_words_come_back() -> None:
    """Thinking stays out of the chat; a call without an id gets one, and one without arguments has none."""
    body = {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Let me "},
            {"type": "text", "text": "look."},
            {"type": "tool_use", "id": "t1", "name": "exec", "input": {"command": "ls"}},
            {"type": "tool_use", "name": "list_dir"},
            "noise",
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
    }
    assert read_message(body, "call1") == ModelAnswer(
        "Let me look.",
        (called("t1"), ToolCall(CallId("call1-1"), "list_dir", "{}")),
        Finish.TOOL_CALLS,
        Usage(15, 3),
    )


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("refusal", Finish.FILTERED),
        ("something new", Finish.STOP),
        (None, Finish.STOP),
    ],
)
def test_why_it_stopped(reason: str | None, finish: Finish) -> None:
    """An answer that was cut at the limit must never run its calls."""
    assert read_message({"content": [], "stop_reason": reason, "usage": {"input_tokens": True}}, "c").finish is finish


@pytest.mark.parametrize("body", [[], {}, {"content": "text"}, {"content": None}])
def test_what_is_no_answer(body: object) -> None:
    """Garbled, and not an empty answer."""
    with pytest.raises(ProviderError) as caught:
        read_message(body, "c")
    assert caught.value.kind is ProviderKind.GARBLED


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (529, "overloaded_error", "Overloaded", ProviderKind.TRANSIENT),
        (429, "rate_limit_error", "slow down", ProviderKind.RATE),
        (401, "authentication_error", "invalid x-api-key", ProviderKind.AUTH),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ProviderKind.CONTEXT),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", ProviderKind.QUOTA),
        (404, "not_found_error", "model: m", ProviderKind.BAD_REQUEST),
    ],
)
async def test_faults_are_told_apart(status: int, kind: str, words: str, expected: ProviderKind) -> None:
    """By status and by words."""
    error = {"type": "error", "error": {"type": kind, "message": words}}
    with pytest.raises(ProviderError) as caught:
        await provider(lambda _request: httpx.Response(status, json=error)).complete(ASK)
    assert caught.value.kind is expected


async def test_an_overloaded_server_is_asked_again_and_a_refused_parameter_left_out() -> None:
    """As with every other server."""
    bodies: list[dict[str, object]] = []
    answers = [
        httpx.Response(529, json={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        httpx.Response(
            400,
            json={"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: not supported"}},
        ),
        httpx.Response(200, json=GOOD),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return answers[len(bodies) - 1]

    assert (await provider(answer, retries=2).complete(ASK)).text == "hi"
    assert ["temperature" in body for body in bodies] == [True, True, False]

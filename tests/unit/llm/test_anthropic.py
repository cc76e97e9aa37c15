"""Anthropic's Messages API: what is sent in its shape, and what comes back in ours."""

import json
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.anthropic import MAX_TOKENS, AnthropicProvider, BlockAssembler, messages_body, read_message
from mtbot.llm.dialect import MAX_CALLS
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


def event(kind: str, **content: object) -> str:
    """The data of one event."""
    return json.dumps({"type": kind, **content})


def begun(index: int, **block: object) -> str:
    """A block begins."""
    return event("content_block_start", index=index, content_block=block)


def piece(index: int, **delta: object) -> str:
    """It goes on."""
    return event("content_block_delta", index=index, delta=delta)


START = event(
    "message_start", message={"usage": {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}}
)
STOP = event("message_stop")
TEXT = begun(0, type="text", text="")
CALL = begun(1, type="tool_use", id="toolu_1", name="exec", input={})


def ended(reason: str | None, **usage: object) -> str:
    """The model is done."""
    return event("message_delta", delta={"stop_reason": reason}, usage=usage)


def said(text: str, index: int = 0) -> str:
    """A piece of text."""
    return piece(index, type="text_delta", text=text)


def assembled(*datas: str) -> tuple[ModelAnswer, list[str]]:
    """The answer, and what was seen of it while it grew."""
    seen: list[str] = []
    assembler = BlockAssembler("call1", seen.append)
    for data in datas:
        assembler.add(data)
    return assembler.finished(), seen


def test_a_streamed_text_is_seen_growing_and_counted() -> None:
    """The last count of each kind is the one of the whole message; pings and thoughts are passed over."""
    answer, seen = assembled(
        START,
        event("ping"),
        begun(0, type="thinking", thinking=""),
        piece(0, type="thinking_delta", thinking="hm"),
        piece(0, type="signature_delta", signature="x"),
        event("content_block_stop", index=0),
        begun(1, type="text", text="It "),
        said("runs", 1),
        said(".", 1),
        event("something_new", anything=1),
        ended("end_turn", output_tokens=9, input_tokens=None),
        STOP,
    )
    assert answer == ModelAnswer("It runs.", (), Finish.STOP, Usage(25, 9))
    assert seen == ["It ", "It runs", "It runs."]


def test_streamed_calls_take_back_what_was_seen() -> None:
    """Arguments are put together by the index of their block, whatever comes between; those without any are an object."""
    answer, seen = assembled(
        TEXT,
        said("I look."),
        CALL,
        begun(2, type="tool_use", id="toolu_1", name="read", input={}),
        piece(1, type="input_json_delta", partial_json='{"comm'),
        begun(3, type="tool_use", name="list", input={"path": "."}),
        piece(1, type="input_json_delta", partial_json='and": "ls"}'),
        said(" Then more."),
        ended("tool_use"),
    )
    assert answer.text == "I look. Then more."
    assert answer.finish is Finish.TOOL_CALLS
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [
        ("toolu_1", "exec", '{"command": "ls"}'),
        ("call1-1", "read", "{}"),
        ("call1-2", "list", '{"path": "."}'),
    ]
    assert seen == ["I look.", "", "", "", ""]


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_tokens", Finish.LENGTH), ("refusal", Finish.FILTERED), ("new_one", Finish.STOP)]
)
def test_why_a_streamed_answer_ended(reason: str, finish: Finish) -> None:
    """As for a whole one."""
    assert assembled(TEXT, said("a"), ended(reason))[0].finish is finish


def test_a_call_that_was_cut_is_no_call_to_be_run() -> None:
    """Its arguments stay as they came, and the answer says that it was cut."""
    answer, _ = assembled(
        CALL, piece(1, type="input_json_delta", partial_json='{"command": "rm -r'), ended("max_tokens")
    )
    assert (answer.finish, answer.calls[0].arguments) == (Finish.LENGTH, '{"command": "rm -r')


def test_an_end_without_a_reason_is_an_end() -> None:
    """The server said that nothing more is to come."""
    assert assembled(TEXT, said("a"), ended(None), STOP)[0] == ModelAnswer("a", (), Finish.STOP, Usage())


@pytest.mark.parametrize(
    ("datas", "kind", "words"),
    [
        ((TEXT, said("a")), ProviderKind.NETWORK, "the answer broke off in the middle"),
        ((TEXT, said("a", 7)), ProviderKind.GARBLED, "a piece of the answer belongs to no block"),
        ((TEXT, TEXT), ProviderKind.GARBLED, "a block of the answer has no place of its own"),
        ((event("content_block_start", index=0),), ProviderKind.GARBLED, "an event of the answer has no content_block"),
        ((event("message_start"),), ProviderKind.GARBLED, "an event of the answer has no message"),
        (("no json",), ProviderKind.GARBLED, "an event of the answer is no JSON"),
        (("[]",), ProviderKind.GARBLED, "an event of the answer is no object"),
        (
            (TEXT, event("error", error={"type": "overloaded_error", "message": "Overloaded"})),
            ProviderKind.TRANSIENT,
            "Overloaded",
        ),
    ],
)
def test_a_stream_that_is_no_answer_is_an_error(datas: tuple[str, ...], kind: ProviderKind, words: str) -> None:
    """And never a shorter answer."""
    with pytest.raises(ProviderError) as caught:
        assembled(*datas)
    assert (caught.value.kind, caught.value.message) == (kind, words)


def test_an_answer_of_too_many_blocks_is_refused() -> None:
    """It would hold up every other chat."""
    with pytest.raises(ProviderError, match="more than"):
        assembled(*(begun(index, type="tool_use", name="exec") for index in range(MAX_CALLS + 1)))


async def test_an_answer_is_streamed_where_somebody_sees_it_grow() -> None:
    """With the same body beside that; a refusal of the parameter is remembered."""
    bodies: list[dict[str, object]] = []
    stream = "".join(f"event: x\ndata: {one}\n\n" for one in (START, TEXT, said("It runs."), ended("end_turn"), STOP))

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        bodies.append(body)
        if body.get("model") == "plain" and "stream" in body:
            return httpx.Response(400, json={"error": {"type": "invalid_request_error", "message": "stream: no"}})
        if "stream" not in body:
            return httpx.Response(200, json=GOOD)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=stream)

    server = Server("http://model.test/v1", "sk-ant-0123456789", 5.0, 0, stream=True)
    client = AnthropicProvider(server, transport=httpx.MockTransport(answer))
    seen: list[str] = []
    assert (await client.complete(ASK, seen.append)).text == "It runs."
    assert (await client.complete(ASK)).text == "hi"
    plain = replace(ASK, model="plain")
    assert [(await client.complete(plain, seen.append)).text for _ in range(2)] == ["hi", "hi"]
    assert [body.get("stream") for body in bodies] == [True, None, True, None, None]
    assert {**bodies[1], "stream": True} == bodies[0]
    assert seen[0] == "It runs."


async def test_of_a_stream_that_broke_off_what_was_counted_counts() -> None:
    """What was sent is known from its beginning on."""
    first = "".join(f"data: {one}\n\n" for one in (START, TEXT, said("y" * 40)))
    answers = [httpx.Response(200, headers={"content-type": "text/event-stream"}, text=first)]

    def answer(request: httpx.Request) -> httpx.Response:
        del request
        usage = {"input_tokens": 30, "output_tokens": 3}
        return answers.pop() if answers else httpx.Response(200, json={**GOOD, "usage": usage})

    server = Server("http://model.test/v1", "", 5.0, 0, stream=True)
    client = AnthropicProvider(server, transport=httpx.MockTransport(answer))
    found = await client.complete(ASK, lambda _text: None)
    assert (found.text, found.usage) == ("hi", Usage(30 + 25, 3 + 10))

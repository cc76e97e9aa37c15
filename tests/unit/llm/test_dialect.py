"""Requests as every server takes them, answers as any server gives them."""

import json

import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.dialect import MAX_CALLS, read_answer, read_usage, request_body, without_thoughts


def answered(message: object, finish: object = "stop", **more: object) -> ModelAnswer:
    """The answer of a body with this message."""
    return read_answer({"choices": [{"message": message, "finish_reason": finish}], **more}, "call9")


def proposed(*calls: object) -> tuple[ToolCall, ...]:
    """The calls of a body with this list of calls."""
    return answered({"content": None, "tool_calls": list(calls)}, "tool_calls").calls


def test_a_request_holds_what_was_asked_and_nothing_else() -> None:
    """No parameter that is not configured, and no list of tools without tools."""
    tool = ToolSpec("exec", "Run.", {"type": "object"}, Risk.EXEC, ToolDefault.ASK)
    call = ToolCall(CallId("c1"), "exec", "")
    messages = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, "", (call,)),
        Message(Role.TOOL, "ok", call_id=CallId("c1"), tool_name="exec"),
        Message(Role.TOOL, "stray"),
    )
    assert request_body(ModelRequest("m", messages[:1])) == {
        "model": "m",
        "messages": [{"role": "user", "content": "go"}],
    }
    assert request_body(ModelRequest("m", messages, (tool,), 0.0)) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "content": "ok", "tool_call_id": "c1"},
            {"role": "tool", "content": "stray", "tool_call_id": ""},
        ],
        "tools": [
            {"type": "function", "function": {"name": "exec", "description": "Run.", "parameters": {"type": "object"}}}
        ],
        "tool_choice": "auto",
        "temperature": 0.0,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "sent"),
    [
        ("exec", '{"a": 1}', ("exec", '{"a": 1}')),
        ("exec", " ", ("exec", "{}")),
        ("", "{}", ("unknown", "{}")),
        ("functions.exec", "{}", ("functions_exec", "{}")),
        ("x" * 99, "{}", ("x" * 64, "{}")),
        ("exec", "[1]", ("exec", '{"unreadable": "[1]"}')),
        ("exec", '{"command": "rm -rf /tmp/b', ("exec", '{"unreadable": "{\\"command\\": \\"rm -rf /tmp/b"}')),
        ("exec", "[" * 100_000, ("exec", json.dumps({"unreadable": "[" * 100_000}))),
    ],
)
def test_a_mangled_call_of_the_past_is_wrapped_and_never_mended(
    name: str, arguments: str, sent: tuple[str, str]
) -> None:
    """Strict servers would refuse every later request because of it."""
    call = ToolCall(CallId("c1"), name, arguments)
    body = request_body(ModelRequest("m", (Message(Role.ASSISTANT, "", (call,)),)))
    messages = body["messages"]
    assert isinstance(messages, list)
    function = messages[0]["tool_calls"][0]["function"]
    assert (function["name"], function["arguments"]) == sent


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"choices": None},
        {"choices": "text"},
        {"choices": []},
        {"choices": ["text"]},
        {"choices": [{}]},
        {"choices": [{"message": "text"}]},
    ],
)
def test_a_body_without_an_answer_is_garbled(body: object) -> None:
    """Valid JSON that is no answer."""
    with pytest.raises(ProviderError) as caught:
        read_answer(body, "call1")
    assert caught.value.kind is ProviderKind.GARBLED


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "busy"}},
        {"choices": [{"message": {"content": "half an"}, "error": {"message": "busy"}}]},
        {"choices": [{"message": {"content": "half an"}, "finish_reason": "error"}]},
    ],
)
def test_an_error_inside_an_answer_is_an_error(body: object) -> None:
    """At the top, in the choice, or as the reason why it ended."""
    with pytest.raises(ProviderError) as caught:
        read_answer(body, "call1")
    assert caught.value.kind is ProviderKind.TRANSIENT


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("words", "words"),
        (None, ""),
        (7, ""),
        ([{"type": "text", "text": "a"}, {"type": "reasoning", "text": "b"}, {"type": "text", "text": "c"}], "ac"),
        ([{"type": "text"}, "stray"], ""),
        ("<think>should I?\n</think>\n\nyes", "yes"),
        ("  <thinking>hm</thinking>yes", "yes"),
        ("<think>never ended", ""),
        ("<think>first</think>\n<think>second</think>\nyes", "yes"),
        ("should I?\n</think>\n\nyes", "yes"),
        ("should I?\n</thinking>", ""),
        ("a <think>quoted</think> tag", "a <think>quoted</think> tag"),
        ("it ends with </think>\nas always", "it ends with </think>\nas always"),
        ("from <think>\nto\n</think>\nend", "from <think>\nto\n</think>\nend"),
        ("so:\n```\n</think>\n```\nend", "so:\n```\n</think>\n```\nend"),
    ],
)
def test_the_text_is_what_the_model_says_and_not_what_it_thinks(content: object, text: str) -> None:
    """A string, null, parts, and a block of reasoning that a server left in."""
    assert answered({"content": content}).text == text


def test_an_id_of_ours_that_a_server_gives_back_is_not_given_twice() -> None:
    """It stands in the history that the server was sent."""
    function = {"function": {"name": "exec", "arguments": "{}"}}
    found = answered({"tool_calls": [function, {"id": "call9-2", **function}, function]}).calls
    assert [one.id for one in found] == ["call9-0", "call9-2", "call9-3"]


def test_thoughts_are_cut_from_the_beginning_only() -> None:
    """A text about the tag keeps it."""
    assert without_thoughts("plain") == "plain"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("max_tokens", Finish.LENGTH),
        ("content_filter", Finish.FILTERED),
        ("SAFETY", Finish.FILTERED),
        ("tool_calls", Finish.STOP),
        ("eos", Finish.STOP),
        (None, Finish.STOP),
        (3, Finish.STOP),
    ],
)
def test_the_finish_without_calls(reason: object, finish: Finish) -> None:
    """Only a cut and a filter matter; an unknown word is a normal end."""
    assert answered({"content": "x"}, reason).finish is finish


def test_calls_decide_the_finish_unless_it_was_cut() -> None:
    """Whatever the server says after calls, they are calls; a cut stays a cut."""
    message = {"tool_calls": [{"id": "a", "function": {"name": "exec", "arguments": "{}"}}]}
    assert [answered(message, reason).finish for reason in ("stop", None, "tool_calls", "length")] == [
        Finish.TOOL_CALLS,
        Finish.TOOL_CALLS,
        Finish.TOOL_CALLS,
        Finish.LENGTH,
    ]


def test_calls_get_an_id_of_their_own() -> None:
    """Missing, empty, repeated and odd ids are replaced; order and arguments stay."""
    function = {"name": "exec", "arguments": "{}"}
    calls = proposed(
        {"id": "a", "function": function},
        {"id": "a", "function": {"name": "exec", "arguments": {"command": "id"}}},
        {"id": "", "function": {"name": None, "arguments": None}},
        {"function": function},
        {"id": 5, "function": function},
    )
    assert calls == (
        ToolCall(CallId("a"), "exec", "{}"),
        ToolCall(CallId("call9-1"), "exec", '{"command": "id"}'),
        ToolCall(CallId("call9-2"), "", ""),
        ToolCall(CallId("call9-3"), "exec", "{}"),
        ToolCall(CallId("call9-4"), "exec", "{}"),
    )


def test_far_too_many_calls_are_no_answer() -> None:
    """As in a stream."""
    call = {"function": {"name": "exec"}}
    assert len(proposed(*[call] * MAX_CALLS)) == MAX_CALLS
    with pytest.raises(ProviderError, match="more than 256 calls"):
        proposed(*[call] * (MAX_CALLS + 1))


def test_entries_that_are_no_calls_are_passed_over() -> None:
    """And a list that is none is no calls."""
    assert proposed("text", {}, {"function": "text"}) == ()
    assert answered({"tool_calls": "text"}).calls == answered({"tool_calls": 7}).calls == ()


def test_a_refusal_is_the_models_own_words() -> None:
    """Only if it is text."""
    assert answered({"content": None, "refusal": "I can't."}).refusal == "I can't."
    assert answered({"content": None, "refusal": None}).refusal == ""


def test_tokens_are_counted_where_they_are_told() -> None:
    """Nonsense counts as nothing."""
    assert answered({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": 2}).usage == Usage(5, 2)
    assert read_usage({"prompt_tokens": True, "completion_tokens": -4}) == Usage()
    assert read_usage({"prompt_tokens": "5"}) == read_usage(None) == Usage()

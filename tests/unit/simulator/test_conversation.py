"""A history that a strict provider refuses is refused here, with the reason."""

import pytest

from mtbot.simulator.conversation import mistake_in
from mtbot.simulator.script import ModelRequest
from mtbot.simulator.values import JsonObject

USER: JsonObject = {"role": "user", "content": "hi"}


def _call(identity: object = "c1", name: str = "exec", arguments: object = "{}") -> JsonObject:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def _assistant(*calls: object, content: object = "") -> JsonObject:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def _tool(identity: str = "c1", content: object = "done") -> JsonObject:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def _mistake(*messages: object, refuses_null_content: bool = False, **rest: object) -> str | None:
    body: JsonObject = {"model": "m", "messages": list(messages), **rest}
    found = mistake_in(ModelRequest(1, 0.0, "/", body, {}), refuses_null_content=refuses_null_content)
    assert found is None or found.status == 400
    return None if found is None else found.body


def test_a_whole_conversation_passes() -> None:
    """Parallel calls may be answered in any order; content may be null beside calls, or come in parts."""
    system: JsonObject = {"role": "system", "content": [{"type": "text", "text": "s"}]}
    two = _assistant(_call("a"), _call("b"), content=None)
    end: JsonObject = {"role": "assistant", "content": "ok"}

    assert _mistake(system, USER, two, _tool("b"), _tool("a"), end, USER) is None


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "empty array"),
        ([USER, _assistant(_call())], "did not have response messages: c1"),
        ([USER, _assistant(_call()), USER], "did not have response messages: c1"),
        ([USER, _tool()], "must be a response to a preceding message"),
        ([USER, _assistant(_call()), _tool(), _tool()], "must be a response to a preceding message"),
        ([USER, _assistant(_call()), _tool(content=None)], "content of a tool message"),
        ([USER, {"role": "assistant", "content": None}], "content must be a string"),
        ([USER, {"role": "assistant", "content": " "}], "must not be empty"),
        ([USER, _assistant()], "tool_calls must be an array with minimum length 1"),
        ([USER, _assistant("x")], "tool_calls must hold functions"),
        ([USER, _assistant(_call(""))], "need ids that differ"),
        ([USER, _assistant(_call("c"), _call("c"))], "need ids that differ"),
        ([USER, _assistant(_call(arguments={}))], "arguments as a string"),
        ([USER, _assistant(_call(name="no such"))], "need a name"),
        ([{"role": "person", "content": "x"}], "role must be one of"),
        ([{"role": "user", "content": None}], "content must be a string or an array"),
        (["x"], "role must be one of"),
    ],
)
def test_a_broken_conversation_is_refused(messages: list[object], reason: str) -> None:
    """Each defect by its name."""
    assert reason in (_mistake(*messages) or "")


def test_some_servers_refuse_null_beside_calls() -> None:
    """So a client sends an empty text."""
    assert "content must be a string" in (
        _mistake(USER, _assistant(_call(), content=None), _tool(), refuses_null_content=True) or ""
    )
    assert _mistake(USER, _assistant(_call()), _tool(), refuses_null_content=True) is None


def test_a_model_and_well_formed_tool_names_are_needed() -> None:
    """Both are checked before the messages."""
    assert "model parameter" in (_mistake(USER, model=None) or "")
    tools = [{"type": "function", "function": {"name": "mcp.server/tool"}}]
    assert "tools.function.name" in (_mistake(USER, tools=tools) or "")

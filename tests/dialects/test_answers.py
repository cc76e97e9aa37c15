"""Every dialect, streamed and not, comes out as the same values."""

import json

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.simulator.dialects import Dialect
from mtbot.simulator.script import Finish as ScriptFinish
from mtbot.simulator.script import call, cut_call, say, together
from tests.dialects.conftest import Connect

EXEC = ToolSpec("exec", "Run a command.", {"type": "object", "properties": {}}, Risk.EXEC, ToolDefault.ASK)
ASKED = (Message(Role.SYSTEM, "You are mtclaw."), Message(Role.USER, "is jellyfin ok?"))


def ask(*messages: Message) -> ModelRequest:
    """A request with one tool."""
    return ModelRequest("sim-1", messages or ASKED, (EXEC,))


def bare(answer: ModelAnswer) -> list[tuple[str, object]]:
    """The calls of an answer without their ids, arguments read."""
    return [(one.name, json.loads(one.arguments)) for one in answer.calls]


async def test_a_plain_answer_is_its_text(connect: Connect, dialect: Dialect) -> None:
    """Text, a normal end, and the tokens where the dialect tells them."""
    line = await connect(say("It runs, and it is at its limit: 2 GB. café"), dialect=dialect)
    answer = await line.provider.complete(ask())
    assert answer == ModelAnswer(
        "It runs, and it is at its limit: 2 GB. café", (), Finish.STOP, Usage(prompt=100, completion=20)
    )


async def test_reasoning_is_kept_out_of_the_answer(connect: Connect, dialect: Dialect) -> None:
    """What the model thought is neither shown nor stored."""
    line = await connect(
        say("Yes.", reasoning="The person wants to know about jellyfin. Let me think."), dialect=dialect
    )
    assert (await line.provider.complete(ask())).text == "Yes."


async def test_parallel_calls_stay_apart(connect: Connect, dialect: Dialect) -> None:
    """Two calls of one tool are two calls in their order, whatever the dialect does to index, id and name."""
    first, second = {"command": "docker ps"}, {"command": "docker stats --no-stream", "note": 'a "quoted" word'}
    line = await connect(together(call("exec", first), call("exec", second)), dialect=dialect)
    answer = await line.provider.complete(ask())
    assert bare(answer) == [("exec", first), ("exec", second)]
    assert len({one.id for one in answer.calls}) == 2
    assert answer.finish is Finish.TOOL_CALLS


async def test_calls_of_different_tools_and_without_arguments_stay_apart(connect: Connect, dialect: Dialect) -> None:
    """Names are never glued together, and a call without arguments keeps none."""
    line = await connect(
        together(call("exec", {"command": "id"}), call("list_dir", {}), call("exec", {"command": "pwd"})),
        dialect=dialect,
    )
    answer = await line.provider.complete(ask())
    assert bare(answer) == [("exec", {"command": "id"}), ("list_dir", {}), ("exec", {"command": "pwd"})]


async def test_a_repeated_id_never_makes_a_third_command(connect: Connect, dialect: Dialect, stream: bool) -> None:
    """Two calls with one id get different ones; where a stream has nothing else to tell them apart, neither can run."""
    first, second = '{"command": "id"}', '{"command": "pwd"}'
    line = await connect(together(call("exec", first, id="call_1"), call("exec", second, id="call_1")), dialect=dialect)
    answer = await line.provider.complete(ask())
    glued = stream and dialect.name in ("ollama", "litellm")
    assert [one.arguments for one in answer.calls] == ([first + second] if glued else [first, second])
    assert len({one.id for one in answer.calls}) == len(answer.calls)


async def test_a_cut_call_is_marked_as_cut(connect: Connect, dialect: Dialect) -> None:
    """The length limit struck inside the arguments: they come out as they are, with the finish that forbids them."""
    line = await connect(cut_call("exec", '{"command": "rm -rf /tmp/build'), dialect=dialect)
    answer = await line.provider.complete(ask())
    assert answer.finish is Finish.LENGTH
    assert [one.arguments for one in answer.calls] == ['{"command": "rm -rf /tmp/build']


async def test_mangled_arguments_come_through_unmended(connect: Connect, dialect: Dialect) -> None:
    """Single quotes, a missing end, nothing at all: what the model wrote is what the gate gets to see."""
    for raw in ("{'command': 'ls'}", '{"command": "ls', "", "null and void"):
        line = await connect(call("exec", raw), dialect=dialect)
        answer = await line.provider.complete(ask())
        assert [one.arguments for one in answer.calls] == [raw]


async def test_empty_answers_are_empty(connect: Connect, dialect: Dialect) -> None:
    """Null, an empty text, and nothing but reasoning are an answer without text."""
    for step in (say(None), say(""), say(None, reasoning="hmm")):
        line = await connect(step, dialect=dialect)
        assert (await line.provider.complete(ask())).text == ""


async def test_calls_announced_but_not_there_are_a_normal_end(connect: Connect, dialect: Dialect) -> None:
    """A finish reason of tool_calls with an empty list must not make the loop spin."""
    line = await connect(say("Done.", finish=ScriptFinish.TOOL_CALLS), dialect=dialect)
    answer = await line.provider.complete(ask())
    assert (answer.text, answer.calls, answer.finish) == ("Done.", (), Finish.STOP)


async def test_a_content_filter_is_told(connect: Connect, dialect: Dialect) -> None:
    """The finish says so; the words for it are the loop's."""
    line = await connect(say("", finish=ScriptFinish.CONTENT_FILTER), dialect=dialect)
    assert (await line.provider.complete(ask())).finish is Finish.FILTERED


async def test_what_came_back_can_be_sent_again(connect: Connect, dialect: Dialect) -> None:
    """A strict server takes the whole conversation: calls with their results, content "" and never null, mangled names too."""
    line = await connect(
        together(call("exec", {"command": "id"}), call("ex ec<|im|>", "{'cut': ")), say("Done."), dialect=dialect
    )
    answer = await line.provider.complete(ask())
    results = [Message(Role.TOOL, "ok", call_id=one.id, tool_name=one.name) for one in answer.calls]
    assert len(results) == 2
    after = (*ASKED, Message(Role.ASSISTANT, answer.text, answer.calls), *results)
    assert (await line.provider.complete(ask(*after))).text == "Done."
    assert line.server.problems == ()
    sent = line.server.requests[1].messages[2]
    functions = (
        {"name": "exec", "arguments": '{"command": "id"}'},
        {"name": "ex_ec__im__", "arguments": json.dumps({"unreadable": "{'cut': "})},
    )
    assert sent == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": one.id, "type": "function", "function": function}
            for one, function in zip(answer.calls, functions, strict=True)
        ],
    }


async def test_what_is_sent_is_what_was_asked(connect: Connect, stream: bool) -> None:
    """Model, messages and tools; a temperature only if one is configured; the key in its header."""
    line = await connect(say("a"), say("b"))
    await line.provider.complete(ask())
    await line.provider.complete(ModelRequest("sim-1", ASKED, temperature=0.5))
    first, second = (dict(request.body) for request in line.server.requests)
    streaming = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    messages = [{"role": "system", "content": "You are mtclaw."}, {"role": "user", "content": "is jellyfin ok?"}]
    function = {"name": "exec", "description": "Run a command.", "parameters": {"type": "object", "properties": {}}}
    assert first == {
        "model": "sim-1",
        "messages": messages,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
        **streaming,
    }
    assert second == {"model": "sim-1", "messages": messages, "temperature": 0.5, **streaming}
    assert line.server.requests[0].headers["authorization"] == "Bearer sk-test-0123456789abcdef"


async def test_half_characters_do_not_stop_a_conversation(connect: Connect) -> None:
    """A lone surrogate in the history would otherwise make every later request fail."""
    line = await connect(say("fine"))
    history = (
        Message(Role.USER, "bad \udcff bytes"),
        Message(Role.ASSISTANT, "", (ToolCall(CallId("c1"), "exec", '{"command": "ls"}'),)),
        Message(Role.TOOL, "\ud800", call_id=CallId("c1")),
    )
    assert (await line.provider.complete(ask(*history))).text == "fine"
    assert line.server.requests[0].messages[0]["content"] == "bad ? bytes"

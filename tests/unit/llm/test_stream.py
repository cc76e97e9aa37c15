"""Events out of bytes, and answers out of chunks that no server in the dialect tests sends."""

import json
from collections.abc import AsyncIterator, Mapping

import pytest

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer
from mtbot.domain.turn import ToolCall, Usage
from mtbot.llm import dialect, stream
from mtbot.llm.stream import Assembler, events


async def read(*parts: bytes) -> list[str]:
    """The events in a body that comes in these parts."""

    async def arriving() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return [data async for data in events(arriving())]


async def test_events_are_found_however_the_bytes_are_cut() -> None:
    """Lines of either ending, comments, other fields, several data lines, a character cut in two, a missing last line."""
    body = ": hi\r\n\r\ndata: é1\n\nevent: x\ndata:two\nid: 3\ndata: lines\n\n\n\ndata: last".encode()
    whole = await read(body)
    assert whole == ["é1", "two\nlines", "last"]
    for cut in range(len(body)):
        assert await read(body[:cut], body[cut:]) == whole
    assert await read(*(bytes([byte]) for byte in body)) == whole


async def test_an_empty_body_has_no_events() -> None:
    """Nor has one of comments alone."""
    assert await read() == await read(b"\n\n: only this\n\n") == []


async def test_an_event_without_end_is_not_collected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as one line nor as many."""
    monkeypatch.setattr(stream, "MAX_EVENT", 100)
    for part in (b"data: " + b"x" * 200, b"data: 12345678901234567890\n" * 9):
        with pytest.raises(ProviderError, match="too large") as caught:
            await read(part)
        assert caught.value.kind is ProviderKind.GARBLED
    assert len(await read(b"data: 12345678901234567890\n\n" * 9)) == 9


def piece(name: str | None = None, arguments: object = None, **ids: object) -> dict[str, object]:
    """A piece of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**ids, "function": function}


def chunk(*pieces: object, finish: str | None = None, **delta: object) -> dict[str, object]:
    """A chunk of a stream."""
    calls = {"tool_calls": list(pieces)} if pieces else {}
    return {"choices": [{"delta": {**delta, **calls}, "finish_reason": finish}]}


def assembled(*chunks: Mapping[str, object]) -> ModelAnswer:
    """The answer of these chunks."""
    assembler = Assembler("call9")
    for one in chunks:
        assembler.add(json.dumps(one))
    assembler.add("[DONE]")
    return assembler.finished()


def calls(*pieces: object) -> list[tuple[str, str, str]]:
    """The calls that these pieces, one in each chunk, come to."""
    return [(one.id, one.name, one.arguments) for one in assembled(*(chunk(one) for one in pieces)).calls]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        pytest.param(
            [piece("exec", "", index=0, id="a"), piece(None, '{"a":', index=0), piece(None, "1}", index=0)],
            [("a", "exec", '{"a":1}')],
            id="pieces of one index",
        ),
        pytest.param(
            [
                piece("exec", '{"a"', index=0, id="a"),
                piece("exec", '{"b"', index=1, id="b"),
                piece(None, ":1}", index=0),
                piece(None, ":2}", index=1),
            ],
            [("a", "exec", '{"a":1}'), ("b", "exec", '{"b":2}')],
            id="interleaved by index",
        ),
        pytest.param(
            [
                piece("exec", '{"a"', id="a"),
                piece("exec", '{"b"', id="b"),
                piece(None, ":1}", id="a"),
                piece(None, ":2}", id="b"),
            ],
            [("a", "exec", '{"a":1}'), ("b", "exec", '{"b":2}')],
            id="interleaved by id",
        ),
        pytest.param(
            [piece("exec", '{"a":', index=0, id="a"), piece("exec", "1}", index=0, id="a")],
            [("a", "exec", '{"a":1}')],
            id="name repeated with the same id",
        ),
        pytest.param(
            [piece("exec", '{"a":', index=0), piece("exec", "1}", index=0)],
            [("call9-0", "exec", '{"a":1}')],
            id="name repeated without an id",
        ),
        pytest.param(
            [piece("exec", '{"a":1}', index=0), piece("exec", '{"b":2}', index=0)],
            [("call9-0", "exec", '{"a":1}'), ("call9-1", "exec", '{"b":2}')],
            id="whole calls on one index without ids",
        ),
        pytest.param(
            [piece("exec", '{"a":1}', index=0), piece("exec", "", index=0)],
            [("call9-0", "exec", '{"a":1}')],
            id="an empty piece after a whole call opens nothing",
        ),
        pytest.param(
            [piece("exec", '{"a":', index=0, id="a"), piece("exec", "1}", index=0, id="b")],
            [("a", "exec", '{"a":'), ("b", "exec", "1}")],
            id="named pieces with different ids never join",
        ),
        pytest.param(
            [piece("exec", '{"a":', index=0, id="a"), piece("list_dir", "1}", index=0, id="a")],
            [("a", "exec", '{"a":'), ("call9-1", "list_dir", "1}")],
            id="another name is another call",
        ),
        pytest.param(
            [piece("exec", {"a": 1}), piece("exec", {"b": 2})],
            [("call9-0", "exec", '{"a": 1}'), ("call9-1", "exec", '{"b": 2}')],
            id="objects without index and id",
        ),
        pytest.param(
            [piece("exec", '{"a":', id="a"), piece(None, "1}")],
            [("a", "exec", '{"a":1}')],
            id="by position",
        ),
        pytest.param(
            [piece(None, "{}"), piece("exec", "", index=None)],
            [("call9-0", "exec", "{}")],
            id="the name comes late",
        ),
        pytest.param(
            ["text", {"function": "text"}, {}, piece("exec", "{}", index="0", id=7)],
            [("call9-0", "exec", "{}")],
            id="what is no piece is passed over",
        ),
    ],
)
def test_pieces_find_their_call(pieces: list[object], found: list[tuple[str, str, str]]) -> None:
    """By index, else by id, else by position; in doubt a new call."""
    assert calls(*pieces) == found


def test_an_answer_is_put_together_from_all_its_parts() -> None:
    """Role, text in pieces and parts, refusal, usage wherever it comes, the finish of whichever chunk has one."""
    answer = assembled(
        chunk(role="assistant", content=None),
        chunk(content="one ", reasoning_content="hm"),
        chunk(content=[{"type": "text", "text": "two"}]),
        chunk(refusal="I'd "),
        chunk(refusal="rather not"),
        chunk(piece("exec", "{}", index=0, id="a"), finish="length"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        {"choices": [{"finish_reason": None}], "usage": None},
        {"choices": ["text"]},
    )
    assert answer == ModelAnswer(
        "one two", (ToolCall(CallId("a"), "exec", "{}"),), Finish.LENGTH, Usage(3, 4), "I'd rather not"
    )


def test_a_list_of_calls_that_is_none_is_no_calls() -> None:
    """As in a whole answer."""
    assert assembled({"choices": [{"delta": {"tool_calls": "text"}}]}).calls == ()


def test_thoughts_do_not_show_while_they_grow() -> None:
    """The listener sees what the person may see."""
    seen: list[str] = []
    assembler = Assembler("call1", seen.append)
    for text in ("<think>", "should I", "</think>", "\n\nyes", ""):
        assembler.add(json.dumps(chunk(content=text)))
    assert seen == ["\n\nyes"]


def test_a_thought_whose_beginning_was_left_out_shows_until_its_end_only() -> None:
    """Some servers leave the opening tag to the template; a tag that is not such an end is looked at once."""
    for texts, last in (
        (("should I?\n", "</thi", "nk>", "\n\nyes"), "\n\nyes"),
        (("```\n", "</think>\n", "```\n</think>\n"), "```\n</think>\n```\n</think>\n"),
    ):
        seen: list[str] = []
        assembler = Assembler("call1", seen.append)
        for text in texts:
            assembler.add(json.dumps(chunk(content=text)))
        assert (seen[0], seen[-1]) == (texts[0], last)


def test_a_long_thought_is_not_looked_through_for_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where a piece could end it; a beginning that only may become one is looked at each time."""
    looked: list[str] = []

    def thinks(text: str) -> bool:
        looked.append(text)
        return dialect.thinks(text)

    monkeypatch.setattr(stream, "thinks", thinks)
    seen: list[str] = []
    assembler = Assembler("call1", seen.append)
    for text in ("\n<thi", "nking>", *["should I"] * 50, " 2 > 1", "</thinking", ">", "yes"):
        assembler.add(json.dumps(chunk(content=text)))
    assert (len(looked), seen) == (4, ["yes"])


def test_an_answer_of_far_too_many_calls_is_refused_before_they_are_counted() -> None:
    """To find each one's place would hold up everybody else."""
    pieces = [{"id": f"c{number}", "function": {"name": "exec"}} for number in range(dialect.MAX_CALLS + 1)]
    assert len(assembled({"choices": [{"delta": {"tool_calls": pieces[:-1]}}]}).calls) == dialect.MAX_CALLS
    with pytest.raises(ProviderError, match="more than 256 calls") as caught:
        Assembler("call1").add(json.dumps({"choices": [{"delta": {"tool_calls": pieces}}]}))
    assert caught.value.kind is ProviderKind.GARBLED


def test_a_stream_is_whole_when_the_model_or_the_server_says_so() -> None:
    """Either is enough; neither is an error."""
    ended = Assembler("call1")
    ended.add(json.dumps(chunk(content="x", finish="stop")))
    assert ended.finished().text == "x"
    cut = Assembler("call1")
    cut.add(json.dumps(chunk(content="x", finish="")))
    with pytest.raises(ProviderError) as caught:
        cut.finished()
    assert caught.value.kind is ProviderKind.NETWORK


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("{", ProviderKind.GARBLED),
        ("[]", ProviderKind.GARBLED),
        ("[" * 100_000, ProviderKind.GARBLED),
        ('{"error": {"message": "gone", "code": 502}}', ProviderKind.TRANSIENT),
        ('{"choices": [{"error": {"message": "slow down", "code": 429}}]}', ProviderKind.RATE),
    ],
)
def test_a_bad_event_is_an_error(data: str, kind: ProviderKind) -> None:
    """Not JSON, not an object, or the server's own error in the middle."""
    with pytest.raises(ProviderError) as caught:
        Assembler("call1").add(data)
    assert caught.value.kind is kind

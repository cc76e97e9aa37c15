"""How real servers of the chat-completions format differ, as traits, and the streams that they produce.

Why: each of these quirks has merged two tool calls into one, doubled a name, or lost a call, in some client. A client
that passes all dialects keys its calls by index, else by id, else by position, and never concatenates two of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mtbot.simulator.script import Answer, Finish, ProposedCall
from mtbot.simulator.values import JsonObject

PIECE = 7  # characters per delta: small enough to cut words, names of keys and escapes


class IndexStyle(StrEnum):
    """The index field of streamed tool calls."""

    COUNTED = "counted"
    ZERO = "zero"
    MISSING = "missing"


class IdStyle(StrEnum):
    """The id field of tool calls."""

    FIRST = "first"
    REPEATED = "repeated"
    CHANGING = "changing"
    EMPTY = "empty"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One server's habits. `whole_calls`: a call comes in one delta; `finish_with_calls`: what it says after calls.

    `unescaped`: text goes out as UTF-8 and every event in two writes, so that a character may be cut in two.
    """

    name: str
    index: IndexStyle = IndexStyle.COUNTED
    ids: IdStyle = IdStyle.FIRST
    whole_calls: bool = False
    name_repeated: bool = False
    object_arguments: bool = False
    finish_with_calls: Finish = Finish.TOOL_CALLS
    comments: bool = False
    always_usage: bool = False
    crlf: bool = False
    refuses_null_content: bool = False
    done: bool = True
    unescaped: bool = False


OPENAI = Dialect("openai")
OLLAMA = Dialect(
    "ollama",
    IndexStyle.ZERO,
    IdStyle.FIRST,
    whole_calls=True,
    finish_with_calls=Finish.STOP,
    always_usage=True,
    unescaped=True,
)
LLAMA_CPP = Dialect("llama.cpp", IndexStyle.COUNTED, IdStyle.EMPTY, refuses_null_content=True)
VLLM = Dialect("vllm", IndexStyle.COUNTED, IdStyle.CHANGING, finish_with_calls=Finish.STOP, always_usage=True)
LITELLM = Dialect("litellm", IndexStyle.MISSING, IdStyle.FIRST, finish_with_calls=Finish.NULL)
OPENROUTER = Dialect("openrouter", IndexStyle.COUNTED, IdStyle.REPEATED, name_repeated=True, comments=True, crlf=True)
OBJECT_ARGUMENTS = Dialect(
    "object-arguments", IndexStyle.MISSING, IdStyle.MISSING, whole_calls=True, object_arguments=True, done=False
)
DIALECTS = (OPENAI, OLLAMA, LLAMA_CPP, VLLM, LITELLM, OPENROUTER, OBJECT_ARGUMENTS)


def finish_reason(dialect: Dialect, answer: Answer) -> str | None:
    """The finish_reason field of an answer."""
    chosen = answer.finish
    if chosen is Finish.AUTOMATIC:
        chosen = dialect.finish_with_calls if answer.calls else Finish.STOP
    return None if chosen is Finish.NULL else chosen.value


def completion(dialect: Dialect, answer: Answer, model: str, number: int) -> JsonObject:
    """An answer that is not streamed."""
    message: JsonObject = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            _call_json(dialect, proposed, call_id(number, at, proposed)) for at, proposed in enumerate(answer.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(dialect, answer), "logprobs": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_760_000_000 + number,
        "model": model,
        "choices": [choice],
        "usage": answer.usage.json(),
    }


def call_id(number: int, position: int, proposed: ProposedCall) -> str:
    """The id of a call: the scripted one, or one that is unique in the log."""
    return proposed.id if proposed.id is not None else f"call_{number}_{position}"


def _call_json(dialect: Dialect, proposed: ProposedCall, identity: str) -> JsonObject:
    found: JsonObject = {
        "type": "function",
        "function": {"name": proposed.name, "arguments": _arguments(dialect, proposed)},
    }
    if dialect.ids is IdStyle.EMPTY:
        found["id"] = ""
    elif dialect.ids is not IdStyle.MISSING:
        found["id"] = identity
    return found


def _arguments(dialect: Dialect, proposed: ProposedCall) -> object:
    if not dialect.object_arguments:
        return proposed.arguments
    try:
        found: object = json.loads(proposed.arguments)
    except ValueError:
        return proposed.arguments
    return found


def events(dialect: Dialect, answer: Answer, model: str, number: int, *, usage: bool) -> Iterator[str]:
    """The server-sent events of a streamed answer, framing included."""
    base: JsonObject = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000 + number,
        "model": model,
    }
    if dialect.comments:
        yield _framed(dialect, ": OPENROUTER PROCESSING")
    for delta in _deltas(dialect, answer, number):
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield _event(dialect, {**base, "choices": [choice]})
        if dialect.comments:
            yield _framed(dialect, ": OPENROUTER PROCESSING")
    last = {"index": 0, "delta": {}, "finish_reason": finish_reason(dialect, answer)}
    yield _event(dialect, {**base, "choices": [last]})
    if usage or dialect.always_usage:
        yield _event(dialect, {**base, "choices": [], "usage": answer.usage.json()})
    if dialect.done:
        yield _framed(dialect, "data: [DONE]")


def error_event(dialect: Dialect) -> str:
    """What a router sends when the model behind it fails in the middle of a stream."""
    error = {"code": 502, "message": "Provider disconnected"}
    return _event(dialect, {"error": error, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]})


def _event(dialect: Dialect, chunk: JsonObject) -> str:
    return _framed(dialect, f"data: {json.dumps(chunk, ensure_ascii=not dialect.unescaped)}")


def _framed(dialect: Dialect, line: str) -> str:
    return line + ("\r\n\r\n" if dialect.crlf else "\n\n")


def _deltas(dialect: Dialect, answer: Answer, number: int) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": None if answer.calls and not answer.text else ""}
    for piece in _pieces(answer.reasoning):
        yield {"reasoning_content": piece}
    for piece in _pieces(answer.text or ""):
        yield {"content": piece}
    for position, proposed in enumerate(answer.calls):
        identity = call_id(number, position, proposed)
        if dialect.whole_calls:
            whole = _call_json(dialect, proposed, identity)
            yield {"tool_calls": [{**_index(dialect, position), **whole}]}
            continue
        parts = ["", *_pieces(proposed.arguments)]
        for part_number, part in enumerate(parts):
            yield {"tool_calls": [_call_delta(dialect, proposed, (position, part_number), identity, part)]}


def _call_delta(dialect: Dialect, proposed: ProposedCall, at: tuple[int, int], identity: str, part: str) -> JsonObject:
    """One fragment of a call; `at` is the position of the call and of the fragment in it."""
    position, part_number = at
    function: JsonObject = {"arguments": part}
    found: JsonObject = _index(dialect, position)
    if part_number == 0 or dialect.name_repeated:
        function["name"] = proposed.name
    if part_number == 0:
        found["type"] = "function"
    match dialect.ids:
        case IdStyle.FIRST if part_number == 0:
            found["id"] = identity
        case IdStyle.REPEATED:
            found["id"] = identity
        case IdStyle.CHANGING:
            found["id"] = identity if part_number == 0 else f"{identity}-{part_number}"
        case IdStyle.EMPTY:
            found["id"] = ""
        case _:
            pass
    return {**found, "function": function}


def _index(dialect: Dialect, position: int) -> JsonObject:
    match dialect.index:
        case IndexStyle.COUNTED:
            return {"index": position}
        case IndexStyle.ZERO:
            return {"index": 0}
        case IndexStyle.MISSING:
            return {}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]

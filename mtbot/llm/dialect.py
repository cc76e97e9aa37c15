"""Chat completions as JSON: our values to a request body, a response body to our values, in every dialect met so far.

Servers that call themselves compatible differ in small ways: arguments as an object, ids missing or repeated, content
null, a finish reason that does not say that there are calls. All of that is read; nothing that was cut is mended.
"""

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence

from mtbot.domain.call import ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.spending import MILLION
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.faults import error_of

_FINISH = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "safety": Finish.FILTERED,
}
_THOUGHT = re.compile(r"\s*<(think|thinking)>.*?(?:</\1>|\Z)\s*", re.DOTALL)
_THINKING = ("<think>", "<thinking>")
CLOSED = re.compile(r"^</(?:think|thinking)>[ \t]*$", re.MULTILINE)
"""The end of a block of reasoning, on a line of its own. Where a chat template writes its beginning, the answer has only this."""

_FENCE = "```"
LONGEST_THINKING = max(map(len, _THINKING))
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64

MAX_CALLS = 256
"""Of one answer; more than any model proposes, and few enough to be told apart in no time."""


def request_body(request: ModelRequest) -> dict[str, object]:
    """The body of a chat completions request."""
    body: dict[str, object] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        # the default of the interface, and yet llama-cpp-python offers no tool to its model without it
        body["tool_choice"] = "auto"
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _message(message: Message) -> dict[str, object]:
    """One entry; content is never null, because some servers refuse that beside calls."""
    entry: dict[str, object] = {"role": message.role.value, "content": message.content}
    if message.role is Role.TOOL:
        entry["tool_call_id"] = message.call_id or ""
    if message.calls:
        entry["tool_calls"] = [_sent_call(call) for call in message.calls]
    return entry


def _sent_call(call: ToolCall) -> dict[str, object]:
    """A call of the past as every server takes it back: a name that is one, arguments that are a JSON object.

    What the model mangled then is history now. It is wrapped, not mended, or each later request would be refused.
    """
    name = sent_name(call.name)
    arguments = call.arguments.strip() or "{}"
    if not _is_object(arguments):
        arguments = json.dumps({"unreadable": call.arguments})
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def sent_name(name: str) -> str:
    """A tool's name as every server takes it, whatever the model made of it."""
    return _NO_NAME.sub("_", name)[:_MAX_NAME] or "unknown"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _tool(tool: ToolSpec) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def read_answer(body: object, step: str) -> ModelAnswer:
    """The answer in a response body. ``step`` makes ids for calls that came without a usable one.

    ProviderError GARBLED when there is no choice to read, or with the kind of an error that came with status 200.
    """
    if not isinstance(body, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "the answer is not a JSON object")
    check_error(body)
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise ProviderError(ProviderKind.GARBLED, "the answer has no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "the answer has no message")
    check_error(choice)
    calls = _calls(message.get("tool_calls"), step)
    refusal = message.get("refusal")
    return ModelAnswer(
        text=without_thoughts(content_text(message.get("content"))),
        calls=calls,
        finish=read_finish(choice.get("finish_reason"), calls),
        usage=read_usage(body.get("usage")),
        refusal=refusal if isinstance(refusal, str) else "",
    )


def check_error(body: Mapping[str, object]) -> None:
    """ProviderError if ``body`` carries an error, which routers send with status 200, also in the middle of an answer."""
    error = body.get("error")
    if error:
        raise error_of(0, error)


def read_finish(reason: object, calls: Sequence[ToolCall]) -> Finish:
    """Why it stopped; anything unknown is a normal end. ProviderError when the server says that the model failed."""
    word = reason.lower() if isinstance(reason, str) else ""
    if word == "error":
        raise ProviderError(ProviderKind.TRANSIENT, "the model behind the server failed")
    return _FINISH.get(word, Finish.TOOL_CALLS if calls else Finish.STOP)


def content_text(content: object) -> str:
    """The text of a content field: a string, null, or a list of parts; reasoning parts are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def without_thoughts(text: str) -> str:
    """``text`` without the reasoning at its beginning, which some servers leave there, also without the tag that opens it."""
    start = 0
    while start < len(text) and (thought := _THOUGHT.match(text, start)):
        start = thought.end()
    closed = CLOSED.search(text) if start == 0 else None
    if closed is None:
        return text[start:]
    before = text[: closed.start()]
    if any(word in before for word in _THINKING) or before.count(_FENCE) % 2:  # a text about the tag
        return text
    return text[closed.end() :].lstrip()


def thinks(text: str) -> bool:
    """Whether a text that still grows is, or may yet turn out to be, a block of reasoning without its end."""
    begun = text.lstrip()
    if any(word.startswith(begun) for word in _THINKING):
        return True
    return any(begun.startswith(word) and f"</{word[1:]}" not in begun for word in _THINKING)


def read_usage(usage: object) -> Usage:
    """Token counts; zero where the provider gives none."""
    if not isinstance(usage, Mapping):
        return Usage()

    prompt, completion = (token_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(prompt, completion, _reported_cost(usage.get("cost")))


def token_count(usage: Mapping[str, object], name: str) -> int:
    """A number of tokens; 0 where there is none that makes sense."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _reported_cost(cost: object) -> int:
    """Millionths of what a router says that the answer took; 0 where it says nothing usable."""
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost < math.inf:
        return 0
    return round(cost * MILLION)


def _calls(listed: object, step: str) -> tuple[ToolCall, ...]:
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return ()
    found: list[ToolCall] = []
    for entry in listed:
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(function, Mapping):
            continue
        arguments = arguments_text(function.get("arguments"))
        found.append(make_call(entry.get("id"), function.get("name"), arguments, [c.id for c in found], step))
    return tuple(found)


def arguments_text(raw: object) -> str:
    """Arguments as text: as they came, or an object written out."""
    if isinstance(raw, str):
        return raw
    return "" if raw is None else json.dumps(raw)


def check_number(calls: int) -> None:
    """ProviderError if an answer with so many calls may have no other one."""
    if calls >= MAX_CALLS:
        raise ProviderError(ProviderKind.GARBLED, f"the answer has more than {MAX_CALLS} calls")


def make_call(ident: object, name: object, arguments: str, taken: Sequence[str], step: str) -> ToolCall:
    """A call with an id that is unique in its answer. ProviderError if there are too many."""
    check_number(len(taken))
    wanted = ident if isinstance(ident, str) and ident else f"{step}-{len(taken)}"
    numbers = itertools.count(len(taken))
    while wanted in taken:  # also by a server that gives back an id of ours
        wanted = f"{step}-{next(numbers)}"
    return ToolCall(CallId(wanted), name if isinstance(name, str) else "", arguments)

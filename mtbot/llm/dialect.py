"""Chat completions as JSON: our values to a request body, a response body to our values, in every dialect met so far.

Servers that call themselves compatible differ in small ways: arguments as an object, ids missing or repeated, content
null, a finish reason that does not say that there are calls. All of that is read; nothing that was cut is mended.
"""

import json
from collections.abc import Mapping, Sequence

from mtbot.domain.call import ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role, ToolCall, Usage

_FINISH = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "safety": Finish.FILTERED,
}


def request_body(request: ModelRequest) -> dict[str, object]:
    """The body of a chat completions request."""
    body: dict[str, object] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _message(message: Message) -> dict[str, object]:
    entry: dict[str, object] = {"role": message.role.value, "content": message.content}
    if message.role is Role.TOOL:
        entry["tool_call_id"] = message.call_id or ""
    if message.calls:
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
            for call in message.calls
        ]
    return entry


def _tool(tool: ToolSpec) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def read_answer(body: object, step: str) -> ModelAnswer:
    """The answer in a response body. ``step`` makes ids for calls that came without a usable one.

    ProviderError GARBLED when there is no choice to read, or with the kind of an error that came with status 200.
    """
    if not isinstance(body, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "the answer is not a JSON object")
    error = body.get("error")
    if error:
        raise ProviderError(ProviderKind.TRANSIENT, f"the provider reported: {_error_text(error)}")
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise ProviderError(ProviderKind.GARBLED, "the answer has no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "the answer has no message")
    calls = _calls(message.get("tool_calls"), step)
    finish = _FINISH.get(str(choice.get("finish_reason")).lower(), Finish.TOOL_CALLS if calls else Finish.STOP)
    refusal = message.get("refusal")
    return ModelAnswer(
        text=content_text(message.get("content")),
        calls=calls,
        finish=finish,
        usage=read_usage(body.get("usage")),
        refusal=refusal if isinstance(refusal, str) else "",
    )


def content_text(content: object) -> str:
    """The text of a content field: a string, null, or a list of parts; reasoning parts are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def read_usage(usage: object) -> Usage:
    """Token counts; zero where the provider gives none."""
    if not isinstance(usage, Mapping):
        return Usage()

    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    return Usage(count("prompt_tokens"), count("completion_tokens"))


def _calls(listed: object, step: str) -> tuple[ToolCall, ...]:
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return ()
    found: list[ToolCall] = []
    for entry in listed:
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(function, Mapping):
            continue
        raw = function.get("arguments")
        arguments = raw if isinstance(raw, str) else "" if raw is None else json.dumps(raw)
        found.append(make_call(entry.get("id"), function.get("name"), arguments, [c.id for c in found], step))
    return tuple(found)


def make_call(ident: object, name: object, arguments: str, taken: Sequence[str], step: str) -> ToolCall:
    """A call with an id that is unique in its answer."""
    wanted = ident if isinstance(ident, str) and ident and ident not in taken else f"{step}-{len(taken)}"
    return ToolCall(CallId(wanted), name if isinstance(name, str) else "", arguments)


def _error_text(error: object) -> str:
    if isinstance(error, Mapping):
        message = error.get("message")
        return str(message)[:300] if message else "an error without a message"
    return str(error)[:300]


def read_error(status: int, text: str, retry_after: float | None) -> ProviderError:
    """What an HTTP status and its body mean. The body's words are kept short and are not trusted to be safe to show."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    error = body.get("error", body) if isinstance(body, Mapping) else body
    detail = _error_text(error) if error else f"status {status} without a readable reason"
    code = str(error.get("code", "")) if isinstance(error, Mapping) else ""
    lowered = f"{code} {detail}".lower()
    kind = ProviderKind.BAD_REQUEST
    hint = ""
    if status in (401, 403):
        kind, hint = ProviderKind.AUTH, "check the key that api_key_env or api_key_file names"
    elif "context_length" in lowered or "context length" in lowered or "maximum context" in lowered or status == 413:
        kind = ProviderKind.CONTEXT
    elif status == 402 or "insufficient_quota" in lowered:
        kind = ProviderKind.QUOTA
    elif status == 429:
        kind = ProviderKind.RATE
    elif status in (408, 409, 425) or status >= 500:
        kind = ProviderKind.TRANSIENT
    elif status == 404:
        hint = "check agent.model and the provider's base_url"
    return ProviderError(kind, detail, status=status, retry_after=retry_after, hint=hint)

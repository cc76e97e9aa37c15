"""The client for Anthropic's Messages API.

Its ways differ from chat completions in what matters here: the system prompt stands apart, results of tools are blocks of
a user message, all those of one answer in one message, a call's arguments are an object, and ``max_tokens`` must be named.
"""

import json
import re
from collections.abc import Mapping, Sequence

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.dialect import check_error, make_call, sent_name, token_count
from mtbot.llm.http import HttpProvider, read_json, whole

VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The most that one answer may take; every current model takes that much."""

_FINISH = {
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.FILTERED,
    "tool_use": Finish.TOOL_CALLS,
}
_NO_ID = re.compile(r"[^A-Za-z0-9_-]")


class AnthropicProvider(HttpProvider):
    """Completes requests against one server that speaks the Messages API. Nobody sees an answer before it is whole."""

    async def _once(self, request: ModelRequest, on_text: OnText | None) -> ModelAnswer:
        del on_text
        body = self._pruned(request, messages_body(request))
        step = f"call{next(self._steps)}"
        async with self._exchange("POST", "messages", body) as response:
            return read_message(read_json(await whole(response)), step)

    def _signed(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    def _fixed(self) -> Mapping[str, str]:
        return {"anthropic-version": VERSION}

    def _optional(self, request: ModelRequest, on_text: OnText | None) -> Mapping[str, bool]:
        del on_text
        return {"temperature": request.temperature is not None}


def messages_body(request: ModelRequest) -> dict[str, object]:
    """The body of a Messages request."""
    system = "\n\n".join(message.content for message in request.messages if message.role is Role.SYSTEM)
    body: dict[str, object] = {
        "model": request.model,
        "max_tokens": MAX_TOKENS,
        "messages": _turns([message for message in request.messages if message.role is not Role.SYSTEM]),
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _turns(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Messages of alternating roles, as lists of blocks; what would have none is left out."""
    turns: list[dict[str, object]] = []
    blocks: list[dict[str, object]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        found = _blocks(message)
        if not found:
            continue
        if not turns or turns[-1]["role"] != role:
            blocks = []
            turns.append({"role": role, "content": blocks})
        blocks.extend(found)
    return turns


def _blocks(message: Message) -> list[dict[str, object]]:
    if message.role is Role.TOOL:
        return [{"type": "tool_result", "tool_use_id": _id(message.call_id or ""), "content": message.content}]
    blocks: list[dict[str, object]] = []
    if message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    return [*blocks, *map(_sent_call, message.calls)]


def _sent_call(call: ToolCall) -> dict[str, object]:
    return {"type": "tool_use", "id": _id(call.id), "name": sent_name(call.name), "input": _object(call.arguments)}


def _id(ident: str) -> str:
    """An id as the API takes it, also one that another provider gave."""
    return _NO_ID.sub("_", ident) or "call"


def _object(arguments: str) -> dict[str, object]:
    """A call's arguments; what the model mangled then is wrapped, not mended."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable": arguments}


def read_message(body: object, step: str) -> ModelAnswer:
    """The answer in a response body. ``step`` makes ids for calls that came without a usable one. ProviderError."""
    if not isinstance(body, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "the answer is not a JSON object")
    check_error(body)
    blocks = body.get("content")
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        raise ProviderError(ProviderKind.GARBLED, "the answer has no content")
    calls: list[ToolCall] = []
    texts: list[str] = []
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input", {}))
            calls.append(make_call(block.get("id"), block.get("name"), arguments, [call.id for call in calls], step))
    reason = body.get("stop_reason")
    finish = _FINISH.get(reason, Finish.STOP) if isinstance(reason, str) else Finish.STOP
    if finish is Finish.STOP and calls:
        finish = Finish.TOOL_CALLS
    return ModelAnswer("".join(texts), tuple(calls), finish, _usage(body.get("usage")))


def _usage(usage: object) -> Usage:
    """Token counts; what was read from or written to a cache was sent, too."""
    if not isinstance(usage, Mapping):
        return Usage()

    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(sum(token_count(usage, name) for name in sent), token_count(usage, "output_tokens"))

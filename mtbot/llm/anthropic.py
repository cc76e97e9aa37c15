"""The client for Anthropic's Messages API.

Its ways differ from chat completions in what matters here: the system prompt stands apart, results of tools are blocks of
a user message, all those of one answer in one message, a call's arguments are an object, and ``max_tokens`` must be named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.turn import Message, Role, ToolCall, Usage
from mtbot.llm.dialect import check_error, check_number, make_call, sent_name, token_count
from mtbot.llm.stream import read_event
from mtbot.llm.streaming import STREAM, Assembling, StreamingProvider

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


class AnthropicProvider(StreamingProvider):
    """Completes requests against one server that speaks the Messages API."""

    path: ClassVar[str] = "messages"
    streaming: ClassVar[Mapping[str, object]] = {STREAM: True}

    def body_of(self, request: ModelRequest) -> dict[str, object]:
        """As `messages_body` says."""
        return messages_body(request)

    def read(self, body: object, step: str) -> ModelAnswer:
        """As `read_message` says."""
        return read_message(body, step)

    def assembler(self, step: str, on_text: OnText) -> Assembling:
        """One for blocks."""
        return BlockAssembler(step, on_text)

    def _signed(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    def _fixed(self) -> Mapping[str, str]:
        return {"anthropic-version": VERSION}

    def _optional(self, request: ModelRequest, on_text: OnText | None) -> Mapping[str, bool]:
        streamed = on_text is not None and self._streams(request)
        return {"temperature": request.temperature is not None, STREAM: streamed}


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
    texts, calls = [], _Calls(step)
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif block.get("type") == "tool_use":
            calls.add(block, json.dumps(block.get("input", {})))
    return _answer("".join(texts), calls.made, body.get("stop_reason"), body.get("usage"))


class _Calls:
    """The calls of one answer, each with an id that is unique in it."""

    def __init__(self, step: str) -> None:
        self._step = step
        self.made: list[ToolCall] = []

    def add(self, block: Mapping[str, object], arguments: str) -> None:
        """One more. ProviderError if there are too many."""
        taken = [call.id for call in self.made]
        self.made.append(make_call(block.get("id"), block.get("name"), arguments, taken, self._step))


def _answer(text: str, calls: Sequence[ToolCall], reason: object, usage: object) -> ModelAnswer:
    finish = _FINISH.get(reason, Finish.STOP) if isinstance(reason, str) else Finish.STOP
    if finish is Finish.STOP and calls:
        finish = Finish.TOOL_CALLS
    return ModelAnswer(text, tuple(calls), finish, _usage(usage))


def _usage(usage: object) -> Usage:
    """Token counts; what was read from or written to a cache was sent, too."""
    if not isinstance(usage, Mapping):
        return Usage()

    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(sum(token_count(usage, name) for name in sent), token_count(usage, "output_tokens"))


class BlockAssembler:
    """Takes the events of one streamed message. ``on_text`` is given its text so far (OnText), which calls take back.

    Blocks are told apart by their index. What only the model is to read, such as its thoughts, is passed over.
    """

    def __init__(self, step: str, on_text: OnText | None = None) -> None:
        self._step = step
        self._on_text = on_text
        self._blocks: dict[int, Mapping[str, object]] = {}
        self._written: dict[int, list[str]] = {}
        self._text = ""
        self._reason: object = None
        self._usage: dict[str, object] = {}
        self.done = False
        """Whether the server said that nothing more is to come."""

    @property
    def whole(self) -> bool:
        """Whether the model is done, so that nothing of the answer is still to come."""
        return self._reason is not None or self.done

    def add(self, data: str) -> None:
        """Take one event. ProviderError if it is an error or cannot be read."""
        event = read_event(data)
        match event.get("type"):
            case "message_start":
                self._count(_part(event, "message").get("usage"))
            case "content_block_start":
                self._begin(event.get("index"), _part(event, "content_block"))
            case "content_block_delta":
                self._go_on(event.get("index"), _part(event, "delta"))
            case "message_delta":
                self._reason = _part(event, "delta").get("stop_reason") or self._reason
                self._count(event.get("usage"))
            case "message_stop":
                self.done = True

    def _count(self, usage: object) -> None:
        """Counts are those of the whole message so far, each in the last event that names it."""
        if isinstance(usage, Mapping):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _begin(self, index: object, block: Mapping[str, object]) -> None:
        if not isinstance(index, int) or index in self._blocks:
            raise ProviderError(ProviderKind.GARBLED, "a block of the answer has no place of its own")
        check_number(len(self._blocks))
        self._blocks[index] = block
        self._written[index] = []
        if block.get("type") == "tool_use":
            self._see()
        elif block.get("type") == "text":
            self._write(index, block.get("text"))

    def _go_on(self, index: object, delta: Mapping[str, object]) -> None:
        if not isinstance(index, int) or index not in self._blocks:
            raise ProviderError(ProviderKind.GARBLED, "a piece of the answer belongs to no block")
        self._write(index, delta.get({"text": "text", "tool_use": "partial_json"}.get(self._type(index), "")))

    def _write(self, index: int, piece: object) -> None:
        if not isinstance(piece, str) or not piece:
            return
        self._written[index].append(piece)
        if self._type(index) == "text":
            self._text += piece
            self._see()

    def _type(self, index: int) -> str:
        return str(self._blocks[index].get("type"))

    def _see(self) -> None:
        if self._on_text is not None:
            calls = any(block.get("type") == "tool_use" for block in self._blocks.values())
            self._on_text("" if calls else self._text)

    def finished(self) -> ModelAnswer:
        """The whole answer. ProviderError if the stream ended before the model was done."""
        if not self.whole:
            raise ProviderError(ProviderKind.NETWORK, "the answer broke off in the middle")
        return self.so_far()

    def so_far(self) -> ModelAnswer:
        """What has come of the answer, whole or not."""
        calls = _Calls(self._step)
        for index, block in sorted(self._blocks.items()):
            if block.get("type") == "tool_use":
                calls.add(block, "".join(self._written[index]) or json.dumps(block.get("input") or {}))
        return _answer(self._text, calls.made, self._reason, self._usage)


def _part(event: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = event.get(name)
    if not isinstance(part, Mapping):
        raise ProviderError(ProviderKind.GARBLED, f"an event of the answer has no {name}")
    return part

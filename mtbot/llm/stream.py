"""A streamed answer put together again: server-sent events to chunks, chunks to one ModelAnswer.

Servers disagree about the index and the id of a call's pieces. A piece belongs to a call by its index, else by its
id, else to the last one; where that is in doubt it begins a new call, because two calls in one would be a third that
nobody proposed. A stream that ends before the model was done is an error, never a shorter answer.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, OnText
from mtbot.domain.turn import ToolCall, Usage
from mtbot.llm.dialect import (
    CLOSED,
    LONGEST_THINKING,
    arguments_text,
    check_error,
    check_number,
    content_text,
    make_call,
    read_finish,
    read_usage,
    thinks,
    without_thoughts,
)

MAX_EVENT = 4 * 1024 * 1024
"""Bytes of one event."""

_DONE = "[DONE]"


async def events(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of each server-sent event, however the bytes are cut; comments and other fields are passed over."""
    data: list[str] = []
    size = 0
    async for line in _lines(parts):
        if not line:
            if data:
                yield "\n".join(data)
            data, size = [], 0
        elif line.startswith(b"data:"):
            size += len(line)
            if size > MAX_EVENT:
                raise ProviderError(ProviderKind.GARBLED, "an event of the answer is too large")
            data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
    if data:  # a last event without the empty line behind it
        yield "\n".join(data)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for part in parts:
        buffer += part
        while (end := buffer.find(b"\n")) >= 0:
            yield bytes(buffer[:end]).removesuffix(b"\r")
            del buffer[: end + 1]
        if len(buffer) > MAX_EVENT:
            raise ProviderError(ProviderKind.GARBLED, "a line of the answer is too large")
    if buffer:
        yield bytes(buffer).removesuffix(b"\r")


def read_event(data: str) -> Mapping[str, object]:
    """The object that an event holds. ProviderError if it holds none, or an error."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise ProviderError(ProviderKind.GARBLED, "an event of the answer is no JSON") from fault
    if not isinstance(event, Mapping):
        raise ProviderError(ProviderKind.GARBLED, "an event of the answer is no object")
    check_error(event)
    return event


@dataclass(slots=True)
class _Piecework:
    """A call while its pieces come in."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a whole JSON object already."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(slots=True)
class _Calls:
    """All calls of an answer, in the order in which they began."""

    begun: list[_Piecework] = field(default_factory=list)
    by_index: dict[int, _Piecework] = field(default_factory=dict)

    def add(self, piece: Mapping[str, object]) -> None:
        """Put a piece where it belongs. ProviderError if there are too many calls."""
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        index, ident, name = piece.get("index"), _text(piece.get("id")), _text(function.get("name"))
        number = index if isinstance(index, int) else None
        arguments = arguments_text(function.get("arguments"))
        call = self._of(number, ident)
        if call is None or self._begins_another(call, ident, name, arguments):
            check_number(len(self.begun))
            call = _Piecework(ident, name)
            self.begun.append(call)
        if number is not None:
            self.by_index[number] = call
        call.id = call.id or ident
        call.name = call.name or name
        call.arguments += arguments

    def _of(self, number: int | None, ident: str) -> _Piecework | None:
        """The call that a piece continues, going by index, else by id, else by position."""
        if number is not None:
            return self.by_index.get(number)
        if ident:
            return next((call for call in self.begun if call.id == ident), None)
        return self.begun[-1] if self.begun else None

    @staticmethod
    def _begins_another(call: _Piecework, ident: str, name: str, arguments: str) -> bool:
        """Whether a named piece opens a new call although its index or position is in use."""
        if not name or not call.name:
            return False
        if name != call.name:
            return True
        if ident and call.id:
            return ident != call.id
        return bool(arguments) and call.complete

    def finished(self, step: str) -> tuple[ToolCall, ...]:
        """The calls, each with an id that is unique in the answer."""
        found: list[ToolCall] = []
        for call in self.begun:
            found.append(make_call(call.id, call.name, call.arguments, [one.id for one in found], step))
        return tuple(found)


class Assembler:
    """Takes the chunks of one answer. ``on_text`` is given its text so far (OnText), which calls take back."""

    def __init__(self, step: str, on_text: OnText | None = None) -> None:
        self._step = step
        self._on_text = on_text
        self._text = ""
        self._thoughts: int | None = None
        self._in_thought = False
        self._unopened = True
        """Whether what came so far may turn out to be a thought whose beginning was left out."""
        self._refusal = ""
        self._calls = _Calls()
        self._finish: str | None = None
        self.done = False
        """Whether the server said that nothing more is to come."""
        self._usage = Usage()

    def add(self, data: str) -> None:
        """Take one event. ProviderError if it is an error or cannot be read."""
        if data.strip() == _DONE:
            self.done = True
            return
        chunk = read_event(data)
        if chunk.get("usage"):
            self._usage = read_usage(chunk["usage"])
        choices = chunk.get("choices")
        if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
            self._choice(choices[0])

    def _choice(self, choice: Mapping[str, object]) -> None:
        check_error(choice)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = reason
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return
        self._refusal += _text(delta.get("refusal"))
        pieces = delta.get("tool_calls")
        if isinstance(pieces, Sequence) and not isinstance(pieces, str):
            for piece in pieces:
                if isinstance(piece, Mapping):
                    self._calls.add(piece)
        grown = content_text(delta.get("content"))
        self._text += grown
        if self._on_text is not None and self._calls.begun:
            self._on_text("")
        elif self._on_text is not None and grown and (seen := self._seen(grown)):
            self._on_text(seen)

    def _seen(self, grown: str) -> str:
        """The text behind what the model only thought; nothing as long as that may go on."""
        if self._thoughts is None:
            if (
                self._in_thought and ">" not in grown
            ):  # it does go on: not every piece is looked for in all of a long one
                return ""
            if thinks(self._text):
                self._in_thought = len(self._text.lstrip()) >= LONGEST_THINKING
                return ""
            self._thoughts = len(self._text) - len(without_thoughts(self._text))
        elif (
            self._unopened
            and ">" in grown
            and CLOSED.search(self._text, len(self._text) - len(grown) - LONGEST_THINKING)
        ):
            self._unopened = False  # one look: the text may be long
            self._thoughts = len(self._text) - len(without_thoughts(self._text))
        return self._text[self._thoughts :]

    @property
    def whole(self) -> bool:
        """Whether the model is done, so that nothing of the answer is still to come."""
        return self._finish is not None or self.done

    def finished(self) -> ModelAnswer:
        """The whole answer. ProviderError if the stream ended before the model was done."""
        if not self.whole:
            raise ProviderError(ProviderKind.NETWORK, "the answer broke off in the middle")
        answer = self.so_far()
        return replace(answer, finish=read_finish(self._finish, answer.calls))

    def so_far(self) -> ModelAnswer:
        """What has come of the answer, whole or not."""
        calls = self._calls.finished(self._step)
        return ModelAnswer(without_thoughts(self._text), calls, Finish.STOP, self._usage, self._refusal)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

"""The client for every server that speaks chat completions."""

from collections.abc import Mapping
from typing import ClassVar

from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.llm.dialect import read_answer, request_body
from mtbot.llm.http import Server
from mtbot.llm.stream import Assembler
from mtbot.llm.streaming import STREAM, Assembling, StreamingProvider

__all__ = ["OpenAIProvider", "Server"]

_COUNTED = "stream_options"


class OpenAIProvider(StreamingProvider):
    """Completes requests against one server."""

    path: ClassVar[str] = "chat/completions"
    streaming: ClassVar[Mapping[str, object]] = {STREAM: True, _COUNTED: {"include_usage": True}}

    def body_of(self, request: ModelRequest) -> dict[str, object]:
        """As `request_body` says."""
        return request_body(request)

    def read(self, body: object, step: str) -> ModelAnswer:
        """As `read_answer` says."""
        return read_answer(body, step)

    def assembler(self, step: str, on_text: OnText) -> Assembling:
        """One for chunks of chat completions."""
        return Assembler(step, on_text)

    def _signed(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def _optional(self, request: ModelRequest, on_text: OnText | None) -> Mapping[str, bool]:
        streamed = on_text is not None and self._streams(request)
        return {
            "temperature": request.temperature is not None,
            _COUNTED: streamed,
            STREAM: streamed,
            "tool_choice": bool(request.tools),
        }

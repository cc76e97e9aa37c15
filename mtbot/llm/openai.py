"""The client for every server that speaks chat completions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import httpx

from mtbot.domain.model import ModelAnswer, ModelRequest
from mtbot.llm.dialect import read_answer, request_body
from mtbot.llm.http import HttpProvider, Mask, Server, capped, read_json, whole
from mtbot.llm.stream import Assembler, events

__all__ = ["OnText", "OpenAIProvider", "Server"]

OnText = Callable[[str], None]


class OpenAIProvider(HttpProvider):
    """Completes requests against one server. ``on_text`` sees a streamed answer grow; a retry begins it anew."""

    def __init__(
        self,
        server: Server,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
        on_text: OnText | None = None,
        mask: Mask = str,
    ) -> None:
        super().__init__(server, sleep=sleep, transport=transport, mask=mask)
        self._on_text = on_text

    async def _once(self, request: ModelRequest) -> ModelAnswer:
        body = request_body(request)
        if self._server.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body = self._pruned(request, body)
        step = f"call{next(self._steps)}"
        async with self._exchange("POST", "chat/completions", body) as response:
            if "event-stream" in response.headers.get("content-type", ""):
                return await self._streamed(response, step)
            return read_answer(read_json(await whole(response)), step)

    async def _streamed(self, response: httpx.Response, step: str) -> ModelAnswer:
        assembler = Assembler(step, self._on_text)
        async for data in events(capped(response)):
            assembler.add(data)
        return assembler.finished()

    def _signed(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def _optional(self, request: ModelRequest) -> Mapping[str, bool]:
        return {
            "temperature": request.temperature is not None,
            "stream_options": self._server.stream,
            "tool_choice": bool(request.tools),
        }

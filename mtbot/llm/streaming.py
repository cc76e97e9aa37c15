"""A client whose server can send an answer while it writes it.

An answer is streamed where the server is to stream and somebody sees it grow. A stream that breaks off or cannot be
read is followed by a request for the whole answer; where that comes, it is what the model is asked for in the next hour.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Protocol

import anyio
import httpx

from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.llm.http import STREAM_TIMEOUTS, HttpProvider, capped, read_json, whole
from mtbot.llm.metering import lost, took
from mtbot.llm.stream import events

COUNT_SECONDS = 5.0
"""How long the count of tokens is waited for once the model is done."""

END_SECONDS = 0.5
"""How long the end of a stream is waited for once the server said that it is done, so that its connection can be kept."""

WHOLE_SECONDS = 3600.0
"""How long a model whose stream broke is asked for whole answers: some servers break each, and any line breaks sometimes."""

STREAM = "stream"
"""The parameter that asks for one, in every dialect."""

_BROKEN = frozenset({ProviderKind.NETWORK, ProviderKind.GARBLED})


class Assembling(Protocol):
    """Puts the events of one answer together."""

    @property
    def whole(self) -> bool:
        """Whether the model is done, so that nothing of the answer is still to come."""

    @property
    def done(self) -> bool:
        """Whether the server said that nothing more is to come."""

    def add(self, data: str) -> None:
        """Take one event. ProviderError if it is an error or cannot be read."""

    def so_far(self) -> ModelAnswer:
        """What has come of the answer, whole or not."""

    def finished(self) -> ModelAnswer:
        """The whole answer. ProviderError if the stream ended before the model was done."""


class StreamingProvider(HttpProvider):
    """Completes requests whole or streamed, in a dialect that a subclass speaks."""

    path: ClassVar[str]
    """Where requests go, below the server's address."""

    streaming: ClassVar[Mapping[str, object]]
    """What a request has beside its body where the answer is to be streamed."""

    @abstractmethod
    def body_of(self, request: ModelRequest) -> dict[str, object]:
        """The body of a request for a whole answer."""

    @abstractmethod
    def read(self, body: object, step: str) -> ModelAnswer:
        """The answer in a body. ``step`` makes ids for calls that came without a usable one. ProviderError."""

    @abstractmethod
    def assembler(self, step: str, on_text: OnText) -> Assembling:
        """What puts a streamed answer together; ``on_text`` sees its text grow."""

    async def _once(self, request: ModelRequest, on_text: OnText | None) -> ModelAnswer:
        step = f"call{next(self._steps)}"
        if on_text is None or not self._streams(request):
            return await self._whole(request, step)
        assembler = self.assembler(step, on_text)
        answer = await self._streamed(request, step, assembler)
        if answer is None:
            on_text("")
            answer = await self._after_a_broken_stream(request, step)
            self._whole_until[request.model] = self._monotonic() + WHOLE_SECONDS
            # what broke was paid for all the same
            answer = replace(answer, usage=took(request, answer) + lost(request, assembler.so_far()))
        return answer

    async def _after_a_broken_stream(self, request: ModelRequest, step: str) -> ModelAnswer:
        """The whole answer; asked for twice where a server also closes the connection that its stream came by."""
        try:
            return await self._whole(request, step)
        except ProviderError as error:
            if error.kind is not ProviderKind.NETWORK:
                raise
        return await self._whole(request, step)

    def _streams(self, request: ModelRequest) -> bool:
        if not self._server.stream or (request.model, STREAM) in self._refused:
            return False
        return self._monotonic() >= self._whole_until.get(request.model, float("-inf"))

    async def _whole(self, request: ModelRequest, step: str) -> ModelAnswer:
        body = self._pruned(request, self.body_of(request))
        async with self._exchange("POST", self.path, body) as response:
            return self.read(read_json(await whole(response)), step)

    async def _streamed(self, request: ModelRequest, step: str, assembler: Assembling) -> ModelAnswer | None:
        """The answer; None if the server began to send it and it did not come to its end."""
        body = self._pruned(request, {**self.body_of(request), **self.streaming})
        begun = False
        try:
            async with self._exchange("POST", self.path, body, STREAM_TIMEOUTS) as response:
                if "event-stream" not in response.headers.get("content-type", "").lower():
                    return self.read(read_json(await whole(response)), step)
                begun = True
                return await self._assembled(response, assembler)
        except ProviderError as error:
            if begun and error.kind in _BROKEN:
                return None
            raise

    async def _assembled(self, response: httpx.Response, assembler: Assembling) -> ModelAnswer:
        """Read a stream to its end. A comment is no sign of life: TimeoutError after a time-out without an event."""
        with anyio.move_on_after(self._server.timeout) as silence:
            async for data in events(capped(response)):
                assembler.add(data)
                silence.deadline = anyio.current_time() + self._patience(assembler)
        if silence.cancelled_caught and not assembler.whole:
            raise TimeoutError
        return assembler.finished()

    def _patience(self, assembler: Assembling) -> float:
        """Seconds for which the next event may be waited for."""
        if assembler.done:
            return END_SECONDS
        # below the client's own time-out, which would make an error of an answer that is there
        return min(COUNT_SECONDS, self._server.timeout / 2) if assembler.whole else self._server.timeout

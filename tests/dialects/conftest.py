"""A provider that talks to the scripted model server, in every dialect, streamed and not."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from mtbot.domain.model import ModelAnswer, ModelRequest, OnText
from mtbot.llm.openai import OpenAIProvider, Server
from mtbot.simulator.dialects import DIALECTS, Dialect
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Step

KEY = "sk-test-0123456789abcdef"


class Watched(OpenAIProvider):
    """A provider whose answers somebody sees grow, where nothing else is asked for; ``seen`` is what they saw."""

    seen: list[str]

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """As always."""
        return await super().complete(request, on_text or self.seen.append)


class Line:
    """A provider and the server at its other end. ``slept`` are the waits between tries, in seconds; ``now`` is a clock's."""

    def __init__(self, server: ModelSimulator, make: Callable[["Line"], Watched]) -> None:
        self.server = server
        self.slept: list[float] = []
        self.now = 0.0
        self.provider = make(self)

    async def sleep(self, seconds: float) -> None:
        """Wait in no time."""
        self.slept.append(seconds)

    def monotonic(self) -> float:
        """What the clock shows."""
        return self.now


Connect = Callable[..., Awaitable[Line]]


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Each server's habits in turn."""
    found = request.param
    assert isinstance(found, Dialect)
    return found


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    """Whether answers come in one piece."""
    return bool(request.param)


@pytest.fixture
async def connect(stream: bool) -> AsyncIterator[Connect]:
    """Start a server with a script and a provider for it; the waits between tries take no time."""
    async with AsyncExitStack() as stack:

        async def start(
            *script: Step,
            dialect: Dialect = DIALECTS[0],
            retries: int = 0,
            timeout: float = 5.0,
        ) -> Line:
            server = await stack.enter_async_context(ModelSimulator(script, dialect=dialect, key=KEY))
            at = Server(server.base_url, KEY, timeout, retries, stream)
            line = Line(server, lambda line: Watched(at, sleep=line.sleep, monotonic=line.monotonic))
            line.provider.seen = []
            stack.push_async_callback(line.provider.close)
            return line

        yield start

"""A provider that talks to the scripted model server, in every dialect, streamed and not."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from mtbot.llm.openai import OnText, OpenAIProvider, Server
from mtbot.simulator.dialects import DIALECTS, Dialect
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Step

KEY = "sk-test-0123456789abcdef"


class Line:
    """A provider and the server at its other end. ``slept`` are the waits between tries, in seconds."""

    def __init__(self, server: ModelSimulator, provider: OpenAIProvider, slept: list[float]) -> None:
        self.server = server
        self.provider = provider
        self.slept = slept


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
            on_text: OnText | None = None,
        ) -> Line:
            server = await stack.enter_async_context(ModelSimulator(script, dialect=dialect, key=KEY))
            slept: list[float] = []

            async def sleep(seconds: float) -> None:
                slept.append(seconds)

            provider = OpenAIProvider(
                Server(server.base_url, KEY, timeout, retries, stream), sleep=sleep, on_text=on_text
            )
            stack.push_async_callback(provider.close)
            return Line(server, provider, slept)

        yield start

"""A mock of model servers that we did not write breaks what it sends, and says how our clients behaved.

Its verdict counts as a failure what no client should do: asking again before the time that the server named, asking again
after a deterministic no, a storm of attempts, taking an answer whose stream ended early for a whole one.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest
from mtbot.domain.turn import Message, Role
from mtbot.llm.anthropic import AnthropicProvider
from mtbot.llm.http import HttpProvider, Server
from mtbot.llm.openai import OpenAIProvider
from tests.interop.background import background

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
EXEC = ToolSpec("exec", "Run a command in the shell.", SCHEMA, Risk.EXEC, ToolDefault.ASK)
MODEL = "gpt-5"
READ_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A client, and where below the mock its protocol is spoken."""

    name: str
    make: Callable[[Server], HttpProvider]
    path: str
    stream: bool = False


KINDS = (
    Kind("openai", OpenAIProvider, "/v1"),
    Kind("openai-streamed", OpenAIProvider, "/v1", stream=True),
    Kind("anthropic", AnthropicProvider, "/anthropic/v1"),
    Kind("anthropic-streamed", AnthropicProvider, "/anthropic/v1", stream=True),
)


class Mock:
    """The mock that runs, and one client of ours."""

    def __init__(self, kind: Kind, address: str) -> None:
        self.kind = kind
        self._admin = httpx.AsyncClient(base_url=address, trust_env=False)
        server = Server(f"{address}{kind.path}", "sk-0123456789", READ_SECONDS, 2, stream=kind.stream)
        self.client = kind.make(server)

    async def forget(self) -> None:
        """Have the mock begin afresh."""
        (await self._admin.post("/_llmock/reset")).raise_for_status()

    async def breaks(self, **behaviour: object) -> None:
        """Queue a fault."""
        (await self._admin.post("/_llmock/scenario", json={"behaviors": [behaviour]})).raise_for_status()

    async def ask(self, text: str = "hello", tools: tuple[ToolSpec, ...] = ()) -> ModelAnswer:
        """One answer. ProviderError."""
        request = ModelRequest(MODEL, (Message(Role.SYSTEM, "Be short."), Message(Role.USER, text)), tools)
        return await self.client.complete(request, (lambda _text: None) if self.kind.stream else None)

    async def faults(self) -> list[str]:
        """What the mock holds against us: the failures of its verdict, and its warnings."""
        verdict = (await self._admin.get("/_llmock/verdict")).json()
        return sorted({str(finding["code"]) for finding in verdict["findings"]})

    async def close(self) -> None:
        """Close both connections."""
        await self.client.close()
        await self._admin.aclose()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the mock listens; one is enough, because every test begins by having it forget."""

    def command(port: int) -> tuple[str, ...]:
        return (sys.executable, "-m", "llmock.cli", "serve", "--port", str(port))

    with background(command, tmp_path_factory.mktemp("llmock") / "log", "/health") as found:
        yield found


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
async def mock(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Mock]:
    """A mock with a client."""
    found = Mock(request.param, address)
    await found.forget()
    yield found
    await found.close()


async def test_an_ordinary_answer_is_read(mock: Mock) -> None:
    """Words where no tool is on offer, a call where one is."""
    assert (await mock.ask()).text
    called = await mock.ask("list the files", (EXEC,))
    assert [(call.name, '"command"' in call.arguments) for call in called.calls] == [("exec", True)]
    assert called.finish is Finish.TOOL_CALLS
    assert await mock.faults() == []


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_trouble_that_passes_is_waited_out(mock: Mock, status: int) -> None:
    """With a pause that grows."""
    await mock.breaks(type="fail", status=status, times=2)
    assert (await mock.ask()).text
    assert await mock.faults() == []


async def test_a_limit_is_waited_for_as_long_as_it_says(mock: Mock) -> None:
    """And not a moment less."""
    await mock.breaks(type="fail", status=429, retry_after=1, times=1)
    assert (await mock.ask()).text
    assert await mock.faults() == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_no_is_a_no(mock: Mock, status: int) -> None:
    """It is not asked again."""
    await mock.breaks(type="fail", status=status, times=5)
    with pytest.raises(ProviderError) as caught:
        await mock.ask()
    assert caught.value.kind in (ProviderKind.AUTH, ProviderKind.BAD_REQUEST)
    assert await mock.faults() == []


async def test_a_server_that_stays_down_is_given_up(mock: Mock) -> None:
    """After the tries that the owner set, without a storm."""
    await mock.breaks(type="fail", status=503, times=None)
    with pytest.raises(ProviderError):
        await mock.ask()
    assert await mock.faults() == []


async def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(mock: Mock) -> None:
    """The time-out is the owner's."""
    await mock.breaks(type="delay", seconds=READ_SECONDS * 3, times=None)
    with pytest.raises(ProviderError) as caught:
        await mock.ask()
    assert caught.value.kind is ProviderKind.TIMEOUT


@pytest.fixture(params=[kind for kind in KINDS if kind.stream], ids=lambda kind: kind.name)
async def streamed(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Mock]:
    """A mock with a client that reads streams."""
    found = Mock(request.param, address)
    await found.forget()
    yield found
    await found.close()


FAULTS = ("disconnect", "truncate", "malformed")


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_stream_that_breaks_is_followed_by_whole_answers(streamed: Mock, fault: str) -> None:
    """Nothing of the first half is in the answer."""
    whole = (await streamed.ask()).text
    await streamed.breaks(type="stream_fault", kind=fault, after_chunks=2, times=1)
    assert [(await streamed.ask()).text for _ in range(2)] == [whole, whole]
    # the mock takes the request for the whole answer for another call, and whether we stopped reading it cannot tell
    assert not {"retry_storm", "retried_non_retryable", "retry_after_ignored"} & set(await streamed.faults())


async def test_a_stream_that_stands_still_is_left(streamed: Mock) -> None:
    """Silence has the same limit as an answer."""
    await streamed.breaks(type="stream_fault", kind="stall", stall_seconds=READ_SECONDS * 3, after_chunks=2, times=None)
    with pytest.raises(ProviderError) as caught:
        await streamed.ask()
    assert caught.value.kind is ProviderKind.TIMEOUT


@pytest.mark.parametrize("fault", ["malformed_arguments", "unknown_tool"])
async def test_a_broken_call_is_handed_on_as_it_came(mock: Mock, fault: str) -> None:
    """The gate refuses it; a client that mends it would run what nobody proposed."""
    await mock.breaks(type="tool_fault", kind=fault, times=1)
    [called] = (await mock.ask("list the files", (EXEC,))).calls
    assert called.name != "exec" if fault == "unknown_tool" else called.arguments
    assert await mock.faults() == []

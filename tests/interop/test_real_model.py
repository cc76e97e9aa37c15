"""A real model of a hundred million weights: it understands little, so what is looked at is that it is understood."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.ids import CallId
from mtbot.domain.model import Finish, ModelAnswer, ModelRequest, OnText
from mtbot.domain.record import EventKind
from mtbot.domain.turn import Message, Role, ToolCall
from mtbot.llm.http import Server
from mtbot.llm.openai import OpenAIProvider
from tests.contract.stage import CHIEF, Setting, Stage, open_stage
from tests.interop.real import MODEL, WINDOW, serving

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
EXEC = ToolSpec("exec", "Run a command in the shell.", SCHEMA, Risk.EXEC, ToolDefault.ASK)
SECONDS = 120.0
SYSTEM = Message(Role.SYSTEM, "You run commands with exec.")
LIST = Message(Role.USER, "Run ls with the function exec now.")


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the model is served."""
    with serving(tmp_path_factory.mktemp("model") / "log") as found:
        yield found


class Looked(OpenAIProvider):
    """A client whose answers somebody sees grow; ``seen`` is what they saw last."""

    seen = ""

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelAnswer:
        """As always."""
        return await super().complete(request, on_text or self._see)

    def _see(self, text: str) -> None:
        self.seen = text


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
async def model(request: pytest.FixtureRequest, base_url: str) -> AsyncIterator[OpenAIProvider]:
    """A client of ours."""
    client = Looked(Server(base_url, "", SECONDS, 0, stream=request.param))
    yield client
    await client.close()


@pytest.fixture
async def whole(base_url: str) -> AsyncIterator[OpenAIProvider]:
    """A client that does not stream."""
    client = OpenAIProvider(Server(base_url, "", SECONDS, 0))
    yield client
    await client.close()


async def ask(model: OpenAIProvider, *messages: Message, tools: tuple[ToolSpec, ...] = ()) -> ModelAnswer:
    """One answer, the likeliest one. ProviderError."""
    return await model.complete(ModelRequest("smollm2", messages, tools, 0.0))


async def test_the_model_is_listed(model: OpenAIProvider) -> None:
    """By the name that the server gives it."""
    (name,) = await model.models()
    assert name.endswith(MODEL)


async def test_it_answers_in_words(model: OpenAIProvider) -> None:
    """Whole, and with what it cost where the server says that (it does not of a stream)."""
    answer = await ask(model, SYSTEM, Message(Role.USER, "Say hello."))
    assert "hello" in answer.text.lower()
    assert (answer.finish, answer.calls) == (Finish.STOP, ())


async def test_it_calls_a_tool(model: OpenAIProvider) -> None:
    """It is offered one and takes it, with arguments of the schema.

    With tools on offer this server breaks every stream off, so that the whole answer is asked for.
    """
    answer = await ask(model, SYSTEM, LIST, tools=(EXEC,))
    (call,) = answer.calls
    assert (answer.finish, call.name) == (Finish.TOOL_CALLS, "exec")
    assert isinstance(json.loads(call.arguments)["command"], str)


async def test_it_takes_back_its_call_and_our_result(whole: OpenAIProvider) -> None:
    """In the shape that we keep them in; also two calls at once, and arguments that were no JSON."""
    one, two = ToolCall(CallId("a"), "exec", '{"command": "ls"}'), ToolCall(CallId("b"), "exec", "ls")
    results = [Message(Role.TOOL, "notes.txt", call_id=CallId(name), tool_name="exec") for name in ("a", "b")]
    answer = await ask(whole, SYSTEM, LIST, Message(Role.ASSISTANT, "", (one, two)), *results, tools=(EXEC,))
    assert answer.text or answer.calls


async def test_what_is_too_long_for_it_is_known_as_that(whole: OpenAIProvider) -> None:
    """So that the turn can be mended once; a stream of this server just breaks off."""
    with pytest.raises(ProviderError) as caught:
        await ask(whole, Message(Role.USER, "x " * (WINDOW + 1000)))
    assert caught.value.kind is ProviderKind.CONTEXT


async def served(stage: Stage, base_url: str) -> None:
    """Start the gateway with the real model in place of the simulated one."""
    stage.config.write_text(stage.config.read_text().replace(stage.model.base_url, base_url))
    await stage.start()


async def test_a_person_talks_to_it(tmp_path: Path, base_url: str) -> None:
    """By the whole bot: each turn ends in an answer or a question, which is denied, and the next begins with both."""
    async with open_stage(tmp_path, setting=Setting(mode="approval"), start=False) as stage:
        await served(stage, base_url)
        for text in ("Say hello.", "Run ls with the function exec now.", "Thank you."):
            seen = len(stage.bot_texts())
            await stage.telegram.say(CHIEF, None, text)
            await more(stage, seen)
            while await denied(stage):
                pass
        await stage.telegram.say(CHIEF, None, "/usage")
        await stage.telegram.shown(CHIEF.id, "tokens")
        assert EventKind.STARTED not in {event.draft.kind for event in await stage.events()}
        assert (await stage.engine.office.stores.trail.verify()).whole


async def more(stage: Stage, seen: int) -> None:
    """Wait until the chat holds more than so many texts of the bot."""
    await stage.telegram.wait_for(lambda _sim: len(stage.bot_texts()) > seen, SECONDS)


async def denied(stage: Stage) -> bool:
    """Deny a question that is open, and wait for what follows; False if there is none."""
    pending = await stage.engine.office.stores.consents.pending()
    if not pending:
        return False
    seen = len(stage.bot_texts())
    await stage.telegram.say(CHIEF, None, f"/deny {pending[0].id}")
    await more(stage, seen + 1)
    return True

"""What goes wrong on the way to an answer, over real HTTP: what is tried again, what is not, and what is said."""

import asyncio
import json
from dataclasses import replace

import pytest

from mtbot.domain.call import Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import ProviderError, ProviderKind
from mtbot.domain.model import ModelRequest
from mtbot.domain.turn import Message, Role
from mtbot.llm import streaming
from mtbot.llm.openai import OpenAIProvider, Server
from mtbot.simulator import script
from mtbot.simulator.dialects import OPENROUTER, Dialect
from mtbot.simulator.script import Break, Step, broken_off, call, say
from tests.dialects.conftest import KEY, Connect

ASK = ModelRequest("sim-1", (Message(Role.USER, "hello"),))
WARM = ModelRequest("sim-1", ASK.messages, temperature=0.2)


async def failure(line_of: Connect, *steps: Step, retries: int = 0, timeout: float = 5.0) -> ProviderError:
    """The error that a request with this script ends in."""
    line = await line_of(*steps, retries=retries, timeout=timeout)
    with pytest.raises(ProviderError) as caught:
        await line.provider.complete(ASK)
    assert line.server.problems == ()
    assert line.server.left == 0
    return caught.value


@pytest.mark.parametrize(
    ("step", "kind", "status"),
    [
        (script.raw(401, ""), ProviderKind.AUTH, 401),
        (script.raw(402, ""), ProviderKind.QUOTA, 402),
        (script.raw(403, ""), ProviderKind.AUTH, 403),
        (script.raw(404, ""), ProviderKind.BAD_REQUEST, 404),
        (script.raw(408, ""), ProviderKind.TRANSIENT, 408),
        (script.raw(409, ""), ProviderKind.TRANSIENT, 409),
        (script.raw(413, ""), ProviderKind.CONTEXT, 413),
        (script.raw(422, ""), ProviderKind.BAD_REQUEST, 422),
        (script.raw(425, ""), ProviderKind.TRANSIENT, 425),
        (script.rate_limited(body=False), ProviderKind.RATE, 429),
        (script.out_of_quota(), ProviderKind.QUOTA, 429),
        (script.server_error(), ProviderKind.TRANSIENT, 500),
        (script.bad_gateway(), ProviderKind.TRANSIENT, 502),
        (script.context_too_long(), ProviderKind.CONTEXT, 400),
        (script.invalid("no such thing"), ProviderKind.BAD_REQUEST, 400),
        (script.raw(301, "", "text/html"), ProviderKind.BAD_REQUEST, 301),
        (script.raw(200, "not json at all"), ProviderKind.GARBLED, 0),
        (script.raw(200, '{"choices": []}'), ProviderKind.GARBLED, 0),
        (script.raw(200, '{"error": {"message": "busy", "code": 503}}'), ProviderKind.TRANSIENT, 503),
    ],
)
async def test_every_no_has_its_kind(connect: Connect, step: Step, kind: ProviderKind, status: int) -> None:
    """With a body, without one, with a proxy's page, and with an error inside a success."""
    error = await failure(connect, step)
    assert (error.kind, error.status) == (kind, status)
    assert "<html" not in error.message


async def test_trouble_that_passes_is_tried_again_with_growing_waits(connect: Connect) -> None:
    """Three tries more, and the answer of the last one counts."""
    line = await connect(script.server_error(), script.bad_gateway(), script.rate_limited(), say("here"), retries=3)
    assert (await line.provider.complete(ASK)).text == "here"
    assert line.slept == [0.5, 1.0, 2.0]


async def test_tries_are_counted(connect: Connect) -> None:
    """After the last one the error goes up."""
    line = await connect(*[script.server_error()] * 3, retries=2)
    with pytest.raises(ProviderError) as caught:
        await line.provider.complete(ASK)
    assert caught.value.kind is ProviderKind.TRANSIENT
    assert line.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    "step",
    [
        script.invalid("no"),
        script.unauthorized(),
        script.out_of_quota(),
        script.context_too_long(),
        script.raw(404, ""),
    ],
)
async def test_a_final_no_is_not_asked_again(connect: Connect, step: Step) -> None:
    """A deterministic refusal costs one request."""
    await failure(connect, step, retries=3)


async def test_the_wait_that_the_server_names_is_kept(connect: Connect) -> None:
    """Seconds of Retry-After, and nothing of our own."""
    line = await connect(script.rate_limited(7), say("here"), retries=3)
    assert (await line.provider.complete(ASK)).text == "here"
    assert line.slept == [7.0]


async def test_a_wait_that_nobody_would_sit_through_is_an_error_at_once(connect: Connect) -> None:
    """The person is told now and not in an hour."""
    error = await failure(connect, script.rate_limited(3600), retries=3)
    assert (error.kind, error.retry_after) == (ProviderKind.RATE, 3600.0)


async def test_a_refused_temperature_is_left_out_once_and_remembered(connect: Connect) -> None:
    """The second request goes without it, and so does every later one of that model; no retry is spent on it."""
    line = await connect(script.unsupported("temperature"), say("a"), say("b"), say("c"))
    assert [(await line.provider.complete(WARM)).text for _ in range(2)] == ["a", "b"]
    other = ModelRequest("sim-2", ASK.messages, temperature=0.2)
    assert (await line.provider.complete(other)).text == "c"
    assert [request.body.get("temperature") for request in line.server.requests] == [0.2, None, None, 0.2]
    assert line.slept == []


async def test_a_server_that_lets_nobody_choose_is_asked_without_a_choice(connect: Connect) -> None:
    """Its tools stay on offer: choosing by itself is what such a server does anyway."""
    line = await connect(script.unsupported("tool_choice"), say("a"), say("b"))
    tool = ToolSpec("exec", "Run a command.", {"type": "object"}, Risk.EXEC, ToolDefault.ASK)
    for wanted in "ab":
        assert (await line.provider.complete(replace(ASK, tools=(tool,)))).text == wanted
    assert [request.body.get("tool_choice") for request in line.server.requests] == ["auto", None, None]
    assert all(request.body["tools"] for request in line.server.requests)


async def test_a_parameter_that_is_still_refused_is_an_error(connect: Connect) -> None:
    """Left out once, refused again: then it is no use to go on."""
    line = await connect(script.unsupported("temperature"), script.unsupported("temperature"), retries=3)
    with pytest.raises(ProviderError, match="temperature"):
        await line.provider.complete(WARM)
    assert line.server.left == 0


async def test_a_parameter_that_was_not_sent_is_not_left_out(connect: Connect) -> None:
    """An error that only mentions it is an error."""
    error = await failure(connect, script.invalid("the temperature in the room is too high"), retries=3)
    assert error.kind is ProviderKind.BAD_REQUEST


async def test_a_server_that_does_not_answer_in_time_is_a_time_out(connect: Connect) -> None:
    """Not a cancelled turn, and not tried again: the person has waited long enough."""
    line = await connect(script.HANG, timeout=0.2, retries=3)
    with pytest.raises(ProviderError) as caught:
        await line.provider.complete(ASK)
    assert caught.value.kind is ProviderKind.TIMEOUT
    assert caught.value.message == "no answer within 0.2 s"
    assert len(line.server.requests) == 1


async def test_a_connection_that_is_closed_unanswered_is_tried_again(connect: Connect) -> None:
    """A worker that died behind the server."""
    line = await connect(script.REFUSE, say("here"), retries=1)
    assert (await line.provider.complete(ASK)).text == "here"
    assert line.slept == [0.5]


async def test_a_connection_that_cannot_be_made_is_tried_again(unused_tcp_port: int) -> None:
    """Nobody listens; after the last try the error says so."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    provider = OpenAIProvider(Server(f"http://127.0.0.1:{unused_tcp_port}/v1", KEY, 5.0, 2), sleep=sleep)
    with pytest.raises(ProviderError) as caught:
        await provider.complete(ASK)
    await provider.close()
    assert caught.value.kind is ProviderKind.NETWORK
    assert slept == [0.5, 1.0]


@pytest.mark.parametrize("by", [Break.CLOSE, Break.END, Break.ERROR])
async def test_an_answer_that_breaks_off_is_never_a_shorter_answer(
    connect: Connect, dialect: Dialect, by: Break
) -> None:
    """A call whose pieces stopped coming is an error that is tried again, and the whole call comes then."""
    whole = call("exec", {"command": "rm -rf /tmp/build/old"})
    line = await connect(broken_off(whole, 2, by), whole, dialect=dialect, retries=1)
    answer = await line.provider.complete(ASK)
    assert [one.name for one in answer.calls] == ["exec"]
    assert len(line.server.requests) == 2


async def test_cancelling_is_not_a_time_out(connect: Connect) -> None:
    """A stopped turn goes up as what it is."""
    line = await connect(script.HANG)
    task = asyncio.ensure_future(line.provider.complete(ASK))
    await line.server.wait_for(lambda server: server.hanging)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_error_says_the_key(connect: Connect) -> None:
    """Not when the server repeats it, and not when it is cut in the middle of it."""
    for text in (f"bad key {KEY}", "x" * 285 + KEY):
        for status in (200, 400, 500):
            body = json.dumps({"error": {"message": text, "code": "no"}})
            error = await failure(connect, script.raw(status, body))
            assert "sk-test-" not in f"{error}{error!r}{error.args}{error.__cause__}"


async def test_the_models_of_a_server_are_listed(connect: Connect) -> None:
    """For onboard and doctor; a wrong key is an error with its kind."""
    line = await connect()
    assert await line.provider.models() == ("sim-1",)
    stranger = OpenAIProvider(Server(line.server.base_url, "sk-wrong-key", 5.0, 0))
    with pytest.raises(ProviderError) as caught:
        await stranger.models()
    await stranger.close()
    assert caught.value.kind is ProviderKind.AUTH
    assert caught.value.hint == "check the key that api_key_env or api_key_file names"


class TestStreamed:
    """What only a stream can do."""

    @pytest.fixture
    def stream(self) -> bool:
        """Streamed only."""
        return True

    async def test_text_is_seen_growing_without_reasoning(self, connect: Connect, dialect: Dialect) -> None:
        """Each time the whole text so far, so that a retry can begin anew."""
        line = await connect(say("one two three four", reasoning="quietly"), dialect=dialect)
        answer = await line.provider.complete(ASK)
        assert line.provider.seen == ["one two", "one two three ", "one two three four"]
        assert answer.text == line.provider.seen[-1]

    async def test_an_answer_that_nobody_sees_grow_comes_whole(self, connect: Connect) -> None:
        """A job, a summary, the classifier: a stream would only be one more thing that can break."""
        line = await connect(say("a"))
        assert (await OpenAIProvider.complete(line.provider, ASK)).text == "a"
        assert "stream" not in line.server.requests[0].body

    async def test_a_retry_begins_the_text_anew(self, connect: Connect) -> None:
        """Nothing of the answer that failed is left in the next one."""
        failed = broken_off(say("a text that fails"), 4, Break.ERROR)
        line = await connect(failed, say("here"), dialect=OPENROUTER, retries=1)
        assert (await line.provider.complete(ASK)).text == "here"

        assert line.provider.seen[-2:] == ["", "here"]

    async def test_text_before_calls_is_taken_back(self, connect: Connect, dialect: Dialect) -> None:
        """It is no answer; nobody is to read on in it while a command runs."""
        line = await connect(call("exec", {"command": "df -h /"}, text="Let me look."), dialect=dialect)
        assert (await line.provider.complete(ASK)).text == "Let me look."
        assert line.provider.seen[:2] == ["Let me ", "Let me look."]
        assert set(line.provider.seen[2:]) == {""}

    @pytest.mark.parametrize("word", ["think", "thinking"])
    async def test_reasoning_in_the_text_is_never_seen(self, connect: Connect, dialect: Dialect, word: str) -> None:
        """Nor a part of the word that opens it, however the pieces are cut."""
        for blanks in ("", "\n", "  \n\n"):
            line = await connect(
                say(f"{blanks}<{word}>They want\n < 7 </b> things</{word}>\n\nSeven."), dialect=dialect
            )
            assert (await line.provider.complete(ASK)).text == "Seven."
            assert {one.strip() for one in line.provider.seen} <= {"", *("Seven."[:cut] for cut in range(7))}
            assert line.provider.seen[-1].strip() == "Seven."

    async def test_a_word_that_only_begins_like_thinking_is_text(self, connect: Connect, dialect: Dialect) -> None:
        """From the character on at which it is another word."""
        line = await connect(say("<thin> is a tag"), dialect=dialect)
        assert (await line.provider.complete(ASK)).text == line.provider.seen[-1] == "<thin> is a tag"

    @pytest.mark.parametrize("by", [Break.CLOSE, Break.END])
    async def test_a_stream_that_breaks_off_is_followed_by_whole_answers(
        self, connect: Connect, dialect: Dialect, by: Break
    ) -> None:
        """Asked for at once, without a try or a wait; that model is not asked to stream again, another one is."""
        broken = broken_off(call("exec", {"command": "rm -rf /tmp/build/old"}), 2, by)
        line = await connect(broken, say("whole"), say("again"), say("another"), dialect=dialect)
        asked = [ASK, ASK, replace(ASK, model="sim-2")]
        assert [(await line.provider.complete(one)).text for one in asked] == ["whole", "again", "another"]
        assert [request.body.get("stream") for request in line.server.requests] == [True, None, None, True]
        assert line.slept == []
        assert line.provider.seen[-1] == "another"

    @pytest.mark.parametrize(
        "garbage", ["", ": ping\n\n", "data: {\n\n", "data: []\n\n", 'data: {"choices": [}\n\ndata: [DONE]\n\n']
    )
    async def test_a_stream_that_cannot_be_read_is_followed_by_whole_answers(
        self, connect: Connect, garbage: str
    ) -> None:
        """What could be read of it counts for nothing."""
        line = await connect(script.raw(200, garbage, "text/event-stream"), say("whole"), say("again"))
        assert [(await line.provider.complete(ASK)).text for _ in range(2)] == ["whole", "again"]
        assert [request.body.get("stream") for request in line.server.requests] == [True, None, None]

    async def test_a_model_whose_stream_broke_is_asked_to_stream_again_after_an_hour(self, connect: Connect) -> None:
        """A lost connection is no habit; where it is one, that costs one more request each hour."""
        line = await connect(
            broken_off(say("a text"), 2), say("one"), say("two"), broken_off(say("x y"), 1), say("three")
        )
        for now, text in ((0.0, "one"), (3599.0, "two"), (3600.0, "three")):
            line.now = now
            assert (await line.provider.complete(ASK)).text == text
        streamed = [request.body.get("stream") for request in line.server.requests]
        assert streamed == [True, None, None, True, None]

    async def test_what_broke_off_is_counted_too(self, connect: Connect) -> None:
        """Or a cap would never be reached at a server that breaks each stream. An estimate, because no count had come."""
        long = replace(ASK, messages=(Message(Role.USER, "x" * 4000),))
        line = await connect(broken_off(say("four" * 10), 4, Break.END), say("whole"))
        plain = (await (await connect(say("whole"))).provider.complete(long)).usage
        both = (await line.provider.complete(long)).usage
        assert (plain.prompt, plain.completion) == (100, 20)
        assert both.prompt == 1100
        assert 20 < both.completion <= 20 + 10

    async def test_a_server_that_cannot_answer_at_all_is_asked_to_stream_again(self, connect: Connect) -> None:
        """Then it was not the stream that was at fault."""
        for faults in ((script.REFUSE, script.REFUSE), (script.server_error(),)):
            line = await connect(broken_off(say("a text"), 2), *faults, say("here"), retries=1)
            assert (await line.provider.complete(ASK)).text == "here"
            streamed = [request.body.get("stream") for request in line.server.requests]
            assert streamed == [True, *[None] * len(faults), True]

    async def test_a_connection_that_is_closed_behind_a_broken_stream_is_no_fault_of_the_next(
        self, connect: Connect
    ) -> None:
        """llama-cpp-python ends such a stream in order, and then closes what the whole answer is asked for over."""
        line = await connect(broken_off(say("a text"), 1, Break.END), script.REFUSE, say("whole"), say("again"))
        assert [(await line.provider.complete(ASK)).text for _ in range(2)] == ["whole", "again"]
        assert [request.body.get("stream") for request in line.server.requests] == [True, None, None, None]
        assert line.slept == []

    async def test_a_model_that_may_not_be_streamed_is_asked_for_whole_answers(self, connect: Connect) -> None:
        """It says so, and that is remembered."""
        refusal = script.invalid("Your organization must be verified to stream this model.")
        line = await connect(refusal, say("a"), say("b"))
        assert [(await line.provider.complete(ASK)).text for _ in range(2)] == ["a", "b"]
        assert [request.body.get("stream") for request in line.server.requests] == [True, None, None]
        assert "stream_options" not in line.server.requests[1].body

    async def test_a_silence_in_a_stream_is_a_time_out(self, connect: Connect) -> None:
        """The server has begun and says nothing more."""
        line = await connect(broken_off(say("never to the end"), 2, Break.HANG), timeout=0.2)
        with pytest.raises(ProviderError) as caught:
            await line.provider.complete(ASK)
        assert (caught.value.kind, caught.value.message) == (ProviderKind.TIMEOUT, "no answer within 0.2 s")
        assert len(line.server.requests) == 1

    async def test_a_stream_that_stays_open_behind_its_end_is_left(
        self, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The model was done: its answer counts, and nobody waits for the connection."""
        monkeypatch.setattr(streaming, "COUNT_SECONDS", 0.01)
        monkeypatch.setattr(streaming, "END_SECONDS", 0.01)
        for events in (4, 99):
            line = await connect(broken_off(say("one two three"), events, Break.HANG))
            answer = await line.provider.complete(ASK)
            assert (answer.text, answer.usage.tokens) == ("one two three", 0 if events == 4 else 120)

    async def test_an_answer_that_is_there_is_no_time_out(self, connect: Connect) -> None:
        """However short the time-out is: the count of tokens is waited for within it."""
        line = await connect(broken_off(say("one two three"), 4, Break.HANG), timeout=0.5)
        assert (await line.provider.complete(ASK)).text == "one two three"

    async def test_a_content_type_in_capitals_is_a_stream_too(self, connect: Connect) -> None:
        """Its name has no case."""
        body = 'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
        line = await connect(script.raw(200, body, "Text/Event-Stream; charset=UTF-8"))
        assert (await line.provider.complete(ASK)).text == "a"

    async def test_a_server_without_stream_options_is_asked_without_them(self, connect: Connect) -> None:
        """Tokens are not counted then, which is better than no answer."""
        line = await connect(script.unsupported("stream_options"), say("a"), say("b"))
        assert [(await line.provider.complete(ASK)).text for _ in range(2)] == ["a", "b"]
        assert ["stream_options" in request.body for request in line.server.requests] == [True, False, False]

    async def test_a_server_that_checks_every_parameter_is_asked_without_stream_options(self, connect: Connect) -> None:
        """It says which one in a list, as servers do that validate what they get."""
        fault = {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        refusal = script.raw(422, json.dumps({"object": "error", "message": {"detail": [fault]}}))
        line = await connect(refusal, say("a"), say("b"))
        assert [(await line.provider.complete(ASK)).text for _ in range(2)] == ["a", "b"]
        assert ["stream_options" in request.body for request in line.server.requests] == [True, False, False]
        assert all(request.body["stream"] for request in line.server.requests)

    async def test_a_server_that_does_not_stream_is_read_all_the_same(self, connect: Connect) -> None:
        """It answers a request for a stream with a whole body."""
        body = '{"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]}'
        line = await connect(script.raw(200, body))
        assert (await line.provider.complete(ASK)).text == "all at once"

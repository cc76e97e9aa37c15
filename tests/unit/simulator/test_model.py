"""The model server says what its script says, fails as told, and keeps every request."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from mtbot.simulator.dialects import OLLAMA, OPENROUTER, Dialect
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import (
    HANG,
    REFUSE,
    Break,
    ModelRequest,
    Step,
    bad_gateway,
    broken_off,
    call,
    paused,
    rate_limited,
    raw,
    say,
)
from mtbot.simulator.values import JsonObject

BODY: JsonObject = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A bare HTTP client."""
    async with httpx.AsyncClient(trust_env=False) as opened:
        yield opened


async def _ask(client: httpx.AsyncClient, sim: ModelSimulator, **more: object) -> httpx.Response:
    return await client.post(f"{sim.base_url}/chat/completions", json={**BODY, **more})


def _text(response: httpx.Response) -> object:
    return response.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize("dialect", [OPENROUTER, OLLAMA])
async def test_a_stream_stands_still_where_it_is_told_to(client: httpx.AsyncClient, dialect: Dialect) -> None:
    """And goes on when it is released; an answer that is not streamed waits once."""
    script = [paused(say("one two three"), 1, 3)] * 2
    async with ModelSimulator(script, dialect=dialect) as sim:
        hung = 0
        for stream, waits in ((True, 2), (False, 1)):
            asking = asyncio.create_task(_ask(client, sim, stream=stream))
            for _ in range(waits):
                hung += 1
                await sim.stood_still(hung)
                assert (sim.hanging, asking.done()) == (1, False)
                sim.release()
            answer = await asking
            assert "stop" in answer.text


async def test_a_list_script_is_played_in_order_and_its_end_is_an_error(client: httpx.AsyncClient) -> None:
    """A bot that asks once too often fails the test; steps may be added."""
    async with ModelSimulator([say("one")]) as sim:
        sim.then(say("two"))
        assert sim.left == 2
        assert [_text(await _ask(client, sim)) for _ in range(2)] == ["one", "two"]
        before = sim.problems
        over = await _ask(client, sim)

    assert over.status_code == 500
    assert (before, sim.problems) == ((), ("request 3 came after the end of the script",))


async def test_a_callable_script_sees_each_request(client: httpx.AsyncClient) -> None:
    """And may answer anything."""

    def script(request: ModelRequest) -> Step:
        return say(f"{request.sequence}: {request.last_user_text}")

    async with ModelSimulator(script) as sim:
        await _ask(client, sim)
        assert _text(await _ask(client, sim)) == "2: hi"


async def test_requests_are_kept_with_body_headers_and_time(client: httpx.AsyncClient) -> None:
    """Header names in lower case, the clock injected."""
    async with ModelSimulator([say("x")], clock=lambda: 7.0) as sim:
        waiting = asyncio.create_task(sim.wait_for(lambda model: model.requests))
        headers = {"Authorization": "Bearer key", "X-Title": "T"}
        await client.post(f"{sim.base_url}/chat/completions", json=BODY, headers=headers)
        (request,) = await waiting

    assert (request.sequence, request.at, request.path, request.body) == (1, 7.0, "/v1/chat/completions", BODY)
    assert (request.headers["authorization"], request.headers["x-title"]) == ("Bearer key", "T")


async def test_wait_for_gives_up(client: httpx.AsyncClient) -> None:
    """With the number of requests."""
    async with ModelSimulator([say("x")]) as sim:
        await _ask(client, sim)
        with pytest.raises(TimeoutError, match="1 requests so far"):
            await sim.wait_for(lambda model: len(model.requests) > 1, 0.01)


async def test_a_key_is_demanded_when_one_is_set(client: httpx.AsyncClient) -> None:
    """For completions and for the list of models; a refused request uses up no step."""
    async with ModelSimulator([say("x")], key="right") as sim:
        assert (await _ask(client, sim)).json()["error"]["code"] == "invalid_api_key"
        assert (await client.get(f"{sim.base_url}/models")).status_code == 401
        listed = await client.get(f"{sim.base_url}/models", headers={"Authorization": "Bearer right"})
        assert [model["id"] for model in listed.json()["data"]] == ["sim-1"]
        assert sim.left == 1


async def test_failures_are_sent_as_they_are(client: httpx.AsyncClient) -> None:
    """Status, body, type and headers."""
    async with ModelSimulator([rate_limited(3), rate_limited(body=False), bad_gateway(), raw(200, "{]")]) as sim:
        limited, bare, html, broken = [await _ask(client, sim) for _ in range(4)]

    assert (limited.status_code, limited.headers["retry-after"]) == (429, "3")
    assert (bare.status_code, bare.content, "retry-after" in bare.headers) == (429, b"", False)
    assert (html.status_code, html.headers["content-type"]) == (502, "text/html")
    assert (broken.status_code, broken.text) == (200, "{]")


async def test_silence_is_a_closed_or_a_hanging_connection(client: httpx.AsyncClient) -> None:
    """A released request is closed without an answer."""
    async with ModelSimulator([REFUSE, HANG]) as sim:
        with pytest.raises(httpx.RemoteProtocolError):
            await _ask(client, sim)
        hung = asyncio.create_task(_ask(client, sim))
        await sim.wait_for(lambda model: model.hanging)
        sim.release()
        with pytest.raises(httpx.RemoteProtocolError):
            await hung
    assert sim.hanging == 0


async def test_a_stop_ends_hanging_requests(client: httpx.AsyncClient) -> None:
    """At once."""
    async with ModelSimulator([HANG]) as sim:
        hung = asyncio.create_task(_ask(client, sim))
        await sim.wait_for(lambda model: model.hanging)
        await sim.stop()
        with pytest.raises(httpx.RemoteProtocolError):
            await hung


async def test_a_stream_is_a_sequence_of_events(client: httpx.AsyncClient) -> None:
    """With usage when the request asks for it."""
    async with ModelSimulator([say("hello you"), say("x")]) as sim:
        found = await _ask(client, sim, stream=True, stream_options={"include_usage": True})
        plain = await _ask(client, sim, stream=True)

    assert found.headers["content-type"] == "text/event-stream"
    lines = [line.removeprefix("data: ") for line in found.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    deltas = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(deltas) == "hello you"
    assert chunks[-1]["usage"]["total_tokens"] == 120
    assert '"usage"' not in plain.text


async def test_a_character_may_be_cut_between_two_writes(client: httpx.AsyncClient) -> None:
    """The unescaped dialect still joins to valid UTF-8."""
    async with ModelSimulator([say("🎉" * 50)], dialect=OLLAMA) as sim:
        found = await _ask(client, sim, stream=True)

    assert found.content.decode().count("🎉") == 50


async def _read_until_broken(client: httpx.AsyncClient, sim: ModelSimulator) -> bytes:
    received = b""
    async with client.stream("POST", f"{sim.base_url}/chat/completions", json={**BODY, "stream": True}) as response:
        with suppress(httpx.RemoteProtocolError):
            async for part in response.aiter_bytes():
                received += part
            pytest.fail("the stream came to a proper end")
    return received


async def test_a_stream_can_break_off(client: httpx.AsyncClient) -> None:
    """What came before the break was sent."""
    async with ModelSimulator([broken_off(say("hello you"), 2)]) as sim:
        received = await _read_until_broken(client, sim)

    assert received.count(b"data: ") == 2


async def test_a_stream_can_stall_until_it_is_released(client: httpx.AsyncClient) -> None:
    """Then it is closed."""
    async with ModelSimulator([broken_off(say("hello you"), 2, Break.HANG)]) as sim:
        reading = asyncio.create_task(_read_until_broken(client, sim))
        await sim.wait_for(lambda model: model.hanging)
        assert not reading.done()
        sim.release()
        received = await reading

    assert received.count(b"data: ") == 2


async def test_a_stream_can_end_too_early_or_with_an_error(client: httpx.AsyncClient) -> None:
    """Both are complete HTTP answers."""
    steps = [broken_off(say("hello"), 2, Break.END), broken_off(say("hello"), 2, Break.ERROR)]
    async with ModelSimulator(steps) as sim:
        ended, failed = [(await _ask(client, sim, stream=True)).text for _ in range(2)]

    assert ('finish_reason": null' in ended, "[DONE]" in ended, "error" in ended) == (True, False, False)
    assert '"finish_reason": "error"' in failed


async def test_a_body_that_is_not_streamed_can_be_cut(client: httpx.AsyncClient) -> None:
    """The length promised is not reached."""
    async with ModelSimulator([broken_off(say("hello"))]) as sim:
        with pytest.raises(httpx.RemoteProtocolError):
            await _ask(client, sim)


async def test_a_broken_conversation_is_refused_and_reported(client: httpx.AsyncClient) -> None:
    """No step is used up; a lenient server lets it pass."""
    broken = [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"}]
    async with ModelSimulator([say("x")]) as sim:
        refused = await _ask(client, sim, messages=broken)
        garbage = await client.post(f"{sim.base_url}/chat/completions", content=b"[")
        assert (refused.status_code, garbage.status_code, sim.left) == (400, 400, 1)
        assert "preceding message" in sim.problems[0]
    async with ModelSimulator([say("x")], strict=False) as lenient:
        assert _text(await _ask(client, lenient, messages=broken)) == "x"


async def test_a_dialect_shapes_the_answers(client: httpx.AsyncClient) -> None:
    """Comments between the events of one, for instance."""
    async with ModelSimulator([call("exec", {"command": "id"})], dialect=OPENROUTER) as sim:
        found = await _ask(client, sim, stream=True)

    assert ": OPENROUTER PROCESSING" in found.text


_PROGRAM = "from mtbot.simulator.model import run_model; run_model(0)"


async def test_the_program_answers_by_its_rules_and_ends_at_a_signal(client: httpx.AsyncClient) -> None:
    """Exit status 0, no traceback."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert program.stdout is not None
        line = (await asyncio.wait_for(program.stdout.readline(), 20)).decode()
        address = line.split()[3].rstrip(",")
        asked = {**BODY, "messages": [{"role": "user", "content": "run uptime"}]}
        found = (await client.post(f"{address}/chat/completions", json=asked)).json()
        program.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(program.communicate(), 10)
    finally:
        with suppress(ProcessLookupError):
            program.kill()

    assert line == f"Model simulator on {address}, model sim-1\n"
    function = found["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function == {"name": "exec", "arguments": '{"command": "uptime"}'}
    assert (program.returncode, errors) == (0, b"")

"""The wire: faults do what their names say, limits answer 429, and every call is in the log."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import aiohttp
import pytest

from mtbot.simulator import faults
from mtbot.simulator.faults import Fault, FloodLimits
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import JsonObject

Api = Callable[..., Awaitable[JsonObject]]


class Clock(Protocol):
    """The clock of the fixture."""

    seconds: float


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """A bare HTTP client."""
    async with aiohttp.ClientSession() as opened:
        yield opened


def _send(sim: TelegramSimulator, session: aiohttp.ClientSession, text: str) -> "asyncio.Task[tuple[int, bytes]]":
    async def send() -> tuple[int, bytes]:
        url = f"{sim.base_url}/bot{sim.token()}/sendMessage"
        async with session.post(url, json={"chat_id": 1001, "text": text}) as response:
            return response.status, await response.read()

    return asyncio.create_task(send())


def _texts(sim: TelegramSimulator) -> list[str]:
    return [message.text for message in sim.chat(1001)]


@pytest.mark.parametrize(
    ("fault", "performed"),
    [(faults.drop(), True), (faults.cut(), True), (faults.refuse(), False)],
    ids=["drop", "cut", "refuse"],
)
async def test_a_broken_connection_says_nothing_about_what_was_done(
    sim: TelegramSimulator, session: aiohttp.ClientSession, fault: Fault, performed: bool
) -> None:
    """Dropped and cut calls were performed, refused ones were not; the client sees an error each time."""
    sim.open(1001)
    sim.fault("sendMessage", fault)

    with pytest.raises(aiohttp.ClientError):
        await _send(sim, session, "x")

    assert _texts(sim) == (["x"] if performed else [])
    assert [(record.method, record.fault) for record in sim.log] == [("sendMessage", fault.name)]
    assert (await _send(sim, session, "y"))[0] == 200


async def test_a_hanging_call_is_performed_when_it_is_released(
    sim: TelegramSimulator, session: aiohttp.ClientSession
) -> None:
    """Not before; other calls pass by."""
    sim.open(1001)
    sim.fault("sendMessage", faults.hang())
    hung = _send(sim, session, "slow")
    await sim.wait_for(lambda world: world.hanging("sendMessage"))
    await _send(sim, session, "quick")
    assert (_texts(sim), sim.hanging("getMe")) == (["quick"], 0)
    sim.release()

    assert (await hung)[0] == 200
    assert _texts(sim) == ["quick", "slow"]


async def test_a_stop_closes_hanging_calls_and_open_polls_unperformed(
    sim: TelegramSimulator, session: aiohttp.ClientSession
) -> None:
    """A stop is a lost connection, not a late answer."""
    sim.open(1001)
    sim.fault("sendMessage", faults.hang())
    hung = _send(sim, session, "never")
    url = f"{sim.base_url}/bot{sim.token()}/getUpdates"

    async def poll() -> None:
        async with session.post(url, json={"timeout": 50}) as response:
            await response.read()

    polling = asyncio.create_task(poll())
    await sim.wait_for(lambda world: world.hanging() and world.bot().queue.is_polled)
    await sim.stop()

    ends = await asyncio.gather(hung, polling, return_exceptions=True)
    assert [isinstance(end, aiohttp.ClientError) for end in ends] == [True, True]
    assert _texts(sim) == []


async def test_a_gateway_error_is_html(sim: TelegramSimulator, session: aiohttp.ClientSession) -> None:
    """A body that no JSON parser takes, and the call not performed."""
    sim.open(1001)
    sim.fault("sendMessage", faults.bad_gateway())

    status, body = await _send(sim, session, "x")

    assert (status, body[:6], _texts(sim)) == (502, b"<html>", [])


async def test_the_download_of_a_file_can_fail_too(sim: TelegramSimulator, session: aiohttp.ClientSession) -> None:
    """Under the method name `file`."""
    url = f"{sim.base_url}/file/bot{sim.token()}/documents/file_1"
    for fault in (faults.too_many(1), faults.bad_gateway()):
        sim.fault("file", fault)
        async with session.get(url) as response:
            assert response.status == fault.status
    # For ever, because the client repeats a GET whose kept connection closed.
    sim.fault("file", faults.refuse(), times=faults.FOR_EVER)
    with pytest.raises(aiohttp.ClientError):
        await session.get(url)
    sim.clear_faults("file")
    sim.fault("file", faults.hang())
    waiting = asyncio.create_task(_status(session, url))
    await sim.wait_for(lambda world: world.hanging("file"))
    sim.release()
    assert await waiting == 404


async def _status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as response:
        return response.status


async def test_a_fault_may_be_for_one_bot_and_be_taken_back(sim: TelegramSimulator, api: Api) -> None:
    """The other bot works; after clear_faults both do."""
    sim.fault("getMe", faults.unauthorized(), bot="shy_bot", times=faults.FOR_EVER)

    assert (await api("getMe"))["ok"] is True
    assert (await api("getMe", "shy_bot"))["error_code"] == 401
    sim.clear_faults()
    assert (await api("getMe", "shy_bot"))["ok"] is True


async def test_flood_limits_can_be_switched_on(sim: TelegramSimulator, api: Api, clock: Clock) -> None:
    """Edits count, typing does not; a refused call is not performed."""
    sim.open(1001)
    sim.set_flood(FloodLimits(burst=2))
    await api("sendMessage", chat_id=1001, text="one")
    await api("editMessageText", chat_id=1001, message_id=1, text="two")
    refused = await api("sendMessage", chat_id=1001, text="three")
    assert (refused["error_code"], refused["parameters"]) == (429, {"retry_after": 1})
    assert (await api("sendChatAction", chat_id=1001, action="typing"))["ok"] is True
    clock.seconds += 1
    assert (await api("sendMessage", chat_id=1001, text="four"))["ok"] is True
    sim.set_flood(None)
    assert (await api("sendMessage", chat_id=1001, text="five"))["ok"] is True

    assert _texts(sim) == ["two", "four", "five"]


async def test_the_log_keeps_parsed_values_results_errors_and_notes(
    sim: TelegramSimulator, api: Api, clock: Clock
) -> None:
    """One frozen record a call, in order, with the injected time."""
    sim.open(1001)
    bold = [{"type": "bold", "offset": at * 2, "length": 1} for at in range(101)]
    await api("SENDMESSAGE", chat_id=1001, text="x " * 101, entities=bold)
    clock.seconds = 1234.5
    await api("sendMessage", chat_id=7, text="x")
    await api("sendMessage", reply_markup="{")

    first, second, third = sim.log
    assert (first.sequence, first.method, first.at, first.error, first.fault) == (1, "sendMessage", 1000.0, None, None)
    assert first.notes == ("entities beyond 100 ignored: 1",)
    assert isinstance(first.result, dict)
    assert first.result["message_id"] == 1
    assert (second.at, dict(second.params)) == (1234.5, {"chat_id": 7, "text": "x"})
    assert [str(record.error) for record in (second, third)] == [
        "Bad Request: chat not found",
        "Bad Request: can't parse reply markup JSON object",
    ]
    assert [record.sequence for record in sim.calls("sendMessage", bot="nas_ops_bot")] == [1, 2, 3]
    assert sim.calls("sendMessage", bot="shy_bot") == []


async def test_a_body_that_is_no_object_is_refused(sim: TelegramSimulator, session: aiohttp.ClientSession) -> None:
    """Broken JSON and a JSON list."""
    url = f"{sim.base_url}/bot{sim.token()}/getMe"
    for body in (b"{", b"[]"):
        async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
            assert response.status == 400


async def test_wait_for_names_the_last_calls_when_it_gives_up(sim: TelegramSimulator, api: Api) -> None:
    """So that a failing test shows what the bot did instead."""
    sim.open(1001)
    await api("sendMessage", chat_id=1001, text="something else")

    with pytest.raises(TimeoutError, match=r"sendMessage .*something else"):
        await sim.shown(1001, "expected", timeout=0.01)
    assert (await sim.shown(1001, "something")).text == "something else"


async def test_shown_waits_for_a_bots_message_behind_a_given_one(sim: TelegramSimulator, api: Api) -> None:
    """What the person wrote and what was there before do not count."""
    await sim.say(1001, None, "answer me")
    await api("sendMessage", chat_id=1001, text="answer 1")
    waiting = asyncio.create_task(sim.shown(1001, "answer", after=2))
    await asyncio.sleep(0)
    await api("sendMessage", chat_id=1001, text="answer 2")

    assert (await waiting).text == "answer 2"


async def test_raw_updates_and_redelivery_reach_the_bot(sim: TelegramSimulator, api: Api) -> None:
    """Also an update of an unknown kind, and one that was confirmed long ago."""
    number = sim.push_update(None, {"unheard_of": {"deep": [1]}})
    first = (await api("getUpdates"))["result"]
    assert first == [{"unheard_of": {"deep": [1]}, "update_id": number}]
    assert (await api("getUpdates", offset=number + 1))["result"] == []
    sim.redeliver(number)
    assert (await api("getUpdates", offset=number + 1))["result"] == first
    sim.renumber_updates(5)
    assert sim.push_update(None, {"poll": {}}) == 5

"""Another process can play the people over HTTP."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine

import aiohttp
import pytest

from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import JsonObject

Api = Callable[..., Coroutine[None, None, JsonObject]]
Control = Callable[..., Coroutine[None, None, tuple[int, JsonObject]]]
GROUP = -1001112223334


@pytest.fixture
async def control(sim: TelegramSimulator) -> AsyncIterator[Control]:
    """POST to a control verb, or GET chat and log."""
    async with aiohttp.ClientSession() as session:

        async def call(verb: str, **values: object) -> tuple[int, JsonObject]:
            url = f"{sim.base_url}/control/{verb}"
            if verb in {"chat", "log"}:
                request = session.get(url, params={name: str(value) for name, value in values.items()})
            else:
                request = session.post(url, json=values)
            async with request as response:
                found: JsonObject = await response.json()
                return response.status, found

        yield call


async def test_a_person_speaks_edits_and_sends_a_file(sim: TelegramSimulator, control: Control) -> None:
    """The same world as in the process."""
    status, said = await control("say", user=1001, text="/start", name="Chief", username="chief_of_nas")
    await control("edit", user=1001, message_id=said["message_id"], text="/stop")
    document = {"name": "a.txt", "base64": base64.b64encode(b"hello").decode()}
    await control("say", user=1001, text="see", document=document, bot="nas_ops_bot", reply_to=said["message_id"])

    first, second = sim.chat(1001)
    assert (status, said) == (200, {"message_id": 1})
    assert (first.sender.name, first.text, [old.text for old in first.edits]) == ("Chief", "/stop", ["/start"])
    assert second.attachment is not None
    assert (second.attachment.data, second.attachment.mime, second.reply_to) == (b"hello", "text/plain", 1)


async def test_a_press_waits_for_the_answer(sim: TelegramSimulator, control: Control, api: Api) -> None:
    """And brings its text back."""
    sim.open(1001)
    keyboard = {"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]}
    await api("sendMessage", chat_id=1001, text="q", reply_markup=keyboard)
    press = asyncio.create_task(control("press", user=1001, button="Go", timeout=5))
    update = (await api("getUpdates", timeout=5))["result"]
    assert isinstance(update, list)
    await api("answerCallbackQuery", callback_query_id=update[0]["callback_query"]["id"], text="Went", show_alert=True)

    assert await press == (200, {"text": "Went", "alert": True})


async def test_a_chat_is_shown_as_people_see_it(sim: TelegramSimulator, control: Control, api: Api) -> None:
    """Text, formatting, buttons, history, file, topic."""
    await control("group", chat=GROUP, title="ops", members=[1001], forum=True)
    _, topic = await control("topic", chat=GROUP, name="deploys")
    thread = topic["thread"]
    keyboard = {"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]}
    sent = {"chat_id": GROUP, "message_thread_id": thread, "reply_markup": keyboard}
    await api("sendMessage", text="<b>q</b>", parse_mode="HTML", disable_notification=True, **sent)
    await api("editMessageText", chat_id=GROUP, message_id=3, text="r")
    await control("say", user=1001, chat=GROUP, text="elsewhere")

    status, shown = await control("chat", chat=GROUP, thread=thread)
    messages = shown["messages"]
    assert status == 200
    assert isinstance(messages, list)
    assert messages[1:] == [
        {
            "id": 3,
            "from": 7001001,
            "name": "nas_ops_bot",
            "is_bot": True,
            "text": "r",
            "entities": [],
            "thread": thread,
            "reply_to": None,
            "silent": True,
            "buttons": [],
            "edits": ["q"],
            "document": None,
        }
    ]


async def test_the_log_waits_for_what_comes_behind_a_number(control: Control, api: Api) -> None:
    """Event driven; an old log is answered at once."""
    waiting = asyncio.create_task(control("log", after=0, timeout=30))
    await asyncio.sleep(0)
    await api("sendMessage", chat_id=5, text="x")
    _, found = await waiting

    calls = found["calls"]
    assert isinstance(calls, list)
    assert [(call["sequence"], call["method"], call["params"], call["error"]) for call in calls] == [
        (
            1,
            "sendMessage",
            {"chat_id": 5, "text": "x"},
            {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"},
        )
    ]
    assert await control("log", after=1) == (200, {"calls": []})


@pytest.mark.parametrize("name", ["401", "409", "429", "502", "drop", "cut", "refuse"])
async def test_faults_can_be_queued_and_cleared(sim: TelegramSimulator, control: Control, api: Api, name: str) -> None:
    """Each by its name."""
    assert await control("faults", method="getMe", fault=name, retry_after=9) == (200, {})
    failed = None
    try:
        failed = (await api("getMe")).get("error_code")
    except (aiohttp.ClientError, ValueError):
        failed = "broken"
    await control("faults", method="getMe", fault=name, times=-1)
    await control("clear_faults")

    assert failed == (int(name) if name in {"401", "409", "429"} else "broken")
    assert sim.log[0].fault == name
    assert (await api("getMe"))["ok"] is True


async def test_a_hanging_call_can_be_released(sim: TelegramSimulator, control: Control, api: Api) -> None:
    """From outside as well."""
    await control("faults", method="getMe", fault="hang")
    hung = asyncio.create_task(api("getMe"))
    await sim.wait_for(lambda world: world.hanging())
    await control("release")

    assert (await hung)["ok"] is True


@pytest.mark.parametrize(
    ("verb", "values", "error"),
    [
        ("say", {"text": "x"}, "user is missing"),
        ("say", {"user": 1, "chat": -5, "text": "x"}, "no chat -5"),
        ("say", {"user": 1, "document": {"name": "a", "base64": "?"}}, ""),
        ("press", {"user": 1, "button": "Go"}, "no button 'Go'"),
        ("faults", {"fault": "fire"}, "unknown fault 'fire'; known: 401, 409"),
        ("chat", {"thread": 1}, "chat is missing"),
    ],
)
async def test_a_mistake_is_answered_in_words(control: Control, verb: str, values: JsonObject, error: str) -> None:
    """400 and what is wrong."""
    status, found = await control(verb, **values)

    assert status == 400
    assert error in str(found["error"])


async def test_a_body_that_is_no_object_is_a_mistake_too(sim: TelegramSimulator) -> None:
    """A list, and no JSON at all."""
    async with aiohttp.ClientSession() as session:
        for body in (b"[]", b"{"):
            async with session.post(f"{sim.base_url}/control/say", data=body) as response:
                assert response.status == 400

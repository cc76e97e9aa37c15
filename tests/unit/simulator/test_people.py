"""What people do reaches the bots that Telegram would tell, in the form that it has there."""

from collections.abc import Awaitable, Callable

import pytest

from mtbot.simulator.people import Disguise, Origin
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import JsonObject, Person

Api = Callable[..., Awaitable[JsonObject]]
GROUP = -1001112223334


async def _updates(api: Api, bot: str | None = None) -> list[JsonObject]:
    found = (await api("getUpdates", bot))["result"]
    assert isinstance(found, list)
    return found


async def _messages(api: Api, bot: str | None = None) -> list[JsonObject]:
    return [message for update in await _updates(api, bot) if isinstance(message := update.get("message"), dict)]


def _pick(message: JsonObject, *names: str) -> tuple[object, ...]:
    return tuple(message.get(name) for name in names)


async def test_a_private_chat_belongs_to_one_bot(sim: TelegramSimulator, api: Api) -> None:
    """The other bot neither sees it nor may write into it."""
    await sim.say(1001, None, "for ops")
    await sim.say(1001, 1001, "for shy", bot="@shy_bot")

    assert [message["text"] for message in await _messages(api)] == ["for ops"]
    assert [message["text"] for message in await _messages(api, "shy_bot")] == ["for shy"]
    assert [message.text for message in sim.chat(1001, bot="shy_bot")] == ["for shy"]


async def test_privacy_mode_hears_commands_and_replies_only(sim: TelegramSimulator, api: Api) -> None:
    """Plain talk and mentions do not arrive; commands for another bot neither; service messages do."""
    sim.group(GROUP, members=[1001])
    own = await api("sendMessage", "shy_bot", chat_id=GROUP, text="I am here")
    assert isinstance(own["result"], dict)
    number = own["result"]["message_id"]
    assert isinstance(number, int)
    for text in ("hello", "@shy_bot hello", "/run", "/run@nas_ops_bot x", "😀 /run@Shy_Bot x"):
        await sim.say(1001, GROUP, text)
    await sim.say(1001, GROUP, "yes", reply_to=number)
    sim.topic(GROUP, "t", 1001)

    heard = [message.get("text") for message in await _messages(api, "shy_bot")]
    assert heard == ["/run", "😀 /run@Shy_Bot x", "yes", None]
    assert len(await _messages(api)) == 7


async def test_a_bot_outside_the_group_hears_nothing(sim: TelegramSimulator, api: Api) -> None:
    """Nor a bot that was thrown out."""
    sim.group(GROUP, members=[1001], bots=["nas_ops_bot"])
    await sim.say(1001, GROUP, "/one")
    sim.set_member(GROUP, 7001001, "left")
    await sim.say(1001, GROUP, "/two")

    assert await _messages(api, "shy_bot") == []
    assert [message["text"] for message in await _messages(api)] == ["/one"]
    answer = await api("sendMessage", chat_id=GROUP, text="x")
    assert answer["description"] == "Forbidden: bot is not a member of the supergroup chat"
    assert (await api("sendMessage", "shy_bot", chat_id=GROUP, text="x"))[
        "description"
    ] == "Bad Request: chat not found"


@pytest.mark.parametrize(
    ("disguise", "sender", "chat_type"),
    [
        (Disguise.ANONYMOUS_ADMIN, 1087968824, "supergroup"),
        (Disguise.CHANNEL, 136817688, "channel"),
        (Disguise.LINKED_CHANNEL, 777000, "channel"),
    ],
)
async def test_a_disguise_shows_a_fake_sender(
    sim: TelegramSimulator, api: Api, disguise: Disguise, sender: int, chat_type: str
) -> None:
    """With the chat that really speaks in sender_chat."""
    sim.group(GROUP, members=[1001])
    await sim.say(1001, GROUP, "/run", origin=Origin(disguise))

    (message,) = await _messages(api)
    speaker, chat = message["from"], message["sender_chat"]
    assert isinstance(speaker, dict)
    assert isinstance(chat, dict)
    assert (speaker["id"], chat["type"]) == (sender, chat_type)


async def test_an_anonymous_admin_presses_under_his_own_name(sim: TelegramSimulator, api: Api) -> None:
    """Unlike what he writes."""
    sim.group(GROUP, members=[1001])
    await api(
        "sendMessage",
        chat_id=GROUP,
        text="?",
        reply_markup={"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]},
    )
    await sim.say(1001, GROUP, "hi", origin=Origin(Disguise.ANONYMOUS_ADMIN))
    query = await sim.tap(1001, "g", GROUP)

    press = (await _updates(api))[-1]["callback_query"]
    assert isinstance(press, dict)
    assert isinstance(press["from"], dict)
    assert (press["id"], press["from"]["id"], press["data"]) == (query, 1001, "g")


async def test_a_forward_and_a_bot_say_what_they_are(sim: TelegramSimulator, api: Api) -> None:
    """Origin of the text, is_bot of the sender."""
    await sim.say(1001, None, "/run", origin=Origin(forwarded_from=Person(5, "Stranger")))
    sim.group(GROUP)
    await sim.say(Person(900, "Other", "other_bot", is_bot=True), GROUP, "/run")

    first, second = await _messages(api)
    assert first["forward_origin"] == {
        "type": "user",
        "sender_user": {"id": 5, "is_bot": False, "first_name": "Stranger", "language_code": "en"},
        "date": 1_700_000_000,
    }
    assert second["from"] == {"id": 900, "is_bot": True, "first_name": "Other", "username": "other_bot"}


async def test_a_reply_in_general_carries_the_root_and_is_no_topic_message(sim: TelegramSimulator, api: Api) -> None:
    """The trap of message_thread_id: it is there, and must not be sent back."""
    sim.group(GROUP, members=[1001], forum=True)
    root = await sim.say(1001, GROUP, "root", thread=1)
    reply = await sim.say(1001, GROUP, "reply", reply_to=root)
    await sim.say(1001, GROUP, "deeper", reply_to=reply)

    messages = await _messages(api)
    assert [_pick(message, "message_thread_id", "is_topic_message") for message in messages] == [
        (None, None),
        (root, None),
        (root, None),
    ]
    assert [message.text for message in sim.chat(GROUP, 1)] == ["root", "reply", "deeper"]
    answer = await api("sendMessage", chat_id=GROUP, text="x", message_thread_id=root)
    assert answer["description"] == "Bad Request: message thread not found"


async def test_a_reply_inside_a_topic_stays_in_it_on_both_sides(sim: TelegramSimulator, api: Api) -> None:
    """Also when only the reply says where."""
    sim.group(GROUP, members=[1001], forum=True)
    topic = sim.topic(GROUP, "deploys", 1001)
    asked = await sim.say(1001, GROUP, "asked", thread=topic)
    await sim.say(1001, GROUP, "more", reply_to=asked)
    sent = (await api("sendMessage", chat_id=GROUP, text="told", reply_parameters={"message_id": asked}))["result"]

    assert isinstance(sent, dict)
    assert _pick(sent, "message_thread_id", "is_topic_message") == (topic, True)
    assert [message.text for message in sim.chat(GROUP, topic)] == ["", "asked", "more", "told"]
    assert sim.chat(GROUP, 1) == ()


async def test_a_closed_topic_is_refused(sim: TelegramSimulator, api: Api) -> None:
    """For text and for typing."""
    sim.group(GROUP, members=[1001], forum=True)
    topic = sim.topic(GROUP, "deploys", 1001)
    assert (await api("sendChatAction", chat_id=GROUP, action="typing", message_thread_id=topic))["ok"] is True
    sim.close_topic(GROUP, topic)

    for method, rest in (("sendMessage", {"text": "x"}), ("sendChatAction", {"action": "typing"})):
        answer = await api(method, chat_id=GROUP, message_thread_id=topic, **rest)
        assert answer["description"] == "Bad Request: message thread not found"


async def test_people_edit_only_what_they_wrote(sim: TelegramSimulator, api: Api) -> None:
    """The history keeps the first text; an edit without a change arrives all the same."""
    number = await sim.say(1001, None, "rm")
    await sim.edit(1001, None, number, "ls")
    await sim.edit(1001, None, number, "ls")
    await api("sendMessage", chat_id=1001, text="mine")

    assert [update.keys() - {"update_id"} for update in await _updates(api)] == [{"message"}, *[{"edited_message"}] * 2]
    assert [old.text for old in sim.chat(1001)[0].edits] == ["rm", "ls"]
    with pytest.raises(ValueError, match="only what they wrote"):
        await sim.edit(1001, None, number + 1, "forged")


async def test_a_press_finds_the_newest_button_by_label_data_or_part(sim: TelegramSimulator, api: Api) -> None:
    """And names what there is when it finds none."""
    sim.open(1001)
    for number in (1, 2):
        row = [{"text": "✅ Approve once", "callback_data": f"a{number}"}, {"text": "Docs", "url": "https://e.org"}]
        await api("sendMessage", chat_id=1001, text=f"q{number}", reply_markup={"inline_keyboard": [row]})
    await sim.tap(1001, "approve")
    await sim.tap(1001, "a1")
    await sim.tap(1001, 1)
    await sim.tap(1001, 1, data="forged")

    presses = [update["callback_query"] for update in await _updates(api)]
    assert [press["data"] for press in presses if isinstance(press, dict)] == ["a2", "a1", "a1", "forged"]
    with pytest.raises(LookupError, match="no button 'Deny' in chat 1001; buttons shown: '✅ Approve once'"):
        await sim.tap(1001, "Deny")


async def test_a_press_without_an_answer_times_out(sim: TelegramSimulator, api: Api) -> None:
    """The spinner is seen, not waited for."""
    sim.open(1001)
    await api(
        "sendMessage",
        chat_id=1001,
        text="q",
        reply_markup={"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]},
    )

    with pytest.raises(TimeoutError, match="no answer to press"):
        await sim.press(1001, "Go", timeout=0.01)


async def test_an_alert_is_told_from_a_toast(sim: TelegramSimulator, api: Api) -> None:
    """Both are the answer of the same press."""
    sim.open(1001)
    await api(
        "sendMessage",
        chat_id=1001,
        text="q",
        reply_markup={"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]},
    )
    query = await sim.tap(1001, "Go")
    await api("answerCallbackQuery", callback_query_id=query, text="No", show_alert=True)

    answer = await sim.answer(query)
    assert (answer.text, answer.alert) == ("No", True)


async def test_an_unknown_chat_or_bot_is_the_tests_mistake(sim: TelegramSimulator) -> None:
    """Said in words."""
    with pytest.raises(LookupError, match="no chat -5 of nas_ops_bot"):
        await sim.say(1001, -5, "x")
    with pytest.raises(LookupError, match="no bot 'nobody'"):
        await sim.say(1001, None, "x", bot="nobody")

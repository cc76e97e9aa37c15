"""Bot API methods refuse what the real server refuses, in its words, and change what people see."""

import io
from collections.abc import Awaitable, Callable
from typing import Protocol

import aiohttp
import pytest

from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Attachment, BotAccount, ChatKind, JsonObject, Person

Api = Callable[..., Awaitable[JsonObject]]
GROUP = -1001112223334
KEYBOARD = {"inline_keyboard": [[{"text": "Go", "callback_data": "g"}]]}


class Clock(Protocol):
    """The clock of the fixture."""

    seconds: float


async def _refused(api: Api, method: str, **params: object) -> str:
    answer = await api(method, **params)
    assert answer["ok"] is False
    assert answer["error_code"] == 400
    return str(answer["description"])


async def test_what_people_see_is_what_was_sent(sim: TelegramSimulator, api: Api) -> None:
    """Text, formatting, buttons, reply, silence."""
    asked = await sim.say(1001, None, "q")
    await api(
        "sendMessage",
        chat_id=1001,
        text="<b>Run</b>",
        parse_mode="HTML",
        reply_markup=KEYBOARD,
        reply_parameters={"message_id": asked},
        disable_notification=True,
    )

    shown = sim.chat(1001)[1]
    assert (shown.text, shown.labels, shown.reply_to, shown.silent) == ("Run", ("Go",), asked, True)
    assert [(entity.type, entity.offset, entity.length) for entity in shown.entities] == [("bold", 0, 3)]
    assert shown.sender.username == "nas_ops_bot"


async def test_a_refused_message_is_not_shown_but_logged(sim: TelegramSimulator, api: Api) -> None:
    """The log has the error, the chat nothing."""
    sim.open(1001)
    await _refused(api, "sendMessage", chat_id=1001, text="x" * 4097)

    (record,) = sim.log
    assert record.error is not None
    assert (record.method, record.bot, record.error.code) == ("sendMessage", "nas_ops_bot", 400)
    assert sim.chat(1001) == ()


async def test_chats_are_named_by_number(sim: TelegramSimulator, api: Api) -> None:
    """Nothing, a name and a stranger are refused."""
    assert await _refused(api, "sendMessage", text="x") == "Bad Request: chat_id is empty"
    assert await _refused(api, "sendMessage", chat_id="@chief", text="x") == "Bad Request: chat not found"
    assert await _refused(api, "sendMessage", chat_id=5, text="x") == "Bad Request: chat not found"


async def test_the_legacy_reply_field_still_counts(sim: TelegramSimulator, api: Api) -> None:
    """With its own leave to send without a reply."""
    asked = await sim.say(1001, None, "q")
    await api("sendMessage", chat_id=1001, text="a", reply_to_message_id=asked)
    missing = await _refused(api, "sendMessage", chat_id=1001, text="b", reply_to_message_id=99)
    await api("sendMessage", chat_id=1001, text="c", reply_to_message_id=99, allow_sending_without_reply=True)

    assert missing == "Bad Request: message to be replied not found"
    assert [(message.text, message.reply_to) for message in sim.chat(1001)[1:]] == [("a", asked), ("c", None)]


async def test_an_edit_without_a_change_is_refused(sim: TelegramSimulator, api: Api) -> None:
    """Text and keyboard count, also in editMessageReplyMarkup; a removed keyboard is a change."""
    sim.open(1001)
    await api("sendMessage", chat_id=1001, text="q", reply_markup=KEYBOARD)
    same = {"chat_id": 1001, "message_id": 1}

    assert "message is not modified" in await _refused(api, "editMessageText", text="q", reply_markup=KEYBOARD, **same)
    assert "message is not modified" in await _refused(api, "editMessageReplyMarkup", reply_markup=KEYBOARD, **same)
    assert (await api("editMessageReplyMarkup", **same))["ok"] is True
    assert "message is not modified" in await _refused(api, "editMessageText", text="q", **same)
    (shown,) = sim.chat(1001)
    assert (shown.buttons, [old.buttons[0][0].label for old in shown.edits]) == ((), ["Go"])


async def test_only_own_messages_that_exist_are_edited(sim: TelegramSimulator, api: Api) -> None:
    """Somebody else's, a deleted and an unknown one are refused; so is the text of a file."""
    theirs = await sim.say(1001, None, "x")
    await api("sendMessage", chat_id=1001, text="mine")
    await api("deleteMessage", chat_id=1001, message_id=2)
    await sim.say(1001, None, "y")

    assert await _refused(api, "editMessageText", chat_id=1001, message_id=theirs, text="z") == (
        "Bad Request: message can't be edited"
    )
    for number in (2, 99):
        assert await _refused(api, "editMessageText", chat_id=1001, message_id=number, text="z") == (
            "Bad Request: message to edit not found"
        )


async def test_a_caption_is_edited_where_there_is_a_file(sim: TelegramSimulator, api: Api) -> None:
    """And text where there is none."""
    await sim.say(1001, None, attach=Attachment(b"x"))
    await api("sendDocument", chat_id=1001, document="document-1", caption="old")
    await api("sendMessage", chat_id=1001, text="old")
    await api("editMessageCaption", chat_id=1001, message_id=2, caption="new")

    assert await _refused(api, "editMessageText", chat_id=1001, message_id=2, text="x") == (
        "Bad Request: there is no text in the message to edit"
    )
    assert await _refused(api, "editMessageCaption", chat_id=1001, message_id=3, caption="x") == (
        "Bad Request: there is no caption in the message to edit"
    )
    assert [message.text for message in sim.chat(1001)] == ["", "new", "old"]


async def test_replies_across_chats_are_refused(sim: TelegramSimulator, api: Api) -> None:
    """The same chat may be named."""
    asked = await sim.say(1001, None, "q")
    here = {"message_id": asked, "chat_id": 1001}
    assert (await api("sendMessage", chat_id=1001, text="a", reply_parameters=here))["ok"] is True
    elsewhere = {"message_id": asked, "chat_id": 5, "allow_sending_without_reply": True}

    assert "replies to other chats" in await _refused(
        api, "sendMessage", chat_id=1001, text="a", reply_parameters=elsewhere
    )


async def test_a_bots_reply_outside_topics_carries_the_root_of_the_chain(sim: TelegramSimulator, api: Api) -> None:
    """As people's replies do; in a basic group it carries nothing."""
    sim.group(GROUP, members=[1001])
    sim.group(-7, members=[1001], kind=ChatKind.GROUP)
    root = await sim.say(1001, GROUP, "root")
    reply = await sim.say(1001, GROUP, "reply", reply_to=root)
    plain = await sim.say(1001, -7, "plain")
    await api("sendMessage", chat_id=GROUP, text="a", reply_parameters={"message_id": reply})
    await api("sendMessage", chat_id=-7, text="a", reply_parameters={"message_id": plain})

    assert [(sim.chat(chat)[-1].thread, sim.chat(chat)[-1].in_topic) for chat in (GROUP, -7)] == [
        (root, False),
        (None, False),
    ]


async def test_formatting_comes_back_with_its_address_and_language(sim: TelegramSimulator, api: Api) -> None:
    """In the result, as in what people see."""
    sim.open(1001)
    entities = [
        {"type": "text_link", "offset": 0, "length": 1, "url": "http://e.org/"},
        {"type": "pre", "offset": 2, "length": 1, "language": "sh"},
    ]
    sent = (await api("sendMessage", chat_id=1001, text="a b", entities=entities))["result"]

    assert isinstance(sent, dict)
    assert sent["entities"] == entities


async def test_a_bot_cannot_write_to_a_bot(sim: TelegramSimulator, api: Api) -> None:
    """Not even after it was written to."""
    await sim.say(Person(900, "Other", "other_bot", is_bot=True), None, "hi")

    answer = await api("sendMessage", chat_id=900, text="x")
    assert (answer["error_code"], answer["description"]) == (403, "Forbidden: bot can't send messages to bots")


async def test_the_menu_can_be_taken_away(sim: TelegramSimulator, api: Api) -> None:
    """Nothing is left of it."""
    await api("setMyCommands", commands=[{"command": "a", "description": "b"}])
    assert sim.bot().commands == (("a", "b"),)
    await api("deleteMyCommands")

    assert (await api("getMyCommands"))["result"] == []


async def test_a_press_is_answered_once_in_time_and_by_its_own_bot(
    sim: TelegramSimulator, api: Api, clock: Clock
) -> None:
    """A second answer, a late one, a stranger's and an invented one get the same words."""
    sim.open(1001)
    await api("sendMessage", chat_id=1001, text="q", reply_markup=KEYBOARD)
    first, late, other = [await sim.tap(1001, "Go") for _ in range(3)]
    gone = "Bad Request: query is too old and response timeout expired or query ID is invalid"

    assert (await api("answerCallbackQuery", callback_query_id=first))["result"] is True
    assert await _refused(api, "answerCallbackQuery", callback_query_id=first) == gone
    assert (await api("answerCallbackQuery", "shy_bot", callback_query_id=other))["description"] == gone
    assert await _refused(api, "answerCallbackQuery", callback_query_id="77") == gone
    clock.seconds += 15.5
    assert await _refused(api, "answerCallbackQuery", callback_query_id=late) == gone
    sim.set_query_lifetime(60)
    assert (await api("answerCallbackQuery", callback_query_id=late))["result"] is True


async def test_deletion_ends_after_two_days_and_at_other_peoples_messages(
    sim: TelegramSimulator, api: Api, clock: Clock
) -> None:
    """In a group only an administrator deletes what others wrote."""
    sim.group(GROUP, members=[1001])
    theirs = await sim.say(1001, GROUP, "x")
    await api("sendMessage", chat_id=GROUP, text="mine")
    assert await _refused(api, "deleteMessage", chat_id=GROUP, message_id=theirs) == (
        "Bad Request: message can't be deleted"
    )
    sim.set_member(GROUP, 7001001, "administrator")
    assert (await api("deleteMessage", chat_id=GROUP, message_id=theirs))["ok"] is True
    clock.seconds += 48 * 3600 + 1
    assert await _refused(api, "deleteMessage", chat_id=GROUP, message_id=theirs + 1) == (
        "Bad Request: message can't be deleted for everyone"
    )
    assert await _refused(api, "deleteMessage", chat_id=GROUP, message_id=theirs) == (
        "Bad Request: message to delete not found"
    )


async def test_drafts_are_for_private_chats_and_can_be_unknown(sim: TelegramSimulator, api: Api) -> None:
    """Switched off the method is a 404, as on an older server."""
    sim.open(1001)
    sim.group(GROUP)

    assert (await api("sendMessageDraft", chat_id=1001, draft_id=1, text="so far"))["result"] is True
    refused = await _refused(api, "sendMessageDraft", chat_id=GROUP, draft_id=1, text="x")
    assert refused == "Bad Request: TEXTDRAFT_PEER_INVALID"
    assert await _refused(api, "sendMessageDraft", chat_id=1001, text="x") == "Bad Request: draft_id must be non-zero"
    sim.set_drafts(False)
    assert (await api("sendMessageDraft", chat_id=1001, draft_id=1, text="x"))["error_code"] == 404
    assert (await api("inventSomething"))["error_code"] == 404
    assert sim.chat(1001) == ()


async def test_a_draft_is_shown_until_a_message_or_half_a_minute(api: Api, sim: TelegramSimulator) -> None:
    """The newest one counts; a message to the same topic takes its place, one to another does not."""
    sim.open(1001)
    assert sim.draft(1001) is None
    await api("sendMessageDraft", chat_id=1001, draft_id=7, text="")
    await api("sendMessageDraft", chat_id=1001, draft_id=7, text="so far ")
    shown = sim.draft(1001)
    assert shown is not None
    assert (shown.number, shown.text) == (7, "so far")
    assert await _refused(api, "sendMessageDraft", chat_id=1001, draft_id=7, text="x" * 4097) == (
        "Bad Request: message is too long"
    )
    thread = await _refused(api, "sendMessageDraft", chat_id=1001, draft_id=7, text="x", message_thread_id=9)
    assert thread == "Bad Request: message thread not found"
    await api("sendMessage", chat_id=1001, text="whole")
    assert sim.draft(1001) is None


async def test_files_are_refused_when_empty_unknown_or_large(sim: TelegramSimulator, api: Api) -> None:
    """A photo of 10 MiB and a byte is too large where a document is not."""
    sim.open(1001)
    big = b"x" * (10 * 1024 * 1024 + 1)
    url = f"{sim.base_url}/bot{sim.token()}"

    async with aiohttp.ClientSession() as session:

        async def send(kind: str, data: bytes, field: str | None = None) -> object:
            form = aiohttp.FormData({"chat_id": "1001"})
            if field is not None:
                form.add_field(kind, f"attach://{field}")
            form.add_field(field or kind, io.BytesIO(data), filename="f.bin")
            async with session.post(f"{url}/send{kind.title()}", data=form) as response:
                found = await response.json()
                return found.get("description")

        assert await send("photo", big) == "Request Entity Too Large"
        assert await send("document", big) is None
        assert await send("document", b"by reference", "part7") is None
        assert await send("document", b"") == "Bad Request: file must be non-empty"
    assert await _refused(api, "sendDocument", chat_id=1001, document="nothing") == (
        "Bad Request: wrong file identifier/HTTP URL specified"
    )
    assert (await api("sendDocument", chat_id=1001, document="document-2"))["ok"] is True
    attached = [message.attachment.data for message in sim.chat(1001)[1:] if message.attachment]
    assert attached == [b"by reference", b"by reference"]
    assert await _refused(api, "getFile", file_id="nothing") == (
        "Bad Request: wrong file_id or the file is temporarily unavailable"
    )


async def test_a_missing_file_is_not_found_and_a_wrong_token_opens_none(sim: TelegramSimulator) -> None:
    """The download address holds the token."""
    async with aiohttp.ClientSession() as session:
        for token, status in ((sim.token(), 404), ("1:x", 401)):
            async with session.get(f"{sim.base_url}/file/bot{token}/documents/file_9") as response:
                assert response.status == status


async def test_membership_is_answered_by_status(sim: TelegramSimulator, api: Api) -> None:
    """A stranger is no participant."""
    sim.group(GROUP, members=[1001])
    for status in ("member", "administrator", "creator", "left", "kicked"):
        sim.set_member(GROUP, 1001, status)
        found = (await api("getChatMember", chat_id=GROUP, user_id=1001))["result"]
        assert isinstance(found, dict)
        assert found["status"] == status
    assert await _refused(api, "getChatMember", chat_id=GROUP, user_id=4) == "Bad Request: PARTICIPANT_ID_INVALID"


async def test_leaving_a_chat_ends_the_right_to_write(sim: TelegramSimulator, api: Api) -> None:
    """403 from then on."""
    sim.group(GROUP, kind=ChatKind.GROUP)
    assert (await api("leaveChat", chat_id=GROUP))["result"] is True

    assert (await api("sendMessage", chat_id=GROUP, text="x"))["error_code"] == 403


async def test_a_webhook_stops_polling_until_it_is_deleted(sim: TelegramSimulator, api: Api) -> None:
    """Deletion may drop what waits."""
    await sim.say(1001, None, "x")
    await api("setWebhook", url="https://example.org/hook")
    assert (await api("getUpdates"))["error_code"] == 409
    info = (await api("getWebhookInfo"))["result"]
    assert isinstance(info, dict)
    assert (info["url"], info["pending_update_count"]) == ("https://example.org/hook", 1)
    await api("deleteWebhook", drop_pending_updates=True)

    assert (await api("getUpdates"))["result"] == []


@pytest.mark.parametrize(("token", "status"), [("7001001:wrong", 401), ("nonsense", 404)])
async def test_unknown_tokens_are_401_and_malformed_ones_404(sim: TelegramSimulator, token: str, status: int) -> None:
    """As on the real server; the log keeps neither."""
    async with aiohttp.ClientSession() as session, session.get(f"{sim.base_url}/bot{token}/getMe") as response:
        assert (response.status, (await response.json())["ok"]) == (status, False)
    assert sim.log == ()


def test_a_bot_without_a_name_gets_one_from_its_number() -> None:
    """So that several tokens give several bots."""
    person = BotAccount("55:x").person
    assert (person.id, person.username, person.is_bot) == (55, "sim55_bot", True)


async def test_a_whole_conversation_survives_a_restart_of_the_server(sim: TelegramSimulator, api: Api) -> None:
    """Stopped and started again, the world goes on where it was."""
    await sim.say(1001, None, "before")
    await sim.stop()
    await sim.say(1001, None, "meanwhile")
    await sim.start()

    found = (await api("getUpdates"))["result"]
    assert isinstance(found, list)
    assert [update["message"]["text"] for update in found] == ["before", "meanwhile"]

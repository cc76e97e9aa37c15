"""The simulator seen by a Telegram client that this project did not write.

What python-telegram-bot understands, refuses and raises here is what it would against the public server.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from telegram import Bot, BotCommand, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReplyParameters, Update
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TimedOut,
)
from telegram.ext import Application, CallbackQueryHandler, CommandHandler, ContextTypes
from telegram.request import HTTPXRequest

from mtbot.simulator import faults
from mtbot.simulator.people import attachment
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Attachment, AttachmentKind, BotAccount, ChatKind, Person

TOKEN = "7001001:AAA-for-tests"
CHIEF = Person(1001, "Chief", "chief_of_nas")
GROUP = -1001112223334


@asynccontextmanager
async def _client(sim: TelegramSimulator, token: str = TOKEN, read_timeout: float = 5.0) -> AsyncIterator[Bot]:
    request = HTTPXRequest(read_timeout=read_timeout, httpx_kwargs={"trust_env": False})
    polls = HTTPXRequest(read_timeout=read_timeout, httpx_kwargs={"trust_env": False})
    bot = Bot(token, f"{sim.base_url}/bot", f"{sim.base_url}/file/bot", request, polls)
    try:
        yield bot
    finally:
        await request.shutdown()
        await polls.shutdown()


@pytest.fixture
async def sim() -> AsyncIterator[TelegramSimulator]:
    """A running simulator with one bot."""
    async with TelegramSimulator([BotAccount(TOKEN, "nas_ops_bot", "Ops")]) as running:
        yield running


async def test_get_me_names_the_account_of_the_token(sim: TelegramSimulator) -> None:
    """The account is the one that was registered for the token."""
    async with _client(sim) as bot:
        me = await bot.get_me()

    assert (me.id, me.username, me.first_name, me.is_bot) == (7001001, "nas_ops_bot", "Ops", True)
    assert me.can_read_all_group_messages is True


async def test_a_message_is_received_and_confirmed_by_the_next_offset(sim: TelegramSimulator) -> None:
    """An update comes again until an offset confirms it, and never after that."""
    number = await sim.say(CHIEF, None, "/start now")
    async with _client(sim) as bot:
        first = await bot.get_updates(timeout=5)
        again = await bot.get_updates(timeout=0)
        after = await bot.get_updates(offset=first[0].update_id + 1, timeout=0)

    assert first == again
    assert after == ()
    message = first[0].message
    assert message is not None
    assert message.from_user is not None
    assert (message.message_id, message.text, message.from_user.username) == (number, "/start now", "chief_of_nas")
    assert message.entities == (MessageEntity("bot_command", 0, 6),)


async def test_a_poll_that_waits_is_woken_by_a_message(sim: TelegramSimulator) -> None:
    """Long polling answers when something happens, not when the time is up."""
    async with _client(sim, read_timeout=30) as bot:
        poll = asyncio.create_task(bot.get_updates(timeout=30))
        await sim.wait_for(lambda world: world.bot().queue.is_polled)
        await sim.say(CHIEF, None, "wake")
        updates = await asyncio.wait_for(poll, 5)

    assert [update.message.text for update in updates if update.message] == ["wake"]


async def test_buttons_are_pressed_answered_and_edited(sim: TelegramSimulator) -> None:
    """A question, a press, a toast and an edit: the road of every approval."""
    sim.open(CHIEF)
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("✅ Approve once", callback_data="a:K7QD:1")]])
    async with _client(sim) as bot:
        question = await bot.send_message(CHIEF.id, "Run this?", reply_markup=markup)
        assert question.reply_markup == markup
        press = asyncio.create_task(sim.press(CHIEF, "Approve once"))
        (update,) = await bot.get_updates(timeout=5, allowed_updates=["callback_query"])
        query = update.callback_query
        assert query is not None
        assert (query.data, query.from_user.id) == ("a:K7QD:1", CHIEF.id)
        assert query.message is not None
        assert query.message.message_id == question.message_id
        assert await bot.answer_callback_query(query.id, "Approved") is True
        assert await press == "Approved"
        edited = await bot.edit_message_text("Approved by Chief", CHIEF.id, question.message_id)
        assert not isinstance(edited, bool)
        assert edited.reply_markup is None
        with pytest.raises(BadRequest, match="Query is too old"):
            await bot.answer_callback_query(query.id, "once more")
        with pytest.raises(BadRequest, match="Message is not modified"):
            await bot.edit_message_text("Approved by Chief", CHIEF.id, question.message_id)

    (shown,) = sim.chat(CHIEF.id)
    assert (shown.text, shown.buttons, [old.text for old in shown.edits]) == ("Approved by Chief", (), ["Run this?"])


async def test_a_press_on_an_old_message_comes_without_its_content(sim: TelegramSimulator) -> None:
    """The client reads such a message as inaccessible."""
    sim.open(CHIEF)
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data="g")]])
    async with _client(sim) as bot:
        question = await bot.send_message(CHIEF.id, "Old", reply_markup=markup)
        await sim.tap(CHIEF, question.message_id, inaccessible=True)
        (update,) = await bot.get_updates(timeout=5)

    assert update.callback_query is not None
    assert update.callback_query.message is not None
    assert update.callback_query.message.is_accessible is False


async def test_documents_go_up_and_down_unchanged(sim: TelegramSimulator) -> None:
    """Bytes survive both ways; the name of a download is not the sender's."""
    body = bytes(range(256)) * 40
    await sim.say(CHIEF, None, "see this", attach=attachment("../report.pdf", body))
    async with _client(sim) as bot:
        (update,) = await bot.get_updates(timeout=5)
        assert update.message is not None
        document = update.message.document
        assert document is not None
        assert (document.file_name, document.mime_type, document.file_size) == (
            "../report.pdf",
            "application/pdf",
            10240,
        )
        file = await bot.get_file(document.file_id)
        assert bytes(await file.download_as_bytearray()) == body
        sent = await bot.send_document(CHIEF.id, body, filename="out.bin", caption="<b>all</b>", parse_mode="HTML")
        photo = await bot.send_photo(CHIEF.id, b"\x89PNG\r\n\x1a\n", filename="p.png")

    assert sent.document is not None
    assert sent.document.file_name == "out.bin"
    assert sent.caption_entities == (MessageEntity("bold", 0, 3),)
    assert len(photo.photo) == 2
    shown = sim.chat(CHIEF.id)[1]
    assert shown.attachment is not None
    assert (shown.text, shown.attachment.data) == ("all", body)


async def test_a_file_over_twenty_megabytes_cannot_be_fetched(sim: TelegramSimulator) -> None:
    """The size is in the update, the refusal at getFile."""
    await sim.say(CHIEF, None, attach=Attachment(b"x", "big.iso", claimed_size=25 * 1024 * 1024))
    async with _client(sim) as bot:
        (update,) = await bot.get_updates(timeout=5)
        assert update.message is not None
        assert update.message.document is not None
        assert update.message.document.file_size == 25 * 1024 * 1024
        with pytest.raises(BadRequest, match="File is too big"):
            await bot.get_file(update.message.document.file_id)


async def test_photo_voice_album_and_edit_are_understood(sim: TelegramSimulator) -> None:
    """Each kind of content arrives as the client's own type."""
    await sim.say(CHIEF, None, attach=Attachment(b"OggS", "v.ogg", AttachmentKind.VOICE, "audio/ogg"))
    photo = Attachment(b"\xff\xd8", "p.jpg", AttachmentKind.PHOTO, "image/jpeg")
    await sim.album(CHIEF, None, [photo, photo], "two")
    number = await sim.say(CHIEF, None, "teh")
    await sim.edit(CHIEF, None, number, "the")
    async with _client(sim) as bot:
        updates = await bot.get_updates(timeout=5)

    messages = [update.message for update in updates if update.message]
    assert messages[0].voice is not None
    assert [(message.media_group_id, message.caption) for message in messages[1:3]] == [
        ("album-1", "two"),
        ("album-1", None),
    ]
    assert updates[-1].edited_message is not None
    assert (updates[-1].edited_message.message_id, updates[-1].edited_message.text) == (number, "the")


async def test_faults_become_the_clients_own_errors(sim: TelegramSimulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """401, 409, 429 and 502 are told apart, and the wait of a 429 is readable."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")  # the client's coming behaviour; its old one warns
    sim.open(CHIEF)
    sim.fault("getMe", faults.unauthorized())
    sim.fault("getUpdates", faults.conflict())
    sim.fault("sendMessage", faults.too_many(17))
    sim.fault("sendMessage", faults.bad_gateway())
    sim.fault("sendMessage", faults.refuse())
    sim.fault("sendMessage", faults.drop())
    async with _client(sim) as bot:
        with pytest.raises(InvalidToken):
            await bot.get_me()
        with pytest.raises(Conflict, match="terminated by other getUpdates"):
            await bot.get_updates(timeout=0)
        with pytest.raises(RetryAfter) as caught:
            await bot.send_message(CHIEF.id, "429")
        with pytest.raises(NetworkError, match="Bad Gateway"):
            await bot.send_message(CHIEF.id, "502")
        with pytest.raises(NetworkError):
            await bot.send_message(CHIEF.id, "refused")
        with pytest.raises(NetworkError):
            await bot.send_message(CHIEF.id, "dropped")
        await bot.send_message(CHIEF.id, "fine")

    assert caught.value.retry_after == timedelta(seconds=17)
    assert [message.text for message in sim.chat(CHIEF.id)] == ["dropped", "fine"]


async def test_a_hanging_call_times_out_at_the_client(sim: TelegramSimulator) -> None:
    """Nothing is performed for a client that gave up."""
    sim.open(CHIEF)
    sim.fault("sendMessage", faults.hang())
    async with _client(sim, read_timeout=0.05) as bot:
        with pytest.raises(TimedOut):
            await bot.send_message(CHIEF.id, "never")
    await sim.wait_for(lambda world: world.hanging() == 0)

    assert sim.chat(CHIEF.id) == ()


async def test_an_unknown_token_is_refused(sim: TelegramSimulator) -> None:
    """Another token than the registered ones opens nothing."""
    async with _client(sim, "7001001:AAA-wrong") as bot:
        with pytest.raises(InvalidToken):
            await bot.get_me()


async def test_two_polls_of_one_token_conflict_and_the_older_one_ends(sim: TelegramSimulator) -> None:
    """The newer poll lives, as on the public server."""
    async with _client(sim, read_timeout=30) as old, _client(sim) as new:
        poll = asyncio.create_task(old.get_updates(timeout=30))
        await sim.wait_for(lambda world: world.bot().queue.is_polled)
        assert await new.get_updates(timeout=0) == ()
        with pytest.raises(Conflict, match="only one bot instance"):
            await poll


async def test_a_migrated_group_names_its_new_id(sim: TelegramSimulator) -> None:
    """In the error of who uses the old id, and in two service messages."""
    sim.group(-500, "old", members=[CHIEF], kind=ChatKind.GROUP)
    sim.migrate(-500, GROUP, CHIEF)
    async with _client(sim) as bot:
        with pytest.raises(ChatMigrated) as caught:
            await bot.send_message(-500, "hello")
        updates = await bot.get_updates(timeout=5)
        await bot.send_message(GROUP, "hello")

    assert caught.value.new_chat_id == GROUP
    messages = [update.message for update in updates if update.message]
    assert [(m.chat_id, m.migrate_to_chat_id, m.migrate_from_chat_id) for m in messages] == [
        (-500, GROUP, None),
        (GROUP, None, -500),
    ]


async def test_blocked_kicked_and_unknown_chats_are_refused(sim: TelegramSimulator) -> None:
    """Each with the error that says what to do about it."""
    sim.open(CHIEF)
    sim.block(CHIEF)
    sim.group(GROUP, members=[CHIEF, 1002])
    sim.set_member(GROUP, 7001001, "kicked")
    async with _client(sim) as bot:
        with pytest.raises(Forbidden, match="blocked by the user"):
            await bot.send_message(CHIEF.id, "x")
        with pytest.raises(Forbidden, match="kicked"):
            await bot.send_message(GROUP, "x")
        with pytest.raises(Forbidden, match="initiate conversation"):
            await bot.send_message(1002, "x")
        with pytest.raises(BadRequest, match="Chat not found"):
            await bot.send_message(99, "x")


async def test_topics_replies_and_general_are_kept_apart(sim: TelegramSimulator) -> None:
    """A topic's message says so; General's id 1 is refused; a reply to a deleted message needs leave."""
    sim.group(GROUP, members=[CHIEF], forum=True)
    topic = sim.topic(GROUP, "deploys", CHIEF)
    asked = await sim.say(CHIEF, GROUP, "/run", thread=topic)
    gone = await sim.say(CHIEF, GROUP, "gone", thread=topic)
    await sim.delete(CHIEF, GROUP, gone)
    async with _client(sim) as bot:
        updates = await bot.get_updates(timeout=5)
        sent = await bot.send_message(GROUP, "here", message_thread_id=topic, reply_parameters=ReplyParameters(asked))
        with pytest.raises(BadRequest, match="thread not found"):
            await bot.send_message(GROUP, "x", message_thread_id=1)
        with pytest.raises(BadRequest, match="to be replied not found"):
            await bot.send_message(GROUP, "x", reply_parameters=ReplyParameters(gone))
        lenient = ReplyParameters(gone, allow_sending_without_reply=True)
        plain = await bot.send_message(GROUP, "x", reply_parameters=lenient)

    first = updates[1].message
    assert first is not None
    assert (first.message_thread_id, first.is_topic_message) == (topic, True)
    assert first.reply_to_message is not None
    assert first.reply_to_message.forum_topic_created is not None
    assert (sent.message_thread_id, sent.is_topic_message) == (topic, True)
    assert sent.reply_to_message is not None
    assert sent.reply_to_message.message_id == asked
    assert plain.reply_to_message is None


async def test_the_small_methods_answer_what_the_client_expects(sim: TelegramSimulator) -> None:
    """Menu, chat, member, action, webhook, draft, deletion."""
    sim.group(GROUP, "ops", members=[CHIEF])
    sim.open(CHIEF)
    async with _client(sim) as bot:
        assert await bot.set_my_commands([BotCommand("status", "What goes on")]) is True
        assert await bot.get_my_commands() == (BotCommand("status", "What goes on"),)
        assert (await bot.get_chat(GROUP)).title == "ops"
        assert (await bot.get_chat_member(GROUP, CHIEF.id)).status == "member"
        sim.set_member(GROUP, CHIEF, "administrator")
        assert (await bot.get_chat_member(GROUP, CHIEF.id)).status == "administrator"
        assert await bot.send_chat_action(CHIEF.id, "typing") is True
        assert await bot.delete_webhook() is True
        assert (await bot.get_webhook_info()).url == ""
        assert await bot.send_message_draft(CHIEF.id, 7, "so far") is True
        sent = await bot.send_message(CHIEF.id, "soon gone", disable_notification=True)
        assert sim.chat(CHIEF.id)[0].silent is True
        assert await bot.delete_message(CHIEF.id, sent.message_id) is True

    assert sim.chat(CHIEF.id) == ()


async def test_an_application_built_on_the_client_runs_against_it(sim: TelegramSimulator) -> None:
    """The client's own polling loop, handlers and shutdown work unchanged."""

    async def start(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        assert update.effective_message is not None
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data="go")]])
        await update.effective_message.reply_text("Ready?", reply_markup=keyboard)

    async def pressed(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        assert update.callback_query is not None
        await update.callback_query.answer("gone")
        await update.callback_query.edit_message_text("Went.")

    request = HTTPXRequest(httpx_kwargs={"trust_env": False})
    polls = HTTPXRequest(httpx_kwargs={"trust_env": False})
    builder = Application.builder().token(TOKEN).base_url(f"{sim.base_url}/bot")
    app = builder.request(request).get_updates_request(polls).build()
    app.add_handler(CommandHandler("start", start))
    app.add_handler(CallbackQueryHandler(pressed))
    async with app:
        assert app.updater is not None
        await app.updater.start_polling(allowed_updates=["message", "callback_query"])
        await app.start()
        await sim.say(CHIEF, None, "/start")
        await sim.shown(CHIEF.id, "Ready?")
        assert await sim.press(CHIEF, "Go") == "gone"
        await sim.shown(CHIEF.id, "Went.")
        await app.updater.stop()
        await app.stop()

    assert sim.chat(CHIEF.id)[-1].edits[0].text == "Ready?"

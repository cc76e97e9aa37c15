"""Our reading of updates against aiogram's own, and what it does with what neither of them expects."""

from typing import cast

import pytest
from pydantic import ValidationError

from mtbot.channels.telegram.translate import Me, translate
from mtbot.channels.telegram.updates import Message, Update
from mtbot.domain.ids import BotName

# isort: split
from aiogram.types import Update as WholeUpdate

ME = Me(BotName("ops"), 7, "nas_ops_bot")
CHIEF: dict[str, object] = {
    "id": 1001,
    "is_bot": False,
    "first_name": "Chief",
    "language_code": "en",
    "is_premium": True,
}
BOT: dict[str, object] = {"id": 7, "is_bot": True, "first_name": "Ops", "username": "nas_ops_bot"}
PRIVATE: dict[str, object] = {"id": 1001, "type": "private", "first_name": "Chief"}
GROUP: dict[str, object] = {"id": -1001112223334, "type": "supergroup", "title": "ops", "is_forum": True}
FILE: dict[str, object] = {"file_id": "f", "file_unique_id": "u"}
PICTURE: dict[str, object] = {**FILE, "width": 9, "height": 9}
MOVING: dict[str, object] = {**PICTURE, "duration": 3}

BODIES: dict[str, dict[str, object]] = {
    "text": {"text": "hello", "link_preview_options": {"is_disabled": True}},
    "command": {"text": "/new@nas_ops_bot now", "entities": [{"type": "bot_command", "offset": 0, "length": 16}]},
    "mention": {"text": "😀 @nas_ops_bot go", "entities": [{"type": "mention", "offset": 3, "length": 12}]},
    "named": {"text": "Ops go", "entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": BOT}]},
    "link": {"text": "see", "entities": [{"type": "text_link", "offset": 0, "length": 3, "url": "https://a.example/"}]},
    "topic": {"text": "here", "message_thread_id": 9, "is_topic_message": True},
    "general": {"text": "here", "message_thread_id": 1, "is_topic_message": True},
    "reply": {
        "text": "and?",
        "reply_to_message": {"message_id": 4, "date": 1, "chat": GROUP, "from": BOT, "text": "x"},
    },
    "quote": {"text": "and?", "reply_to_message": {"message_id": 4, "date": 1, "chat": GROUP, "from": CHIEF}},
    "document": {
        "caption": "this",
        "document": {**FILE, "file_name": "a.txt", "mime_type": "text/plain", "file_size": 3},
    },
    "photo": {"photo": [{**PICTURE, "file_size": 1}, {**PICTURE, "width": 90}], "media_group_id": "77"},
    "animation": {"animation": MOVING, "document": FILE},
    "voice": {"voice": {**FILE, "duration": 3}},
    "round": {"video_note": {**FILE, "length": 9, "duration": 3}},
    "audio": {"audio": {**FILE, "duration": 3}, "caption": "listen"},
    "video": {"video": MOVING},
    "sticker": {"sticker": {**PICTURE, "type": "regular", "is_animated": False, "is_video": False}},
    "contact": {"contact": {"phone_number": "1", "first_name": "x"}},
    "location": {"location": {"latitude": 1.0, "longitude": 1.0}},
    "dice": {"dice": {"emoji": "🎲", "value": 3}},
    "on behalf": {"text": "hello", "sender_chat": {"id": -5, "type": "channel", "title": "news"}},
    "forward": {"text": "hello", "forward_origin": {"type": "hidden_user", "sender_user_name": "x", "date": 1}},
    "by way of a bot": {"text": "hello", "via_bot": {**BOT, "id": 9}},
    "in a business's name": {"text": "hello", "sender_business_bot": {**BOT, "id": 9}},
    "moved away": {"migrate_to_chat_id": -1009},
    "moved here": {"migrate_from_chat_id": -9},
    "joined": {"new_chat_members": [BOT]},
}


def both(update: dict[str, object]) -> tuple[object, object]:
    """What an update means, as it is read here and by aiogram's models, whose fields have the same names."""
    raw = {"update_id": 5, **update}
    return translate(Update.model_validate(raw), ME), translate(cast("Update", WholeUpdate.model_validate(raw)), ME)


@pytest.mark.parametrize("name", list(BODIES))
def test_a_message_means_what_aiogram_reads_in_it(name: str) -> None:
    """In a private chat and in a group, new and edited, by a person, a bot, and nobody."""
    for chat in (PRIVATE, GROUP, {"id": -5, "type": "channel", "title": "news"}):
        for sender in ({"from": CHIEF}, {"from": BOT}, {}):
            body = {"message_id": 6, "date": 1, "chat": chat, **sender, **BODIES[name]}
            for kind in ("message", "edited_message"):
                ours, theirs = both({kind: body})
                assert ours == theirs


@pytest.mark.parametrize("name", ["text", "topic", "photo"])
def test_a_press_means_what_aiogram_reads_in_it(name: str) -> None:
    """On a message of the bot, with its data, by a person and by a bot."""
    for sender in (CHIEF, BOT):
        body = {"message_id": 6, "date": 1, "chat": GROUP, "from": BOT, **BODIES[name]}
        query = {"id": "1", "from": sender, "chat_instance": "2", "data": "x:1", "message": body}
        ours, theirs = both({"callback_query": query})
        assert ours == theirs
        assert (ours is None) is (sender is BOT)


def test_a_forward_of_an_older_server_is_one() -> None:
    """Before Bot API 7.0 a forward had its date and no origin; here too it must not start anything."""
    message = {"message_id": 6, "date": 1, "chat": PRIVATE, "from": CHIEF, "text": "rm -rf /", "forward_date": 1}
    assert translate(Update.model_validate({"update_id": 5, "message": message}), ME) is None


def test_what_a_newer_server_says_besides_is_passed_over() -> None:
    """A field, a kind of entity and a kind of chat that nobody knew when this was written."""
    body = {
        "message_id": 6,
        "chat": {**PRIVATE, "mood": {"colour": 1}},
        "from": {**CHIEF, "rank": [1]},
        "text": "hello",
        "entities": [{"type": "sparkle", "offset": 0, "length": 1, "shade": 3}],
        "hologram": {"depth": "much"},
        "link_preview_options": "a word where an object was",
    }
    found = translate(Update.model_validate({"update_id": 5, "message": body}), ME)
    assert getattr(found, "text", None) == "hello"


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": {**CHIEF, "id": "1001"}},
        {"from": {**CHIEF, "id": True}},
        {"from": {**CHIEF, "id": 1001.0}},
        {"from": {**CHIEF, "is_bot": 0}},
        {"chat": {**PRIVATE, "id": None}},
        {"text": 5},
        {"entities": [{"type": "mention", "offset": -1, "length": 2}]},
        {"message_id": "6"},
    ],
    ids=str,
)
def test_what_decides_must_be_of_its_own_type(wrong: dict[str, object]) -> None:
    """An identity is a number and nothing that could be made into one."""
    with pytest.raises(ValidationError):
        Message.model_validate({"message_id": 6, "chat": PRIVATE, "from": CHIEF, "text": "hello", **wrong})

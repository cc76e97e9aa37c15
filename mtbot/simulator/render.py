"""Write people, chats and messages as the JSON objects of the Bot API."""

from mtbot.simulator.state import Room
from mtbot.simulator.values import Attachment, AttachmentKind, ChatKind, JsonObject, Message, Person


def person_json(person: Person) -> JsonObject:
    """A User object."""
    found: JsonObject = {"id": person.id, "is_bot": person.is_bot, "first_name": person.name}
    if person.username:
        found["username"] = person.username
    if not person.is_bot:
        found["language_code"] = "en"
    return found


def chat_json(room: Room) -> JsonObject:
    """A Chat object."""
    found: JsonObject = {"id": room.id, "type": room.kind.value}
    if room.kind is ChatKind.PRIVATE:
        found["first_name"] = room.title
        if room.username:
            found["username"] = room.username
    else:
        found["title"] = room.title
        if room.forum:
            found["is_forum"] = True
    return found


def message_json(room: Room, message: Message, *, nested: bool = False) -> JsonObject:
    """A Message object; the message that it replies to is included one level deep."""
    found: JsonObject = {
        "message_id": message.id,
        "date": message.date,
        "chat": chat_json(room),
        "from": person_json(message.sender),
    }
    found.update(message.extra)
    entities = [entity.json() for entity in message.entities]
    if message.attachment is not None:
        found.update(attachment_json(message.attachment))
        if message.text:
            found["caption"] = message.text
        if entities:
            found["caption_entities"] = entities
    elif message.text:
        found["text"] = message.text
        if entities:
            found["entities"] = entities
    if message.thread is not None:
        found["message_thread_id"] = message.thread
    if message.in_topic:
        found["is_topic_message"] = True
    if message.edited is not None:
        found["edit_date"] = message.edited
    if message.markup is not None:
        found["reply_markup"] = message.markup
    if not nested and (root := _replied(room, message)) is not None:
        found["reply_to_message"] = message_json(room, root, nested=True)
    return found


def _replied(room: Room, message: Message) -> Message | None:
    """What a client shows above the message; in a topic, without an explicit reply, that is the topic's first message."""
    wanted = message.reply_to
    if wanted is None and message.in_topic and message.thread != message.id:
        wanted = message.thread
    return room.messages.get(wanted) if wanted is not None else None


def attachment_json(attachment: Attachment) -> JsonObject:
    """The document, photo or voice field of a message."""
    base: JsonObject = {
        "file_id": attachment.file_id,
        "file_unique_id": f"u-{attachment.file_id}",
        "file_size": attachment.size,
    }
    if attachment.kind is AttachmentKind.PHOTO:
        small: JsonObject = {**base, "width": 90, "height": 60, "file_size": min(attachment.size, 1200)}
        return {"photo": [small, {**base, "width": 900, "height": 600}]}
    if attachment.kind is AttachmentKind.VOICE:
        return {"voice": {**base, "duration": 3, "mime_type": attachment.mime}}
    return {"document": {**base, "file_name": attachment.name, "mime_type": attachment.mime}}


def full_chat_json(room: Room) -> JsonObject:
    """A ChatFullInfo object with the fields that clients insist on."""
    return {
        **chat_json(room),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }


_ADMINISTRATOR_RIGHTS = [
    "can_be_edited",
    "is_anonymous",
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
]


def member_json(person: Person, status: str) -> JsonObject:
    """A ChatMember object of the given status."""
    found: JsonObject = {"status": status, "user": person_json(person)}
    if status == "administrator":
        found.update(dict.fromkeys(_ADMINISTRATOR_RIGHTS, False))
    elif status == "creator":
        found["is_anonymous"] = False
    elif status == "kicked":
        found["until_date"] = 0
    return found

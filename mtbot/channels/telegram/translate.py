"""An update of the Bot API as an Inbound, or nothing: what no person said to the bot is dropped here.

Identity is the numeric ``from.id`` of a message that a person wrote themselves. Messages on behalf of a chat, by or by way
of bots, and forwards never become an Inbound; an edit becomes one of its own kind, which runs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mtbot.channels.telegram.updates import CallbackQuery, Entity, Message, Origin, Update, User, Written
from mtbot.domain.chats import ChatChange, ChatEvent
from mtbot.domain.ids import BotName, ChatId, ThreadId
from mtbot.domain.turn import Actor, ActorKind, Address, Attached, Inbound, InboundKind, SourceRef, SurfaceName

GENERAL_TOPIC = 1

_UNUSABLE = (
    ("voice", "a voice message"),
    ("video_note", "a video message"),
    ("audio", "an audio file"),
    ("video", "a video"),
    ("sticker", "a sticker"),
    ("story", "a story"),
    ("contact", "a contact"),
    ("location", "a location"),
    ("poll", "a poll"),
    ("dice", "dice"),
    ("game", "a game"),
)
"""Fields of a message (Bot API, Message) and what they hold; a venue has a location too."""


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself: its name in the configuration, its id and its username (without @)."""

    name: BotName
    id: int
    username: str


def translate(update: Update, me: Me) -> Inbound | ChatChange | None:
    """What somebody said, or what happened to a chat; None where there is nothing to act on."""
    if update.callback_query is not None:
        return _press(update.callback_query, update.update_id, me)
    if update.message is not None:
        return _move(update.message, update.update_id, me) or _message(update.message, update.update_id, me)
    if update.edited_message is not None:
        found = _message(update.edited_message, update.update_id, me)
        if found is None or not (found.text or found.command):
            return None
        return replace(found, kind=InboundKind.EDIT, files=(), album="", unusable="")
    return None


def _move(message: Message, update_id: int, me: Me) -> ChatChange | None:
    """A group's becoming a supergroup, which both of its chats report; only Telegram itself writes these fields."""
    old, new = message.chat.id, message.migrate_to_chat_id
    if message.migrate_from_chat_id is not None:
        old, new = message.migrate_from_chat_id, message.chat.id
    if new is None:
        return None
    return ChatChange(me.name, ChatId(old), update_id, ChatEvent.MOVED, ChatId(new))


def membership(update: Mapping[str, object], me: Me) -> ChatChange | None:
    """Whether the bot can speak in a chat, after that has changed; None if the update is about something else.

    Read from the raw update: servers of different ages fill in the many rights of a member differently, and none matters.
    """
    changed, ident = update.get("my_chat_member"), update.get("update_id")
    if not isinstance(changed, dict) or not isinstance(ident, int):
        return None
    chat, member = changed.get("chat"), changed.get("new_chat_member")
    if not isinstance(chat, dict) or not isinstance(member, dict) or type(chat.get("id")) is not int:
        return None
    if chat.get("type") not in ("private", "group", "supergroup"):
        return None
    status = member.get("status")
    out = status in ("left", "kicked") or (status == "restricted" and member.get("is_member") is False)
    event = ChatEvent.CLOSED if out else ChatEvent.OPENED
    return ChatChange(me.name, ChatId(chat["id"]), ident, event, title=str(chat.get("title", "")))


def _press(query: CallbackQuery, update_id: int, me: Me) -> Inbound | None:
    message = query.message
    if query.from_user.is_bot:
        return None
    if message is None:
        # a press on something that Telegram does not show any more: it means nothing here, but wants an answer
        address = Address(SurfaceName.PRIVATE, me.name, ChatId(query.from_user.id))
        ref = SourceRef(update_id)
        return Inbound(address, _actor(query.from_user), ref, InboundKind.PRESS, "", press_id=query.id)
    chat = message.chat
    surface = SurfaceName.PRIVATE if chat.type == "private" else SurfaceName.GROUP
    return Inbound(
        Address(surface, me.name, ChatId(chat.id), _thread(message)),
        _actor(query.from_user),
        SourceRef(update_id, message.message_id),
        InboundKind.PRESS,
        "",
        press_token=query.data or "",
        press_id=query.id,
    )


def _message(message: Message, update_id: int, me: Me) -> Inbound | None:
    sender = message.from_user
    if sender is None or sender.is_bot or _passed_on(message):
        return None
    if message.chat.type not in ("private", "group", "supergroup"):
        return None
    text = message.text if message.text is not None else message.caption or ""
    entities = (message.entities if message.text is not None else message.caption_entities) or []
    files, unusable = _files(message), _unusable(message)
    if not text.strip() and not files and not unusable:
        return None
    private = message.chat.type == "private"
    address = Address(
        SurfaceName.PRIVATE if private else SurfaceName.GROUP, me.name, ChatId(message.chat.id), _thread(message)
    )
    reply = message.reply_to_message
    quoted = reply.message_id if reply is not None and _is_mine(reply, me) else None
    kind, command, rest, meant = InboundKind.TEXT, "", text, private or quoted is not None
    mentioned, rest = _mention(text, entities, me)
    found = _command(text, entities, rest)
    if found is not None:
        word, _, target = _slice(text, found).lstrip("/").partition("@")
        if target and target.lower() != me.username.lower():
            return None
        kind, command, rest = InboundKind.COMMAND, word.lower(), _after(text, found)
        mentioned = bool(target) or found.offset > 0  # a mention behind a command is what the command is about
    elif not rest.strip() and not files and not unusable:
        rest = text  # nothing but the mention, which is more than nothing to a model
    meant = meant or mentioned
    return Inbound(
        address,
        _actor(sender),
        SourceRef(update_id, message.message_id),
        kind,
        rest.strip(),
        command=command,
        addressed=meant,
        quoted=quoted,
        files=files,
        album=message.media_group_id or "" if files else "",
        unusable=unusable,
        own_words=_own_words(reply, sender),
    )


def _passed_on(what: Written) -> bool:
    """Whether it speaks for a chat, is forwarded, or was written by a bot in its sender's name."""
    signs = (what.sender_chat, what.forward_origin, what.forward_date, what.via_bot, what.sender_business_bot)
    return any(sign is not None for sign in signs)


def _own_words(reply: Origin | None, sender: User) -> str | None:
    """What the message says that is replied to, if its sender wrote it: one that was passed on is somebody else's."""
    text = None if reply is None else reply.text or reply.caption
    if reply is None or text is None:
        return None
    mine = reply.from_user is not None and reply.from_user.id == sender.id and not _passed_on(reply)
    return text if mine else ""


def _files(message: Message) -> tuple[Attached, ...]:
    """What can be kept: a document, or a photo in its largest size. An animation is sent as a document as well."""
    if message.document is not None:
        of = message.document
        return (Attached(of.file_id, of.file_name or "", of.mime_type or "", of.file_size),)
    if message.photo:
        largest = max(message.photo, key=lambda size: size.width * size.height)
        return (Attached(largest.file_id, "photo.jpg", "image/jpeg", largest.file_size),)
    return ()


def _unusable(message: Message) -> str:
    """What a message holds that nothing can be done with, in words; empty for none."""
    return next((words for name, words in _UNUSABLE if getattr(message, name) is not None), "")


def _mention(text: str, entities: list[Entity], me: Me) -> tuple[bool, str]:
    """Whether the bot is mentioned by an entity, and the text without a mention at its start."""
    for entity in entities:
        named = entity.type == "mention" and _slice(text, entity).lower() == f"@{me.username.lower()}"
        linked = entity.type == "text_mention" and entity.user is not None and entity.user.id == me.id
        if named or linked:
            return True, _after(text, entity) if entity.offset == 0 else text
    return False, text


def _command(text: str, entities: list[Entity], rest: str) -> Entity | None:
    """The command with which ``rest`` begins: all of the text, or what stands behind a mention of the bot."""
    start = _units(text) - _units(rest.lstrip())
    return next((one for one in entities if one.type == "bot_command" and one.offset == start), None)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _is_mine(reply: Origin, me: Me) -> bool:
    return reply.from_user is not None and reply.from_user.id == me.id


def _thread(message: Message) -> ThreadId | None:
    """The topic, if there is one; General (id 1) must not be named."""
    if not message.is_topic_message or message.message_thread_id is None or message.message_thread_id == GENERAL_TOPIC:
        return None
    return ThreadId(message.message_thread_id)


def _actor(user: User) -> Actor:
    return Actor(ActorKind.TELEGRAM, user.id, user.first_name)


def _slice(text: str, entity: Entity) -> str:
    """The text of an entity; offsets count UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    part = units[entity.offset * 2 : (entity.offset + entity.length) * 2]
    return part.decode("utf-16-le", "replace")


def _after(text: str, entity: Entity) -> str:
    units = text.encode("utf-16-le", "surrogatepass")
    return units[(entity.offset + entity.length) * 2 :].decode("utf-16-le", "replace")

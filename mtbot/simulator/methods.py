"""The Bot API methods that the simulator answers, each a function from one call to its result.

One tuple at the end lists them all. getUpdates alone is elsewhere (updates.py), because it alone waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mtbot.simulator import rules
from mtbot.simulator.params import Params, Upload
from mtbot.simulator.render import full_chat_json, member_json, message_json, person_json
from mtbot.simulator.state import Bot, Room, World
from mtbot.simulator.values import (
    GENERAL_TOPIC,
    ApiRefusal,
    Attachment,
    AttachmentKind,
    CallbackAnswer,
    ChatKind,
    Draft,
    JsonObject,
    Message,
    bad_request,
)

_QUERY_GONE = "query is too old and response timeout expired or query ID is invalid"
_SAME = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content "
    "and reply markup of the message"
)


@dataclass(slots=True)
class Switches:
    """What a test may set differently from the public server."""

    drafts: bool = True
    query_lifetime: float = 15.0


@dataclass(slots=True)
class Call:
    """One call under way; methods add to notes what the real server would swallow."""

    world: World
    switches: Switches
    bot: Bot
    params: Params
    notes: list[str] = field(default_factory=list)

    def room(self) -> Room:
        """The chat that the call names."""
        return self.world.reachable(self.bot, self.params.values.get("chat_id"))


Method: TypeAlias = Callable[[Call], object]


def _get_me(call: Call) -> object:
    return {
        **person_json(call.bot.account.person),
        "can_join_groups": True,
        "can_read_all_group_messages": call.bot.account.reads_groups,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": False,
        "allows_users_to_create_topics": False,
        "can_manage_bots": False,
    }


def _set_webhook(call: Call) -> object:
    call.bot.queue.webhook = call.params.text("url") or ""
    return True


def _delete_webhook(call: Call) -> object:
    call.bot.queue.webhook = ""
    if call.params.flag("drop_pending_updates"):
        call.bot.queue.drop_pending()
    return True


def _get_webhook_info(call: Call) -> object:
    return {
        "url": call.bot.queue.webhook,
        "has_custom_certificate": False,
        "pending_update_count": len(call.bot.queue.pending),
    }


def _send_message(call: Call) -> object:
    room = call.room()
    text = rules.formatted_text(call.params)
    call.notes.extend(text.notes)
    return _sent(call, room, Message(0, 0, call.bot.account.person, text.text, 0, text.entities))


def _send_message_draft(call: Call) -> object:
    if not call.switches.drafts:
        raise ApiRefusal(404, "Not Found")
    room, number, thread = call.room(), call.params.integer("draft_id"), call.params.integer("message_thread_id")
    if room.kind is not ChatKind.PRIVATE:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if not number:
        raise bad_request("draft_id must be non-zero")
    _check_thread(room, thread)
    text = rules.formatted_draft(call.params)
    call.notes.extend(text.notes)
    room.drafts[thread] = Draft(number, text.text, text.entities, call.world.clock())
    return True


def _send_document(call: Call) -> object:
    return _send_file(call, AttachmentKind.DOCUMENT)


def _send_photo(call: Call) -> object:
    return _send_file(call, AttachmentKind.PHOTO)


def _send_file(call: Call, kind: AttachmentKind) -> object:
    room = call.room()
    caption = rules.formatted_caption(call.params)
    call.notes.extend(caption.notes)
    attachment = _attachment(call, kind)
    message = Message(0, 0, call.bot.account.person, caption.text, 0, caption.entities, attachment=attachment)
    return _sent(call, room, message)


def _attachment(call: Call, kind: AttachmentKind) -> Attachment:
    upload: Upload | None = call.params.uploads.get(kind.value)
    if upload is None:
        named = call.params.text(kind.value) or ""
        if not named.startswith("attach://"):
            known = call.world.files.get(named)
            if known is None:
                raise bad_request("wrong file identifier/HTTP URL specified")
            return known
        upload = call.params.uploads.get(named.removeprefix("attach://"))
    if upload is None or not upload.data:
        raise bad_request("file must be non-empty")
    limit = rules.PHOTO_LIMIT_BYTES if kind is AttachmentKind.PHOTO else rules.UPLOAD_LIMIT_BYTES
    if len(upload.data) > limit:
        raise ApiRefusal(413, "Request Entity Too Large")
    return call.world.keep_file(Attachment(upload.data, upload.name, kind, upload.mime))


def _sent(call: Call, room: Room, message: Message) -> object:
    """Place a message of the bot where the call wants it: topic, reply, keyboard, sound."""
    markup = rules.keyboard(call.params)
    thread = call.params.integer("message_thread_id")
    reply_to = _reply_target(call, room)
    _check_thread(room, thread)
    in_topic = thread is not None
    if thread is None and reply_to is not None:
        replied = room.messages[reply_to]
        thread, in_topic = replied.thread, replied.in_topic
        if not in_topic and room.kind is ChatKind.SUPERGROUP:
            thread = room.root_of(reply_to)
    room.drafts.pop(thread, None)  # a client shows no draft below the message that came of it
    kept = room.add(
        replace(
            message,
            date=call.world.now(),
            thread=thread,
            in_topic=in_topic,
            reply_to=reply_to,
            markup=markup,
            silent=call.params.flag("disable_notification"),
        )
    )
    return message_json(room, kept)


def _reply_target(call: Call, room: Room) -> int | None:
    given = call.params.object("reply_parameters")
    if given is not None:
        wanted, lenient = given.get("message_id"), given.get("allow_sending_without_reply") is True
        if given.get("chat_id") not in {None, room.id}:
            raise bad_request("replies to other chats are not played by the simulator")
    else:
        wanted = call.params.integer("reply_to_message_id")
        lenient = call.params.flag("allow_sending_without_reply")
    if wanted is None:
        return None
    if type(wanted) is int and room.visible(wanted) is not None:
        return wanted
    if lenient:
        return None
    raise bad_request("message to be replied not found")


def _editable(call: Call, room: Room) -> Message:
    message = room.visible(call.params.integer("message_id"))
    if message is None:
        raise bad_request("message to edit not found")
    if message.sender.id != call.bot.id:
        raise bad_request("message can't be edited")
    return message


def _edit_message_text(call: Call) -> object:
    room = call.room()
    message = _editable(call, room)
    text = rules.formatted_text(call.params)
    call.notes.extend(text.notes)
    if message.attachment is not None:
        raise bad_request("there is no text in the message to edit")
    return _edited(call, room, message, replace(message, text=text.text, entities=text.entities))


def _edit_message_caption(call: Call) -> object:
    room = call.room()
    message = _editable(call, room)
    caption = rules.formatted_caption(call.params)
    call.notes.extend(caption.notes)
    if message.attachment is None:
        raise bad_request("there is no caption in the message to edit")
    return _edited(call, room, message, replace(message, text=caption.text, entities=caption.entities))


def _edit_message_reply_markup(call: Call) -> object:
    room = call.room()
    message = _editable(call, room)
    return _edited(call, room, message, message)


def _edited(call: Call, room: Room, before: Message, after: Message) -> object:
    """Keep the new state with the old one as history; an edit without a keyboard takes the keyboard away."""
    after = replace(after, markup=rules.keyboard(call.params))
    if after == before:
        raise bad_request(_SAME)
    kept = replace(after, edited=call.world.now(), edits=(*before.edits, before.version()))
    room.messages[kept.id] = kept
    return message_json(room, kept)


def _delete_message(call: Call) -> object:
    room = call.room()
    message = room.visible(call.params.integer("message_id"))
    if message is None:
        raise bad_request("message to delete not found")
    foreign = message.sender.id != call.bot.id and room.members.get(call.bot.id) not in {"administrator", "creator"}
    if foreign and room.kind is not ChatKind.PRIVATE:
        raise bad_request("message can't be deleted")
    if call.world.now() - message.date > rules.DELETE_WINDOW_SECONDS:
        raise bad_request("message can't be deleted for everyone")
    room.messages[message.id] = replace(message, deleted=True)
    return True


def _answer_callback_query(call: Call) -> object:
    text = rules.callback_text(call.params)
    query = call.world.queries.get(call.params.text("callback_query_id") or "")
    if query is None or query.bot != call.bot.id or query.answer is not None:
        raise bad_request(_QUERY_GONE)
    if call.world.clock() - query.at > call.switches.query_lifetime:
        raise bad_request(_QUERY_GONE)
    query.answer = CallbackAnswer(text, call.params.flag("show_alert"))
    return True


def _send_chat_action(call: Call) -> object:
    room = call.room()
    rules.chat_action(call.params)
    _check_thread(room, call.params.integer("message_thread_id"))
    return True


def _check_thread(room: Room, thread: int | None) -> None:
    if thread is not None and (thread == GENERAL_TOPIC or thread not in room.topics):
        raise bad_request("message thread not found")


def _get_file(call: Call) -> object:
    attachment = call.world.files.get(call.params.text("file_id") or "")
    if attachment is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if attachment.size > rules.DOWNLOAD_LIMIT_BYTES:
        raise bad_request("file is too big")
    return {
        "file_id": attachment.file_id,
        "file_unique_id": f"u-{attachment.file_id}",
        "file_size": attachment.size,
        "file_path": file_path(attachment),
    }


def file_path(attachment: Attachment) -> str:
    """The path under /file/bot<token>/; the sender's file name is not part of it, as on the real server."""
    kind, _, number = attachment.file_id.rpartition("-")
    return f"{kind}s/file_{number}"


def _scope(call: Call) -> str:
    """The scope that a call names: its type, with the chat if it is about one; a bot's own people have to exist."""
    scope = call.params.object("scope") or {}
    kind, chat = str(scope.get("type", "default")), scope.get("chat_id")
    if chat is None:
        return kind
    return f"{kind}:{call.world.reachable(call.bot, chat).id}"


def _set_my_commands(call: Call) -> object:
    call.bot.menus[_scope(call)] = rules.command_list(call.params)
    return True


def _get_my_commands(call: Call) -> object:
    return [{"command": name, "description": description} for name, description in call.bot.menus.get(_scope(call), ())]


def _delete_my_commands(call: Call) -> object:
    call.bot.menus.pop(_scope(call), None)
    return True


def _get_chat(call: Call) -> object:
    return full_chat_json(call.room())


def _get_chat_member(call: Call) -> object:
    room = call.room()
    user = call.params.integer("user_id")
    status = room.members.get(user) if user is not None else None
    if user is None or status is None:
        raise bad_request("PARTICIPANT_ID_INVALID")
    person = call.world.person(user)
    return member_json(person, status)


def _leave_chat(call: Call) -> JsonObject | bool:
    call.room().members[call.bot.id] = "left"
    return True


_ALL: tuple[tuple[str, Method], ...] = (
    ("getMe", _get_me),
    ("setWebhook", _set_webhook),
    ("deleteWebhook", _delete_webhook),
    ("getWebhookInfo", _get_webhook_info),
    ("sendMessage", _send_message),
    ("sendMessageDraft", _send_message_draft),
    ("sendDocument", _send_document),
    ("sendPhoto", _send_photo),
    ("editMessageText", _edit_message_text),
    ("editMessageCaption", _edit_message_caption),
    ("editMessageReplyMarkup", _edit_message_reply_markup),
    ("deleteMessage", _delete_message),
    ("answerCallbackQuery", _answer_callback_query),
    ("sendChatAction", _send_chat_action),
    ("getFile", _get_file),
    ("setMyCommands", _set_my_commands),
    ("getMyCommands", _get_my_commands),
    ("deleteMyCommands", _delete_my_commands),
    ("getChat", _get_chat),
    ("getChatMember", _get_chat_member),
    ("leaveChat", _leave_chat),
)
METHODS: dict[str, tuple[str, Method]] = {name.lower(): (name, method) for name, method in _ALL}

# What counts against the flood limits.
PACED = frozenset(
    {"sendMessage", "sendDocument", "sendPhoto", "editMessageText", "editMessageCaption", "editMessageReplyMarkup"}
)

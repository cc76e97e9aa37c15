"""What people do in the Telegram simulator: write, press, edit, send files, make groups, block and throw out bots.

Everything takes effect at once and wakes the bots that poll; only press() waits, namely for the bot's answer.
"""

import mimetypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mtbot.simulator.entities import automatic_entities
from mtbot.simulator.render import chat_json, member_json, message_json, person_json
from mtbot.simulator.state import Bot, Query, Room, World
from mtbot.simulator.values import (
    GENERAL_TOPIC,
    Attachment,
    Button,
    CallbackAnswer,
    ChatKind,
    JsonObject,
    Message,
    Person,
)

ANONYMOUS_ADMIN = Person(1087968824, "Group", "GroupAnonymousBot", is_bot=True)
CHANNEL_BOT = Person(136817688, "Channel", "Channel_Bot", is_bot=True)
TELEGRAM = Person(777000, "Telegram")


class Disguise(StrEnum):
    """The fake senders behind which Telegram hides a real one."""

    NONE = "none"
    ANONYMOUS_ADMIN = "anonymous_admin"
    CHANNEL = "channel"
    LINKED_CHANNEL = "linked_channel"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message really comes from: behind a disguise, or forwarded from somebody."""

    disguise: Disguise = Disguise.NONE
    forwarded_from: Person | None = None

    def apply(self, sender: Person, room: Room) -> tuple[Person, JsonObject]:
        """The visible sender and the extra fields of the message."""
        extra: JsonObject = {}
        channel: JsonObject = {"id": -1009000000001, "type": "channel", "title": "News"}
        match self.disguise:
            case Disguise.ANONYMOUS_ADMIN:
                sender, extra["sender_chat"] = ANONYMOUS_ADMIN, chat_json(room)
            case Disguise.CHANNEL:
                sender, extra["sender_chat"] = CHANNEL_BOT, channel
            case Disguise.LINKED_CHANNEL:
                sender, extra["sender_chat"], extra["is_automatic_forward"] = TELEGRAM, channel, True
            case Disguise.NONE:
                pass
        if self.forwarded_from is not None:
            author = person_json(self.forwarded_from)
            extra["forward_origin"] = {"type": "user", "sender_user": author, "date": 1_700_000_000}
        return sender, extra


PLAIN = Origin()


class People:
    """The people's side of a world. Persons may be given as ids; a chat that equals the person's id is private."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._albums = 0

    async def say(
        self,
        user: Person | int,
        chat: int | None,
        text: str = "",
        *,
        bot: str | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        attach: Attachment | None = None,
        origin: Origin = PLAIN,
    ) -> int:
        """Write a message (a caption when something is attached) and answer its id; chat None is the private chat."""
        person, room = self._place(user, chat, bot)
        sender, extra = origin.apply(person, room)
        message = Message(0, 0, sender, text, 0, automatic_entities(text), thread, reply_to=reply_to, extra=extra)
        if attach is not None:
            message = replace(message, attachment=self._world.keep_file(attach))
        return self._post(room, message).id

    async def album(
        self, user: Person | int, chat: int | None, files: Sequence[Attachment], caption: str = ""
    ) -> list[int]:
        """Send several files as one album: one update each, one media_group_id, the caption on the first only."""
        person, room = self._place(user, chat, None)
        self._albums += 1
        ids = []
        for number, item in enumerate(files):
            text = caption if number == 0 else ""
            message = Message(
                0,
                0,
                person,
                text,
                0,
                automatic_entities(text),
                attachment=self._world.keep_file(item),
                extra={"media_group_id": f"album-{self._albums}"},
            )
            ids.append(self._post(room, message).id)
        return ids

    async def edit(
        self, user: Person | int, chat: int | None, message_id: int, text: str, *, bot: str | None = None
    ) -> None:
        """Change an own message; the same text again is an edit that a bot cannot see the reason of."""
        person, room = self._place(user, chat, bot)
        before = room.messages[message_id]
        if before.sender.id != person.id:
            raise ValueError("people can edit only what they wrote")
        after = replace(
            before,
            text=text,
            entities=automatic_entities(text),
            edited=self._world.now(),
            edits=(*before.edits, before.version()),
        )
        room.messages[message_id] = after
        self._tell(room, after, "edited_message")

    async def delete(self, user: Person | int, chat: int | None, message_id: int, *, bot: str | None = None) -> None:
        """Delete a message for everyone; bots are not told."""
        _, room = self._place(user, chat, bot)
        room.messages[message_id] = replace(room.messages[message_id], deleted=True)
        self._world.pulse.beat()

    async def tap(
        self,
        user: Person | int,
        which: str | int,
        chat: int | None = None,
        *,
        bot: str | None = None,
        data: str | None = None,
        inaccessible: bool = False,
    ) -> str:
        """Press a button and answer the query id at once.

        `which` is the label (or callback data, or part of a label) of a button in the newest message that has it, or
        the id of a message, whose first button is meant. With `data` that message need not have such a button any
        more: an old client pressing what it still shows. `inaccessible` leaves out the message's content.
        """
        person, room = self._place(user, chat, bot)
        message, button = _find_button(room, which, data)
        owner = next(found for found in self._world.bots.values() if found.id == message.sender.id)
        query = self._world.press(Query(f"4{len(self._world.queries) + 1:017d}", owner.id, self._world.clock()))
        shown: JsonObject = message_json(room, message)
        if inaccessible:
            shown = {"chat": chat_json(room), "message_id": message.id, "date": 0}
        owner.queue.push(
            "callback_query",
            {
                "id": query.id,
                "from": person_json(person),
                "message": shown,
                "chat_instance": f"instance-{room.id}",
                "data": button.data or "",
            },
        )
        return query.id

    async def answer(self, query_id: str, timeout: float = 5.0) -> CallbackAnswer:
        """Wait for the bot's answer to a press; TimeoutError when the spinner would still turn."""
        query = self._world.queries[query_id]
        while query.answer is None:
            if not await self._world.pulse.wait(timeout):
                raise TimeoutError(f"no answer to press {query_id} within {timeout} s")
        return query.answer

    async def press(
        self,
        user: Person | int,
        which: str | int,
        chat: int | None = None,
        *,
        bot: str | None = None,
        timeout: float = 5.0,
    ) -> str:
        """Press a button, wait for the bot and answer the text of its toast or alert."""
        return (await self.answer(await self.tap(user, which, chat, bot=bot), timeout)).text

    def open(self, user: Person | int, *, bot: str | None = None) -> None:
        """Let a private chat exist, as after /start, without a message."""
        self._world.private(self._world.bot(bot), self._world.person(user))

    def group(
        self,
        chat: int,
        title: str = "group",
        *,
        members: Iterable[Person | int] = (),
        bots: Iterable[str] | None = None,
        kind: ChatKind = ChatKind.SUPERGROUP,
        forum: bool = False,
    ) -> int:
        """Create a group with people and bots (all bots unless named) and answer its id."""
        inside: list[Bot] = (
            list(self._world.bots.values()) if bots is None else [self._world.bot(name) for name in bots]
        )
        ids = [*(self._world.person(who).id for who in members), *(bot.id for bot in inside)]
        # The first message of a supergroup is its creation; id 1 is also what General is called.
        room = Room(chat, kind, title, forum=forum, members=dict.fromkeys(ids, "member"), last_id=1)
        self._world.add_room(room)
        return chat

    def topic(self, chat: int, name: str, user: Person | int = TELEGRAM) -> int:
        """Open a topic in a forum (or a private chat) and answer its thread id."""
        person, room = self._place(user, chat, None)
        thread = room.last_id + 1
        room.topics[thread] = name
        service: JsonObject = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        self._post(room, Message(0, 0, person, "", 0, thread=thread, extra=service))
        return thread

    def close_topic(self, chat: int, thread: int) -> None:
        """Delete a topic; calls that name it are refused from now on."""
        self._place(TELEGRAM, chat, None)[1].topics.pop(thread)

    def set_member(self, chat: int, user: Person | int, status: str) -> None:
        """Make somebody (a bot too) member, administrator, creator, left or kicked."""
        room, person = self._world.room(chat, self._world.bot(None)), self._world.person(user)
        before = room.members.get(person.id, "left")
        room.members[person.id] = status
        for bot in self._world.bots.values():
            if bot.id == person.id:
                self._tell_membership(bot, room, (before, status))

    def block(self, user: Person | int, *, bot: str | None = None, blocked: bool = True) -> None:
        """Block a bot in its private chat, or let it in again."""
        person, found = self._world.person(user), self._world.bot(bot)
        (found.blocked_by.add if blocked else found.blocked_by.discard)(person.id)
        states = ("member", "kicked") if blocked else ("kicked", "member")
        self._tell_membership(found, self._world.private(found, person), states)

    def migrate(self, chat: int, new: int, user: Person | int = TELEGRAM) -> int:
        """Turn a group into a supergroup with a new id: two service messages, and errors for who uses the old one."""
        person, old = self._place(user, chat, None)
        room = Room(new, ChatKind.SUPERGROUP, old.title, members=dict(old.members))
        self._world.add_room(room)
        self._post(old, Message(0, 0, person, "", 0, extra={"migrate_to_chat_id": new}))
        self._post(room, Message(0, 0, person, "", 0, extra={"migrate_from_chat_id": chat}))
        old.migrated_to = new
        return new

    def _place(self, user: Person | int, chat: int | None, bot: str | None) -> tuple[Person, Room]:
        person, found = self._world.person(user), self._world.bot(bot)
        if chat is None or chat == person.id:
            return person, self._world.private(found, person)
        return person, self._world.room(chat, found)

    def _post(self, room: Room, message: Message) -> Message:
        thread, in_topic = message.thread, False
        if thread == GENERAL_TOPIC:
            thread = None
        if thread is not None:
            in_topic = thread in room.topics
        elif message.reply_to is not None and room.kind is ChatKind.SUPERGROUP:
            replied = room.messages.get(message.reply_to)
            in_topic = replied is not None and replied.in_topic
            thread = replied.thread if replied is not None and in_topic else room.root_of(message.reply_to)
        kept = room.add(replace(message, date=self._world.now(), thread=thread, in_topic=in_topic))
        self._tell(room, kept, "message")
        return kept

    def _tell_membership(self, bot: Bot, room: Room, states: tuple[str, str]) -> None:
        """Tell a bot how it stands in a chat now, and how it stood before."""
        before, after = (member_json(bot.account.person, status) for status in states)
        change: JsonObject = {
            "chat": chat_json(room),
            "from": person_json(TELEGRAM),
            "date": self._world.now(),
            "old_chat_member": before,
            "new_chat_member": after,
        }
        bot.queue.push("my_chat_member", change)
        self._world.pulse.beat()

    def _tell(self, room: Room, message: Message, kind: str) -> None:
        for bot in self._world.audience(room, message):
            bot.queue.push(kind, message_json(room, message))
        self._world.pulse.beat()


def _find_button(room: Room, which: str | int, data: str | None) -> tuple[Message, Button]:
    if isinstance(which, int):
        message = room.messages[which]
        if data is not None:
            return message, Button("", data)
        return message, next(button for row in message.buttons for button in row if button.data)
    shown = [
        (message, button)
        for message in reversed(room.messages.values())
        if not message.deleted
        for row in message.buttons
        for button in row
        if button.data
    ]
    for message, button in shown:
        if which in {button.label, button.data}:
            return message, button
    for message, button in shown:
        if which.casefold() in button.label.casefold():
            return message, button
    labels = ", ".join(repr(button.label) for _, button in shown) or "none"
    raise LookupError(f"no button {which!r} in chat {room.id}; buttons shown: {labels}")


def attachment(name: str, data: bytes) -> Attachment:
    """A document with the media type that its name suggests."""
    return Attachment(data, name, mime=mimetypes.guess_type(name)[0] or "application/octet-stream")

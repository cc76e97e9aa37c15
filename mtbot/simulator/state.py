"""The world behind the Telegram simulator: accounts, chats, messages, files and presses, and who may see what.

No sockets here. The methods that bots call and the things that people do both change this one world.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mtbot.simulator.updates import UpdateQueue
from mtbot.simulator.values import (
    GENERAL_TOPIC,
    ApiRefusal,
    Attachment,
    BotAccount,
    CallbackAnswer,
    CallRecord,
    ChatKind,
    Clock,
    Draft,
    Message,
    Person,
    Pulse,
    bad_request,
)

FIRST_UPDATE_ID = 700_100_001


@dataclass(slots=True)
class Room:
    """One chat. A private chat is a room of one bot and one person; all other rooms are shared."""

    id: int
    kind: ChatKind
    title: str
    username: str | None = None
    forum: bool = False
    members: dict[int, str] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    drafts: dict[int | None, Draft] = field(default_factory=dict)
    migrated_to: int | None = None
    last_id: int = 0

    def add(self, message: Message) -> Message:
        """Give the message the next id of this chat and keep it."""
        self.last_id += 1
        kept = replace(message, id=self.last_id, chat=self.id)
        self.messages[kept.id] = kept
        return kept

    def visible(self, message_id: int | None) -> Message | None:
        """The message with this id unless it was deleted."""
        found = self.messages.get(message_id) if message_id is not None else None
        return None if found is None or found.deleted else found

    def root_of(self, message_id: int) -> int:
        """The first message of a chain of replies."""
        message = self.messages.get(message_id)
        while message is not None and message.reply_to in self.messages:
            message = self.messages[message.reply_to]
        return message.id if message is not None else message_id


@dataclass(slots=True)
class Bot:
    """A registered bot with its queue, its menus by scope and the people who blocked it."""

    account: BotAccount
    queue: UpdateQueue
    menus: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    blocked_by: set[int] = field(default_factory=set)

    @property
    def id(self) -> int:
        """The numeric user id."""
        return self.account.id

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """The menu of no scope in particular."""
        return self.menus.get("default", ())


@dataclass(slots=True)
class Query:
    """One press of a button, until it is answered or too old."""

    id: str
    bot: int
    at: float
    answer: CallbackAnswer | None = None


class World:
    """Everything that exists, and the rules of reach: who sees a message, where a bot may write."""

    def __init__(self, accounts: Sequence[BotAccount], clock: Clock, wall: Clock) -> None:
        self.clock = clock
        self.pulse = Pulse()
        self.log: list[CallRecord] = []
        self.people: dict[int, Person] = {}
        self.files: dict[str, Attachment] = {}
        self.queries: dict[str, Query] = {}
        self.bots: dict[str, Bot] = {}
        self._wall = wall
        self._rooms: dict[int, Room] = {}
        self._private: dict[tuple[int, int], Room] = {}
        for number, account in enumerate(accounts):
            queue = UpdateQueue(self.pulse, FIRST_UPDATE_ID + number * 1_000_000)
            self.bots[account.token] = Bot(account, queue)
            self.people[account.id] = account.person

    def now(self) -> int:
        """Unix seconds, as messages carry them."""
        return int(self._wall())

    def bot(self, name: str | None) -> Bot:
        """A bot by token or user name; the first one when nobody is named."""
        for token, bot in self.bots.items():
            if name is None or name == token or name.removeprefix("@") == bot.account.person.username:
                return bot
        raise LookupError(f"the simulator has no bot {name!r}")

    def person(self, who: Person | int) -> Person:
        """An account by id, made up on first sight, or the given one remembered."""
        if isinstance(who, Person):
            self.people[who.id] = who
            return who
        return self.people.setdefault(who, Person(who, f"User {who}"))

    def private(self, bot: Bot, person: Person) -> Room:
        """The private chat of a bot and a person, opened on first use."""
        key = (bot.id, person.id)
        if key not in self._private:
            self._private[key] = Room(
                person.id,
                ChatKind.PRIVATE,
                person.name,
                person.username,
                members={person.id: "member", bot.id: "member"},
            )
        return self._private[key]

    def add_room(self, room: Room) -> None:
        """Let a group or a channel exist."""
        self._rooms[room.id] = room

    def room(self, chat: int, bot: Bot) -> Room:
        """A room by chat id as one bot names it; LookupError when nobody ever opened it."""
        found = self._rooms.get(chat) or self._private.get((bot.id, chat))
        if found is None:
            raise LookupError(
                f"the simulator has no chat {chat} of {bot.account.person.username}; open or create it first"
            )
        return found

    def visible(self, bot: Bot, chat: int, thread: int | None) -> tuple[Message, ...]:
        """The messages of a chat that were not deleted; with a thread only its own (1: outside all topics)."""
        seen = tuple(message for message in self.room(chat, bot).messages.values() if not message.deleted)
        if thread is None:
            return seen
        if thread == GENERAL_TOPIC:
            return tuple(message for message in seen if not message.in_topic)
        return tuple(message for message in seen if message.thread == thread)

    def reachable(self, bot: Bot, chat: object) -> Room:
        """The room that a bot names in a call, or the refusal that the real server would give."""
        if chat is None or chat == "":
            raise bad_request("chat_id is empty")
        if not isinstance(chat, int):
            raise bad_request("chat not found")
        shared = self._rooms.get(chat)
        if shared is None:
            return self._reachable_private(bot, chat)
        if shared.migrated_to is not None:
            raise ApiRefusal(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": shared.migrated_to},
            )
        status = shared.members.get(bot.id)
        if status == "kicked":
            raise ApiRefusal(403, f"Forbidden: bot was kicked from the {shared.kind} chat")
        if status == "left":
            raise ApiRefusal(403, f"Forbidden: bot is not a member of the {shared.kind} chat")
        if status is None:
            raise bad_request("chat not found")
        return shared

    def _reachable_private(self, bot: Bot, user: int) -> Room:
        found = self._private.get((bot.id, user))
        if found is None:
            met = any(bot.id in room.members and user in room.members for room in self._rooms.values())
            if met:
                raise ApiRefusal(403, "Forbidden: bot can't initiate conversation with a user")
            raise bad_request("chat not found")
        if user in bot.blocked_by:
            raise ApiRefusal(403, "Forbidden: bot was blocked by the user")
        if self.people[user].is_bot:
            raise ApiRefusal(403, "Forbidden: bot can't send messages to bots")
        return found

    def keep_file(self, attachment: Attachment) -> Attachment:
        """Store a file and answer it with its id; ids are the same in every run."""
        kept = replace(attachment, file_id=f"{attachment.kind}-{len(self.files) + 1}")
        self.files[kept.file_id] = kept
        return kept

    def audience(self, room: Room, message: Message) -> list[Bot]:
        """The bots to which an update about this message goes."""
        return [
            bot
            for bot in self.bots.values()
            if bot.id != message.sender.id and self._is_inside(bot, room) and self._may_read(bot, room, message)
        ]

    def _is_inside(self, bot: Bot, room: Room) -> bool:
        if room.kind is ChatKind.PRIVATE:
            return self._private.get((bot.id, room.id)) is room
        return room.members.get(bot.id) not in {None, "kicked", "left"}

    @staticmethod
    def _may_read(bot: Bot, room: Room, message: Message) -> bool:
        """Privacy mode: in groups only commands, replies to the bot and service messages arrive."""
        if room.kind is ChatKind.PRIVATE or bot.account.reads_groups or room.members.get(bot.id) == "administrator":
            return True
        replied = room.messages.get(message.reply_to) if message.reply_to is not None else None
        if replied is not None and replied.sender.id == bot.id:
            return True
        for entity in message.entities:
            if entity.type == "bot_command":
                # Commands are ASCII, and what stands before one may not be: cut in UTF-16.
                units = message.text.encode("utf-16-le")[entity.offset * 2 : entity.end * 2].decode("utf-16-le")
                addressed = units.partition("@")[2].lower()
                if addressed in {"", (bot.account.person.username or "").lower()}:
                    return True
        return not message.text and message.attachment is None

    def press(self, query: Query) -> Query:
        """Remember a press so that a bot can answer it."""
        self.queries[query.id] = query
        return query

"""Which chats can be reached, and under which id: groups that became supergroups are followed, dead chats are left alone.

Inside, a group keeps the id by which it was first served (domain/chats); ``inward`` and ``outward`` translate at the
border. The owner hears once of a move, which the configuration should follow, and of a chat that is out of reach.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from mtbot.domain.chats import ChatBook, ChatChange, ChatEvent
from mtbot.domain.errors import ChatGone
from mtbot.domain.ids import BotName, ChatId, UserId
from mtbot.domain.ports import Clock, Inbox, Masker, Outbox
from mtbot.domain.record import OutboxItem, OutKind
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName
from mtbot.policy.people import People
from mtbot.redaction.display import display

MAX_TOLD_GROUPS = 20
"""Anybody can put a bot into groups; past so many unknown ones since the start the owner hears of no more."""

MAX_TITLE = 60

_log = structlog.get_logger()
Key = tuple[BotName, ChatId]


@dataclass(frozen=True, slots=True)
class PlaceStores:
    """Where chats are remembered, updates are closed and notices are queued."""

    book: ChatBook
    inbox: Inbox
    outbox: Outbox


class Places:
    """The chats of all bots. ``wake`` is called after something was queued to be said."""

    def __init__(self, stores: PlaceStores, people: Callable[[], People], clock: Clock, masker: Masker) -> None:
        self._stores = stores
        self._people = people
        self._clock = clock
        self._masker = masker
        self._now_at: dict[Key, ChatId] = {}
        self._known_as: dict[Key, ChatId] = {}
        self._closed: set[Key] = set()
        self._told_groups: set[Key] = set()
        self.wake: Callable[[], None] = lambda: None

    async def load(self) -> None:
        """Know the moves of earlier processes. StorageError."""
        for (bot, old), new in (await self._stores.book.moves()).items():
            self._learn(bot, old, new)

    def inward(self, address: Address) -> Address:
        """The place by which ``address``, as the chat service names it, is known here."""
        old = self._known_as.get((address.bot, address.chat))
        return address if old is None else replace(address, chat=old)

    def outward(self, address: Address) -> Address:
        """The same place as the chat service names it now."""
        new = self._now_at.get((address.bot, address.chat))
        return address if new is None else replace(address, chat=new)

    def closed(self, address: Address) -> bool:
        """Whether nothing can be sent there, as far as is known."""
        return (address.bot, address.chat) in self._closed

    async def heard_from(self, address: Address) -> None:
        """Somebody spoke there, so it can be written to. StorageError."""
        key = (address.bot, address.chat)
        if key in self._closed:
            self._closed.discard(key)
            await self._stores.book.forget(*key)

    def heeds(self, change: ChatChange) -> bool:
        """Whether that change concerns us. A move counts from this moment on: what follows it names the new id."""
        bot = self._people().bots.get(change.bot)
        if bot is None:
            return False
        if change.event is ChatEvent.MOVED:
            served = change.chat in bot.groups or bot.anywhere is not None
            if served and change.moved_to is not None:
                self._learn(change.bot, change.chat, change.moved_to)
            return served
        key = self._key(change)
        known = key[1] in bot.groups or bot.anywhere is not None if key[1] < 0 else UserId(int(key[1])) in bot.allow
        if change.event is ChatEvent.CLOSED:
            return known
        return key in self._closed if known else key[1] < 0

    async def changed(self, change: ChatChange) -> None:
        """Act on a change that was stored. StorageError."""
        bot, chat = self._key(change)
        if change.event is ChatEvent.MOVED and change.moved_to is not None:
            await self._moved(change.bot, change.chat, change.moved_to)
        elif change.event is ChatEvent.CLOSED:
            await self._out_of_reach(bot, chat, change.title)
        elif (bot, chat) in self._closed:
            self._closed.discard((bot, chat))
            await self._stores.book.forget(bot, chat)
        else:
            await self.stranger(bot, chat)
        await self._stores.inbox.done(change.bot, change.update)

    async def lost(self, address: Address, error: ChatGone) -> bool:
        """A send was refused because the chat is not there; whether it is worth sending again. StorageError."""
        people = self._people()
        if address.bot not in people.bots:
            return False
        if error.moved_to is not None:
            await self._moved(address.bot, address.chat, ChatId(error.moved_to))
            return True
        await self._out_of_reach(address.bot, address.chat, "")
        return False

    async def stranger(self, bot: BotName, chat: ChatId) -> None:
        """The bot is in a group that it does not serve: tell the owner, once. StorageError."""
        owner = self._people().owner
        if owner is None or (bot, chat) in self._told_groups or len(self._told_groups) >= MAX_TOLD_GROUPS:
            return
        self._told_groups.add((bot, chat))
        item = self._notice(
            bot,
            ChatId(int(owner)),
            f"I was put into a group that I do not serve (id {chat}). To serve it, add it to "
            "`channels.telegram.groups` in the configuration.",
        )
        await self._stores.outbox.put(item, now_ms=self._clock.now_ms())
        self.wake()

    async def _moved(self, bot: BotName, old: ChatId, new: ChatId) -> None:
        self._learn(bot, old, new)
        if not await self._stores.book.moved(bot, old, new, self._clock.now_ms()):
            return
        _log.warning("telegram.group_moved", bot=bot, old=old, new=new)
        self.wake()
        text = (
            f"The group {old} became a supergroup with the id {new}. I follow it, with its conversation and its rules; "
            f"please write {new} in place of {old} in the configuration."
        )
        await self._tell_owner(bot, new, text)

    async def _out_of_reach(self, bot: BotName, chat: ChatId, title: str) -> None:
        if (bot, chat) in self._closed:
            return
        self._closed.add((bot, chat))
        _log.warning("telegram.out_of_reach", bot=bot, chat=chat)
        if chat < 0:
            shown = display(" ".join(title.split()))[:MAX_TITLE]
            named = f"{shown} ({chat})" if shown else str(chat)
            text = (
                f"I can no longer write to the group {named}: I was taken out of it, or it is gone. "
                "Nothing is sent there until I am put back."
            )
        else:
            name = self._people().name(Actor(ActorKind.TELEGRAM, int(chat)))
            text = (
                f"I can't write to {name}: they blocked me, or never wrote to me. "
                "Nothing is sent there until they write to me."
            )
        await self._tell_owner(bot, chat, text)

    async def _tell_owner(self, bot: BotName, about: ChatId, text: str) -> None:
        owner = self._people().owner
        if owner is None or int(owner) == int(about):
            return
        item = self._notice(bot, ChatId(int(owner)), text)
        if await self._stores.book.tell_once(bot, about, item, self._clock.now_ms()):
            self.wake()

    def _notice(self, bot: BotName, chat: ChatId, text: str) -> OutboxItem:
        place = Address(SurfaceName.PRIVATE, bot, chat)
        return OutboxItem(OutKind.NOTICE, place, text=self._masker.mask(text), silent=True)

    def _learn(self, bot: BotName, old: ChatId, new: ChatId) -> None:
        self._now_at[bot, old] = new
        self._known_as[bot, new] = old

    def _key(self, change: ChatChange) -> Key:
        return change.bot, self._known_as.get((change.bot, change.chat), change.chat)

"""What happens to chats themselves: a group becomes a supergroup with another id, a bot is thrown out or let in again.

A group is known here by the id under which it was first served, for ever: its conversation, questions and rights hang on
it. Only at the border to the chat service the present id is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mtbot.domain.ids import BotName, ChatId
from mtbot.domain.record import OutboxItem

Moves = Mapping[tuple[BotName, ChatId], ChatId]
"""The present id of each group that moved, by its bot and the id by which it is known."""


class ChatEvent(StrEnum):
    """What happened: the chat has another id now, it can't be written to any more, it can be."""

    MOVED = "moved"
    CLOSED = "closed"
    OPENED = "opened"


@dataclass(frozen=True, slots=True)
class ChatChange:
    """One such event, as the chat service reported it in ``update``. MOVED: ``moved_to`` is the new id of ``chat``."""

    bot: BotName
    chat: ChatId
    update: int
    event: ChatEvent
    moved_to: ChatId | None = None
    title: str = ""


class ChatBook(Protocol):
    """What is remembered of chats. StorageError."""

    async def moves(self) -> Moves:
        """Every move."""
        ...

    async def moved(self, bot: BotName, old: ChatId, new: ChatId, now_ms: int) -> bool:
        """Remember a move; whether it is new. Then the open questions asked there are queued to be asked again."""
        ...

    async def tell_once(self, bot: BotName, chat: ChatId, item: OutboxItem, now_ms: int) -> bool:
        """Queue ``item``, which is about that chat, unless that was done since the last ``forget``; whether it was."""
        ...

    async def forget(self, bot: BotName, chat: ChatId) -> None:
        """What was told about that chat is over."""
        ...

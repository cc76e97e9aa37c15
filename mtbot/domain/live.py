"""What runs at this moment, for whoever shows it to people; nothing that is decided or recorded hangs on it."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mtbot.domain.ids import BotName, CallId, SafeText
from mtbot.domain.record import Approval, Card
from mtbot.domain.turn import Address


class Verbosity(StrEnum):
    """How much a chat is told while a turn is worked on.

    QUIET: that somebody types. NORMAL: what runs, for how long, and the last line that it wrote. VERBOSE: more of what it
    wrote, and that the model thinks.
    """

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


@dataclass(frozen=True, slots=True)
class Running:
    """A call that is being performed: in one masked line, and with the question that a person approved, if one did."""

    call: CallId
    address: Address
    shown: str
    approval: Approval | None = None


class Live(Protocol):
    """Is told of calls as they begin and end. Neither raises."""

    def begins(self, running: Running) -> None:
        """A call begins."""
        ...

    async def ends(self, running: Running) -> None:
        """It ended; when this returns, nothing is on its way any more that would say that it runs."""
        ...


class Unwatched:
    """Nobody looks."""

    def begins(self, running: Running) -> None:
        """Nothing."""
        del running

    async def ends(self, running: Running) -> None:
        """Nothing."""
        del running


class DraftWay(Protocol):
    """A channel's way to show an answer that is still being written. Neither raises; nothing waits for a draft."""

    def takes_drafts(self, address: Address) -> bool:
        """Whether there may be drafts there, as far as is known."""
        ...

    async def draft(self, address: Address, number: int, text: SafeText) -> bool:
        """Show ``text`` in place of the last draft of that number, for a while; False if it is not shown now.

        It is left out where it would use up what the chat may be sent.
        """
        ...


class StatusWay(Protocol):
    """A channel's way to show what runs. ChannelError kinds; whatever is said for good goes by the outbox instead."""

    async def show(self, address: Address, card: Card, message: int | None) -> int | None:
        """Send the card, or put it in place of ``message``; the message's id, None if it was left out for now.

        It is left out where it would use up what the chat may be sent, because a final word must not wait for it.
        """
        ...

    async def remove(self, address: Address, message: int) -> None:
        """Take the message away."""
        ...


class StatusNotes(Protocol):
    """Which status messages stand in chats now, for the start after a process that could not take its own away."""

    async def stands(self, address: Address, message: int) -> None:
        """It was sent. StorageError."""
        ...

    async def gone(self, address: Address, message: int) -> None:
        """It stands there no more. StorageError."""
        ...

    async def left(self, bots: Collection[BotName]) -> tuple[tuple[Address, int], ...]:
        """Those of these bots that still stand. StorageError."""
        ...

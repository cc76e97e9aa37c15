"""What a conversation keeps beside its entries: a summary of what is not shown any more, and what people pinned.

A summary is made of what people, a model and tools said, and a model words it: it is data, whatever it says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.ids import SafeText, SessionId
from mtbot.domain.received import RECEIVED
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Actor, Address, Message, Role

NO_PERSON = "(Not from a person: "
"""How entries begin that stand where a person speaks and were said by nobody."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the entries up to number ``through``: ``text`` is masked, ``turns`` counts what went into it.

    ``tainted``: something of it came from outside, and that never ends by summing up once more.
    """

    text: str
    through: int
    turns: int
    tainted: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """A note that ``by`` wants kept; ``text`` is masked. ``number`` is the smallest that was free."""

    number: int
    text: str
    by: Actor


@dataclass(frozen=True, slots=True)
class TurnSize:
    """A stored turn: the numbers of its first and last entry, and how many bytes of a model's input it is."""

    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Keeps:
    """Everything that is kept."""

    summary: Summary | None = None
    pins: tuple[Pin, ...] = ()


class Memories(Protocol):
    """Where it is kept; all of it goes with its conversation."""

    async def look(self, session: SessionId) -> Keeps:
        """What is kept of a conversation. StorageError."""
        ...

    async def sizes(self, session: SessionId) -> tuple[TurnSize, ...]:
        """The turns behind the summary, oldest first; of very many the newest. StorageError."""
        ...

    async def entries(self, session: SessionId, first: int, last: int) -> tuple[Message, ...]:
        """The entries of those numbers, as they are stored. StorageError."""
        ...

    async def marked(self, session: SessionId, last: int) -> bool:
        """Whether any entry behind the summary, up to number ``last``, is from outside (``from_outside``). StorageError."""
        ...

    async def sum_up(self, session: SessionId, summary: Summary, notice: OutboxItem | None, now_ms: int) -> bool:
        """Put ``summary`` in the place of the one before, and queue the notice, in one transaction. StorageError.

        False, and nothing is written, if the conversation is gone or has a summary that reaches as far already.
        """
        ...

    async def pin(self, address: Address, text: SafeText, by: Actor, most: int, now_ms: int) -> int | None:
        """Keep a note; its number, None if there are ``most`` already. StorageError."""
        ...

    async def unpin(self, session: SessionId, number: int) -> bool:
        """Drop a note; whether there was one. StorageError."""
        ...


@dataclass(frozen=True, slots=True)
class PutAway:
    """A conversation that was put away: ``first`` are the first words that a person said in it, masked."""

    number: int
    messages: int
    first: str
    at_ms: int


class Archives(Protocol):
    """Conversations that were put away, and can be gone on with."""

    async def put_away(self, address: Address, keep: int) -> int | None:
        """Put the conversation of a place away; its number, None if nothing was said there. StorageError.

        The newest ``keep`` of a place are kept; with 0 this one is deleted, too.
        """
        ...

    async def put_aways(self, session: SessionId) -> tuple[PutAway, ...]:
        """Those of a place, the one that was put away last first. StorageError."""
        ...

    async def bring_back(self, address: Address, number: int, keep: int, now_ms: int) -> bool:
        """Go on with a conversation that was put away, and put the one of now in its place. StorageError.

        False, and nothing changes, if there is none of that number.
        """
        ...

    async def forget(self, address: Address) -> int:
        """Delete the conversation of a place and all that were put away there; how many messages. StorageError."""
        ...


MARKS = {Role.TOOL: UNTRUSTED, Role.ASSISTANT: UNTRUSTED, Role.USER: RECEIVED}
"""What stands in entries of that role that hold, or point to, text that nobody here wrote."""


def from_outside(message: Message) -> bool:
    """Whether an entry holds, or points to, text that nobody here wrote."""
    mark = MARKS.get(message.role)
    return mark is not None and mark in message.content


def tainted_by(before: Summary | None, entries: Sequence[Message]) -> bool:
    """Whether a summary of ``entries``, on top of the one before, has something from outside in it."""
    return (before is not None and before.tainted) or any(map(from_outside, entries))

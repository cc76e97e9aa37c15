"""What models cost: tokens and money, the owner's caps on them, and the port of the book in which they are kept.

Money is a whole number of millionths of the owner's currency, so that sums are exact.
"""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import SessionId
from mtbot.domain.turn import Usage

MILLION = 1_000_000

CHARACTERS_PER_TOKEN = 4
"""A common rule of thumb for English text; code and other languages take more tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model takes per million tokens, in the owner's currency; so per token in millionths of it."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> int:
        """The cost of those tokens in millionths."""
        return round(usage.prompt * self.prompt + usage.completion * self.completion)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent; 0 is no cap. ``cost`` is in millionths."""

    tokens: int = 0
    cost: int = 0

    def reached(self, spent: Usage) -> bool:
        """Whether nothing is left of it."""
        return 0 < self.tokens <= spent.tokens or 0 < self.cost <= spent.cost


@dataclass(frozen=True, slots=True)
class Budgets:
    """The caps of one turn, one conversation, one person's day and everybody's day together."""

    turn: Cap = Cap()
    session: Cap = Cap()
    person: Cap = Cap()
    day: Cap = Cap()
    currency: str = "USD"

    @property
    def reads_the_book(self) -> bool:
        """Whether any cap needs more than what the turn itself has spent."""
        return Cap() != self.session or Cap() != self.person or Cap() != self.day


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent by a conversation's finished turns, by one person on one day, and by everybody on that day."""

    session: Usage
    person: Usage
    everybody: Usage


@dataclass(frozen=True, slots=True)
class DayOfPerson:
    """A line of the book: ``day`` is an ISO date, ``person`` the key of an actor, ``answers`` the model's answers."""

    day: str
    person: str
    usage: Usage
    answers: int


class Ledger(Protocol):
    """The book. Adding is done after every answer of a model, so that a crash does not hide what it cost."""

    async def add(self, person: str, day: str, usage: Usage) -> None:
        """Add one answer to the day of a person. StorageError."""
        ...

    async def spent(self, session: SessionId, person: str, day: str) -> Spent:
        """The sums; zero where nothing was spent. StorageError."""
        ...

    async def last(self, session: SessionId) -> Usage:
        """What the last finished turn of a conversation took. StorageError."""
        ...

    async def days(self, since: str) -> tuple[DayOfPerson, ...]:
        """Every line from that day on, newest day first, then by person. StorageError."""
        ...


def tokens_text(tokens: int) -> str:
    """``12,345 tokens``."""
    return f"{tokens:,} token{'' if tokens == 1 else 's'}"


def money_text(cost: int, currency: str) -> str:
    """``0.0412 USD``: two decimals, or four while it is less than one."""
    units = cost / MILLION
    return f"{units:,.2f} {currency}" if units >= 1 or cost == 0 else f"{units:.4f} {currency}"


def usage_text(usage: Usage, cap: Cap, currency: str) -> str:
    """``12,345 of 200,000 tokens, 0.0412 of 2.00 USD``; money only where there is a price or a cap."""
    tokens = f"{usage.tokens:,} of {tokens_text(cap.tokens)}" if cap.tokens else tokens_text(usage.tokens)
    if not usage.cost and not cap.cost:
        return tokens
    cost = money_text(usage.cost, currency)
    return f"{tokens}, {cost.split()[0]} of {money_text(cap.cost, currency)}" if cap.cost else f"{tokens}, {cost}"

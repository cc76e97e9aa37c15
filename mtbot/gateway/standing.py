"""What ``/status`` says of the day and of the record, and the daily look at the whole of the record.

A record that is read by nobody may be damaged for months before it is wanted. So it is read once a day, and its owner
hears of what is wrong with it, once.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from mtbot.audit import ChainReport, Mark
from mtbot.domain.errors import StateError
from mtbot.domain.ports import Clock, Ledger
from mtbot.domain.record import Word
from mtbot.domain.spending import Budgets, usage_text
from mtbot.domain.spending import Ledger as Book
from mtbot.domain.turn import Inbound

CHORE: Final = "verify"
"""What the daily look is called where it is noted when chores were done."""

_SAID: Final = (
    ("by rule", (Word.ALLOWED_RULE,)),
    ("by the classifier", (Word.AUTO_ALLOWED,)),
    ("approved", (Word.APPROVED,)),
    ("denied", (Word.DENIED_USER,)),
    ("expired", (Word.EXPIRED,)),
    ("refused", (Word.DENIED_RULE, Word.REFUSED_TOO_LONG)),
)


class DayLog(Protocol):
    """The record, as far as it is wanted here."""

    async def words_since(self, at_ms: int) -> Mapping[Word, int]:
        """How the commands since then were decided in the end, and how many of each. StorageError."""
        ...

    async def head(self) -> Mark:
        """Where the record ends now. StorageError."""
        ...

    async def verify(self) -> ChainReport:
        """Read the whole of it. StorageError."""
        ...


class RecordCheck:
    """Reads the whole record; ``tell`` says a sentence to the owner."""

    def __init__(self, log: DayLog, tell: Callable[[str], Awaitable[None]]) -> None:
        self._log = log
        self._tell = tell
        self.fault = ""
        """What was wrong when it was last looked at."""

    async def look(self) -> None:
        """StateError if it is not whole, so that it is looked at again before the day is over. StorageError."""
        report = await self._log.verify()
        found = "" if report.fault is None else str(report.fault)
        if found and found != self.fault:
            await self._tell(
                f"The record is not whole: {found}. On the host: `mtclaw audit verify`, and "
                "`mtclaw audit acknowledge --reason ...` once you know why."
            )
        self.fault = found
        if found:
            raise StateError(f"the record is not whole: {found}", hint="mtclaw audit verify")


@dataclass(frozen=True, slots=True)
class DayBooks:
    """Where the day is written down: the record, what models took, and when chores were done."""

    log: DayLog
    book: Book
    chores: Ledger


class Standing:
    """Two lines. ``midnight`` is the beginning of a moment's day, ``date`` its ISO date, both in the owner's zone."""

    def __init__(
        self,
        books: DayBooks,
        check: RecordCheck,
        clock: Clock,
        budgets: Callable[[], Budgets],
        days: tuple[Callable[[int], int], Callable[[int], str]],
    ) -> None:
        self._books = books
        self._check = check
        self._clock = clock
        self._budgets = budgets
        self._midnight, self._date = days

    async def of(self, inbound: Inbound) -> str:
        """The lines. StorageError."""
        now, budgets = self._clock.now_ms(), self._budgets()
        words = await self._books.log.words_since(self._midnight(now))
        spent = await self._books.book.spent(inbound.address.session, inbound.sender.key, self._date(now))
        took = usage_text(spent.everybody, budgets.day, budgets.currency)
        return f"Today: {day_text(words)} · {took}\n{await self._record()}"

    async def _record(self) -> str:
        head, checked = await self._books.log.head(), await self._books.chores.last(CHORE)
        if self._check.fault:
            state = f"not whole, {self._check.fault}"
        elif checked is None:
            state = "not checked yet"
        else:
            state = f"chain whole, checked {self._clock.clock_text(checked)}"
        return f"Record: {head.seq:,} events, {state}"


def day_text(words: Mapping[Word, int]) -> str:
    """``41 commands (33 by rule, 6 approved, 1 denied, 1 refused)``."""
    counts = [(sum(words.get(word, 0) for word in those), name) for name, those in _SAID]
    number = sum(count for count, _ in counts)
    noun = "1 command" if number == 1 else f"{number:,} commands"
    said = ", ".join(f"{count:,} {name}" for count, name in counts if count)
    return f"{noun} ({said})" if said else noun

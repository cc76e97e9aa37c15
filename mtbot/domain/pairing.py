"""A code that is shown on the host and sent by a person in their own chat, so that both are known to be meant.

A code is good once, for one bot, five minutes and five tries of each sender, so that a stranger who guesses spends nobody's
tries but their own. Many strangers are bounded together: of 30^12 codes they may try MAX_WRONG, which finds the right one
with a chance of one in 5 * 10^14. Only the code's salted hash is kept, so that nobody who reads the database can use it.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from mtbot.domain.ids import BotName, UserId

GOOD_MS = 300_000
MAX_TRIES = 5
"""Wrong codes of one sender; they are not answered after that, and the code stays good for whoever it is for."""

MAX_WRONG = 1000
"""Wrong codes of all senders together, after which the code is void."""


class Standing(StrEnum):
    """How a pairing stands: nobody came yet, too many wrong codes, somebody sent it, and it is in the configuration."""

    OPEN = "open"
    SPENT = "spent"
    MATCHED = "matched"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing of ``person`` (a name in the configuration) with ``bot``. Times are Unix milliseconds.

    ``user`` is who sent the code, ``called`` what they call themselves; ``wrong`` counts wrong codes by sender.
    """

    bot: BotName
    person: str
    salt: str
    digest: str
    until_ms: int
    wrong: Mapping[UserId, int] = field(default_factory=dict)
    standing: Standing = Standing.OPEN
    user: UserId | None = None
    called: str = ""

    def tried(self, code: str, user: UserId, called: str, now_ms: int) -> "Pairing | None":
        """This pairing after ``user`` sent ``code``; None if it is not open, or not for them any more."""
        if self.standing is not Standing.OPEN or now_ms >= self.until_ms or self.done_with(user):
            return None
        if self.open_with(code):
            return replace(self, standing=Standing.MATCHED, user=user, called=called)
        wrong = {**self.wrong, user: self.wrong.get(user, 0) + 1}
        return replace(
            self, wrong=wrong, standing=Standing.SPENT if sum(wrong.values()) >= MAX_WRONG else Standing.OPEN
        )

    def done_with(self, user: UserId) -> bool:
        """Whether that sender has used up their tries."""
        return self.wrong.get(user, 0) >= MAX_TRIES

    @property
    def guessers(self) -> int:
        """How many senders have used up their tries."""
        return sum(map(self.done_with, self.wrong))

    def open_with(self, code: str) -> bool:
        """Whether nobody has used it yet and that is its code; says nothing of its time."""
        return self.standing is Standing.OPEN and hmac.compare_digest(digest_of(code, self.salt), self.digest)


def digest_of(code: str, salt: str) -> str:
    """SHA-256 (hex) of a code as people type it: case, blanks and dashes do not count."""
    plain = "".join(char for char in code.upper() if char.isalnum())
    return hashlib.sha256(f"{salt}\n{plain}".encode("utf-8", "replace")).hexdigest()


class Pairings(Protocol):
    """At most one pairing for each bot. StorageError."""

    async def begin(self, pairing: Pairing) -> None:
        """Put it in place of an earlier one."""
        ...

    async def find(self, bot: BotName) -> Pairing | None:
        """The pairing of that bot, however it stands."""
        ...

    async def attempt(self, bot: BotName, code: str, user: UserId, called: str, now_ms: int) -> Pairing | None:
        """Somebody sent a code: the pairing afterwards; None if none was open. Of many at once, each counts."""
        ...

    async def end(self, pairing: Pairing, standing: Standing | None) -> bool:
        """Set how it stands, or with None take it away; False if it is not the one that is there."""
        ...

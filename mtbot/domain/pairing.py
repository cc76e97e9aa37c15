"""A code that is shown on the host and sent by a person in their own chat, so that both are known to be meant.

A code is good once, for one bot, five minutes and five tries. Only its salted hash is kept, so that nobody who reads the
database can use it.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from mtbot.domain.ids import BotName, UserId

GOOD_MS = 300_000
MAX_TRIES = 5


class Standing(StrEnum):
    """How a pairing stands: nobody came yet, too many wrong codes, somebody sent it, and it is in the configuration."""

    OPEN = "open"
    SPENT = "spent"
    MATCHED = "matched"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing of ``person`` (a name in the configuration) with ``bot``. Times are Unix milliseconds.

    ``user`` is who sent the code, ``called`` what they call themselves.
    """

    bot: BotName
    person: str
    salt: str
    digest: str
    until_ms: int
    tries: int = 0
    standing: Standing = Standing.OPEN
    user: UserId | None = None
    called: str = ""

    def tried(self, code: str, user: UserId, called: str, now_ms: int) -> "Pairing | None":
        """This pairing after ``user`` sent ``code``; None if it is not open any more."""
        if self.standing is not Standing.OPEN or now_ms >= self.until_ms:
            return None
        if self.open_with(code):
            return replace(self, standing=Standing.MATCHED, user=user, called=called)
        tries = self.tries + 1
        return replace(self, tries=tries, standing=Standing.SPENT if tries >= MAX_TRIES else Standing.OPEN)

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

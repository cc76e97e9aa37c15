"""Who was ignored lately: for an owner who wonders why somebody gets no answer, or wants to learn their number."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mtbot.domain.ids import BotName, ChatId, UserId

MOST = 50
"""So many senders are remembered, the latest; anybody can write to a bot."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Somebody who is not heard. ``name`` is a hash of what they call themselves, which is theirs to choose.

    ``why``: a stable word, as admission calls it. ``last_ms`` is Unix time in milliseconds.
    """

    bot: BotName
    user: UserId
    chat: ChatId
    name: str
    why: str
    times: int
    last_ms: int

    @property
    def key(self) -> tuple[str, int, int]:
        """Who and where."""
        return (self.bot, int(self.user), int(self.chat))


def name_hash(name: str) -> str:
    """Eight hex digits of a name, however it is spaced: enough to recognise one that is known, too few to tell it."""
    return hashlib.sha256(" ".join(name.split()).encode("utf-8", "replace")).hexdigest()[:8]


def merged(earlier: Sequence[Sender], later: Sequence[Sender]) -> tuple[Sender, ...]:
    """Both together, times added up, the latest first, at most MOST."""
    found = {one.key: one for one in earlier}
    for one in later:
        before = found.get(one.key)
        found[one.key] = one if before is None else replace(one, times=before.times + one.times)
    return tuple(sorted(found.values(), key=lambda one: (-one.last_ms, one.key))[:MOST])


class SenderBook(Protocol):
    """Where they are written down. StorageError."""

    async def add(self, senders: Sequence[Sender]) -> None:
        """These were ignored since the last time."""
        ...

    async def all(self) -> tuple[Sender, ...]:
        """Everybody, the latest first."""
        ...

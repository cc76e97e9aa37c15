"""A message that a person changed after it was said: kept until its author wants it used, and used once."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import UserId
from mtbot.domain.record import OutboxItem
from mtbot.domain.turn import Address


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text of ``message`` at ``address``; only its ``author`` may have it used."""

    address: Address
    message: int
    author: UserId
    text: str


class Edits(Protocol):
    """Edited texts that wait for a press."""

    async def offer(self, edited: Edited, token: str, item: OutboxItem, now_ms: int) -> bool:
        """Keep the text under ``token`` and queue the offer, in one transaction.

        False if that message has an open offer already: it holds the new text from now on, and nothing is queued.
        """
        ...

    async def look(self, token: str) -> Edited | None:
        """The text under ``token``, used or not; None if there is none."""
        ...

    async def use(self, token: str, update: int) -> bool:
        """Whether the press of ``update`` is the one that uses it; asked again for the same press, the same answer."""
        ...

    async def release(self, token: str, update: int) -> None:
        """That press could not use it after all."""
        ...

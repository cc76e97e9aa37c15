"""Pinned notes: what people want kept in mind for as long as a conversation lasts, whatever falls out of its window.

A note is a person's own words. What the bot or anybody else wrote is not taken as such, not even as a reply to it: it may
hold text from outside, and here it would stand where people speak.
"""

from collections.abc import Callable

from mtbot.domain.memory import Memories, Pin
from mtbot.domain.ports import Clock, Masker
from mtbot.domain.turn import Address, Inbound
from mtbot.gateway.commands import Command
from mtbot.policy.people import People

MOST = 10
"""Notes of a conversation."""

LONGEST = 500
"""Characters of one; all of them together are sent with every request."""


class PinDesk:
    """``/pin``, ``/pins`` and ``/unpin``."""

    def __init__(self, memories: Memories, people: Callable[[], People], clock: Clock, masker: Masker) -> None:
        self._memories = memories
        self._people = people
        self._clock = clock
        self._masker = masker
        self.table = (
            Command("pin", "keep a note in mind: /pin TEXT, or in reply to your own words", self.pin),
            Command("pins", "the notes that are kept in mind here", self.pins),
            Command("unpin", "drop a note: /unpin NUMBER", self.unpin),
        )

    async def pin(self, inbound: Inbound) -> str:
        """Keep a note; alone it lists them. StorageError."""
        wanted = inbound.text.strip() or (inbound.own_words or "").strip()
        if not wanted and inbound.own_words is None:
            return await self.pins(inbound)
        if not wanted:
            return "I only pin words of your own: say /pin TEXT."
        text = self._masker.mask(" ".join(wanted.split()))
        if len(text) > LONGEST:
            return f"That is {len(text)} characters long; a note has at most {LONGEST}."
        number = await self._memories.pin(inbound.address, text, inbound.sender, MOST, self._clock.now_ms())
        if number is None:
            return f"There are {MOST} notes already, which is all there is room for. /unpin NUMBER drops one."
        return f"Pinned as {number}, until /new. /pins lists the notes, /unpin {number} drops this one."

    async def pins(self, inbound: Inbound) -> str:
        """The notes of this conversation. StorageError."""
        found = (await self._memories.look(inbound.address.session)).pins
        if not found:
            return "No notes here. /pin TEXT keeps one in mind."
        return "\n".join(self._line(pin, inbound.address) for pin in found)

    async def unpin(self, inbound: Inbound) -> str:
        """Drop one. StorageError."""
        word = inbound.text.strip()
        if not (word.isascii() and word.isdecimal() and len(word) <= 4):
            return "Which one? Say /unpin NUMBER; /pins lists them."
        if not await self._memories.unpin(inbound.address.session, int(word)):
            return f"There is no note {int(word)} here; /pins lists them."
        return f"Note {int(word)} is dropped."

    def _line(self, pin: Pin, address: Address) -> str:
        gone = "" if self._people().still_welcome(pin.by, address) else " (left out: who pinned it is not on the list)"
        return f"{pin.number}: {pin.text}{gone}"

"""Begin a conversation afresh, go back to an earlier one, or have all of them deleted: /new, /resume and /forget.

Whichever it is, what runs or waits in the conversation of now is ended first, as far as whoever asks may end it.
"""

from collections.abc import Awaitable, Callable, Sequence

from mtbot.domain.memory import Archives, Memories, PutAway
from mtbot.domain.ports import Clock, History
from mtbot.domain.turn import Inbound
from mtbot.gateway.commands import Command, Left

LISTED = 20
"""Earlier conversations that are listed."""

SHOWN = 60
"""Characters of a conversation's first words by which it is known again."""


class Afresh:
    """``keep`` says how many earlier conversations of a chat are kept, ``leave`` ends what is open in the one of now."""

    def __init__(
        self,
        archives: Archives,
        stores: tuple[History, Memories],
        clock: Clock,
        keep: Callable[[], int],
        leave: Callable[[Inbound], Awaitable[Left]],
    ) -> None:
        self._archives = archives
        self._history, self._memories = stores
        self._clock = clock
        self._keep = keep
        self._leave = leave
        self.table = (
            Command("resume", "go back to an earlier conversation: /resume NUMBER; alone it lists them", self.resume),
            Command("forget", "delete this conversation and the earlier ones of this chat", self.forget),
        )

    async def new(self, inbound: Inbound) -> str:
        """Begin afresh; what was is put away. StorageError."""
        left = await self._leave(inbound)
        if left.refusal:
            return left.refusal
        session, keep = inbound.address.session, self._keep()
        summary = await self._history.summary(session)
        pins = len((await self._memories.look(session)).pins)
        number = await self._archives.put_away(inbound.address, keep)
        what = _count(summary.messages if summary is not None else 0, "message")
        what += f" and {_count(pins, 'pinned note')}" if pins else ""
        if number is None or not keep:
            return f"A fresh start: {what} forgotten.{left.said} The record of what ran is kept.{left.going_on}"
        back = f" /resume {number} goes back, /forget deletes."
        return f"A fresh start: {what} put away.{left.said}{back} The record of what ran is kept.{left.going_on}"

    async def resume(self, inbound: Inbound) -> str:
        """Go back to one; alone it lists them. StorageError."""
        word = inbound.text.strip().lstrip("#")
        found = await self._archives.put_aways(inbound.address.session)
        if not word:
            return self._listed(found)
        wanted = next((one for one in found if str(one.number) == word), None)
        if wanted is None:
            return f"There is no earlier conversation {word[:20]} here; /resume lists them."
        left = await self._leave(inbound)
        if left.refusal:
            return left.refusal
        if not await self._archives.bring_back(inbound.address, wanted.number, self._keep(), self._clock.now_ms()):
            return f"There is no earlier conversation {word[:20]} here; /resume lists them."
        what = _count(wanted.messages, "message")
        return f"Back in the conversation of {self._clock.clock_text(wanted.at_ms)}, {what}.{left.said}{left.going_on}"

    async def forget(self, inbound: Inbound) -> str:
        """Delete all of it. StorageError."""
        left = await self._leave(inbound)
        if left.refusal:
            return left.refusal
        count = await self._archives.forget(inbound.address)
        return f"Deleted: {_count(count, 'message')} of this chat.{left.said} The record of what ran is kept.{left.going_on}"

    def _listed(self, found: Sequence[PutAway]) -> str:
        if not found:
            return "No earlier conversations here; /new puts one away."
        lines = [self._line(one) for one in found[:LISTED]]
        if len(found) > LISTED:
            lines.append(f"and {len(found) - LISTED} older ones")
        return "\n".join(lines)

    def _line(self, one: PutAway) -> str:
        first = " ".join(one.first.split()).replace("`", "´") or "…"
        shown = first if len(first) <= SHOWN else f"{first[: SHOWN - 1]}…"
        return f"{one.number}: {self._clock.clock_text(one.at_ms)}, {_count(one.messages, 'message')}: `{shown}`"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""The update queue of one bot: offset confirms, one consumer at a time, allowed kinds remembered.

Why so careful: a bot's whole intake rests on these rules, and each of them has lost or doubled messages for somebody.
"""

import asyncio
from collections.abc import Sequence

from mtbot.simulator.values import ApiRefusal, JsonObject, Pulse

# An empty list means "all but these", as on the real server.
_OPT_IN = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
LONGEST_POLL_SECONDS = 50


class UpdateQueue:
    """Updates of one bot in the order in which they happened."""

    def __init__(self, pulse: Pulse, first_id: int) -> None:
        self._pulse = pulse
        self._next_id = first_id
        self._pending: list[tuple[int, JsonObject]] = []
        self._again: list[tuple[int, JsonObject]] = []
        self._history: dict[int, JsonObject] = {}
        self._allowed: frozenset[str] = frozenset()
        self._poll = 0
        self._closed = False
        self._waiting = 0
        self.webhook = ""

    def push(self, kind: str, payload: JsonObject) -> int | None:
        """Queue one update and answer its id; None when the bot did not ask for that kind when it happened."""
        if kind not in self._allowed and (self._allowed or kind in _OPT_IN):
            return None
        return self.push_raw({kind: payload})

    def push_raw(self, update: JsonObject) -> int:
        """Queue an update as it is; without an update_id it gets the next one."""
        given = update.get("update_id")
        number = given if isinstance(given, int) else self._next_id
        self._next_id = max(self._next_id, number + 1)
        whole: JsonObject = {**update, "update_id": number}
        self._pending.append((number, whole))
        self._history[number] = whole
        self._pulse.beat()
        return number

    def redeliver(self, number: int) -> None:
        """Deliver an update once more in the next answer, whatever the bot has confirmed."""
        self._again.append((number, self._history[number]))
        self._pulse.beat()

    def renumber(self, next_id: int) -> None:
        """Go on counting from another number, as Telegram does after a quiet week."""
        self._next_id = next_id

    def drop_pending(self) -> None:
        """Forget what has not been confirmed."""
        self._pending.clear()

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids that the bot has not confirmed."""
        return tuple(number for number, _ in self._pending)

    @property
    def ids(self) -> tuple[int, ...]:
        """Every id that was ever queued, oldest first."""
        return tuple(self._history)

    def close(self) -> None:
        """End the poll that is open; used when the server stops."""
        self._closed = True
        self._pulse.beat()

    @property
    def is_polled(self) -> bool:
        """Whether a long poll waits right now."""
        return self._waiting > 0

    async def poll(self, offset: int, limit: int, timeout: float, allowed: Sequence[str] | None) -> list[JsonObject]:
        """One getUpdates call.

        A positive offset confirms everything below it, a negative one forgets all but the last so many. Waits up to
        `timeout` seconds for something to happen. A newer poll of the same bot ends this one with 409.
        """
        if self.webhook:
            raise ApiRefusal(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            )
        self._poll += 1
        mine = self._poll
        self._closed = False
        self._pulse.beat()
        if allowed is not None:
            self._allowed = frozenset(allowed)
        if offset > 0:
            self._pending = [item for item in self._pending if item[0] >= offset]
        elif offset < 0:
            self._pending = self._pending[offset:]
        if timeout > 0 and not (self._pending or self._again):
            await self._wait(mine, min(timeout, LONGEST_POLL_SECONDS))
        again, self._again = self._again, []
        batch = [*again, *self._pending]
        return [update for _, update in batch[: limit if 1 <= limit <= 100 else 100]]

    async def _wait(self, mine: int, seconds: float) -> None:
        """Wait for an update, the end of the time or of the server; 409 when a newer poll takes over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        self._waiting += 1
        # One beat for the whole poll: two queues that answered each wake-up with a beat would wake each other for ever.
        self._pulse.beat()
        try:
            while not (self._pending or self._again or self._closed):
                left = deadline - loop.time()
                if left <= 0:
                    return
                await self._pulse.wait(left)
                if mine != self._poll:
                    raise ApiRefusal(
                        409,
                        "Conflict: terminated by other getUpdates request; "
                        "make sure that only one bot instance is running",
                    )
        finally:
            self._waiting -= 1

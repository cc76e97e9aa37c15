"""What a person is answered at once: a note on a button that was pressed, or a line in the chat."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from mtbot.domain.errors import ChannelError, StorageError
from mtbot.domain.ports import Clock, Deliverer, Masker, Outbox
from mtbot.domain.record import Card, OutboxItem, OutKind
from mtbot.domain.turn import Inbound, InboundKind
from mtbot.gateway.places import Places
from mtbot.policy.people import Admission, People


@dataclass(frozen=True, slots=True)
class IntakeFrame:
    """What surrounds intake: time, masking, the way to answer a press, a wake-up for the outbox, people, places."""

    clock: Clock
    masker: Masker
    presses: Deliverer
    wake: Callable[[], None]
    people: Callable[[], People]
    places: Places


class Answers:
    """Says what has to be said about an inbound."""

    def __init__(self, outbox: Outbox, frame: IntakeFrame) -> None:
        self._outbox = outbox
        self._frame = frame
        self.clock, self.masker = frame.clock, frame.masker

    def admits(self, inbound: Inbound) -> bool:
        """Whether this may come in at all; whoever it is from, it is judged again when it is acted on."""
        return self._frame.people().admit(inbound) is Admission.ADMIT

    async def answer(self, inbound: Inbound, text: str) -> None:
        """Tell the person: a note on the button, or a line where there was none."""
        if inbound.kind is InboundKind.PRESS:
            await self.note(inbound, text)
        else:
            await self.say(inbound, text)

    async def note(self, inbound: Inbound, text: str) -> None:
        """Answer the press of a button; nothing where there was none."""
        if inbound.press_id:
            await self._frame.presses.answer_press(inbound.address.bot, inbound.press_id, text)

    async def say(self, inbound: Inbound, said: str | Card) -> None:
        """A silent line or card that quotes what it answers; nothing for no text."""
        if said:
            item = OutboxItem(
                OutKind.NOTICE,
                inbound.address,
                text=self._frame.masker.mask(said) if isinstance(said, str) else None,
                card=said if isinstance(said, Card) else None,
                quote=inbound.ref.message,
                silent=True,
            )
            try:
                await self.put(item)
            except StorageError:
                # a full disk is when a person most needs to hear what a command did
                with contextlib.suppress(ChannelError):
                    await self._frame.presses.deliver(item, None)

    async def put(self, item: OutboxItem) -> None:
        """Queue something to be said. StorageError."""
        await self._outbox.put(item, now_ms=self._frame.clock.now_ms())
        self._frame.wake()

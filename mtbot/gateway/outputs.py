"""Send a whole output to whoever asks for it where its command ran; what is not on record is shown to nobody."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from mtbot.domain.crash import CrashLog
from mtbot.domain.ids import CallId, SafeText
from mtbot.domain.outputs import WholeOutput, WholeOutputs
from mtbot.domain.ports import Clock, Masker, Outbox
from mtbot.domain.record import Attachment, OutboxItem, OutKind
from mtbot.domain.turn import Address
from mtbot.gateway.recovery import address_of_event
from mtbot.policy.people import People

GONE = "That output is not kept here, or not any more."


@dataclass(frozen=True, slots=True)
class OutputsFrame:
    """What surrounds it: the record, the way out, time, masking, people."""

    log: CrashLog
    outbox: Outbox
    clock: Clock
    masker: Masker
    people: Callable[[], People]
    wake: Callable[[], None]


class OutputDesk:
    """Hands out whole outputs in the chat that they belong to."""

    def __init__(self, outputs: WholeOutputs, frame: OutputsFrame) -> None:
        self._outputs = outputs
        self._frame = frame

    async def send(self, which: str, to: Address, quote: int | None) -> str:
        """Queue the output (by its id, or its call's) as a file for ``to``; a sentence if that cannot be. StorageError."""
        frame = self._frame
        try:
            found = await asyncio.to_thread(self._outputs.find, which)
            if found is None or not await self._belongs(found.call, to):
                return GONE
            data = await asyncio.to_thread(self._outputs.read, found)
        except OSError as fault:
            return f"That output cannot be read: {(fault.strerror or 'unknown reason').lower()}."
        file = Attachment(_name(found, frame.masker), data, readable=True)
        said = frame.masker.mask(f"The whole output {found.id}, {found.size} bytes.")
        item = OutboxItem(OutKind.NOTICE, to, text=said, quote=quote, silent=True, file=file)
        await frame.outbox.put(item, now_ms=frame.clock.now_ms())
        frame.wake()
        return ""

    async def _belongs(self, call: CallId, to: Address) -> bool:
        """Whether people at ``to`` may see what the call wrote: it ran there, or for a job that reports there."""
        events = await self._frame.log.trail_of(call)
        place = self._frame.people().told_of(address_of_event(events[0])) if events else None
        return place is not None and (place.bot, place.chat) == (to.bot, to.chat)


def _name(output: WholeOutput, masker: Masker) -> SafeText:
    return masker.mask(f"output-{output.id}.txt")

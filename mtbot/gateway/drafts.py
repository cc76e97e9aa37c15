"""An answer is shown while it is written, where its chat takes drafts: masked as an answer is, and never to its last word.

A draft is a sign of life and nothing more. It is written down nowhere, nothing waits for it, and it ends before the answer
is queued, which is the one message that stands.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mtbot.domain.ids import SafeText
from mtbot.domain.live import DraftWay
from mtbot.domain.model import OnText
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway.leaving import NO_REPLY

FIRST_SECONDS = 1.0
"""Between the first words and the first draft: what is over by then is not shown."""

EVERY_SECONDS = 2.0
LONGEST = 6000
"""Characters of an answer that are looked at: enough for the one message that a draft is."""


@dataclass(frozen=True, slots=True)
class DraftFrame:
    """What surrounds drafts. ``settled`` masks a text that still grows, as far as it stands.

    ``wanted`` says whether a chat is to have drafts, ``shown`` is told of each.
    """

    settled: Callable[[str], SafeText]
    wanted: Callable[[Address], bool]
    shown: Callable[[Address], None]


class Drafting:
    """Shows answers over ``way`` as they grow."""

    def __init__(self, way: DraftWay, frame: DraftFrame) -> None:
        self._way = way
        self._frame = frame
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def writing(self, address: Address) -> Iterator[OnText | None]:
        """Open while an answer is written: what sees it grow; None where nobody would be shown it."""
        if not self._takes(address):
            yield None
            return
        draft = _Draft(self._show, address, next(self._numbers))
        try:
            yield draft.grown
        finally:
            draft.end()

    def _takes(self, address: Address) -> bool:
        return (
            address.surface is SurfaceName.PRIVATE and self._frame.wanted(address) and self._way.takes_drafts(address)
        )

    def _show(self, draft: "_Draft") -> "asyncio.Task[None]":
        task = asyncio.create_task(self._follow(draft))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _follow(self, draft: "_Draft") -> None:
        """Show what has been written every now and then, until it is cancelled."""
        await asyncio.sleep(FIRST_SECONDS)
        while self._takes(draft.address):
            text = self._frame.settled(draft.text[:LONGEST])
            said = text.strip()
            if said and said != NO_REPLY and await self._way.draft(draft.address, draft.number, text):
                self._frame.shown(draft.address)
            await asyncio.sleep(EVERY_SECONDS)


class _Draft:
    """One answer while it is written."""

    def __init__(self, show: "Callable[[_Draft], asyncio.Task[None]]", address: Address, number: int) -> None:
        self.address = address
        self.number = number
        self.text = ""
        self._show = show
        self._task: asyncio.Task[None] | None = None

    def grown(self, text: str) -> None:
        """It is so far now. Cheap: it is called for every word."""
        self.text = text
        if text and self._task is None:
            self._task = self._show(self)

    def end(self) -> None:
        """Nothing of it is shown any more, nor sent if it was about to be: it would come behind the answer."""
        if self._task is not None:
            self._task.cancel()

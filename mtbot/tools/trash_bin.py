"""The trash as the flow sees it: off the event loop, and whatever goes wrong said in one sentence."""

from collections.abc import Callable
from typing import TypeVar

from mtbot.domain.errors import StateError
from mtbot.domain.trash import Trashed
from mtbot.tools.blocking import off_loop
from mtbot.tools.roots import PathRefused
from mtbot.tools.trash_entry import Entry, Reason
from mtbot.tools.trash_store import Trash

TIMEOUT = 300.0
"""Seconds; a tree that lies on another file system than the trash is copied."""

_T = TypeVar("_T")


class HostBin:
    """Implements TrashBin over the trash of this host."""

    def __init__(self, trash: Trash) -> None:
        self._trash = trash

    async def listed(self) -> tuple[Trashed, ...]:
        """Everything that is there, oldest first. StateError."""
        return tuple(_trashed(entry) for entry in await _awaited(self._trash.entries))

    async def bring_back(self, ident: str) -> None:
        """Put an entry back to where it came from, never over something else. StateError."""
        await _awaited(lambda: self._trash.restore(ident))

    async def remove(self, ident: str) -> None:
        """Delete an entry for good. StateError."""
        await _awaited(lambda: self._trash.remove(ident))


def _trashed(entry: Entry) -> Trashed:
    return Trashed(
        entry.id,
        entry.call,
        entry.paths,
        entry.reason is Reason.OVERWRITTEN,
        entry.files,
        entry.size,
        entry.at_ms,
        entry.until_ms,
    )


async def _awaited(work: Callable[[], _T]) -> _T:
    try:
        return await off_loop(work, TIMEOUT)
    except PathRefused as refused:
        raise StateError(f"it {refused.reason}") from refused
    except TimeoutError as late:
        raise StateError("the file system does not answer") from late
    except OSError as fault:
        raise StateError(f"the file system says: {(fault.strerror or 'unknown reason').lower()}") from fault

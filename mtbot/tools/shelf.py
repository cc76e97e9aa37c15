"""Received files in the workspace: new files in a directory of their own, reached without following a link."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from mtbot.domain.received import PLACE, FileRefused, Full, numbered
from mtbot.domain.turn import Address
from mtbot.tools import replacement
from mtbot.tools.blocking import off_loop
from mtbot.tools.replacement import WriteMode
from mtbot.tools.roots import PathRefused

SECONDS = 30.0
_NAMES = 1000
_T = TypeVar("_T")


class WorkspaceShelf:
    """Implements Shelf. ``workspace`` gives the directory of a place; ``most`` bytes may lie in its PLACE in all."""

    def __init__(self, workspace: Callable[[Address], Path], most: int) -> None:
        self._workspace = workspace
        self._most = most
        self._one_at_a_time = Lock()

    async def room(self, address: Address) -> int:
        """How many bytes more can be kept now; what commands put there counts, too. FileRefused."""
        workspace = self._workspace(address)
        return await self._done(lambda: self._most - _held(_place(workspace)))

    async def put(self, address: Address, name: str, data: bytes) -> str:
        """Keep a new file, never over another one; where it lies, seen from the workspace. FileRefused, also ``Full``."""
        workspace = self._workspace(address)
        return await self._done(lambda: self._put(workspace, name, data))

    async def _done(self, work: Callable[[], _T]) -> _T:
        try:
            return await off_loop(work, SECONDS)
        except TimeoutError:
            raise FileRefused("the disk does not answer.") from None
        except PathRefused as refused:
            raise FileRefused(f"{PLACE} in the workspace {refused.reason}.") from None
        except OSError as error:
            raise FileRefused(f"it could not be written: {(error.strerror or 'unknown reason').lower()}.") from None

    def _put(self, workspace: Path, name: str, data: bytes) -> str:
        with self._one_at_a_time:  # two that fit one by one may not fit both
            if _held(_place(workspace)) + len(data) > self._most:
                raise Full(self._most)
            return _put(workspace, name, data)


def _place(workspace: Path) -> str:
    return f"{os.path.realpath(workspace)}/{PLACE}"


def _held(place: str) -> int:
    """The bytes of everything below a directory, links not followed; 0 where it is none, which writing will find out."""
    if Path(place).is_symlink():
        return 0
    held = 0
    for folder, folders, files in os.walk(place):
        for name in (*files, *folders):
            try:
                held += os.lstat(f"{folder}/{name}").st_size
            except FileNotFoundError:
                continue
    return held


def _put(workspace: Path, name: str, data: bytes) -> str:
    base = os.path.realpath(workspace)
    for number in range(1, _NAMES):
        shown = f"{PLACE}/{numbered(name, number)}"
        if os.path.lexists(f"{base}/{shown}"):
            continue
        replacement.write(f"{base}/{shown}", data, WriteMode.CREATE_NEW, None)
        return shown
    raise FileRefused("there are too many files of that name.")

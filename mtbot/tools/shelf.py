"""Received files in the workspace: new files in a directory of their own, reached without following a link."""

import os
from collections.abc import Callable
from pathlib import Path

from mtbot.domain.received import PLACE, FileRefused, numbered
from mtbot.domain.turn import Address
from mtbot.tools import replacement
from mtbot.tools.blocking import off_loop
from mtbot.tools.replacement import WriteMode
from mtbot.tools.roots import PathRefused

SECONDS = 30.0
_NAMES = 1000


class WorkspaceShelf:
    """Implements Shelf. ``workspace`` gives the directory of a place."""

    def __init__(self, workspace: Callable[[Address], Path]) -> None:
        self._workspace = workspace

    async def put(self, address: Address, name: str, data: bytes) -> str:
        """Keep a new file, never over another one; where it lies, seen from the workspace. FileRefused."""
        workspace = self._workspace(address)
        try:
            return await off_loop(lambda: _put(workspace, name, data), SECONDS)
        except TimeoutError:
            raise FileRefused("the disk does not answer.") from None
        except PathRefused as refused:
            raise FileRefused(f"{PLACE} in the workspace {refused.reason}.") from None
        except OSError as error:
            raise FileRefused(f"it could not be written: {(error.strerror or 'unknown reason').lower()}.") from None


def _put(workspace: Path, name: str, data: bytes) -> str:
    base = os.path.realpath(workspace)
    for number in range(1, _NAMES):
        shown = f"{PLACE}/{numbered(name, number)}"
        if os.path.lexists(f"{base}/{shown}"):
            continue
        replacement.write(f"{base}/{shown}", data, WriteMode.CREATE_NEW, None)
        return shown
    raise FileRefused("there are too many files of that name.")

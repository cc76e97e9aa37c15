"""Remember which files a turn has read, and in what state, so that nothing is overwritten that nobody looked at."""

import os
from collections import OrderedDict
from dataclasses import dataclass

from mtbot.domain.ids import TurnId

_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity and state of a file: any write or replacement by anybody changes it."""

    device: int
    inode: int
    mtime_ns: int
    size: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp of what was looked at."""
        return cls(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


class Seen:
    """What each turn has read or written last, by resolved path. It forgets the oldest, and everything at a restart:
    whoever then wants to overwrite has to read again."""

    def __init__(self) -> None:
        self._stamps: OrderedDict[tuple[TurnId, str], Stamp] = OrderedDict()

    def remember(self, turn: TurnId, path: str, stamp: Stamp) -> None:
        """``turn`` knows the file at ``path`` in this state."""
        self._stamps[turn, path] = stamp
        self._stamps.move_to_end((turn, path))
        if len(self._stamps) > _KEPT:
            self._stamps.popitem(last=False)

    def recall(self, turn: TurnId, path: str) -> Stamp | None:
        """The state in which ``turn`` knows the file, or None if it never read it."""
        return self._stamps.get((turn, path))

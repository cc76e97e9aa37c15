"""Look at the file system for gate/facts: where paths lead, what lies there, which file a program is.

It reads and never writes, opens nothing that could make it wait, and is bounded in entries, bytes and time. What it
cannot find out it says so, and policy takes that for the worst.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Sequence

from mtbot.domain.call import Below, Target, TargetKind, Weight
from mtbot.domain.ids import Digest
from mtbot.policy.sensitive import Places
from mtbot.tools import moving, repository, roots
from mtbot.tools.below import look_below
from mtbot.tools.blocking import off_loop
from mtbot.tools.roots import PathRefused

MAX_DIGESTED = 16 * 1024 * 1024
MAX_WEIGHED = 20_000
_SECONDS = 5.0
_CHUNK = 1024 * 1024


class HostWorld:
    """The World port over the real file system.

    ``home`` is what ``~`` means. ``path`` are the directories of the child's PATH, in order, absolute. ``clock`` counts seconds from anywhere.
    """

    def __init__(
        self, home: str, path: Sequence[str], places: Places, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._home = home
        self._places = places
        self._path = tuple(path)
        self._clock = clock

    def adopt(self, path: Sequence[str], places: Places) -> None:
        """Look by another PATH and other places from the next look on."""
        self._path, self._places = tuple(path), places

    async def resolve(self, written: str, cwd: str) -> Target:
        """Where ``written`` leads from ``cwd``, every link followed; kind OTHER where that cannot be said."""
        try:
            found = await off_loop(lambda: roots.resolve(written, cwd, self._home), _SECONDS)
        except TimeoutError:
            return Target(written, roots.lexical(written, cwd, self._home), TargetKind.OTHER)
        return Target(written, found.path, found.kind)

    async def digest(self, path: str) -> Digest | None:
        """SHA-256 of the regular file at a resolved path; None if it is none, too large, unreadable or changing."""
        try:
            return await off_loop(lambda: _digest(path), _SECONDS)
        except (PathRefused, OSError):  # a time-out is an OSError
            return None

    async def below(self, path: str) -> Below:
        """What lies below a resolved path; NOTHING for what is no directory."""
        try:
            return await off_loop(lambda: look_below(path, self._places, self._clock), _SECONDS)
        except OSError:
            return Below.UNKNOWN

    async def weigh(self, path: str) -> Weight | None:
        """How much lies at a resolved path; None for what nobody could look at, or must not be moved as a whole."""
        try:
            return await off_loop(lambda: _weigh(path), _SECONDS)
        except (PathRefused, OSError):
            return None

    async def repository_keys(self, directory: str) -> frozenset[str] | None:
        """The configured names of the repositories around ``directory``; None if they cannot all be read."""
        try:
            return await off_loop(lambda: repository.keys_around(directory), _SECONDS)
        except (repository.Unreadable, OSError):
            return None

    async def program(self, word: str, cwd: str, path: Sequence[str] = ()) -> str | None:
        """The resolved file that runs for ``word``: a path from ``cwd``, or the first on ``path`` (else this world's)."""
        try:
            return await off_loop(lambda: self._program(word, cwd, path or self._path), _SECONDS)
        except OSError:
            return None

    def _program(self, word: str, cwd: str, path: Sequence[str]) -> str | None:
        candidates = (word,) if "/" in word else tuple(f"{place}/{word}" for place in path if word)
        for candidate in candidates:
            found = roots.resolve(candidate, cwd, self._home)
            if found.kind is TargetKind.FILE and os.access(found.path, os.X_OK):
                return found.path
        return None


def _weigh(path: str) -> Weight:
    parent, name = roots.parted(path)
    with roots.directory(parent) as held:
        return moving.weigh(held, name, MAX_WEIGHED)


def _digest(path: str) -> Digest | None:
    with roots.regular_file(path) as descriptor:
        before = os.fstat(descriptor)
        if before.st_size > MAX_DIGESTED or not stat.S_ISREG(before.st_mode):
            return None
        total, count = hashlib.sha256(), 0
        while count <= MAX_DIGESTED and (piece := os.read(descriptor, _CHUNK)):
            total.update(piece)
            count += len(piece)
        after = os.fstat(descriptor)
    if count != before.st_size or (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        return None
    return Digest(total.hexdigest())

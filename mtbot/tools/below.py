"""Look through what lies below a directory for anything of the sensitive set, within bounds.

A command that reads a tree (``grep -r``, ``ls -R``) reads what lies in it, whatever the directory is called. The look
costs time on every such call, so it ends early: at the first find, or where there is too much, as UNKNOWN.
"""

import os
from collections.abc import Callable

from mtbot.domain.call import Below, TargetKind
from mtbot.policy.sensitive import Places, is_above_sensitive, is_sensitive
from mtbot.tools import roots

MAX_ENTRIES = 2000
MAX_DEPTH = 12
MAX_SECONDS = 0.1


class _TooMuch(Exception):
    """The look is over without an answer."""


def look_below(path: str, places: Places, clock: Callable[[], float]) -> Below:
    """What lies below a resolved path. NOTHING for what is no directory; UNKNOWN if anything could not be looked at."""
    found = roots.resolve(path, "/", places.home)
    if found.path != path or found.kind is TargetKind.OTHER:
        return Below.UNKNOWN
    if found.kind is not TargetKind.DIRECTORY:
        return Below.NOTHING
    if is_sensitive(path, places) or is_above_sensitive(path, places):
        return Below.SENSITIVE
    if roots.is_pseudo(path):
        return Below.UNKNOWN
    look = _Look(path, places, clock)
    try:
        look.directory(path, 1)
    except (_TooMuch, OSError):
        return Below.UNKNOWN if look.found is not Below.SENSITIVE else Below.SENSITIVE
    return look.found


class _Look:
    """One look; ``found`` only ever gets worse."""

    def __init__(self, base: str, places: Places, clock: Callable[[], float]) -> None:
        self._base = base.rstrip("/") + "/"
        self._places = places
        self._clock = clock
        self._until = clock() + MAX_SECONDS
        self._left = MAX_ENTRIES
        self.found = Below.NOTHING

    def directory(self, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _TooMuch
        with os.scandir(path) as entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0 or self._clock() > self._until:
                    raise _TooMuch
                self._entry(entry, depth)
                if self.found is Below.SENSITIVE:
                    return

    def _entry(self, entry: os.DirEntry[str], depth: int) -> None:
        if entry.name == ".git" and not entry.is_symlink():
            self.found = Below.REPOSITORY  # full of files of its own, and whoever may see it may see all of it
            return
        if is_sensitive(entry.path, self._places):
            own = self._of_a_repository(entry.path)
            self.found = Below.REPOSITORY if own else Below.SENSITIVE
            if not own:
                return
        if entry.is_symlink():
            self._link(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            self.directory(entry.path, depth + 1)

    def _of_a_repository(self, path: str) -> bool:
        """Whether a path is sensitive only because it lies in a git directory; what lies above it was looked at."""
        parts = path.removeprefix(self._base).split("/")
        at = next((at for at, part in enumerate(parts[:-1]) if part.endswith(".git")), None)
        return at is not None and not is_sensitive("/repository/" + "/".join(parts[at + 1 :]), self._places)

    def _link(self, path: str) -> None:
        """A link to somewhere else is what it leads to; not every command passes it by."""
        target = roots.resolve(path, "/", self._places.home)
        if target.path.startswith(self._base):
            return
        if is_sensitive(target.path, self._places) or is_above_sensitive(target.path, self._places):
            self.found = Below.SENSITIVE
        elif target.kind is TargetKind.DIRECTORY:
            raise _TooMuch

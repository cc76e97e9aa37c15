"""Look for the programs that sudo would run, and whether anybody but root could put another one in their place."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from mtbot.policy.sudoers import Found


def find_program(name: str, search: Sequence[str]) -> Found:
    """The first executable file of that name, as sudo itself would find it on the same path."""
    for directory in search:
        place = Path(directory) / name
        if place.is_file() and os.access(place, os.X_OK):
            return Found(str(place), _trouble(place))
    return Found("")


def _trouble(place: Path) -> str:
    """Who else could change what lies there: the file, or a directory above it, also where links lead."""
    for path in _everything_above(place):
        try:
            found = path.stat()
        except OSError as error:
            return f"{path} cannot be looked at: {error.strerror}"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_uid != 0 or (found.st_mode & 0o022 and not sticky):
            return f"{path} can be changed by others than root"
    return ""


def _everything_above(place: Path) -> Iterator[Path]:
    for path in dict.fromkeys((place, Path(os.path.realpath(place)))):
        yield path
        yield from path.parents

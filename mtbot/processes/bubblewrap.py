"""What bubblewrap adds to a contained command, as a plan: which program, which mounts, and what is closed inside the workspace.

Everything is read-only but what the command may write; `/proc` shows its own processes; `/dev` holds five devices. Inside
what it may write, files that hold secrets read as nothing. A repository is read-only, and for git itself what decides
which programs git runs. What leads to one of these cannot be renamed either, so that it stays where it was found.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mtbot.policy.sensitive import is_hidden_name
from mtbot.processes.request import Box
from mtbot.processes.spawner.curtains import DEVICES, FIXED, HIDDEN, KEPT

PROGRAMS = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
WAIT_MILLISECONDS = 5_000
MOST_ENTRIES = 200_000
MOST_CURTAINS = 1_000

_HOOKS = frozenset({".husky", ".githooks"})
_NOT_ENTERED = frozenset({"node_modules", "site-packages", "__pycache__", ".hg", ".svn"})
"""What other people's packages bring; a build needs it as it is."""
_REPOSITORY = frozenset({"HEAD", "objects", "refs"})
_DECIDING = ("hooks", "config", "config.worktree", "commondir", "gitdir", "info/attributes")
_NESTED = ("modules", "worktrees")
_NOT_DECIDING = frozenset({"objects", "refs", "logs", "hooks"})
_OWNER = 0
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def find(programs: Iterable[str] = PROGRAMS) -> str:
    """The bubblewrap of this host, links followed; empty if none is where only root could have put it."""
    return next((str(path) for path in map(Path, map(os.path.realpath, programs)) if trusted(path)), "")


def trusted(path: Path, top: Path = Path("/")) -> bool:
    """Whether nobody but root can change or replace a program, looking up to ``top``; links must have been followed.

    PATH, which a workspace may be on, is not asked.
    """
    try:
        facts = [place.stat() for place in (path, *path.parents) if place.is_relative_to(top)]
    except OSError:
        return False
    if not stat.S_ISREG(facts[0].st_mode) or not facts[0].st_mode & stat.S_IXUSR:
        return False
    return all(fact.st_uid == _OWNER and not fact.st_mode & _OTHERS_MAY_WRITE for fact in facts)


def box(program: str, write: Iterable[str], closed: "Closed") -> Box:
    """The box of one call. ``write`` is what stays writable."""
    devices = [word for device in DEVICES for word in ("--dev-bind", device, device)]
    links = [
        ("/proc/self/fd", "fd"),
        *((f"/proc/self/fd/{n}", name) for n, name in enumerate(("stdin", "stdout", "stderr"))),
    ]
    named = [word for target, name in links for word in ("--symlink", target, f"/dev/{name}")]
    bound = [word for path in sorted(set(write) - set(DEVICES)) for word in ("--bind-try", path, path)]
    args = ("--ro-bind", "/", "/", "--tmpfs", "/dev", *devices, *named, *bound, "--remount-ro", "/dev")
    args = (*args, "--unshare-pid", "--proc", "/proc", "--cap-drop", "ALL")
    return Box(program, args, closed.curtains(), WAIT_MILLISECONDS)


@dataclass(slots=True)
class Closed:
    """What a look through directories found, but for what is named as open."""

    roots: tuple[str, ...]
    found: dict[str, str] = field(default_factory=dict)
    readable: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    entries: int = 0

    @property
    def whole(self) -> bool:
        """Whether everything was looked at."""
        return self.entries <= MOST_ENTRIES and len(self.found) <= MOST_CURTAINS

    def add(self, kind: str, path: str) -> None:
        """Close one path, and keep every directory that leads to it where it is."""
        if path in (self.readable if kind == HIDDEN else self.writable):
            return
        self.found[path] = kind
        root = next(root for root in self.roots if path.startswith(f"{root}/"))
        for parent in Path(path).parents:
            if str(parent) == root:
                return
            self.found.setdefault(str(parent), KEPT)

    def curtains(self) -> tuple[tuple[str, str], ...]:
        """Pairs of kind and path, parents first."""
        return tuple((self.found[path], path) for path in sorted(self.found, key=lambda path: path.split("/")))


def look_through(
    roots: Iterable[str], readable: Iterable[str] = (), writable: Collection[str] = (), *, git: bool = False
) -> Closed:
    """Find what is to be closed below ``roots``; no link is followed to look further.

    What is named under ``readable`` itself is not hidden, and what is under ``writable`` not made read-only either.
    """
    given = dict.fromkeys(root.rstrip("/") for root in roots if root.rstrip("/"))
    outermost = tuple(root for root in given if not any(root.startswith(f"{other}/") for other in given))
    closed = Closed(outermost, readable=frozenset((*readable, *writable)), writable=frozenset(writable))
    waiting = list(outermost)
    while waiting and closed.whole:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        closed.entries += len(entries)
        if {entry.name for entry in entries} >= _REPOSITORY and folder not in outermost:
            _close_repository(folder, closed, git=git)
            continue
        waiting += _look(entries, closed, git=git)
    return closed


def _look(entries: Iterable[os.DirEntry[str]], closed: Closed, *, git: bool) -> Iterator[str]:
    """Close what is to be among ``entries``; the directories that have to be looked at in turn."""
    for entry in entries:
        if entry.is_symlink():
            _close_target(entry, closed)
        elif entry.name == ".git":
            _close_repository(entry.path, closed, git=git)
        elif not entry.is_dir(follow_symlinks=False):
            if is_hidden_name(entry.name, directory=False) and entry.is_file(follow_symlinks=False):
                closed.add(HIDDEN, entry.path)
        elif is_hidden_name(entry.name, directory=True):
            closed.add(HIDDEN, entry.path)
        elif entry.name in _HOOKS:
            closed.add(FIXED, entry.path)
        elif entry.name not in _NOT_ENTERED:
            yield entry.path


def _close_target(entry: os.DirEntry[str], closed: Closed) -> None:
    """A link with the name of a secret: what it leads to is hidden where that lies in sight."""
    target = os.path.realpath(entry.path)
    is_directory = Path(target).is_dir()
    seen = any(target.startswith(f"{root}/") for root in closed.roots)
    if seen and is_hidden_name(entry.name, directory=is_directory) and os.path.lexists(target):
        closed.add(HIDDEN, target)


def _close_repository(place: str, closed: Closed, *, git: bool) -> None:
    """Make a git directory (or the file that points to one) read-only; for git what git obeys, in it and in what is nested."""
    if not git or not Path(place).is_dir():
        closed.add(FIXED, place)
        return
    closed.add(KEPT, place)
    _close_deciding(place, closed)
    for nested in _NESTED:
        for folder, folders, files in os.walk(f"{place}/{nested}"):
            folders[:] = [name for name in folders if name not in _NOT_DECIDING]
            closed.entries += len(folders) + len(files)
            if not closed.whole:
                return
            if "HEAD" in files:
                _close_deciding(folder, closed)


def _close_deciding(place: str, closed: Closed) -> None:
    for name in _DECIDING:
        path = f"{place}/{name}"
        if os.path.lexists(path) and not Path(path).is_symlink():
            closed.add(FIXED, path)

"""What bubblewrap adds to a contained command, as a plan: which program, which mounts, and what is closed inside the workspace.

Everything is read-only but what the command may write; `/proc` shows its own processes; `/dev` holds five devices. Inside
what it may write, files that hold secrets read as nothing. A repository is read-only, and for git itself what decides
which programs git runs. What leads to one of these cannot be renamed either, so that it stays where it was found.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mtbot.policy.sensitive import is_hidden_name
from mtbot.processes.request import Box
from mtbot.processes.spawner.curtains import DEVICES, FIXED, HIDDEN, KEPT

PROGRAMS = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
WAIT_MILLISECONDS = 5_000
MOST_ENTRIES = 500_000
MOST_CURTAINS = 5_000

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


class TooMuch(Exception):
    """A workspace cannot be closed to a command; the text says what it holds, as in "the workspace holds ...".

    It was not closed in part: whoever prepared it might have chosen which part.
    """


@dataclass(slots=True)
class Closed:
    """What a look through a workspace found, but for what is named as ``open``."""

    root: str
    open: frozenset[str] = frozenset()
    found: dict[str, str] = field(default_factory=dict)
    entries: int = 0

    def add(self, kind: str, path: str) -> None:
        """Close one path below the root, and keep every directory that leads to it where it is."""
        if path in self.open or not path.startswith(f"{self.root}/"):
            return
        self.found[path] = kind
        for parent in map(str, Path(path).parents):
            if parent == self.root:
                break
            self.found.setdefault(parent, KEPT)
        if len(self.found) > MOST_CURTAINS:
            raise TooMuch(f"more than {MOST_CURTAINS:,} files that hold secrets and repositories")

    def count(self, number: int) -> None:
        """So many more entries were looked at."""
        self.entries += number
        if self.entries > MOST_ENTRIES:
            raise TooMuch(f"more than {MOST_ENTRIES:,} files outside of node_modules and site-packages")

    def curtains(self) -> tuple[tuple[str, str], ...]:
        """Pairs of kind and path, parents first."""
        return tuple((self.found[path], path) for path in sorted(self.found, key=lambda path: path.split("/")))


def look_through(root: str, named: Iterable[str] = (), *, git: bool = False) -> Closed:
    """Find what is to be closed below ``root``, but for what is ``named``; no link is followed to look further.

    A command may have prepared what is looked at here, to have something overlooked: so what looks like a repository is
    entered all the same, a directory that cannot be entered is hidden as a whole, and TooMuch ends a look that takes too
    long, instead of closing a part.
    """
    closed = Closed(root.rstrip("/"), frozenset(named))
    waiting = [closed.root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
            if not os.access(folder, os.X_OK):  # it could be listed, and nothing in it be closed
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as unseen:
            if folder == closed.root:
                raise TooMuch(f"what cannot be entered ({unseen.strerror})") from unseen
            closed.add(HIDDEN, folder)
            continue
        closed.count(len(entries))
        if folder != closed.root and {entry.name for entry in entries} >= _REPOSITORY:
            _close_repository(folder, closed, git=git)
        waiting += _look(entries, closed, git=git)
    return closed


def _look(entries: Iterable[os.DirEntry[str]], closed: Closed, *, git: bool) -> Iterator[str]:
    """Close what is to be among ``entries``; the directories that have to be looked at in turn."""
    for entry in entries:
        if entry.is_symlink():
            _close_target(entry, closed, git=git)
        elif entry.name == ".git":
            _close_repository(entry.path, closed, git=git)
        elif not entry.is_dir(follow_symlinks=False):
            if is_hidden_name(entry.name, directory=False) and entry.is_file(follow_symlinks=False):
                closed.add(HIDDEN, entry.path)
        elif is_hidden_name(entry.name, directory=True):
            closed.add(HIDDEN, entry.path)
        elif entry.name not in _NOT_ENTERED:
            if entry.name in _HOOKS:
                closed.add(FIXED, entry.path)
            yield entry.path


def _close_target(entry: os.DirEntry[str], closed: Closed, *, git: bool) -> None:
    """What a link leads to, if its name says that it is to be closed; outside of the workspace nothing can be reached."""
    target = os.path.realpath(entry.path)
    if not target.startswith(f"{closed.root}/") or not os.path.lexists(target):
        return
    if is_hidden_name(entry.name, directory=Path(target).is_dir()):
        closed.add(HIDDEN, target)
    elif entry.name == ".git":
        _close_repository(target, closed, git=git)
    elif entry.name in _HOOKS:
        closed.add(FIXED, target)


def _close_repository(place: str, closed: Closed, *, git: bool) -> None:
    """Make a git directory (or the file that points to one) read-only; for git what git obeys, in it and in what is nested."""
    whole = not git or not Path(place).is_dir()
    closed.add(FIXED if whole else KEPT, place)
    _close_deciding(place, closed, links_only=whole)
    for nested in () if whole else _NESTED:
        for folder, folders, files in os.walk(_no_link(f"{place}/{nested}")):
            folders[:] = [name for name in folders if name not in _NOT_DECIDING]
            closed.count(len(folders) + len(files))
            if "HEAD" in files:
                _close_deciding(folder, closed)


def _close_deciding(place: str, closed: Closed, *, links_only: bool = False) -> None:
    """Make what git obeys read-only, or only what links among it lead to: the links themselves are."""
    for name in _DECIDING:
        path = f"{place}/{name}"
        real = os.path.realpath(path)
        if os.path.lexists(real) and (real != path or not links_only):
            closed.add(FIXED, real)


def _no_link(path: str) -> str:
    """A walk begins at a link too, so it is given nothing there."""
    return "" if Path(path).is_symlink() else path

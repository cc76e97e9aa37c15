"""The tool list_dir: names, types and sizes below a directory; links are named and never followed."""

import os
import stat
from collections.abc import Callable

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, TargetKind, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.redaction.display import terminal_safe
from mtbot.tools import roots
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, number_of
from mtbot.tools.roots import PathRefused

MAX_DEPTH = 8
MAX_ENTRIES = 2000

SPEC = ToolSpec(
    name="list_dir",
    description=(
        "List a directory: one line for each entry with its type, its size in bytes and its name. Relative paths start "
        "at the workspace. Links are shown and not followed."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The directory; . is the workspace."},
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_DEPTH,
                "description": "How many levels to show; 1 (default) is the directory itself.",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    risk=Risk.READ,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.READ),),
    parallel_safe=True,
)

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class ListDirTool:
    """Lists directories."""

    def __init__(self, settings: FileSettings, masker: Masker) -> None:
        self._settings = settings
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of list_dir."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """One line for each entry, by name, what is in a directory below it."""
        del progress

        async def listed() -> str:
            return await off_loop(lambda: self._list(call, permit), self._settings.timeout)

        return await self._access.run(call, "Not listed", listed)

    def _list(self, call: Call, permit: Permit) -> str:
        found = self._access.admit(permit, Access.READ)
        if found.kind is TargetKind.MISSING:
            raise PathRefused("does not exist")
        if found.kind is not TargetKind.DIRECTORY:
            raise PathRefused("is not a directory")
        with roots.directory(found.path) as held:
            top = os.open(".", _OPEN, dir_fd=held)
        lines: list[str] = []
        complete = self._below(top, found.path, "", number_of(call, "depth", 1, low=1, high=MAX_DEPTH), lines)
        if not lines:
            return f"path: {found.path}\n(the directory is empty)"
        if not complete:
            lines.append(f"[truncated: only the first {MAX_ENTRIES} entries are shown]")
        return f"path: {found.path}\n" + "\n".join(lines)

    def _below(self, opened: int, path: str, shown: str, depth: int, lines: list[str]) -> bool:
        """Add the lines of an open directory, which is closed; False when there was no more room."""
        try:
            for name in sorted(os.listdir(opened)):
                if len(lines) >= MAX_ENTRIES:
                    return False
                if not self._entry(opened, f"{path.rstrip('/')}/{name}", shown, depth, lines):
                    return False
        finally:
            os.close(opened)
        return True

    def _entry(self, parent: int, path: str, shown: str, depth: int, lines: list[str]) -> bool:
        name = path.rpartition("/")[2]
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError:
            return True  # gone since the directory was read
        kind = _TYPES.get(stat.S_IFMT(status.st_mode), "unknown")
        label = shown + _visible(name)
        if kind == "link":
            lines.append(f"link - {label} -> {_visible(_target(parent, name))}")
        elif kind != "dir":
            lines.append(f"{kind} {status.st_size if kind == 'file' else '-'} {label}")
        elif depth <= 1:
            lines.append(f"dir - {label}/")
        elif self._settings.closed(path):
            lines.append(f"dir - {label}/ (what is in it is not listed)")
        else:
            lines.append(f"dir - {label}/")
            return self._enter(parent, path, f"{label}/", depth - 1, lines)
        return True

    def _enter(self, parent: int, path: str, shown: str, depth: int, lines: list[str]) -> bool:
        try:
            opened = os.open(path.rpartition("/")[2], _OPEN, dir_fd=parent)
        except OSError:
            lines[-1] += " (cannot be listed)"
            return True
        return self._below(opened, path, shown, depth, lines)


def _target(parent: int, name: str) -> str:
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError:
        return "?"


def _visible(name: str) -> str:
    return str(terminal_safe(name, table=True))

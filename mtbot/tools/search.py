"""The tool search: lines that match an expression, in the text files below a directory.

What a reader would see masked is matched as the mask: whether a guess hits would tell a secret piece by piece. What
needs a decision of its own (sensitive files, denied paths) is passed by, links are not followed, and everything is
bounded.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, TargetKind, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.policy.rule import Patterns, PatternsError
from mtbot.redaction.display import terminal_safe
from mtbot.tools import roots
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, Invalid, text_of
from mtbot.tools.roots import PathRefused
from mtbot.tools.window import MARGIN, masked_part

MAX_MATCHES = 200
MAX_LINE = 300
"""Characters of a line that are shown."""

MAX_DEPTH = 32
_SNIFFED = 8192
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

SPEC = ToolSpec(
    name="search",
    description=(
        "Search text files below a directory (or one file) for lines that match an RE2 regular expression. One line for "
        "each match: file, line number, text. Links, binary files and .git are passed by. Relative paths start at the "
        "workspace."
    ),
    schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "RE2 expression; (?i) in front ignores case."},
            "path": {"type": "string", "description": "The directory or file; . is the workspace."},
            "glob": {
                "type": "string",
                "description": "Only files of such names: *.py; with a slash it is compared with the path below path.",
            },
        },
        "required": ["pattern", "path"],
        "additionalProperties": False,
    },
    risk=Risk.READ,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.READ),),
    parallel_safe=True,
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far one search goes: directory entries, bytes read, the largest file, seconds."""

    entries: int = 50_000
    size: int = 64 * 1024 * 1024
    file_size: int = 4 * 1024 * 1024
    seconds: float = 5.0


class SearchTool:
    """Searches."""

    def __init__(
        self,
        settings: FileSettings,
        masker: Masker,
        bounds: Bounds = Bounds(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._masker = masker
        self._bounds = bounds
        self._clock = clock
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of search."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """The matches in the order of the paths, and whether anything was left out."""
        del progress

        async def found() -> str:
            return await off_loop(lambda: self._search(call, permit), self._settings.timeout)

        return await self._access.run(call, "Not searched", found)

    def _search(self, call: Call, permit: Permit) -> str:
        try:
            patterns = Patterns((text_of(call, "pattern"),))
        except PatternsError as error:
            raise Invalid(f"the pattern is no RE2 expression: {error.errors[0].message}") from None
        top = self._access.admit(permit, Access.READ)
        if top.kind is TargetKind.MISSING:
            raise PathRefused("does not exist")
        hunt = _Hunt(patterns, text_of(call, "glob"), self._masker, self._bounds, self._settings.closed)
        hunt.until = self._clock() + self._bounds.seconds
        hunt.clock = self._clock
        try:
            if top.kind is TargetKind.FILE:
                parent, name = roots.parted(top.path)
                with roots.directory(parent) as held:
                    hunt.file(held, name, name)
            else:
                with roots.directory(top.path) as held:
                    hunt.directory(os.open(".", _OPEN, dir_fd=held), top.path, "", 1)
        except _Enough as enough:
            hunt.notes.append(f"[not everything was searched: {enough}]")
        return _told(top.path, hunt)


def _told(path: str, hunt: "_Hunt") -> str:
    head = [f"path: {path}", f"files searched: {hunt.files}", f"matches: {len(hunt.lines)}"]
    if hunt.passed:
        head.append(f"passed by: {hunt.passed} (sensitive, unreadable, too large or with several names)")
    return "\n".join([*head, *hunt.lines, *hunt.notes])


class _Enough(Exception):
    """A bound is reached; the text says which."""


@dataclass(slots=True)
class _Hunt:
    """One search on its way."""

    patterns: Patterns
    glob: str
    masker: Masker
    bounds: Bounds
    closed: Callable[[str], bool]
    until: float = 0.0
    clock: Callable[[], float] = time.monotonic
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    passed: int = 0
    entries: int = 0
    size: int = 0

    def directory(self, opened: int, path: str, shown: str, depth: int) -> None:
        """Search below an open directory, which is closed."""
        try:
            for name in sorted(os.listdir(opened)):
                self.entries += 1
                if self.entries > self.bounds.entries:
                    raise _Enough(f"there are more than {self.bounds.entries} entries")
                self._entry(opened, name, f"{path.rstrip('/')}/{name}", f"{shown}{name}", depth)
        finally:
            os.close(opened)

    def _entry(self, held: int, name: str, path: str, shown: str, depth: int) -> None:
        try:
            mode = os.stat(name, dir_fd=held, follow_symlinks=False).st_mode
        except OSError:
            return  # gone since the directory was read
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            return
        if self.closed(path):
            self.passed += 1
        elif stat.S_ISREG(mode):
            if not self.glob or fnmatchcase(shown if "/" in self.glob else name, self.glob):
                self.file(held, name, shown)
        elif name != ".git" and depth < MAX_DEPTH:
            try:
                opened = os.open(name, _OPEN, dir_fd=held)
            except OSError:
                self.passed += 1
            else:
                self.directory(opened, path, f"{shown}/", depth + 1)

    def file(self, held: int, name: str, shown: str) -> None:
        """Search one regular file."""
        if self.clock() > self.until:
            raise _Enough(f"it took longer than {self.bounds.seconds:g} s")
        try:
            with roots.regular_at(held, name) as opened:
                data = self._read(opened)
        except (OSError, PathRefused):
            data = None
        if data is None:
            self.passed += 1
        elif b"\0" not in data[:_SNIFFED]:
            self.files += 1
            self._lines(data.decode("utf-8", "replace"), shown)

    def _read(self, opened: int) -> bytes | None:
        status = os.fstat(opened)
        if status.st_nlink > 1 or status.st_size > self.bounds.file_size:
            return None
        self.size += status.st_size
        if self.size > self.bounds.size:
            raise _Enough(f"there is more than {self.bounds.size // (1024 * 1024)} MiB of text")
        pieces, left = [], status.st_size
        while left > 0 and (piece := os.read(opened, left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _lines(self, text: str, shown: str) -> None:
        clear: bool | None = None
        at = 0
        for number, line in enumerate(text.split("\n"), 1):
            start, at = at, at + len(line) + 1
            if self.patterns.first_match(line) is None:
                continue
            if clear is None:
                clear = str(self.masker.mask(text)) == text
            seen = line if clear else self._seen(text, start, start + len(line))
            if not clear and self.patterns.first_match(seen) is None:
                continue
            if len(self.lines) >= MAX_MATCHES:
                raise _Enough(f"there are more than {MAX_MATCHES} matches")
            cut = seen if len(seen) <= MAX_LINE else f"{seen[:MAX_LINE]}…"
            self.lines.append(f"{_visible(shown)}:{number}: {terminal_safe(cut, table=True)}")

    def _seen(self, text: str, start: int, end: int) -> str:
        """A line as a reader sees it, masked together with what surrounds it."""
        if self.clock() > self.until:
            raise _Enough(f"it took longer than {self.bounds.seconds:g} s")
        return masked_part(self.masker, text[max(0, start - MARGIN) : start], text[start:end], text[end : end + MARGIN])


def _visible(name: str) -> str:
    return str(terminal_safe(name, table=True))

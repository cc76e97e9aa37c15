"""A deny rule as a value, and the owner's own patterns; the only importer of RE2 here.

A built-in rule judges the argv of one command and carries its examples, which tests, docs and `mtclaw policy rules`
read. The owner's patterns are RE2 (linear in the text, whatever they are) and search raw text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import re2

from mtbot.policy.reading_values import SimpleCommand

MAX_TEXT_BYTES = 64 * 1024
"""Input that is longer is refused before any matching."""

_SET_MEMORY = 64 << 20


class Level(StrEnum):
    """What a built-in rule does when it matches."""

    REFUSE = "refuse"
    ASK = "ask"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Rule:
    """One built-in deny rule.

    `matches` is only called for a command whose base name is in `programs`, for every command that writes by a
    redirect when `redirects` is set, and for the functions of a text when `functions` is set. `better` tells the model what to use instead. `refuses` and `permits` are
    example texts: each must, and must not, be refused by this very rule.
    """

    id: str
    reason: str
    matches: Callable[[SimpleCommand], bool]
    programs: frozenset[str]
    refuses: tuple[str, ...]
    permits: tuple[str, ...]
    better: str | None = None
    hardline: bool = False
    redirects: bool = False
    functions: bool = False


@dataclass(frozen=True, slots=True)
class PatternError:
    """Why one of the owner's patterns does not compile; `position` is a character offset in it, when known."""

    index: int
    pattern: str
    message: str
    position: int | None

    def __str__(self) -> str:
        where = "" if self.position is None else f" at character {self.position + 1}"
        return f"deny[{self.index}]: {self.message}{where}: {self.pattern}"


class PatternsError(ValueError):
    """At least one pattern is wrong; `errors` names all of them."""

    def __init__(self, errors: Sequence[PatternError]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = tuple(errors)


class Patterns:
    """Compiled patterns that are searched together.

    Raises PatternsError at construction; a pattern is never dropped.
    """

    __slots__ = ("_each", "_set", "patterns")

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        options = _options()
        self._each, errors = [], []
        for index, pattern in enumerate(self.patterns):
            try:
                self._each.append(re2.compile(pattern, options))
            except re2.error as error:
                errors.append(_explained(index, pattern, error))
            except UnicodeEncodeError:
                errors.append(PatternError(index, ascii(pattern), "not valid Unicode", None))
        if errors:
            raise PatternsError(errors)
        self._set = _together(self.patterns)

    def first_match(self, text: str) -> int | None:
        """Index of the first pattern (in the owner's order) found anywhere in `text`."""
        if not self.patterns:
            return None
        hits = self._set.Match(text) if self._set is not None else None
        if not hits or len(self.patterns) not in hits:
            return next((index for index, each in enumerate(self._each) if each.search(text)), None)
        index = min(hits)
        return index if index < len(self.patterns) else None


def compile_whole(pattern: str) -> Callable[[str], bool]:
    """A match of one of the owner's patterns over a whole text, where `.` is never a newline. ValueError explains."""
    options = _options()
    options.dot_nl = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(str(_explained(0, pattern, error)).removeprefix("deny[0]: ")) from error
    return lambda text: compiled.fullmatch(text) is not None


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    options.max_mem = _SET_MEMORY
    return options


def _together(patterns: tuple[str, ...]) -> re2.Set | None:
    """One automaton for all patterns, or None when they are too large for one: then each is searched alone."""
    together = re2.Set.SearchSet(_options())
    try:
        for pattern in patterns:
            together.Add(pattern)
        # RE2 answers "nothing matched" when a set runs out of memory; the empty pattern always matches, so its
        # absence tells the two apart
        together.Add("")
        together.Compile()
    except re2.error:
        return None
    return together


def _unclosed(pattern: str) -> int:
    """Index of the last `(` that is never closed, or -1."""
    still: list[int] = []
    position, in_class = 0, False
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            still.append(position)
        elif char == ")" and still:
            still.pop()
        position += 1
    return still[-1] if still else -1


def _explained(index: int, pattern: str, error: Exception) -> PatternError:
    """RE2 says what is wrong and quotes the offending piece; its place in the pattern is the position."""
    raw = error.args[0] if error.args else ""
    message = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    kind, colon, piece = message.partition(": ")
    position = pattern.find(piece) if colon and piece else -1
    if kind == "missing )":
        position = _unclosed(pattern)
    return PatternError(index, pattern, kind or "invalid pattern", position if position >= 0 else None)

"""Faults of a configuration file as values: where, which key, what is wrong and what was probably meant."""

from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]
NO_VALUE = "has no value; give one or delete the key"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in the file, both numbers counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault; its line of text never repeats a value, because the value may be a misplaced secret."""

    place: Place
    path: Path
    message: str

    def render(self, file: str) -> str:
        """``file:line:column: dotted.key: message``, the key left out for faults of the file as a whole."""
        key = dotted(self.path)
        return f"{file}:{self.place.line}:{self.place.column}: {key}{': ' if key else ''}{self.message}"


def dotted(path: Path) -> str:
    """``a.b[0].c``; characters that a terminal would act on are written as escapes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + printable(part)
    return text


def printable(text: str) -> str:
    """The text with everything unprintable escaped and at most 80 characters of it."""
    kept = text if len(text) <= 80 else text[:79] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in kept)


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean "x"?)`` for the known name that is closest, or nothing if none is close."""
    import difflib  # noqa: PLC0415  a file without a fault has no use for it

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f' (did you mean "{folded[close[0]]}"?)' if close else ""


def render_all(file: str, problems: Iterable[Problem]) -> tuple[str, ...]:
    """Every fault once, in the order of the file; of a key without a value nothing else is said."""
    unique = dict.fromkeys(sorted(problems, key=lambda p: (p.place, dotted(p.path), p.message)))
    bare = {problem.path for problem in unique if problem.message == NO_VALUE}
    return tuple(p.render(file) for p in unique if p.message == NO_VALUE or p.path not in bare)

"""The owner's way to write an allowed command as a list of words: `*` is one word, `**` the rest.

A wildcard never stands for an option, because one more option is often one more power
(`git log --output=FILE` writes any file). An option is allowed where the list spells it out.
"""

from dataclasses import dataclass
from enum import StrEnum

ONE = "*"
REST = "**"

_LETTERS_FIRST = frozenset({"tar", "gtar", "bsdtar", "star"})
"""Programs whose first word is letters of options, also without a dash: `tar xfI a ./x` runs ./x."""


class PatternFault(StrEnum):
    """Why a list of words is no pattern."""

    EMPTY = "the list is empty"
    PROGRAM = "the program must be written out, without * and without blanks"
    REST_NOT_LAST = "** may only be the last word"


class PatternError(ValueError):
    """A list of words that is no pattern; `fault` says why."""

    def __init__(self, fault: PatternFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class ArgvPattern:
    """A checked pattern over a whole argv."""

    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """The first word: always literal, so `./git` is not `git`."""
        return self.words[0]

    @property
    def exact(self) -> tuple[str, ...] | None:
        """The one argv that it stands for, when it has no wildcard."""
        return None if ONE in self.words or REST in self.words else self.words

    def matches(self, argv: tuple[str, ...]) -> bool:
        """Whether the pattern covers every word of `argv`."""
        fixed = self.words[:-1] if self.words[-1] == REST else self.words
        if len(argv) < len(fixed) or (fixed is self.words and len(argv) != len(fixed)):
            return False
        if argv[0].rsplit("/", 1)[-1] in _LETTERS_FIRST and len(argv) > 1 and fixed[1:2] in ((), (ONE,)):
            return False
        pairs_match = all(_word_matches(pattern, word) for pattern, word in zip(fixed, argv, strict=False))
        return pairs_match and all(_is_no_option(word) for word in argv[len(fixed) :])

    def free(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The words of a matching argv that a wildcard let through, told by their place, not by their text."""
        fixed = self.words[:-1] if self.words[-1] == REST else self.words
        starred = tuple(word for pattern, word in zip(fixed, argv, strict=False) if pattern == ONE)
        return starred + argv[len(fixed) :]


def parse(words: tuple[str, ...]) -> ArgvPattern:
    """Check a list of words; raises PatternError."""
    if not words:
        raise PatternError(PatternFault.EMPTY)
    program = words[0]
    if not program or "*" in program or any(blank in program for blank in " \t\n"):
        raise PatternError(PatternFault.PROGRAM)
    if REST in words[:-1]:
        raise PatternError(PatternFault.REST_NOT_LAST)
    return ArgvPattern(words)


def _word_matches(pattern: str, word: str) -> bool:
    return _is_no_option(word) if pattern == ONE else word == pattern


def _is_no_option(word: str) -> bool:
    return not word.startswith("-")

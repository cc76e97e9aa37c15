"""Find the values of a program's options in every spelling that getopt takes. Pure, never raises."""

from __future__ import annotations

from collections.abc import Iterator

from mtbot.policy.reading_values import UNKNOWN, Word

_SHORTEST = 4
"""Characters of the shortest abbreviation of a long option that is taken for it, dashes included."""


def abbreviates(name: str, names: frozenset[str]) -> bool:
    """Whether `name` is one of the long options, or the beginning of one as getopt accepts it."""
    return name in names or (len(name) >= _SHORTEST and any(option.startswith(name) for option in names))


def placed_values(words: tuple[Word, ...], names: frozenset[str], takes: str = "") -> Iterator[tuple[Word, int]]:
    """Every value of the options among `names`, each with the index behind it.

    A value is the next word, stands behind a `=`, or is joined to its letter, also behind other letters (`-xIsh`).
    `takes` are the letters of other options with a value: what is joined to them is no cluster. All values are
    found, since of several most programs take the last and some take each.
    """
    letters = frozenset([name[1] for name in names if len(name) == 2])
    for position, word in enumerate(words):
        text = word.text
        if text in names:
            yield from _next(words, position)
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            if abbreviates(name, names):
                yield from [(Word(value, UNKNOWN in value), position + 1)] if equals else _next(words, position)
        elif text.startswith("-"):
            name, equals, value = text.partition("=")
            if equals and name in names and len(name) > 2:
                yield Word(value, UNKNOWN in value), position + 1
                continue
            at = next((index for index, letter in enumerate(text) if index and letter in letters.union(takes)), 0)
            if at and text[at] in letters:
                rest = text[at + 1 :]
                yield from [(Word(rest, UNKNOWN in rest), position + 1)] if rest else _next(words, position)


def values_of(words: tuple[Word, ...], names: frozenset[str], takes: str = "") -> Iterator[Word]:
    """The values alone."""
    return (value for value, _ in placed_values(words, names, takes))


def _next(words: tuple[Word, ...], position: int) -> Iterator[tuple[Word, int]]:
    if position + 1 < len(words):
        yield words[position + 1], position + 2

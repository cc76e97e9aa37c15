"""Which texts a grant could be for by their shape alone, and every path that the words of one may lead to.

An allow rule knows what each word of its command means; a grant is for commands that nobody described. So each place at
which a program may cut a path out of a word is looked at: after ``=``, ``:``, ``,`` and ``@``, and anywhere in a short
option (``-o/etc/x``).
"""

from functools import cache
from string import ascii_letters, digits

from mtbot.policy.allow_rule import AllowRules
from mtbot.policy.lexer import LexedCommand, Literal, NotLiteral
from mtbot.policy.never import base_name, never_by_pattern, runs_workspace_files

MAX_PATHS = 128
"""Paths that are looked up for one command; one that calls for more is asked about each time."""

_CUTS = "=:,@"
_INTO = frozenset({"cp", "mv", "ln"})
"""Programs that put what they are given into a directory, under its own name."""


@cache
def readers() -> AllowRules:
    """The commands that are known to look only, whether or not the owner has chosen the pack."""
    from mtbot.policy.readonly import READONLY  # noqa: PLC0415  its grammars are no work for a start, but for a question

    return AllowRules(READONLY)


def single(literal: Literal | NotLiteral | None) -> LexedCommand | None:
    """The one simple command of a text that is nothing else, of a program that is none of those that run anything."""
    if not isinstance(literal, Literal) or literal.cd is not None or len(literal.commands) != 1:
        return None
    command = literal.commands[0]
    return None if why_never(command.argv[0]) else command


def why_never(program: str) -> str | None:
    """Why no command of this program is granted, whatever its words; None if that depends."""
    never = never_by_pattern(program)
    if never is None and runs_workspace_files(program):
        return f"{program} runs files of the directory it works in, whose content cannot be fixed"
    return never


def paths_in(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """Everything in the words that a program may take for a path, the program itself if it is named by one.

    None where that cannot be said: there is too much of it, or a ``~`` that one reader expands and another does not.
    """
    found = dict.fromkeys(path for word in argv[1:] for path in _in_word(word))
    if base_name(argv[0]) in _INTO:
        found |= dict.fromkeys(f"{place}/{word.rsplit('/', 1)[-1]}" for place in found for word in argv[1:])
    if "/" in argv[0]:
        found[argv[0]] = None
    found.pop("", None)
    if len(found) > MAX_PATHS or any(path.startswith("~") for path in found):
        return None
    return tuple(found)


def _in_word(word: str) -> list[str]:
    parts = [word[at + 1 :] for at, character in enumerate(word) if character in _CUTS]
    if not word.startswith("-"):
        return [word, *parts]
    if word.startswith("--"):
        return parts
    letters = len(word) - len(word[1:].lstrip(ascii_letters + digits))
    return [*(word[at:] for at in range(2, letters + 1)), *parts]

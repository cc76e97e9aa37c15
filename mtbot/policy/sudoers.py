"""The lines of sudoers(5) that let exactly the commands of ``elevation.chat`` run without a password, and no more.

Arguments in sudoers are patterns of their own: blanks join words, `*` and `?` match across words, a word between `^` and
`$` is a regular expression. So what is not plain is left out as a comment that says why, and never widened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtbot.policy.argv_pattern import ONE, REST

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+-")
_ESCAPED = frozenset(",:=\\")
"""What sudoers(5) asks to be escaped in arguments."""
_USER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")

_HEAD = (
    "# What elevation.chat lists, for `visudo -f /etc/sudoers.d/mtclaw`. Whoever reaches this account can run these",
    "# lines without a password, with or without mtclaw: a yes in a chat is mtclaw's own rule and none of sudo's.",
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a program lies (absolute; empty: nowhere on the PATH), and why root should not run it, if so."""

    path: str
    trouble: str = ""


def lines(patterns: Sequence[Sequence[str]], user: str, find: Callable[[str], Found]) -> tuple[str, ...]:
    """A line for every pattern; one that cannot be written safely is a comment with the reason."""
    if not patterns:
        return ("# elevation.chat is empty: nothing that changes the user can be approved in a chat",)
    return (*_HEAD, *(_line(pattern, user, find(pattern[1])) for pattern in patterns))


def refused(line: str) -> bool:
    """Whether a line of ``lines`` says why a pattern was left out."""
    return line.startswith("# left out: ")


def _line(pattern: Sequence[str], user: str, found: Found) -> str:
    words = pattern[2:]
    why = _trouble(words, found)
    if why:
        shown = " ".join(pattern).encode("unicode_escape").decode("ascii")
        return f"# left out: {shown}: {why}"
    arguments = " ".join(_escaped(word) for word in words) or '""'
    return f"{user} ALL=(root) NOPASSWD: {_escaped(found.path)} {arguments}"


def _trouble(words: Sequence[str], found: Found) -> str:
    if not found.path:
        return "the program is not on tools.exec.path"
    if found.trouble:
        return found.trouble
    if ONE in words or REST in words:
        return "a wildcard of sudoers matches blanks and options too, so it would permit more than the pattern; write out each command"
    for word in words:
        if not word:
            return "an empty argument cannot be told from none in sudoers"
        if not _PLAIN.union(_ESCAPED).issuperset(word):
            return "an argument holds a character that means something else in sudoers, or a blank"
    if not _PLAIN.issuperset(found.path):
        return "the path of the program holds a character that means something else in sudoers"
    return ""


def _escaped(word: str) -> str:
    return "".join(f"\\{char}" if char in _ESCAPED else char for char in word)


def account_fault(user: str) -> str:
    """Why sudoers cannot name that user; empty if it can."""
    plain = bool(user) and _USER.issuperset(user) and user[0] not in "-." and not user.isdecimal()
    return "" if plain else "a user of sudoers is named by letters, digits, _, - and ."

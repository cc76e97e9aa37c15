"""Positive grammars over an argv: which options, which values and which operands a command may have, and nothing else.

An entry of the read-only pack lists what it knows to be harmless. Whatever it does not list (an unknown option, the
abbreviation of a long one, one operand too many) does not match, so a program that grows a new power grows it outside
the pack.

Options are written as words: `-al` two letters that take no value, `-n:num` a letter with a value, `--long`,
`--long:word` with a value, `--long?word` with a value only after `=`. Operands are kinds, the last of which may be
followed by `?`, `*` or `+`. Kinds are the names in `KINDS`, or a choice `(a|b)`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from mtbot.policy.allow_rule import Argv, Match, Operand, Role


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of word: its full shape, and the role of the path that it names (None: it names none)."""

    shape: re.Pattern[str]
    role: Role | None = None

    def fits(self, word: str) -> bool:
        """Whether the whole word is of this kind."""
        return self.shape.fullmatch(word) is not None


def _kind(shape: str, role: Role | None = None) -> Kind:
    return Kind(re.compile(shape, re.ASCII), role)


KINDS = {
    "num": _kind(r"[0-9]{1,12}"),
    "int": _kind(r"[+-]?[0-9]{1,12}"),
    "size": _kind(r"[+-]?[0-9]{1,12}[A-Za-z%]{0,3}"),
    "range": _kind(r"[0-9,:.-]{1,40}"),
    "name": _kind(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"),
    "item": _kind(r"(?!.*://)[A-Za-z0-9_][A-Za-z0-9_.:/@+=,~^{}*-]*"),
    "when": _kind(r"[A-Za-z0-9+_-][A-Za-z0-9 :.,+_-]*"),
    "text": _kind(r"(?!-)[^\n]*"),
    "any": _kind(r"(?s:.*)"),
    "words": _kind(r"[A-Za-z0-9_%+][A-Za-z0-9_.,:=%+-]*"),
    "format": _kind(r"[A-Za-z0-9_%{}().\[\]\\<>#@'\"+*|/,:;!?$& \t=-]*"),
    "stream": _kind(r"/dev/(null|stdout|stderr|stdin|fd/[012])"),
    "rev": _kind(r"[A-Za-z0-9_./][A-Za-z0-9_.:/@+=,~^{} -]*", Role.PATH),
    "compared": _kind(r"(?!/)(?!(?:[^\n]*/)?\.\.(?:/|$))[A-Za-z0-9_.][A-Za-z0-9_.:/@+=,~^{} -]*", Role.CONTENT_BELOW),
    "path": _kind(r"-|(?!-)[^\n]+", Role.PATH),
    "file": _kind(r"(?!-)(?!.*://)[^\n]+", Role.PATH),
    "data": _kind(r"[A-Za-z0-9_./-]*[A-Za-z0-9_-][.](?:ya?ml|json|toml|xml|csv|tsv|props|properties)", Role.PATH),
    "names": _kind(r"(?!-)[^\n]+", Role.NAMES_BELOW),
    "chart": _kind(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*", Role.CONTENT_BELOW),
    "content": _kind(r"-|(?!-)[^\n]+", Role.CONTENT_BELOW),
}


@dataclass(frozen=True, slots=True)
class Read:
    """An argv taken apart: the options that occurred, their values, the operands, and the paths among all of them."""

    options: frozenset[str]
    values: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    paths: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class _Option:
    value: Kind | None = None
    only_joined: bool = False


@dataclass(frozen=True, slots=True)
class _Slot:
    kind: Kind
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Grammar:
    """The options and operands of one command; made by `grammar`.

    `requires` must all occur. With one of `deepens` present, or without any path operand where `implicit` is set,
    paths get the role `deep`. `whole_words`: options are single-dash words (`-maxdepth 2`), never joined letters.
    """

    options: dict[str, _Option]
    slots: tuple[_Slot, ...]
    requires: frozenset[str] = frozenset()
    deepens: frozenset[str] = frozenset()
    deep: Role = Role.NAMES_BELOW
    implicit: Role | None = None
    whole_words: bool = False
    also: Callable[[Read], bool] | None = field(default=None)

    def read(self, words: Argv) -> Read | None:
        """Take the words after the command apart, or None if one of them is not covered."""
        found: list[tuple[str, str]] = []
        paths: list[Operand] = []
        operands: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                if any(other.startswith("-") for other in rest):
                    return None
                operands.extend(rest)
                break
            if word.startswith("-") and word != "-":
                if not self._take_option(word, rest, found, paths):
                    return None
            else:
                operands.append(word)
        placed = self._place(operands)
        if placed is None:
            return None
        names = frozenset(name for name, _ in found)
        if not self.requires <= names:
            return None
        read = Read(names, tuple(found), tuple(operands), self._with_roles(paths, placed, names))
        return read if self.also is None or self.also(read) else None

    def leading(self, words: Argv) -> tuple[Read, Argv] | None:
        """Take the options before the first operand (or `--`), and give the words from there on as they are."""
        found: list[tuple[str, str]] = []
        paths: list[Operand] = []
        rest = list(words)
        while rest and rest[0].startswith("-") and rest[0] != "-":
            word = rest.pop(0)
            if word == "--":
                break
            if not self._take_option(word, rest, found, paths):
                return None
        return Read(frozenset(name for name, _ in found), tuple(found), (), tuple(paths)), tuple(rest)

    def match(self, words: Argv) -> Match | None:
        """As `read`, reduced to what the judge needs."""
        read = self.read(words)
        return None if read is None else Match(read.paths)

    def _take_option(self, word: str, rest: list[str], found: list[tuple[str, str]], paths: list[Operand]) -> bool:
        if not word.startswith("--") and not self.whole_words:
            return self._take_letters(word[1:], rest, found, paths)
        name, joined, value = word.partition("=")
        option = self.options.get(name)
        if option is None:
            return False
        if option.value is None:
            found.append((name, ""))
            return not joined
        if option.only_joined and not joined:
            found.append((name, ""))
            return True
        if not joined:
            if not rest:
                return False
            value = rest.pop(0)
        return _keep(name, value, option.value, found, paths)

    def _take_letters(self, letters: str, rest: list[str], found: list[tuple[str, str]], paths: list[Operand]) -> bool:
        for at, letter in enumerate(letters):
            name = "-" + letter
            option = self.options.get(name)
            if option is None:
                return False
            if option.value is None:
                found.append((name, ""))
                continue
            value = letters[at + 1 :]
            if not value:
                if not rest:
                    return False
                value = rest.pop(0)
            return _keep(name, value, option.value, found, paths)
        return True

    def _place(self, operands: list[str]) -> list[Operand] | None:
        """Put each operand into its slot; None if one does not fit or some are missing."""
        placed: list[Operand] = []
        at = 0
        for slot in self.slots:
            taken = 0
            while at < len(operands) and (slot.most is None or taken < slot.most):
                if not slot.kind.fits(operands[at]):
                    return None
                if slot.kind.role is not None:
                    placed.append(Operand(operands[at], slot.kind.role))
                at, taken = at + 1, taken + 1
            if taken < slot.least:
                return None
        return placed if at == len(operands) else None

    def _with_roles(self, values: list[Operand], placed: list[Operand], names: frozenset[str]) -> tuple[Operand, ...]:
        deepened = not self.deepens.isdisjoint(names)
        if deepened:
            placed = [Operand(operand.word, self.deep) for operand in placed]
        if not placed and (self.implicit is not None or deepened):
            placed = [Operand(".", self.deep if deepened or self.implicit is None else self.implicit)]
        # `-` is the standard input and names no path
        return tuple(operand for operand in (*values, *placed) if operand.word != "-")


def grammar(
    options: str = "",
    operands: str = "",
    *,
    requires: str = "",
    deepens: str = "",
    deep: Role = Role.NAMES_BELOW,
    implicit: Role | None = None,
    whole_words: bool = False,
    also: Callable[[Read], bool] | None = None,
) -> Grammar:
    """Compile a grammar; raises KeyError for a kind that does not exist."""
    table: dict[str, _Option] = {}
    for word in options.split():
        table.update(_compile_option(word, whole_words=whole_words))
    return Grammar(
        table,
        tuple(_compile_slot(word) for word in operands.split()),
        frozenset(requires.split()),
        frozenset(deepens.split()),
        deep,
        implicit,
        whole_words,
        also,
    )


def _compile_option(word: str, *, whole_words: bool) -> dict[str, _Option]:
    name, mark, kind = word, "", ""
    for at, character in enumerate(word):
        if character in ":?":
            name, mark, kind = word[:at], character, word[at + 1 :]
            break
    option = _Option(_named_kind(kind) if mark else None, only_joined=mark == "?")
    if name.startswith("--") or whole_words or len(name) == 2:
        return {name: option}
    return {"-" + letter: option for letter in name[1:]}


def _compile_slot(word: str) -> _Slot:
    many = word[-1] if word[-1] in "?*+" else ""
    kind = _named_kind(word[: len(word) - len(many)])
    least = 0 if many in ("?", "*") and many else 1
    return _Slot(kind, least, 1 if many in ("", "?") else None)


def _named_kind(name: str) -> Kind:
    if name.startswith("("):
        return Kind(re.compile(name, re.ASCII))
    return KINDS[name]


def _keep(name: str, value: str, kind: Kind, found: list[tuple[str, str]], paths: list[Operand]) -> bool:
    if not kind.fits(value):
        return False
    found.append((name, value))
    if kind.role is not None:
        paths.append(Operand(value, kind.role))
    return True


def any_of(*options: str) -> Callable[[Read], bool]:
    """A further condition for a grammar: at least one of these options occurs."""
    looking = frozenset(options)
    return lambda read: not read.options.isdisjoint(looking)

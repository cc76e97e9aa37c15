"""Resolve one shell word: from its source to the words that bash would pass, as far as the text alone tells.

No parser's own idea of a word is used (bashlex drops quotes inside quotes, keeps brace lists and decodes `$'..'`
wrongly), so that every reading is judged by the same words. Unknown pieces stay UNKNOWN; a word with one is
dynamic. This serves deny, which over-approximates: nothing here proves that a text is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mtbot.policy.quoting import ansi_c, brace_words, closing_backtick, closing_brace, closing_paren
from mtbot.policy.reading_values import UNKNOWN, Word

Environment = Mapping[str, str]
"""The value that a name is known to have in this reading; a name that is missing is unknown."""

Substitute = Callable[[str], str | None]
"""What a command substitution prints when that is certain (`$(echo rm)`), else None."""

MAX_FIELDS = 256
MAX_ARITHMETIC = 40
"""Openings `$((` of one word that are looked at for a subshell instead of arithmetic."""
MAX_NESTING = 16
"""Levels of `${a:-${b:-..}}` that are followed."""
SPLIT = re.compile(r"[ \t\n]+")

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+^\-]+").fullmatch
_RUN = re.compile(r"[^\\'\"$`*?\[<>~]+")
_RUN_QUOTED = re.compile(r"[^\\\"$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!\-]")
_PARAMETER = re.compile(
    r"(?P<bang>!?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!\-])(?P<index>\[[^\]]*\])?(?P<rest>.*)", re.S
)


@dataclass(frozen=True, slots=True)
class Inner:
    """A program text inside a word: what it is, the source between its marks, and where that starts in the word."""

    kind: str
    """One of `$(`, `` ` ``, `<(`, `>(`."""
    text: str
    offset: int


class Expander:
    """Expands sources under one environment."""

    __slots__ = ("_depth", "_environment", "_substitute")

    def __init__(self, environment: Environment, substitute: Substitute) -> None:
        self._environment = environment
        self._substitute = substitute
        self._depth = 0

    def words(self, source: str) -> list[Word]:
        """Every word that `source` becomes: brace lists first, then values, then splitting."""
        if _PLAIN(source):
            return [Word(source)]
        words: list[Word] = []
        for piece in brace_words(source):
            words.extend(self._fields(piece))
            if len(words) > MAX_FIELDS:
                return [*words, Word(UNKNOWN, dynamic=True)]
        return words

    def value(self, source: str) -> Word:
        """One word without brace lists and splitting: an assignment's value, a redirect's target, a here-document."""
        fields = self._fields(source, split=False)
        return fields[0] if fields else Word("")

    def body(self, source: str) -> Word:
        """A here-document's body: as between double quotes, but `"` is an ordinary character."""
        fields = _Fields()
        self._walk(source, fields, quoted=True, here=True)
        return (fields.close() or [Word("")])[0]

    def _fields(self, source: str, split: bool = True) -> list[Word]:
        fields = _Fields(split=split)
        self._walk(source, fields, quoted=False, here=False)
        return fields.close()

    def _walk(self, source: str, fields: _Fields, *, quoted: bool, here: bool) -> None:
        position, size = 0, len(source)
        while position < size:
            run = (_RUN_QUOTED if quoted else _RUN).match(source, position)
            if run:
                fields.add(run.group())
                position = run.end()
                continue
            char = source[position]
            if char == "\\":
                position = self._escape(source, position, fields, quoted=quoted)
            elif char == '"':
                if here:
                    fields.add(char)
                else:
                    quoted = not quoted
                    fields.quoted = True
                position += 1
            elif char == "$":
                position = self._dollar(source, position, fields, quoted=quoted)
            elif char == "`":
                position = self._backtick(source, position, fields, quoted=quoted)
            else:
                position = self._unquoted(source, position, fields)

    def _escape(self, source: str, position: int, fields: _Fields, *, quoted: bool) -> int:
        following = source[position + 1 : position + 2]
        if following == "\n":
            return position + 2
        if quoted and following not in ("$", "`", '"', "\\"):
            fields.add("\\")
            return position + 1
        fields.quoted = True
        fields.add(following)
        return position + 2

    def _unquoted(self, source: str, position: int, fields: _Fields) -> int:
        """The characters that mean something only outside quotes."""
        char = source[position]
        if char == "'":
            end = source.find("'", position + 1)
            end = len(source) if end < 0 else end
            fields.quoted = True
            fields.add(source[position + 1 : end])
            return end + 1
        if char in "<>" and source[position + 1 : position + 2] == "(":
            fields.unknown()
            return closing_paren(source, position + 2) + 1
        if char in "*?[":
            fields.glob = True
        fields.add(char)
        return position + 1

    def _backtick(self, source: str, position: int, fields: _Fields, *, quoted: bool) -> int:
        end = closing_backtick(source, position + 1)
        self._insert(self._substitute(unescape_backtick(source[position + 1 : end])), fields, quoted=quoted)
        return end + 1

    def _dollar(self, source: str, position: int, fields: _Fields, *, quoted: bool) -> int:
        following = source[position + 1 : position + 2]
        if following == "'" and not quoted:
            text, end = ansi_c(source, position + 2)
            fields.quoted = True
            fields.add(text)
            return end
        if following == '"' and not quoted:
            return position + 1
        if source.startswith("((", position + 1):
            fields.unknown()
            return closing_paren(source, position + 2) + 1
        if following == "(":
            end = closing_paren(source, position + 2)
            self._insert(self._substitute(source[position + 2 : end]), fields, quoted=quoted)
            return end + 1
        if following == "[":
            fields.unknown()
            end = source.find("]", position)
            return len(source) if end < 0 else end + 1
        if following == "{":
            end = closing_brace(source, position + 2)
            inside = source[position + 2 : end]
            several = inside == "@" or inside.endswith("[@]")  # one word for each element, quoted or not
            self._insert(self._parameter(inside), fields, quoted=quoted and not several)
            return end + 1
        name = _NAME.match(source, position + 1)
        if name is None:
            fields.add("$")
            return position + 1
        self._insert(self._lookup(name.group()), fields, quoted=quoted and name.group() != "@")
        return name.end()

    def _insert(self, value: str | None, fields: _Fields, *, quoted: bool) -> None:
        if value is None:
            fields.unknown()
        elif quoted:
            fields.quoted = True
            fields.add(value)
        else:
            fields.split(value)

    def _lookup(self, name: str) -> str | None:
        value = self._environment.get(name)
        if value is None and name != "0" and (name.isdigit() or name in "@*"):
            return ""  # bash -c TEXT has no positional parameters
        return value

    def _parameter(self, inside: str) -> str | None:
        """`${inside}`: the value after the operators that a fixed text decides; None when it stays unknown."""
        if self._depth >= MAX_NESTING:
            return None
        self._depth += 1
        try:
            return self._decided(inside)
        finally:
            self._depth -= 1

    def _decided(self, inside: str) -> str | None:
        match = _PARAMETER.fullmatch(inside)
        if match is None:
            return None
        name, rest = match["name"], match["rest"]
        value = self._lookup(name)
        if match["bang"] and value is not None:
            value = self._lookup(value)
        if match["index"]:
            element = self._environment.get(f"{name}{match['index']}")
            value = _element(value, match["index"][1:-1]) if element is None else element
        if name == "IFS":
            return " "
        if not rest:
            return value
        if rest.startswith((":-", ":=")):
            return value or self.value(rest[2:]).text
        if rest[0] in "-=":
            return self.value(rest[1:]).text if value is None else value
        if rest.startswith(":+") or rest[0] == "+":
            return self.value(rest[1 + (rest[0] == ":") :]).text
        if rest.startswith(":?") or rest[0] == "?":
            return value
        return None if value is None else transformed(value, rest)


class _Fields:
    """The words in the making."""

    __slots__ = ("_current", "_done", "_split", "glob", "quoted")

    def __init__(self, *, split: bool = True) -> None:
        self._split = split
        self._done: list[Word] = []
        self._current: list[str] = []
        self.glob = False
        self.quoted = False

    def add(self, text: str) -> None:
        self._current.append(text)

    def unknown(self) -> None:
        self._current.append(UNKNOWN)

    def split(self, value: str) -> None:
        """Add the value of an unquoted expansion; blanks in it end the word."""
        if not self._split:
            self.add(value)
            return
        pieces = SPLIT.split(value)
        for index, piece in enumerate(pieces):
            if index:
                self._finish()
            if piece:
                if "*" in piece or "?" in piece:
                    self.glob = True
                self.add(piece)

    def _finish(self) -> None:
        text = "".join(self._current)
        if text or self.quoted:
            self._done.append(Word(text, UNKNOWN in text, self.glob))
        self._current = []
        self.glob = self.quoted = False

    def close(self) -> list[Word]:
        self._finish()
        return self._done


def _element(value: str | None, index: str) -> str | None:
    """One element of an array whose elements are kept joined by blanks."""
    if value is None or index in ("@", "*"):
        return value
    parts = value.split()
    return parts[int(index)] if index.isdecimal() and len(index) < 6 and int(index) < len(parts) else None


def transformed(value: str, operation: str) -> str | None:
    """`${name OPERATION}` for the operations whose result a fixed text decides; None for the others."""
    if operation in (",", ",,"):
        return value.lower() if operation == ",," else value[:1].lower() + value[1:]
    if operation in ("^", "^^"):
        return value.upper() if operation == "^^" else value[:1].upper() + value[1:]
    cut = re.fullmatch(r":\s*(-?\d{1,6})(?::(\d{1,6}))?", operation)
    if cut:
        tail = value[int(cut[1]) :]
        return tail if cut[2] is None else tail[: int(cut[2])]
    swap = re.fullmatch(r"//?([^/*?\[\\$`]+)(?:/([^$`\\]*))?", operation)
    if swap:
        return value.replace(swap[1], swap[2] or "", -1 if operation.startswith("//") else 1)
    trim = re.fullmatch(r"(##?|%%?)([^*?\[\\$`]*)", operation)
    if trim:
        return value.removeprefix(trim[2]) if trim[1][0] == "#" else value.removesuffix(trim[2])
    wild = re.fullmatch(r"(##?|%%?)(\?+)", operation)
    if wild:
        count = len(wild[2])
        return value[count:] if wild[1][0] == "#" else value[:-count]
    return None


def unescape_backtick(inside: str) -> str:
    """The program between backticks: one level of backslashes before `` ` ``, `\\` and `$` is taken off."""
    return re.sub(r"\\([`\\$])", r"\1", inside) if "\\" in inside else inside


def inner_programs(source: str, *, here: bool = False) -> Iterator[Inner]:
    """Every program text directly inside a word: `$(..)`, backticks, `<(..)`, also within `${..}` and `$((..))`.

    `here` reads a here-document's body, where quotes are ordinary characters.
    """
    position, size, quoted = 0, len(source), here
    tries = MAX_ARITHMETIC
    while position < size:
        char = source[position]
        if char == "\\":
            position += 2
        elif char == '"' and not here:
            quoted = not quoted
            position += 1
        elif char == "'" and not quoted:
            end = source.find("'", position + 1)
            position = size if end < 0 else end + 1
        elif char == "`":
            end = closing_backtick(source, position + 1)
            yield Inner("`", unescape_backtick(source[position + 1 : end]), position + 1)
            position = end + 1
        elif char == "$" and source.startswith("'", position + 1) and not quoted:
            position = ansi_c(source, position + 2)[1]
        elif char in "$<>" and source.startswith("(", position + 1) and (char == "$" or not quoted):
            if source.startswith("$((", position):
                tries -= 1
                end = closing_paren(source, position + 2) if tries > 0 else size
                if end == size or not _may_be_program(source[position + 2 : end]):
                    position += 3  # arithmetic: looked through for programs like any other text
                    tries = 0 if end == size else tries
                    continue
            else:
                end = closing_paren(source, position + 2)
            yield Inner(char + "(", source[position + 2 : end], position + 2)
            position = end + 1
        else:
            step = _INNER_RUN.match(source, position + 1)
            position = step.end() if step else position + 1


def _may_be_program(inside: str) -> bool:
    """Whether what follows `$(` and begins with `(` may be a subshell in a substitution: bash tries both."""
    return not inside.endswith(")") or ";" in inside or "|" in inside or "\n" in inside


_INNER_RUN = re.compile(r"[^\\\"'`$<>]*")

"""What one program text says about names: assignments, loops, functions, aliases, positional parameters.

Flow-insensitive on purpose: a name that is given two values anywhere is tried with both, because deny asks what
could run, not what will.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from mtbot.policy.constant_output import printed
from mtbot.policy.expansion import Expander
from mtbot.policy.reading_values import RawCommand, RawReading, SimpleCommand
from mtbot.policy.unwrap_code import InnerText

MAX_VALUES = 8
"""Values of one name that are tried."""
MAX_POSITIONAL = 256
MAX_COMBINATIONS = 16
MAX_ASSIGNED = 4
"""How many times its own length a text may hold in values that lie inside other values."""
MAX_CONSTANT = 1000
"""Characters of a substitution that is looked at for an echo of constants."""

_START = (("HOME", ("~",)), ("IFS", (" \t\n",)), ("PWD", (".",)), ("OLDPWD", (".",)))
_SETTERS = frozenset({"read", "printf", "set", "alias", "mapfile", "readarray", "hash", "cp", "ln", "install", "eval"})
_NAMEREF = re.compile(r"\b(?:declare|local|typeset)\s{1,8}-[a-zA-Z]*n")
_ELEMENT = re.compile(r"\[([^\]]{0,60})\]\+?=")
_MARKS = "\"'"
_GIVEN = re.compile(r"\b([A-Za-z_]\w{0,60})=([^\s;&|]{1,200})")
_PROGRAM_FILE = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[^/]+").fullmatch
_PRINTERS = frozenset({"echo", "printf", "which", "command", "type", "basename"})
_SPLIT_WORDS = re.compile(r"(?:[^\s\"'\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+", re.S)
_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w{0,60}):?=([^{}]{1,200})\}")


@dataclass(frozen=True, slots=True)
class Context:
    """What a text inherits from the command that runs it."""

    depth: int = 0
    via: tuple[str, ...] = ()
    stdin_from: frozenset[str] = frozenset()
    environment: tuple[tuple[str, tuple[str, ...]], ...] = _START
    words_from: frozenset[str] = frozenset()

    def deeper(self, environment: tuple[tuple[str, tuple[str, ...]], ...]) -> Context:
        """The context of what stands inside a text, under the names that the text sets."""
        return Context(self.depth + 1, self.via, self.stdin_from, environment, self.words_from)

    def inner(self, command: SimpleCommand, inside: InnerText) -> Context:
        """The context of a text that `command` gives to a shell."""
        environment = self.environment
        if inside.positional:
            numbered = [(str(index), (text,)) for index, text in enumerate(inside.positional)]
            rest = " ".join(inside.positional[1:])
            environment = (*environment, *numbered, ("@", (rest,)), ("*", (rest,)))
        if command.assignments:
            environment = (*environment, *[(name, (word.text,)) for name, word in command.assignments])
        via = (*command.via, inside.label)
        return Context(command.depth + 1, via, command.stdin_from, environment, command.words_from)


class Names:
    """The names of one text, as one reading shows them."""

    def __init__(self, text: str, reading: RawReading, context: Context) -> None:
        self._text = text
        self._reading = reading
        self._values: dict[str, list[str]] = {name: list(values) for name, values in context.environment}
        self._plain = Expander({}, self.printed_by)
        self.aliases: dict[str, str] = {}
        self.functions = dict(reading.functions)
        self._learn()

    def environment(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """All names with their values, for the texts inside this one."""
        return tuple([(name, tuple(values)) for name, values in self._values.items()])

    def _learn(self) -> None:
        reading, text = self._reading, self._text
        room = MAX_ASSIGNED * len(text) + MAX_CONSTANT
        for name, span in reading.assignments:
            room -= span.end - span.start
            if room > 0:  # assignments inside assignments; a name without a value is unknown, and that asks
                self._assign(name, text[span.start : span.end])
        if reading.loops:
            expander = self._expander()
            for name, span in reading.loops:
                for word in expander.words(text[span.start : span.end]):
                    self._put(name, word.text)
        for raw in reading.commands:
            if raw.words:
                first = text[raw.words[0].start : raw.words[0].end]
                if first in _SETTERS:
                    self._setter(first, raw)
                elif first in self.functions and len(raw.words) > 1:
                    expander = self._expander()
                    given = [
                        word.text for span in raw.words[1:] for word in expander.words(text[span.start : span.end])
                    ]
                    self._positional(given)

        if "-" in text and _NAMEREF.search(text):
            self._follow_references()
        if "=" in text and "${" in text:
            for default in _DEFAULT.finditer(text):
                self._put(default[1], self._expander().value(default[2]).text)

    def _follow_references(self) -> None:
        """`declare -n a=b`: whatever holds the name of another name may stand for its values."""
        for name, values in list(self._values.items()):
            for named in list(values):
                for value in list(self._values.get(named, ())):
                    self._put(name, value)

    def _positional(self, given: list[str]) -> None:
        for index, value in enumerate(given[:MAX_POSITIONAL], start=1):
            self._put(str(index), value)
        for name in ("@", "*"):
            self._put(name, " ".join(given))

    def _assign(self, name: str, source: str) -> None:
        expander = self._expander()
        append = name.endswith("+")
        name = name.removesuffix("+")
        if source.startswith("("):
            pieces = _SPLIT_WORDS.findall(source[1:].removesuffix(")"))
            elements = [_ELEMENT.sub("", word.text) for piece in pieces[:64] for word in expander.words(piece)]
            keys = [_ELEMENT.match(piece) for piece in pieces[:64]]
            if len(keys) == len(elements):
                for index, (key, element) in enumerate(zip(keys, elements, strict=True)):
                    self._put(f"{name}[{key[1].strip(_MARKS) if key else index}]", element)
            value = " ".join(elements)
        else:
            value = expander.value(source).text
        if append:
            for old in list(self._values.get(name, [""])):
                self._put(name, old + (" " if source.startswith("(") else "") + value)
        else:
            self._put(name, value)

    def _put(self, name: str, value: str) -> None:
        values = self._values.setdefault(name, [])
        if value not in values:
            values[MAX_VALUES - 1 :] = [
                value
            ]  # of too many the last one is kept, which is what the name holds in the end

    def _setter(self, program: str, raw: RawCommand) -> None:
        """What gives a name a value: `read x <<< rm`, `printf -v x rm`, `set -- rm`, `alias x=rm`, `cp /bin/rm x`."""
        text, expander = self._text, self._expander()
        words = [word.text for span in raw.words[1:] for word in expander.words(text[span.start : span.end])]
        if program == "alias":
            for definition in words:
                alias, equals, value = definition.partition("=")
                if equals:
                    self.aliases[alias] = value
        elif program == "eval":
            for given in _GIVEN.finditer(" ".join(words)):
                self._put(given[1], expander.value(given[2]).text)
        elif program in ("hash", "cp", "ln", "install"):
            self._renamed(program, [word for word in words if not word.startswith("-")])
        elif program == "set":
            self._positional(words[1:] if words[:1] == ["--"] else words)
        elif program == "printf":
            if len(words) > 2 and words[0] == "-v":
                self._put(words[1], printed("printf", words[2:]) or "")
        else:
            names = [word for word in words if not word.startswith("-")]
            for operator, span in raw.redirects:
                if operator == "<<<":
                    value = expander.value(text[span.start : span.end]).text
                    pieces = value.split(None, max(len(names) - 1, 0))
                    for name, piece in zip(names, pieces, strict=False):
                        self._put(name, piece)

    def _renamed(self, program: str, operands: list[str]) -> None:
        """A program under another name: `hash -p /bin/rm x`, `cp /bin/rm x`, `ln -s /bin/rm x`."""
        if len(operands) < 2 or not _PROGRAM_FILE(operands[0]):
            return
        for place in operands[1:] if program == "hash" else operands[-1:]:
            name = place.rsplit("/", 1)[-1]
            if name not in ("", ".", ".."):
                self.aliases.setdefault(name, operands[0])

    def _expander(self) -> Expander:
        return Expander({name: values[-1] for name, values in self._values.items() if values}, self.printed_by)

    def expanders(self, sources: str) -> Iterator[Expander]:
        """One expander for each way to choose the values of the names that `sources` mentions."""
        if "$" not in sources and "`" not in sources:
            yield self._plain
            return
        several = [name for name, values in self._values.items() if len(values) > 1 and name in sources]
        base = {name: values[-1] for name, values in self._values.items() if values}
        for chosen in islice(product(*[self._values[name] for name in several]), MAX_COMBINATIONS):
            yield Expander(base | dict(zip(several, chosen, strict=True)), self.printed_by)

    def printed_by(self, inside: str) -> str | None:
        """What `$(inside)` prints, when it is an echo of constants."""
        program, _, rest = inside.strip().partition(" ") if len(inside) <= MAX_CONSTANT else ("", "", "")
        if program not in _PRINTERS or any(mark in rest for mark in ";&|<>\n"):
            return None
        expander = Expander({name: values[-1] for name, values in self._values.items() if values}, lambda _: None)
        words = [word for piece in _SPLIT_WORDS.findall(rest) for word in expander.words(piece)]
        return printed(program, [word.text for word in words])

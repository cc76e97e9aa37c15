"""Every command that any reading finds in a text, unwrapped to any depth, made once per call.

tree-sitter is the main reader, bashlex the second opinion, our own splitter the one for broken text. Their
commands are laid over each other, words are resolved under the assignments of the same text, wrappers are taken
off step by step, and texts for inner shells are read again. What cannot be resolved becomes a doubt, and a doubt
forbids everything but a person's answer. Never raises; the work is bounded, and a bound that is hit is a doubt.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from mtbot.policy import bashlex_reading, resolution, splitter, treesitter_reading
from mtbot.policy.names import Context
from mtbot.policy.quoting import ansi_c
from mtbot.policy.reading_values import (
    BashlexReading,
    Doubt,
    RawCommand,
    RawReading,
    Readings,
    SimpleCommand,
    Unread,
)
from mtbot.policy.unwrap import unwrap
from mtbot.policy.unwrap_code import InnerWords
from mtbot.policy.unwrap_tables import ELEVATORS

MAX_DEPTH = 12
"""Wrappers, substitutions and inner texts around a command that are still opened."""
MAX_COMMANDS = 500
MAX_TEXTS = 100
MAX_CHARACTERS = 132_000
"""Of all texts that are read for one call: the text itself and the texts inside it."""
MAX_PARSED = treesitter_reading.MAX_CODE**2 * 3 // 2
"""Sum of squares of the sizes of the texts that tree-sitter reads: what its worst case costs."""
MAX_SPLIT = 24_000
"""Characters of the text of the call when the splitter must read it."""
MAX_BROKEN = 8_000
"""Characters of all broken texts inside it, and of any text that is too dense for tree-sitter."""

_IFS = re.compile(r"\$IFS\b|\$\{IFS[^}]{0,40}\}")
_INSIDE_WORD = re.compile(r"[^\s\\]\\\n\S")
_QUOTES = re.compile(r"\\\n|\\(.)|\$?'|\"", re.S)


def read(text: str) -> Readings:
    """Read `text` with every reader."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    reader = _Reader()
    tree = parse(clean)
    second: BashlexReading | Unread
    if isinstance(tree, Unread) or tree.broken:
        second = Unread("tree-sitter does not see a well-formed text")
    else:
        second = bashlex_reading.read(clean)
    reader.text(clean, Context(), tree, second)
    for variant in variants(clean):
        reader.text(variant, Context())
    return Readings(
        text,
        resolved(clean),
        tuple(reader.commands),
        tuple(reader.doubts),
        tuple(reader.elevates),
        second,
    )


def parse(text: str) -> RawReading | Unread:
    """tree-sitter's reading; the bodies of quoted here-documents, which are data, do not count against its limit."""
    if len(text) <= treesitter_reading.MAX_CODE or "<<" not in text:
        return treesitter_reading.read(text)
    hidden, bodies = splitter.masked(text)
    tree = treesitter_reading.read(hidden, len(text) - sum(span.end - span.start for span in bodies))
    if isinstance(tree, Unread) or tree.broken:
        return tree
    seen = {span.start for raw in tree.commands for span, quoted in raw.bodies if quoted}
    if {span.start for span in bodies} - seen:
        return Unread("the readers disagree about here-documents")
    return tree


def variants(text: str) -> list[str]:
    """Other texts that the same bytes may be meant as.

    Continuations joined, carriage returns as ends of line or blanks, look-alikes folded.
    """
    found = []
    if _INSIDE_WORD.search(text):  # tree-sitter ends a word there, bash goes on with it
        found.append(text.replace("\\\n", ""))
    if "\r" in text:
        found.append(text.replace("\r", "\n"))
        if "\r" in text.replace("\r\n", "") and len(text) <= MAX_SPLIT:
            found.append(text.replace("\r", " "))
    if not text.isascii():
        folded = unicodedata.normalize("NFKC", text)
        folded = "".join([char for char in folded if unicodedata.category(char) != "Cf"])
        if folded != text:
            found.append(folded)
    return found


def resolved(text: str) -> str:
    """The text with continuations, quotes, escapes and `$IFS` resolved; separators stay, quoted or not."""
    if not any(mark in text for mark in "\\'\"$"):
        return text
    pieces: list[str] = []
    position, quoted = 0, False
    while True:
        match = _QUOTES.search(text, position)
        if match is None:
            pieces.append(text[position:])
            break
        pieces.append(text[position : match.start()])
        mark, position = match.group(), match.end()
        if mark == '"':
            quoted = not quoted
        elif mark[0] == "\\":
            pieces.append(match[1] or "")
        elif quoted:
            pieces.append(mark)
        elif mark == "$'":
            decoded, position = ansi_c(text, position)
            pieces.append(decoded)
        else:
            end = text.find("'", position)
            end = len(text) if end < 0 else end
            pieces.append(text[position:end])
            position = end + 1
    return _IFS.sub(" ", "".join(pieces))


class _Reader:
    """The work on one call: what was found so far, and the bounds."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.doubts: list[tuple[Doubt, str]] = []
        self.elevates: list[str] = []
        self._texts = 0
        self._characters = 0
        self._parsed = 0
        self._broken = 0
        self._seen: set[tuple[str, Context]] = set()

    @property
    def full(self) -> bool:
        """Whether no more commands are taken."""
        return len(self.commands) >= MAX_COMMANDS

    def doubt(self, doubt: Doubt, detail: str) -> None:
        """Note a doubt once."""
        pair = (doubt, detail)
        if pair not in self.doubts:
            self.doubts.append(pair)

    def text(
        self,
        text: str,
        context: Context,
        tree: RawReading | Unread | None = None,
        second: BashlexReading | Unread | None = None,
    ) -> frozenset[str]:
        """Read one program text; returns the base names of the programs in it.

        `tree` and `second` are readings of the same text that were made already.
        """
        if not text.strip():
            return frozenset()
        if context.depth > MAX_DEPTH:
            self.doubt(Doubt.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
            return frozenset()
        key = (text, context)
        if key in self._seen:
            return frozenset()
        self._seen.add(key)
        if not self._affords(text):
            self.doubt(Doubt.TOO_MANY, "more texts inside texts than are looked at")
            return frozenset()
        programs: set[str] = set()
        for reading in _shared(self._raw(text, tree or parse(text), second)):
            programs |= resolution.Frame(text, reading, context).run(self)
        return frozenset(programs)

    def _affords(self, text: str) -> bool:
        """Whether one more text is within the bounds; the text of the call itself always is."""
        self._texts += 1
        self._characters += len(text)
        self._parsed += min(len(text), treesitter_reading.MAX_CODE) ** 2
        if self._texts == 1:
            return True
        within = self._broken <= MAX_BROKEN and self._texts <= MAX_TEXTS
        return within and self._characters <= MAX_CHARACTERS and self._parsed <= MAX_PARSED

    def _raw(self, text: str, tree: RawReading | Unread, second: BashlexReading | Unread | None) -> list[RawReading]:
        found: list[RawReading] = []
        if isinstance(tree, Unread):
            self.doubt(Doubt.UNREAD, tree.reason)
        else:
            found.append(tree)
            if tree.broken:
                self.doubt(Doubt.BROKEN, tree.broken)
        if isinstance(tree, Unread) or tree.broken or needs_splitter(text, tree):
            inner = self._texts > 1
            self._broken += len(text) if inner else 0
            if len(text) > (MAX_BROKEN if inner else MAX_SPLIT):
                self.doubt(Doubt.TOO_MANY, "too intricate to be read word by word")
            else:
                split = splitter.read(text)
                found.append(split)
                if split.broken == splitter.TOO_LONG:
                    self.doubt(Doubt.TOO_MANY, splitter.TOO_LONG)
        elif isinstance(second, BashlexReading):
            missed = missed_by(tree, second.found)
            if missed:
                found.append(RawReading(missed, tree.assignments, tree.functions, tree.loops, (), tree.programs))
        return found

    def command(self, command: SimpleCommand, stdin: str | None, context: Context) -> set[str]:
        """Keep one command and open what it runs; returns the base names of all programs met on the way."""
        programs: set[str] = set()
        waiting = [command]
        while waiting:
            current = waiting.pop()
            if len(current.argv) > resolution.MAX_WORDS:
                self.doubt(Doubt.TOO_MANY, f"a command of more than {resolution.MAX_WORDS} words")
                current = replace(current, argv=current.argv[: resolution.MAX_WORDS])
            if self.full:
                self.doubt(Doubt.TOO_MANY, "more commands than are looked at one by one")
                return programs
            if current.depth > MAX_DEPTH:
                self.doubt(Doubt.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
                continue
            self.commands.append(current)
            if not current.argv:
                continue
            first = current.argv[0]
            programs.add(current.program)
            if current.program in ELEVATORS:
                self.elevates.append(current.program)
            if first.dynamic or first.glob or first.text.startswith("~"):
                self.doubt(Doubt.DYNAMIC, current.text[:200])
                waiting.extend(resolution.without_unknown(current))
            for inside in unwrap(current, stdin):
                if isinstance(inside, InnerWords):
                    inner_command = current.inside(inside.argv, inside.label, inside.assignments)
                    if inside.label in ("xargs", "parallel"):  # what they read becomes words
                        inner_command = replace(
                            inner_command, words_from=inner_command.words_from | inner_command.stdin_from
                        )
                    waiting.append(inner_command)
                    continue
                inner = context.inner(current, inside)
                programs |= self.text(inside.text.text, inner)
        return programs


def _shared(found: list[RawReading]) -> list[RawReading]:
    """The readings, each knowing the names that any of them found; none of them knows all of a broken text."""
    if len(found) < 2:
        return found
    assignments = tuple(dict.fromkeys(pair for reading in found for pair in reading.assignments))
    functions = tuple(dict.fromkeys(pair for reading in reversed(found) for pair in reading.functions))
    loops = tuple(dict.fromkeys(pair for reading in found for pair in reading.loops))
    return [replace(reading, assignments=assignments, functions=functions, loops=loops) for reading in found]


def needs_splitter(text: str, tree: RawReading) -> bool:
    """Whether a well-formed text holds what tree-sitter takes for an ordinary word: coproc, a negated function."""
    return "coproc" in text or ("function" in text and not tree.functions)


def missed_by(tree: RawReading, found: tuple[RawCommand, ...]) -> tuple[RawCommand, ...]:
    """The commands of a second reader whose first word no command of the first begins with."""
    if len(found) == len(tree.commands):  # the usual case: both see the same
        starts = {command.words[0].start for command in tree.commands if command.words}
        return tuple([command for command in found if command.words[0].start not in starts])
    starts = {word.start for command in tree.commands for word in command.words}
    return tuple([command for command in found if command.words[0].start not in starts])

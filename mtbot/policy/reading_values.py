"""What a reader found in a command text: words, redirects, simple commands, and why something stayed unread.

The readers (tree-sitter, bashlex, our own splitter) disagree about real bash, so their answers are plain values
that can be put side by side. Deny looks at all of them; allow trusts none of them alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum

UNKNOWN = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands in a word's text for a piece that only the running shell would know."""


_VERSION = re.compile(r"^((?:ba|da|z|k|mk|fi|tc|c|ya)?sh|busybox|toybox)(?:[-._]?(?:[0-9][0-9.]*|static))+$")


class Doubt(StrEnum):
    """Why a text can neither be allowed by rule nor classified: it goes to a person."""

    BROKEN = "broken"
    """No reader sees the text as well formed."""
    UNREAD = "unread"
    """A reader failed or the text is too large for it."""
    DYNAMIC = "dynamic"
    """A command word is computed while the shell runs."""
    TOO_DEEP = "too_deep"
    """Wrappers or substitutions are nested past the limit."""
    TOO_MANY = "too_many"
    """More commands than are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A reader gave no answer; `reason` is for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quoting, escapes, brace lists and known variables are resolved.

    `text` holds UNKNOWN for every piece that stays unknown; `dynamic` says whether there is one.
    `glob` says that the shell may still replace the word by file names.
    """

    text: str
    dynamic: bool = False
    glob: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirect: operator without its descriptor (`>`, `>>`, `<`, `<<<`, `>|`, `&>`, `<>`) and its target."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the shell opens the target for writing."""
        return ">" in self.operator


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its words, as one of the readings found it, wrappers already taken off."""

    argv: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    depth: int = 0
    """How many wrappers and substitutions lie around it."""
    via: tuple[str, ...] = ()
    """The wrappers that were taken off, outermost first, e.g. ("sudo", "sh -c")."""
    stdin_from: frozenset[str] = frozenset()
    """Programs whose output this command reads (pipes, here-strings), by base name."""
    words_from: frozenset[str] = frozenset()
    """Programs whose output becomes a word of this command (substitutions), by base name."""
    respawns: bool = False
    """Whether it is a function of the text that calls itself in the background or through a pipe."""
    program: str = field(init=False, default="")
    """Base name of the first word, a shell's without its version; empty when there is none or it is unknown."""
    arguments: tuple[str, ...] = field(init=False, default=())
    """The texts of all words after the first."""

    def __post_init__(self) -> None:
        if self.argv:
            name = self.argv[0].text
            program = name.rsplit("/", 1)[-1]
            if program[-1:].isdigit() or program.endswith("static"):
                program = _VERSION.sub(r"\1", program)
            object.__setattr__(self, "program", program)
            object.__setattr__(self, "arguments", tuple([word.text for word in self.argv[1:]]))

    @property
    def text(self) -> str:
        """The words joined by blanks, for a reason that people read."""
        return " ".join([word.text.replace(UNKNOWN, "…") for word in self.argv])

    def inside(self, argv: tuple[Word, ...], wrapper: str, given: tuple[tuple[str, Word], ...] = ()) -> SimpleCommand:
        """The command that `wrapper` (this command) runs with `given` names set: same input, one level deeper."""
        names = (*self.assignments, *given)
        return replace(self, argv=argv, assignments=names, depth=self.depth + 1, via=(*self.via, wrapper))


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of a text, in characters."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RawCommand:
    """A simple command as a reader cut it out of the text: spans only, nothing resolved yet."""

    start: int
    end: int
    words: tuple[Span, ...]
    assignments: tuple[tuple[str, Span], ...] = ()
    redirects: tuple[tuple[str, Span], ...] = ()
    bodies: tuple[tuple[Span, bool], ...] = ()
    """Here-document bodies that it reads; the flag says that the delimiter was quoted, so nothing expands."""
    fed: Span | None = None
    """The part of the text whose output this command reads."""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class RawReading:
    """One reader's answer for one text; `broken` is the reason when it saw an error anywhere."""

    commands: tuple[RawCommand, ...]
    assignments: tuple[tuple[str, Span], ...] = ()
    """Every assignment in order; a name that ends in `+` appends."""
    functions: tuple[tuple[str, Span], ...] = ()
    """Each function that the text defines, with its body."""
    loops: tuple[tuple[str, Span], ...] = ()
    """Loop variables, one entry for each word of the list."""
    loose: tuple[Span, ...] = ()
    """Parts in which this reader may have missed a substitution."""
    programs: frozenset[int] = frozenset()
    """Where the inside of each substitution begins whose commands are among `commands`."""
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class BashlexReading:
    """What bashlex makes of a text.

    `argvs` are the simple commands of the text itself, in order, in bashlex's own reading of their words;
    `plain` says that the text is nothing but lists, pipelines, commands, words and redirects, so that
    the literal subset can be compared with it. `found` is every command at any depth.
    """

    argvs: tuple[tuple[str, ...], ...]
    plain: bool
    found: tuple[RawCommand, ...] = ()


@dataclass(frozen=True, slots=True)
class Readings:
    """Everything that all readers found in one text, made once per call and shared by deny and allow."""

    text: str
    resolved: str
    """A copy with quoting, continuations and `$IFS` resolved, for regexes; the text itself when nothing differs."""
    commands: tuple[SimpleCommand, ...]
    """Every simple command at any depth, wrappers and what they wrap."""
    doubts: tuple[tuple[Doubt, str], ...]
    """What forbids allow and classify, each with a detail for people; empty for a clean text."""
    elevates: tuple[str, ...]
    """The programs that would change the user (sudo, doas, su, pkexec), in order of appearance."""
    bashlex: BashlexReading | Unread

    @property
    def well_formed(self) -> bool:
        """Whether tree-sitter saw no error anywhere."""
        return not any(doubt in (Doubt.BROKEN, Doubt.UNREAD) for doubt, _ in self.doubts)

    @property
    def dynamic(self) -> tuple[str, ...]:
        """The command words that are no constants."""
        return tuple(detail for doubt, detail in self.doubts if doubt is Doubt.DYNAMIC)

    @property
    def too_many(self) -> bool:
        """Whether there was more to read than the bounds allow, so that commands may have been left out."""
        return any(doubt is Doubt.TOO_MANY for doubt, _ in self.doubts)

    @property
    def too_deep(self) -> bool:
        """Whether wrappers or substitutions went past the limit."""
        return any(doubt is Doubt.TOO_DEEP for doubt, _ in self.doubts)

"""From the spans that a reader cut out to commands with resolved words: one frame per program text.

A frame knows the assignments, functions, aliases and loops of its text. It is flow-insensitive on purpose: a name
that is given two values anywhere is tried with both, because deny asks what could run, not what will.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Protocol

from mtbot.policy.constant_output import printed, printed_by
from mtbot.policy.expansion import Expander, inner_programs
from mtbot.policy.reading_values import UNKNOWN, Doubt, RawCommand, RawReading, Redirect, SimpleCommand, Span, Word
from mtbot.policy.unwrap_code import InnerText
from mtbot.policy.unwrap_tables import SHELLS

MAX_VALUES = 8
"""Values of one name that are tried."""
MAX_COMBINATIONS = 16
MAX_WORDS = 4000
"""Words of one command; what is behind them is cut off, which is a doubt."""

_START = (("HOME", ("~",)), ("IFS", (" \t\n",)), ("PWD", (".",)), ("OLDPWD", (".",)))
_RUN_AS_COMMAND = frozenset(
    [
        "PS4",
        "PS0",
        "PROMPT_COMMAND",
        "GIT_SSH_COMMAND",
        "GIT_PAGER",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "MANPAGER",
        "LESSOPEN",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "BROWSER",
        "GIT_PROXY_COMMAND",
    ]
)
"""Names whose value some program runs."""
_SETTERS = frozenset({"read", "printf", "set", "alias"})
_CONSTANT = re.compile(r"\s*(echo|printf|which|command|type|basename)\s+([^;&|<>\n]*?)\s*").fullmatch
_SPLIT_WORDS = re.compile(r"(?:[^\s\"'\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+", re.S)
_CONSTANT_DOLLAR = re.compile(r"(?:[^$`]|\$')*").fullmatch


@dataclass(frozen=True, slots=True)
class Context:
    """What a text inherits from the command that runs it."""

    depth: int = 0
    via: tuple[str, ...] = ()
    stdin_from: frozenset[str] = frozenset()
    environment: tuple[tuple[str, tuple[str, ...]], ...] = _START
    words_from: frozenset[str] = frozenset()

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


class Sink(Protocol):
    """Who keeps the commands and reads inner texts."""

    def command(self, command: SimpleCommand, stdin: str | None, context: Context) -> set[str]:
        """Keep a command, open its wrappers; returns the programs met."""

    def text(self, text: str, context: Context, second: None) -> frozenset[str]:
        """Read an inner program text; returns the programs in it."""

    def doubt(self, doubt: Doubt, detail: str) -> None:
        """Note why a person must decide."""

    @property
    def full(self) -> bool:
        """Whether no more commands are taken."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a command of this frame turned out to be, for those that read from it."""

    start: int
    programs: frozenset[str]
    output: str | None


class Frame:
    """One text as one reader saw it."""

    def __init__(self, text: str, reading: RawReading, context: Context) -> None:
        self._text = text
        self._reading = reading
        self._context = context
        self._values: dict[str, list[str]] = {name: list(values) for name, values in context.environment}
        self._aliases: dict[str, str] = {}
        self._functions = dict(reading.functions)
        self._seen: list[_Seen] = []
        self._fed: dict[int, tuple[int, frozenset[str], list[str]]] = {}
        self._inner_context = context

    def run(self, sink: Sink) -> set[str]:
        """Resolve every command of the reading into `sink`; returns the base names of all programs found."""
        self._learn()
        self._inner_context = replace(
            self._context,
            depth=self._context.depth + 1,
            environment=tuple([(name, tuple(values)) for name, values in self._values.items()])
            if self._reading.assignments or self._reading.loops
            else self._context.environment,
        )
        self._loose(sink)
        for raw in self._in_order():
            if sink.full:
                break
            self._command(raw, sink)
        programs: set[str] = set()
        for seen in self._seen:
            programs |= seen.programs
        return programs

    def _in_order(self) -> list[RawCommand]:
        """Inner commands before those around them, feeders before those they feed, here-documents first of all."""
        commands = self._reading.commands
        if len(commands) == 1:
            return list(commands)
        bodies = [span for raw in commands for span, _ in raw.bodies]
        return sorted(
            commands,
            key=lambda raw: (not any(body.start <= raw.start < body.end for body in bodies), raw.end, -raw.start),
        )

    # -- what the text says about names -----------------------------------------------------------------------

    def _learn(self) -> None:
        reading, text = self._reading, self._text
        for name, span in reading.assignments:
            self._assign(name, text[span.start : span.end])
        if reading.loops:
            expander = self._first_expander()
            for name, span in reading.loops:
                for word in expander.words(text[span.start : span.end]):
                    self._put(name, word.text)
        for raw in reading.commands:
            if raw.words:
                first = text[raw.words[0].start : raw.words[0].end]
                if first in _SETTERS:
                    self._setter(first, raw)
                elif first in self._functions and len(raw.words) > 1:
                    expander = self._first_expander()
                    given = [
                        word.text for span in raw.words[1:] for word in expander.words(text[span.start : span.end])
                    ]
                    self._positional(given)

    def _positional(self, given: list[str]) -> None:
        for index, value in enumerate(given[:20], start=1):
            self._put(str(index), value)
        for name in ("@", "*"):
            self._put(name, " ".join(given))

    def _assign(self, name: str, source: str) -> None:
        expander = self._first_expander()
        append = name.endswith("+")
        name = name.removesuffix("+")
        if source.startswith("("):
            pieces = _SPLIT_WORDS.findall(source[1:].removesuffix(")"))
            value = " ".join([word.text for piece in pieces[:64] for word in expander.words(piece)])
        else:
            value = expander.value(source).text
        if append:
            for old in list(self._values.get(name, [""])):
                self._put(name, old + (" " if source.startswith("(") else "") + value)
        else:
            self._put(name, value)

    def _put(self, name: str, value: str) -> None:
        values = self._values.setdefault(name, [])
        if value not in values and len(values) < MAX_VALUES:
            values.append(value)

    def _setter(self, program: str, raw: RawCommand) -> None:
        """Builtins that give a name a value: `read x <<< rm`, `printf -v x rm`, `set -- rm`, `alias x=rm`."""
        text, expander = self._text, self._first_expander()
        words = [word.text for span in raw.words[1:] for word in expander.words(text[span.start : span.end])]
        if program == "alias":
            for definition in words:
                alias, equals, value = definition.partition("=")
                if equals:
                    self._aliases[alias] = value
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

    def _first_expander(self) -> Expander:
        return Expander({name: values[-1] for name, values in self._values.items() if values}, self._substitute)

    def _expanders(self, sources: str) -> Iterator[Expander]:
        """One expander for each way to choose the values of the names that `sources` mentions."""
        if "$" not in sources and "`" not in sources:
            yield Expander({}, self._substitute)
            return
        several = [name for name, values in self._values.items() if len(values) > 1 and name in sources]
        base = {name: values[-1] for name, values in self._values.items() if values}
        for chosen in islice(product(*[self._values[name] for name in several]), MAX_COMBINATIONS):
            yield Expander(base | dict(zip(several, chosen, strict=True)), self._substitute)

    def _substitute(self, inside: str) -> str | None:
        """What `$(inside)` prints, when it is an echo of constants."""
        match = _CONSTANT(inside) if len(inside) <= 1000 else None
        if match is None:
            return None
        expander = Expander({name: values[-1] for name, values in self._values.items() if values}, lambda _: None)
        words = [word for piece in _SPLIT_WORDS.findall(match[2]) for word in expander.words(piece)]
        return printed(match[1], [word.text for word in words])

    # -- commands ------------------------------------------------------------------------------------------------

    def _loose(self, sink: Sink) -> None:
        """Read the programs in those parts where the reader is known to miss some."""
        text, known = self._text, self._reading.programs
        bodies = {span.start for raw in self._reading.commands for span, _ in raw.bodies}
        context = self._inner_context
        for span in self._reading.loose:
            source = text[span.start : span.end]
            if "(" not in source and "`" not in source:
                continue
            for inner in inner_programs(source, here=span.start in bodies):
                if span.start + inner.offset not in known:
                    here = context
                    if inner.kind == ">(":
                        here = replace(context, stdin_from=context.stdin_from | self._names_in(Span(0, len(text))))
                    programs = sink.text(inner.text, here, None)
                    output = self._substitute(inner.text)
                    self._seen.append(_Seen(span.start + inner.offset, programs, output))

    def _command(self, raw: RawCommand, sink: Sink) -> None:
        text, context = self._text, self._context
        sources = [text[span.start : span.end] for span in raw.words[: MAX_WORDS + 1]]
        joined = " ".join(sources) if sources else ""
        for _, span in (*raw.redirects, *raw.assignments):
            joined += text[span.start : span.end]
        if sources and ("$" in sources[0] or "`" in sources[0]) and not _CONSTANT_DOLLAR(sources[0]):
            sink.doubt(Doubt.DYNAMIC, sources[0][:200])
        programs: set[str] = set()
        output: str | None = None
        stdin_from = context.stdin_from
        fed_text: list[str] = []
        if raw.fed is not None:
            feeders, fed_text = self._feeders(raw.fed.start)
            stdin_from = stdin_from | feeders if stdin_from else feeders
            if ">(" in text:  # in `a > >(b)` the one that feeds ends later
                stdin_from |= self._names_in(raw.fed)
        words_from = self._inside(raw, joined) | context.words_from
        respawns = bool(sources) and self._respawns(sources[0], raw)
        before: tuple[Word, ...] | None = None
        for expander in self._expanders(joined):
            argv = tuple([word for source in sources for word in expander.words(source)])
            if before is not None and argv == before:
                continue
            before = argv
            redirects = tuple([Redirect(op, expander.value(text[s.start : s.end])) for op, s in raw.redirects])
            assignments = tuple([(name, expander.value(text[s.start : s.end])) for name, s in raw.assignments])
            stdin = self._stdin(raw, redirects, fed_text, expander)
            here = stdin_from
            if raw.bodies or any(redirect.operator in ("<<<", "<") for redirect in redirects):
                here |= words_from
            command = SimpleCommand(
                argv, redirects, assignments, context.depth + raw.depth, context.via, here, words_from, respawns
            )
            programs |= sink.command(command, stdin, self._inner_context)
            programs |= self._indirect(command, sink)
            output = output or printed_by(command, stdin)
        if joined and "<(" in joined and command_reads_files(programs):
            for seen in self._within(raw):
                if seen.output:
                    programs |= sink.text(seen.output, self._inner_context, None)
        self._seen.append(_Seen(raw.start, frozenset(programs), output))

    def _respawns(self, name: str, raw: RawCommand) -> bool:
        """A function that its own body starts in the background or through a pipe never ends."""
        body = self._functions.get(name)
        if body is None or not body.start <= raw.start < body.end:
            return False
        rest = self._text[raw.end : raw.end + 8].lstrip()
        return raw.fed is not None or (rest.startswith("&") and not rest.startswith("&&"))

    def _indirect(self, command: SimpleCommand, sink: Sink) -> set[str]:
        """Aliases and functions of the same text, values that some program runs, subscripts that hide a program."""
        programs: set[str] = set()
        alias = self._aliases.get(command.program)
        if alias is not None:
            rest = " ".join([word.text for word in command.argv[1:]])
            programs |= sink.text(f"{alias} {rest}", self._inner_context, None)
        body = self._functions.get(command.program)
        if body is not None:
            for seen in self._between(body):
                programs |= seen.programs
        if command.program == "alias":
            for definition in self._aliases.values():
                programs |= sink.text(definition, self._inner_context, None)
        for name, value in command.assignments:
            if name in _RUN_AS_COMMAND:
                programs |= sink.text(value.text, self._inner_context, None)
        for word in command.argv:
            if "[$(" in word.text or "[`" in word.text:
                for inner in inner_programs(word.text):
                    programs |= sink.text(inner.text, self._inner_context, None)
        return programs

    def _stdin(
        self, raw: RawCommand, redirects: tuple[Redirect, ...], fed: list[str], expander: Expander
    ) -> str | None:
        """The constant that the command reads, as far as it is known."""
        pieces = list(fed)
        for span, quoted in raw.bodies:
            body = self._text[span.start : span.end]
            pieces.append(body if quoted else expander.body(body).text)
        pieces.extend([redirect.target.text for redirect in redirects if redirect.operator == "<<<"])
        return "\n".join(pieces) if pieces else None

    def _feeders(self, start: int) -> tuple[frozenset[str], list[str]]:
        """Programs and constant outputs of what was found so far from `start` on; each is looked at once a pipeline."""
        position, programs, outputs = self._fed.get(start, (0, frozenset(), []))
        fresh = [seen for seen in self._seen[position:] if seen.start >= start]
        if fresh:
            programs = programs.union(*[seen.programs for seen in fresh])
            outputs = [*outputs, *[seen.output for seen in fresh if seen.output]]
        self._fed[start] = (len(self._seen), programs, outputs)
        return programs, outputs

    def _names_in(self, span: Span) -> frozenset[str]:
        """First words of the commands that begin in `span`, as they are written."""
        inside = [raw.words[0] for raw in self._reading.commands if raw.words and span.start <= raw.start < span.end]
        return frozenset(self._text[word.start : word.end].rsplit("/", 1)[-1] for word in inside)

    def _between(self, span: Span) -> list[_Seen]:
        return [seen for seen in self._seen if span.start <= seen.start < span.end]

    def _within(self, raw: RawCommand) -> list[_Seen]:
        """What was found in the substitutions of a command's words, redirects and assignments."""
        spans = [*raw.words, *[span for _, span in raw.redirects], *[span for _, span in raw.assignments]]
        spans.extend([span for span, quoted in raw.bodies if not quoted])
        return [seen for span in spans for seen in self._between(span)]

    def _inside(self, raw: RawCommand, joined: str) -> frozenset[str]:
        """Programs whose output becomes part of the command, also through a name that holds it."""
        found: frozenset[str] = frozenset()
        if "(" in joined or "`" in joined or raw.bodies:
            for seen in self._within(raw):
                found |= seen.programs
        if "$" in joined:
            for name, span in self._reading.assignments:
                if name and f"${name}" in joined.replace("{", ""):
                    for seen in self._between(span):
                        found |= seen.programs
        return found


def command_reads_files(programs: set[str]) -> bool:
    """Whether one of the programs runs a file that it is named."""
    return bool(programs & (SHELLS | {"source", "."}))


def without_unknown(command: SimpleCommand) -> list[SimpleCommand]:
    """The command as it is when every unknown piece is empty; nothing when that leaves no program."""
    argv = []
    for word in command.argv:
        text = word.text.replace(UNKNOWN, "")
        if text:
            argv.append(word if text == word.text else Word(text, glob=word.glob))
    if not argv or argv[0] == command.argv[0]:
        return []
    return [replace(command, argv=tuple(argv), depth=command.depth + 1)]

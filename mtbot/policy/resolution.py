"""From the spans that a reader cut out to commands with resolved words: one frame per program text.

Here the words of a command get their values, and it is worked out what each command reads and what becomes part of
its words, because a shell that reads from a download is another thing than one that reads a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Protocol

from mtbot.policy.constant_output import printed_by
from mtbot.policy.expansion import Expander, inner_programs
from mtbot.policy.names import Context, Names
from mtbot.policy.quoting import closing_backtick, closing_paren
from mtbot.policy.reading_values import UNKNOWN, Doubt, RawCommand, RawReading, Redirect, SimpleCommand, Span, Word
from mtbot.policy.unwrap_tables import RUN_AS_COMMAND, SHELLS, STDIN_SHELLS

MAX_EXPANSION = 8
"""How many times its own length a text may hold in words that lie inside other words."""
MAX_WORDS = 4000
"""Words of one command; what is behind them is cut off, which is a doubt."""

MAX_SUBSCRIPTS = 8
"""Programs in subscripts of one text that are read."""

_RUNS_INPUT = STDIN_SHELLS | {"eval", "source", ".", UNKNOWN}
_SUBSCRIPT = re.compile(r"\[\$\(|\w\[[^\]\n]{0,80}?(?:\$\(|`)")
_CONSTANT_DOLLAR = re.compile(r"(?:[^$`]|\$')*").fullmatch


class Sink(Protocol):
    """Who keeps the commands and reads inner texts."""

    def command(self, command: SimpleCommand, stdin: str | None, context: Context) -> set[str]:
        """Keep a command, open its wrappers; returns the programs met."""

    def text(self, text: str, context: Context) -> frozenset[str]:
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
        self._names = Names(text, reading, context)
        self._seen: list[_Seen] = []
        self._fed: dict[int, tuple[int, frozenset[str], list[str]]] = {}
        self._files: dict[str, str] = {}
        self._spent = 0
        self._inner_context = context

    def run(self, sink: Sink) -> set[str]:
        """Resolve every command of the reading into `sink`; returns the base names of all programs found."""
        context = self._context
        known = self._names.environment() if self._reading.assignments or self._reading.loops else context.environment
        self._inner_context = context.deeper(known)
        self._loose(sink)
        subscripts(self._text, self._inner_context, sink)
        self._run_later(sink)
        for raw in self._in_order():
            if sink.full:
                sink.doubt(Doubt.TOO_MANY, "more commands than are looked at one by one")
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
                    programs = sink.text(inner.text, here)
                    output = self._names.printed_by(inner.text)
                    self._seen.append(_Seen(span.start + inner.offset, programs, output))

    def _run_later(self, sink: Sink) -> None:
        """A name that some program runs may be exported at any time: `PAGER=x; export PAGER; man ls`."""
        names = {name.removesuffix("+") for name, _ in self._reading.assignments}
        if any(map(RUN_AS_COMMAND, names)):
            for name, values in self._names.environment():
                if name in names and RUN_AS_COMMAND(name):
                    for value in values:
                        sink.text(value, self._inner_context)

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
        for expander in self._names.expanders(joined):
            self._spent += len(joined)
            if self._spent > MAX_EXPANSION * len(text) + MAX_WORDS:
                sink.doubt(Doubt.TOO_MANY, "words inside words that are too many to resolve")
                break
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
            programs |= self._indirect(command, stdin, sink)
            if not command.argv:  # a redirect of a group or a loop: what is inside reads it
                inside = self._between(Span(raw.start, raw.end)) or self._between(Span(0, raw.end))
                self._runs_input(inside, stdin, sink)
            printed = printed_by(command, stdin) or self._shown(command)
            output = output or printed
            programs |= self._written(command, printed, sink)
        if joined and "<(" in joined and command_reads_files(programs):
            for seen in self._within(raw):
                if seen.output:
                    programs |= sink.text(seen.output, self._inner_context)
        if ">(" in joined:
            self._runs_input(self._within(raw), output, sink)
        self._seen.append(_Seen(raw.start, frozenset(programs), output))

    def _runs_input(self, inside: list[_Seen], stdin: str | None, sink: Sink) -> None:
        """A constant that is given to several commands is a program when one of them runs what it reads."""
        if stdin and any(not _RUNS_INPUT.isdisjoint(seen.programs) for seen in inside):
            sink.text(stdin, self._inner_context)

    def _written(self, command: SimpleCommand, printed: str | None, sink: Sink) -> set[str]:
        """Remember the constant that a command writes to a file; read it when the same text runs that file."""
        if printed:
            targets = [redirect.target.text for redirect in command.redirects if redirect.writes]
            targets += command.arguments if command.program == "tee" else ()
            targets += [word[3:] for word in command.arguments if word.startswith("of=")]
            self._files.update(dict.fromkeys([target.removeprefix("./") for target in targets], printed))
        elif self._files and command.argv:
            if command.program in ("cp", "mv", "ln", "install") and command.arguments:
                self._moved(command.arguments)
            ran = [command.argv[0].text]
            if command_reads_files({command.program}):
                ran += [*command.arguments, *[r.target.text for r in command.redirects if r.operator == "<"]]
            for word in ran:
                script = self._files.get(word.removeprefix("./"))
                if script is not None:
                    return set(sink.text(script, self._inner_context))
        return set()

    def _shown(self, command: SimpleCommand) -> str | None:
        """What cat and the like print of a file whose content is known."""
        if not self._files or command.program not in ("cat", "head", "tail", "tac", "sort"):
            return None
        return next(
            (
                self._files[word.removeprefix("./")]
                for word in command.arguments
                if word.removeprefix("./") in self._files
            ),
            None,
        )

    def _moved(self, arguments: tuple[str, ...]) -> None:
        """A file whose content is known, under another name."""
        known = [self._files[word.removeprefix("./")] for word in arguments if word.removeprefix("./") in self._files]
        if known:
            self._files[arguments[-1].removeprefix("./")] = known[0]

    def _respawns(self, name: str, raw: RawCommand) -> bool:
        """A function that its own body starts in the background or through a pipe never ends."""
        body = self._names.functions.get(name)
        if body is None or not body.start <= raw.start < body.end:
            return False
        rest = self._text[raw.end : raw.end + 8].lstrip()
        return raw.fed is not None or (rest.startswith("&") and not rest.startswith("&&"))

    def _indirect(self, command: SimpleCommand, stdin: str | None, sink: Sink) -> set[str]:
        """Aliases and functions of the same text, values that some program runs, subscripts that hide a program."""
        programs: set[str] = set()
        alias = self._names.aliases.get(command.program)
        if alias is not None:
            rest = " ".join([word.text for word in command.argv[1:]])
            programs |= sink.text(f"{alias} {rest}", self._inner_context)
        body = self._names.functions.get(command.program)
        if body is not None:
            for seen in self._between(body):
                programs |= seen.programs
            self._runs_input(self._between(body), stdin, sink)
        if command.program == "alias":
            for definition in self._names.aliases.values():
                programs |= sink.text(definition, self._inner_context)
        for name, value in command.assignments:
            if RUN_AS_COMMAND(name):
                programs |= sink.text(value.text, self._inner_context)
            elif name in ("BASH_ENV", "ENV") and value.text.removeprefix("./") in self._files:
                programs |= sink.text(self._files[value.text.removeprefix("./")], self._inner_context)
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


def subscripts(text: str, context: Context, sink: Sink) -> None:
    """A substitution in a subscript runs wherever bash calculates, even out of single quotes."""
    position = 0
    for _ in range(MAX_SUBSCRIPTS):
        found = _SUBSCRIPT.search(text, position)
        if found is None:
            return
        start = found.end()
        end = closing_paren(text, start) if found.group().endswith("(") else closing_backtick(text, start)
        sink.text(text[start:end], context)
        position = end
    if _SUBSCRIPT.search(text, position):
        sink.doubt(Doubt.TOO_MANY, "more subscripts with programs in them than are looked at")


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

"""Cut a text into simple commands word by word, however broken it is.

bash runs the first line of a script whose last line is broken, so a text that no parser accepts still needs
reading, and never more mildly than a good one. This reader knows quotes, here-documents, comments and separators,
recovers from everything, is linear, and reads the lines behind an unclosed quote as code once more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mtbot.policy.quoting import closing_paren, word_end
from mtbot.policy.reading_values import RawCommand, RawReading, Span

MAX_TOKENS = 6_000
TOO_LONG = "more words than are looked at one by one"
MAX_RESTARTS = 4
"""How many unclosed quotes are read behind."""

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECT = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-?|<>|<&|>&|>>|>\||&>>?|<(?!\()|>(?!\())")
_CONTROL = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()\n]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+?)=")

_SKIPPED = frozenset(
    {"then", "else", "elif", "do", "!", "{", "}", "fi", "done", "esac", "if", "while", "until", "in", "coproc", "time"}
)
_OPENERS = frozenset({"{", "if", "while", "until", "for", "case", "select"})
_CLOSERS = frozenset({"}", "fi", "done", "esac"})
_PIPES = ("|", "|&")


@dataclass(slots=True)
class _Draft:
    """The command in the making."""

    words: list[Span] = field(default_factory=list)
    assignments: list[tuple[str, Span]] = field(default_factory=list)
    redirects: list[tuple[str, Span]] = field(default_factory=list)
    bodies: list[tuple[Span, bool]] = field(default_factory=list)
    fed: Span | None = None


@dataclass(slots=True)
class _Group:
    """What was open around a group: where its pipeline began and what feeds it."""

    start: int
    pipeline: int | None
    fed: Span | None


def read(text: str) -> RawReading:
    """Every command after any separator; `broken` when something stayed open or the text is too long. Never raises."""
    starts = [0]
    commands: list[RawCommand] = []
    merged = _Splitter(text, 0)
    merged.run()
    broken = merged.broken
    commands.extend(merged.commands())
    while merged.unclosed is not None and len(starts) <= MAX_RESTARTS:
        starts.append(merged.unclosed)
        again = _Splitter(text, merged.unclosed)
        again.run()
        commands.extend(again.commands())
        again.assignments[:0] = merged.assignments
        again.loops[:0] = merged.loops
        again.functions[:0] = merged.functions
        merged = again
    loose: list[Span] = []
    for command in commands:
        loose.extend(command.words)
        loose.extend(span for _, span in command.redirects)
        loose.extend(span for span, quoted in command.bodies if not quoted)
    loose.extend(span for _, span in merged.assignments)
    loose.extend(span for _, span in merged.loops)
    return RawReading(
        tuple(commands),
        tuple(merged.assignments),
        tuple(merged.functions),
        tuple(merged.loops),
        tuple(loose),
        frozenset(),
        broken,
    )


def masked(text: str) -> tuple[str, tuple[Span, ...]]:
    """The text with the body of every quoted here-document made one meaningless word, and where those bodies are."""
    splitter = _Splitter(text, 0)
    splitter.run()
    bodies = [
        span for raw in splitter.commands() for span, quoted in raw.bodies if quoted and span.end > span.start + 1
    ]
    pieces: list[str] = []
    position = 0
    for span in sorted(bodies, key=lambda span: span.start):
        pieces.extend((text[position : span.start], "x" * (span.end - span.start - 1), text[span.end - 1 : span.end]))
        position = span.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(bodies)


class _Splitter:
    """One pass over the text from `position`."""

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self._position = position
        self._draft = _Draft()
        self._done: list[_Draft] = []
        self._groups: list[_Group] = []
        self._pipeline: int | None = None
        self._waiting: list[tuple[_Draft, str, bool, bool]] = []
        self.assignments: list[tuple[str, Span]] = []
        self.loops: list[tuple[str, Span]] = []
        self.functions: list[tuple[str, Span]] = []
        self.broken: str | None = None
        self.unclosed: int | None = None

    def commands(self) -> list[RawCommand]:
        """The finished commands, those with neither word nor redirect left out."""
        found = []
        for draft in self._done:
            spans = [*draft.words, *(span for _, span in draft.redirects)]
            if spans and not self._is_loop(draft):
                start, end = min(span.start for span in spans), max(span.end for span in spans)
                found.append(
                    RawCommand(
                        start,
                        end,
                        tuple(draft.words),
                        tuple(draft.assignments),
                        tuple(draft.redirects),
                        tuple(draft.bodies),
                        draft.fed,
                    )
                )
        return found

    def _is_loop(self, draft: _Draft) -> bool:
        return bool(draft.words) and self._text[draft.words[0].start : draft.words[0].end] in ("for", "select")

    def run(self) -> None:
        """Read to the end."""
        text, size = self._text, len(self._text)
        tokens = 0
        while self._position < size:
            tokens += 1
            if tokens > MAX_TOKENS:
                self.broken = TOO_LONG
                break
            blank = _BLANK.match(text, self._position)
            if blank:
                self._position = blank.end()
                continue
            if text[self._position] == "#":
                self._position = self._end(_COMMENT)
                continue
            redirect = _REDIRECT.match(text, self._position)
            if redirect:
                self._redirect(redirect)
                continue
            control = _CONTROL.match(text, self._position)
            if control:
                self._control(control.group(), control.end())
            else:
                self._word(self._end_of_word(self._position))
        self._finish()
        if self._groups or self._waiting:
            self.broken = self.broken or "something stays open"

    def _end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._position)
        return match.end() if match else self._position + 1

    def _redirect(self, match: re.Match[str]) -> None:
        operator = match[1]
        self._position = match.end()
        blank = _BLANK.match(self._text, self._position)
        if blank:
            self._position = blank.end()
        start = self._position
        end = self._end_of_word(start)
        self._position = end
        if operator in ("<<", "<<-"):
            source = self._text[start:end]
            delimiter = re.sub(r"[\\'\"]", "", source)
            self._waiting.append((self._draft, delimiter, delimiter != source, operator == "<<-"))
        elif end > start:
            self._draft.redirects.append((operator, Span(start, end)))

    def _control(self, operator: str, end: int) -> None:
        start = self._position
        self._position = end
        if operator == "(":
            self._open_paren(start)
            return
        first = self._finish()
        if operator in _PIPES:
            if self._pipeline is None:
                self._pipeline = start if first is None else first
            begin = self._groups[-1].fed.start if self._groups and self._groups[-1].fed else self._pipeline
            self._draft.fed = Span(min(begin, self._pipeline), start)
            return
        if operator == ")":
            self._close()
            return
        self._pipeline = None
        self._draft.fed = self._groups[-1].fed if self._groups else None
        if operator == "\n" and self._waiting:
            self._bodies()

    def _open_paren(self, start: int) -> None:
        """A subshell, a function's `()`, an array's value or a case pattern."""
        text = self._text
        words = self._draft.words
        rest = _BLANK.match(text, self._position)
        after = rest.end() if rest else self._position
        if words and text[after : after + 1] == ")":
            name = text[words[-1].start : words[-1].end]
            self.functions.append((name, Span(after + 1, len(text))))
            self._draft.words = []
            self._position = after + 1
            return
        if (
            text[self._position : self._position + 1] == "("
            and not words
            and "<<" in text[self._position : self._position + 200]
        ):
            end = closing_paren(text[: self._position + 200], self._position + 1)
            if text[end + 1 : end + 2] == ")" and end < self._position + 200:
                self._position = end + 2  # a shift, not a here-document
                return
        self._finish()
        self._groups.append(_Group(start, self._pipeline, self._draft.fed))
        self._pipeline = None

    def _close(self) -> None:
        if self._groups:
            group = self._groups.pop()
            self._pipeline = group.start if group.pipeline is None else group.pipeline
            self._draft.fed = group.fed

    def _finish(self) -> int | None:
        """End the command in the making; returns where it began, or None when it is empty."""
        draft = self._draft
        self._draft = _Draft(fed=draft.fed)
        if not draft.words and not draft.redirects and not draft.assignments:
            return None
        self._done.append(draft)
        spans = [*draft.words, *(span for _, span in draft.redirects), *(span for _, span in draft.assignments)]
        return min(span.start for span in spans)

    def _bodies(self) -> None:
        """Take the here-documents that begin on this line."""
        text = self._text
        for draft, delimiter, quoted, tabs in self._waiting:
            start = position = self._position
            while position < len(text):
                end = text.find("\n", position)
                end = len(text) if end < 0 else end
                line = text[position:end]
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                position = end + 1
            else:
                end = len(text)
            draft.bodies.append((Span(start, min(position, len(text))), quoted))
            self._position = min(end + 1, len(text))
        self._waiting = []

    def _word(self, end: int) -> None:
        text, start = self._text, self._position
        end = max(end, start + 1)
        self._position = end
        draft = self._draft
        source = text[start:end]
        if draft.words:
            if not self._keyword_goes_on(source, end, draft):
                draft.words.append(Span(start, end))
            return
        assignment = _ASSIGNMENT.match(source)
        if assignment:
            value = start + assignment.end()
            if value == end and text[end : end + 1] == "(":
                self._position = end = min(closing_paren(text, end + 1) + 1, len(text))
            pair = (assignment[1] + assignment[2], Span(value, end))
            draft.assignments.append(pair)
            self.assignments.append(pair)
            return
        if source in _OPENERS:
            self._groups.append(_Group(start, self._pipeline, draft.fed))
            self._pipeline = None
        elif source in _CLOSERS:
            self._close()
        if source not in _SKIPPED:
            draft.words.append(Span(start, end))

    def _keyword_goes_on(self, source: str, end: int, draft: _Draft) -> bool:
        """The later words of `for`, `function NAME {` and `case WORD in`; True when the word is used up by one."""
        text = self._text
        first = text[draft.words[0].start : draft.words[0].end]
        second = text[draft.words[1].start : draft.words[1].end] if len(draft.words) > 1 else ""
        if first in ("for", "select") and len(draft.words) >= 3:
            self.loops.append((second, Span(end - len(source), end)))
        elif first == "function" and source == "{":
            self.functions.append((second, Span(end, len(text))))
            self._groups.append(_Group(draft.words[0].start, self._pipeline, draft.fed))
            draft.words = []
            return True
        elif first == "case" and source == "in":
            draft.words = []
            return True
        return False

    def _end_of_word(self, position: int) -> int:
        end, unclosed = word_end(self._text, position)
        if unclosed is not None:
            self.broken = "a quote stays open"
            line = self._text.find("\n", unclosed)
            self.unclosed = line + 1 if line >= 0 else None
        return end

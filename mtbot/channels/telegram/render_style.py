"""Flat text with nested spans over it: what a rendered answer is before anybody counts or cuts.

Telegram formats by offsets, so markup never appears in the text and a cut can go anywhere without breaking a tag.
The `Composer` owes its caller one promise: spans nest, never cross, and keep Telegram's rules about code and links.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

__all__ = ["Composer", "EntityType", "Prefix", "Span", "Styled", "clean", "is_visible"]


class EntityType(StrEnum):
    """The kinds of formatting that answers use, in Telegram's own words."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKETHROUGH = "strikethrough"
    CODE = "code"
    PRE = "pre"
    TEXT_LINK = "text_link"
    BLOCKQUOTE = "blockquote"


VERBATIM = frozenset({EntityType.CODE, EntityType.PRE})
"""Kinds whose blanks are content, and which neither hold nor are held by a style or a link."""


@dataclass(frozen=True, slots=True)
class Span:
    """A format over [start, end), counted in code points of the whole text."""

    type: EntityType
    start: int
    end: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Styled:
    """A whole answer: its text, and its spans with the outer one first."""

    text: str
    spans: tuple[Span, ...] = ()


_REPLACED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff\ufffc]")
_LINE_ENDS = re.compile("\r\n?|\x85|[\u2028\u2029]")
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e")


def clean(text: str) -> str:
    """Text that Telegram will take without altering it: line ends are newlines, tabs are blanks.

    Surrogate pairs become their character; lone surrogates and controls become U+FFFD; direction overrides, which
    the server removes anyway, are dropped. Idempotent.
    """
    if "\t" in text:
        text = text.replace("\t", "    ")
    if _REPLACED.search(text) is None:
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _LINE_ENDS.sub("\n", text)
    return _REPLACED.sub(lambda found: "" if found[0] in _OVERRIDES else "\ufffd", text)


# the combining lines at the front are removed by the server, the rest is drawn as nothing
_BLANK_LOOKING = frozenset("\u030a\u0333\u033f\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc")


@lru_cache(maxsize=4096)
def _shows(char: str) -> bool:
    if char in _BLANK_LOOKING or 0xFE00 <= ord(char) <= 0xFE0F or 0xE0000 <= ord(char) <= 0xE0FFF:
        return False
    return unicodedata.category(char) not in {"Cc", "Cf", "Zs", "Zl", "Zp"}


def is_visible(text: str) -> bool:
    """Whether a reader would see anything: the server refuses a message of which nothing shows."""
    return any(_shows(char) for char in text)


@dataclass(slots=True)
class Prefix:
    """What stands before the lines of a list item or inner quote: `first` once, then `rest`."""

    first: str | None
    rest: str


@dataclass(slots=True)
class _Open:
    """A span that has begun; `start` is unset until its first character is written."""

    type: EntityType
    order: int
    url: str | None = None
    start: int | None = None


class Composer:
    """Builds a Styled from left to right.

    Gaps between blocks are asked for and written only when more text follows, so nothing ends in blank lines.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._gap = 0
        self._at_line_start = True
        self._prefixes: list[Prefix] = []
        self._open: list[_Open] = []
        self._spans: list[tuple[int, Span]] = []
        self._order = 0

    # -- text

    def write(self, text: str) -> None:
        """Appends text that may hold newlines; each line gets the prefixes in force."""
        for index, line in enumerate(clean(text).split("\n")):
            if index and self._length and not self._gap:
                self._append("\n")
                self._at_line_start = True
            if line:
                self._begin_line()
                self._append(line)

    def gap(self, newlines: int) -> None:
        """Asks for at least so many newlines before whatever is written next."""
        self._gap = max(self._gap, newlines)

    def _begin_line(self) -> None:
        if self._gap:
            if self._length:
                self._append("\n" * self._gap)
            self._gap = 0
            self._at_line_start = True
        self._start_spans(only=EntityType.BLOCKQUOTE)
        if self._at_line_start:
            self._at_line_start = False
            for prefix in self._prefixes:
                self._append(prefix.rest if prefix.first is None else prefix.first)
                prefix.first = None
        self._start_spans(only=None)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def push(self, prefix: Prefix) -> None:
        """Puts a prefix before every following line, inside those in force."""
        self._prefixes.append(prefix)

    def pop(self) -> None:
        """Takes the innermost prefix away; an item that held nothing still shows its marker."""
        self.flush_markers()
        self._prefixes.pop()

    def flush_markers(self) -> None:
        """Writes the markers of items whose text has not begun, on a line of their own."""
        if any(prefix.first is not None for prefix in self._prefixes):
            self._begin_line()
            self.gap(1)

    def without_prefixes(self) -> list[Prefix]:
        """Sets the prefixes aside, for a block whose lines must begin at the margin; give them back to `restore`."""
        self.flush_markers()
        aside, self._prefixes = self._prefixes, []
        return aside

    def restore(self, prefixes: list[Prefix]) -> None:
        """Puts back what `without_prefixes` set aside."""
        self._prefixes = prefixes

    # -- spans

    def open(self, kind: EntityType, url: str | None = None) -> None:
        """Begins a span with the next character; a second one of the same kind inside it counts but adds nothing."""
        self._order += 1
        self._open.append(_Open(kind, self._order, url))

    def close(self) -> None:
        """Ends the span opened last."""
        self._end(self._open.pop())

    def open_link(self, url: str) -> None:
        """Begins a link; styles around it are ended before and begun again inside, as the server would do."""
        self._suspend()
        self._open.insert(self._styles_from(), _Open(EntityType.TEXT_LINK, self._next_order(), url))
        self._renumber()

    def close_link(self) -> None:
        """Ends the link; styles around it go on behind it."""
        self._suspend()
        at = next(index for index, span in enumerate(self._open) if span.type is EntityType.TEXT_LINK)
        self._end(self._open.pop(at))
        self._renumber()

    def code(self, text: str) -> None:
        """Appends inline code. Styles are interrupted for it; inside a link it is plain text, since code can't link."""
        if any(span.type is EntityType.TEXT_LINK for span in self._open):
            self.write(text)
            return
        self._suspend()
        waiting = self._open[self._styles_from() :]
        del self._open[self._styles_from() :]
        self.open(EntityType.CODE)
        self.write(text)
        self.close()
        self._open += waiting

    def pre(self, text: str, language: str | None = None) -> None:
        """Appends a block of code at the margin; a block of which nothing shows is left out."""
        text = clean(text).rstrip(" \n")
        if not is_visible(text):
            return
        aside = self.without_prefixes()
        self._begin_line()
        start = self._length
        self._append(text)
        self._spans.append((self._next_order(), Span(EntityType.PRE, start, self._length, language=language)))
        self.gap(1)
        self.restore(aside)

    def _next_order(self) -> int:
        self._order += 1
        return self._order

    def _start_spans(self, only: EntityType | None) -> None:
        for span in self._open:
            if span.start is None and only in (None, span.type):
                span.start = self._length

    def _styles_from(self) -> int:
        """Index of the first open style: quotes and links stay below, styles above them are what can be cut."""
        keeps = (EntityType.BLOCKQUOTE, EntityType.TEXT_LINK)
        return next((index for index, span in enumerate(self._open) if span.type not in keeps), len(self._open))

    def _suspend(self) -> None:
        """Ends the open styles here; they begin again with the next character."""
        for span in self._open[self._styles_from() :]:
            self._end(span)
            span.start = None

    def _renumber(self) -> None:
        """Styles that begin again do so inside whatever was opened meanwhile."""
        for span in self._open[self._styles_from() :]:
            span.order = self._next_order()

    def _end(self, span: _Open) -> None:
        around = (other for other in self._open if other.order < span.order)
        if span.start is None or any(other.type is span.type for other in around):
            return
        self._spans.append((span.order, Span(span.type, span.start, self._length, url=span.url)))

    # -- result

    def finish(self) -> Styled:
        """The whole text with its spans, outer before inner; blanks at the edges of the text and of spans are gone."""
        text = "".join(self._pieces)
        trimmed = text.rstrip()
        spans = []
        for order, span in self._spans:
            kept = trim(trimmed, span)
            if kept is not None:
                spans.append((kept.start, -kept.end, order, kept))
        spans.sort(key=lambda item: item[:3])
        return Styled(trimmed, tuple(item[3] for item in spans))


def trim(text: str, span: Span) -> Span | None:
    """The span without blanks at its ends (at the front only where they are no content); None if nothing shows."""
    start, end = span.start, min(span.end, len(text))
    while end > start and text[end - 1].isspace():
        end -= 1
    if span.type not in VERBATIM and span.type is not EntityType.BLOCKQUOTE:  # a quote may begin with indented code
        while start < end and text[start].isspace():
            start += 1
    if not is_visible(text[start:end]):
        return None
    return Span(span.type, start, end, span.url, span.language)

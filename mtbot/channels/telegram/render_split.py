"""Cuts a styled text into messages that Telegram takes, each valid by itself, without losing a character.

Only the blanks at a real separator (a newline, or a blank outside code) may vanish where a cut is made; a cut in the
middle of a word or of a line of code keeps everything. Every step moves forward by at least one character.
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtbot.channels.telegram.render_style import VERBATIM, EntityType, Span, Styled, is_visible, trim

__all__ = ["MAX_ENTITIES", "MAX_PAYLOAD", "MAX_UNITS", "Entity", "Part", "split", "utf16_len"]

MAX_UNITS = 4096
"""Longest text of a message, in UTF-16 units."""

MAX_ENTITIES = 100
"""Formats in a message; the server silently drops what comes after them."""

MAX_PAYLOAD = 30_000
"""Text, addresses and format records of a message, in bytes: the server reads about 32 KiB before it parses."""

_ENTITY_BYTES = 80
_SEPARATOR = re.compile(r"(?:[^\S\n]*\n)+")
_LONGEST_CLUSTER = 32


@dataclass(frozen=True, slots=True)
class Entity:
    """A format in a message. `offset` and `length` count UTF-16 units."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One message: never empty to the eye, within every limit of the server."""

    text: str
    entities: tuple[Entity, ...] = ()


def utf16_len(text: str) -> int:
    """Length in UTF-16 units, in which Telegram counts."""
    return len(text) + sum(char > "\uffff" for char in text)


def split(styled: Styled, limit: int = MAX_UNITS) -> tuple[Part, ...]:
    """The parts of a text in order; none when nothing of it can be seen.

    `limit` is in UTF-16 units, from 2 (one character may need two) to MAX_UNITS; anything else is a ValueError.
    """
    if not 2 <= limit <= MAX_UNITS:
        raise ValueError(f"limit must be between 2 and {MAX_UNITS}, not {limit}")
    return tuple(_parts(styled, limit))


def _parts(styled: Styled, limit: int) -> Iterator[Part]:
    text = styled.text
    verbatim = _Ranges([span for span in styled.spans if span.type in VERBATIM])
    alive: list[Span] = []
    upcoming = 0
    position = 0
    while position < len(text):
        horizon = min(len(text), position + limit)
        while upcoming < len(styled.spans) and styled.spans[upcoming].start < horizon:
            alive.append(styled.spans[upcoming])
            upcoming += 1
        ceiling = _ceiling(text, alive, position, limit)
        end, following = len(text), len(text)
        if ceiling < len(text):
            end, following = _cut(text, verbatim, position, ceiling)
        part = _part(text, alive, position, end)
        if part is not None:
            yield part
        position = following
        alive = [span for span in alive if span.end > position]


class _Ranges:
    """Where blanks are content; ranges don't overlap."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._starts = [span.start for span in spans]
        self._ends = [span.end for span in spans]

    def holds(self, index: int) -> bool:
        """Whether the character at `index` is inside a range."""
        at = bisect.bisect_right(self._starts, index) - 1
        return at >= 0 and index < self._ends[at]


def _ceiling(text: str, alive: Sequence[Span], start: int, limit: int) -> int:
    """The furthest end that a part from `start` may have; at least one character further on."""
    end = min(len(text), start + limit)
    units = utf16_len(text[start:end])
    while units > limit:
        end -= 1
        units -= 2 if text[end] > "\uffff" else 1
    spent = len(text[start:end].encode())
    for count, span in enumerate(alive):
        if span.start >= end:
            break
        spent += _ENTITY_BYTES + len((span.url or "").encode()) + len((span.language or "").encode())
        if span.start > start and (count >= MAX_ENTITIES or spent > MAX_PAYLOAD):
            return span.start
    return end


def _cut(text: str, verbatim: _Ranges, start: int, ceiling: int) -> tuple[int, int]:
    """Where a part that must end by `ceiling` ends, and where the next begins."""
    window = ceiling - start
    for share in (2, 8):
        floor = start + max(1, window // share)
        for separator in ("\n\n", "\n", " "):
            at = text.rfind(separator, floor, ceiling + len(separator))
            while at >= 0 and separator != "\n" and verbatim.holds(at):
                at = text.rfind(separator, floor, at)
            if at < 0:
                continue
            return _without_blanks(text, start, at), _behind_separator(text, verbatim, at)
    end = _between_clusters(text, start, ceiling)
    end = _without_blanks(text, start, end)  # the server cuts blanks off the end, but not off the front of code
    return end, end


def _behind_separator(text: str, verbatim: _Ranges, at: int) -> int:
    """Where the next part begins: behind blank lines, keeping the indentation of a line; or behind a run of blanks."""
    found = _SEPARATOR.match(text, at)
    if found is not None:
        return found.end()
    following = at + 1
    while following < len(text) and text[following].isspace() and not verbatim.holds(following):
        following += 1
    return following


def _without_blanks(text: str, start: int, end: int) -> int:
    """`end` moved before the blanks that a part would end with; a part of blanks only stays as it is."""
    kept = start + len(text[start:end].rstrip())
    return kept if kept > start else end


def _between_clusters(text: str, start: int, ceiling: int) -> int:
    """A cut at or shortly before `ceiling` that doesn't take an accent, a joined emoji or half a flag off."""
    for end in range(ceiling, max(start + 1, ceiling - _LONGEST_CLUSTER), -1):
        if not _clings(text, end):
            return end
    return ceiling


def _clings(text: str, index: int) -> bool:
    before, char = text[index - 1], text[index]
    if before == "\u200d" or char == "\u200d" or unicodedata.category(char) in {"Mn", "Me", "Mc"}:
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\ufe00" <= char <= "\ufe0f" or "\U000e0020" <= char <= "\U000e007f":
        return True
    return _is_flag_letter(char) and _is_flag_letter(before) and _flag_letters_before(text, index) % 2 == 1


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, index: int) -> int:
    first = index
    while first and index - first < _LONGEST_CLUSTER and _is_flag_letter(text[first - 1]):
        first -= 1
    return index - first


def _part(text: str, alive: Sequence[Span], start: int, end: int) -> Part | None:
    piece = text[start:end]
    if not is_visible(piece):
        return None
    units = _Units(piece)
    entities = []
    for span in alive:
        if span.start >= end:
            break
        kept = trim(text, Span(span.type, max(span.start, start), min(span.end, end), span.url, span.language))
        if kept is not None:
            offset = units.before(kept.start - start)
            length = units.before(kept.end - start) - offset
            entities.append(Entity(kept.type, offset, length, kept.url, kept.language))
    return Part(piece, tuple(entities))


class _Units:
    """Code point positions of a piece in UTF-16 units."""

    def __init__(self, piece: str) -> None:
        self._wide = [index for index, char in enumerate(piece) if char > "\uffff"]

    def before(self, index: int) -> int:
        """UTF-16 units in front of the character at `index`."""
        return index + bisect.bisect_left(self._wide, index)

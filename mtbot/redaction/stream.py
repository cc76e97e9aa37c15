"""Mask text that arrives in pieces, so that a secret split at any byte never shows, not even in part.

What was fed is held back until a line break behind which nothing that began before it can go on: no private key
block, no wrapped base64, no continued line, no configured value of several lines. A line that never ends is given out
at a blank once `LIMIT` characters wait, and a secret longer than that is given out as one mask and swallowed.
Masking the pieces gives the same text as masking the whole, as long as no line is longer than `LIMIT`.
"""

import re
import string
from typing import Protocol

from mtbot.domain.ids import SafeText
from mtbot.redaction import patterns
from mtbot.redaction.patterns import Span

LIMIT = 32 << 10
"""Characters that may wait before some are given out in the middle of a line."""

_HARD = 4
"""How many limits may wait when even that would cut through a secret."""

_BREAK = re.compile(r"[\r\n]")
_VALUE_LETTERS = string.ascii_letters + string.digits + "._~+/=:@%!#*?,^{}[]-"


class Lines(Protocol):
    """Whether lines are whole for the redactor."""

    def may_continue(self, line: str) -> bool:
        """Whether a configured value may go on after `line`."""
        ...


class Masks(Lines, Protocol):
    """What a stream needs of the redactor."""

    @property
    def longest(self) -> int:
        """Characters of the longest configured value in its longest form."""
        ...

    def mask(self, raw: str, /) -> SafeText:
        """`raw` masked."""
        ...

    def spans(self, data: bytes) -> list[Span]:
        """The secrets in `data`."""
        ...


class MaskStream:
    """Feed raw pieces in order, take masked ones out, close once. Not for several threads at a time."""

    __slots__ = ("_limit", "_masks", "_patience", "_pending", "_swallowing")

    def __init__(self, masks: Masks) -> None:
        """An empty stream over `masks`."""
        self._masks = masks
        self._limit = max(LIMIT, 2 * masks.longest)
        self._patience = self._limit
        self._pending = ""
        self._swallowing = False

    def feed(self, piece: str) -> SafeText:
        """Take `piece`; return what can be shown by now, often nothing."""
        self._pending += piece
        if self._swallowing:
            self._swallow()
        if _BREAK.search(piece) is not None and (end := quiet_end(self._pending, self._masks)):
            return self._take(end)
        if len(self._pending) > self._patience:
            return self._overflow()
        return self._take(0)

    def close(self) -> SafeText:
        """The rest. Feeding afterwards starts anew."""
        self._swallowing = False
        return self._take(len(self._pending))

    def _take(self, end: int) -> SafeText:
        head, self._pending = self._pending[:end], self._pending[end:]
        if head:
            self._patience = self._limit
        return self._masks.mask(head)

    def _overflow(self) -> SafeText:
        """Give out at least something of a text without a quiet place, and never the beginning of a secret alone."""
        spans = self._spans_in_characters()
        half = len(self._pending) - self._limit // 2
        end = self._pending.rfind(" ", 0, half) + 1 or _line_start(self._pending, half) or half
        while (beyond := max((span.end for span in spans if span.context < end < span.end), default=end)) > end:
            end = beyond
        if len(self._pending) - end > self._masks.longest:
            return self._take(end)
        if len(self._pending) < _HARD * self._limit:
            self._patience = len(self._pending) + self._limit // 2
            return self._take(0)
        self._swallowing = True
        return self._take(len(self._pending))

    def _spans_in_characters(self) -> list[Span]:
        data = self._pending.encode("utf-8", "replace")
        return [Span(*(len(data[:at].decode("utf-8")) for at in span)) for span in self._masks.spans(data)]

    def _swallow(self) -> None:
        """Drop what continues the value that was too long to wait for."""
        self._pending = self._pending.lstrip(_VALUE_LETTERS)
        self._swallowing = not self._pending


def quiet_end(text: str, lines: Lines) -> int:
    """Just behind the last line break in `text` that no secret can cross; 0 when there is none."""
    end = _line_start(text, len(text))
    while end:
        block = patterns.open_block(text[:end])
        if block >= 0:
            end = _line_start(text, block)
            continue
        start = _line_start(text, end - 1)
        line = text[start:end]
        if not (patterns.is_open(line) or lines.may_continue(line.strip())):
            # the short last line of a key without a beginning, of which the end is still to come
            before = _line_start(text, start - 1)
            if not patterns.is_rest(line, text[before:start]):
                break
            start = before
        end = start
    return end


def _line_start(text: str, end: int) -> int:
    return max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1

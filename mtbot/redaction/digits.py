"""Find known values that were written as digits: hexadecimal, whatever stands between the octets, and base32.

Every octet is escaped there, so that a pattern for each value would be too large to be fast. Instead the few runs of
such digits in a text are decoded, and the values are looked for in what comes out.
"""

import base64
import re
from collections.abc import Iterable, Iterator

from mtbot.redaction.patterns import Matcher, Span

SHORTEST = 8
"""Octets; a shorter value would be found everywhere."""

_MARK = r"(?:0x|%|\\{1,4}(?:x|u00)|&#x)"
_BETWEEN = rf"(?:;|[ :,-]|\r?\n|, |; )?{_MARK}?"
_RUN = Matcher(rf"{_MARK}?[0-9A-Fa-f]{{2}}(?:{_BETWEEN}[0-9A-Fa-f]{{2}}){{{SHORTEST - 1},}}[0-9A-Fa-f]?;?")
_OCTET = re.compile(rb"(?:0x|%|\\{1,4}(?:x|u00)|&#x)?([0-9A-Fa-f]{2});?")
_BASE32 = Matcher(r"[A-Z2-7](?:[A-Z2-7]|\r?\n){11,}={0,6}")
_LINE_BREAKS = re.compile(rb"[\r\n]+")


class Digits:
    """Looks for values, given as octets."""

    def __init__(self, values: Iterable[bytes]) -> None:
        self._values = tuple(value for value in values if len(value) >= SHORTEST)
        self._base32 = tuple(dict.fromkeys(form for value in self._values for form in _in_base32(value)))

    def spans(self, data: bytes) -> Iterator[Span]:
        """Every place in `data` where a value stands in digits."""
        if not self._values:
            return
        for run in _RUN.spans(data):
            # a longer run may have begun with half an octet
            yield from tuple(self._decoded(data, run.start, run.end)) or self._decoded(data, run.start + 1, run.end)
        for run in _BASE32.spans(data):
            yield from self._in_letters(data, run)

    def _decoded(self, data: bytes, start: int, end: int) -> Iterator[Span]:
        places = list(_OCTET.finditer(data, start, end))
        octets = bytes([int(place[1], 16) for place in places])
        for value in self._values:
            at = octets.find(value)
            while at >= 0:
                first = places[at].start()
                yield Span(first, first, places[at + len(value) - 1].end())
                at = octets.find(value, at + 1)

    def _in_letters(self, data: bytes, run: Span) -> Iterator[Span]:
        text = data[run.start : run.end]
        kept = [place for place in range(len(text)) if text[place] not in b"\r\n"]
        letters = _LINE_BREAKS.sub(b"", text)
        for form in self._base32:
            at = letters.find(form)
            while at >= 0:
                # the digit on either side holds a few bits of the value, too
                first, last = max(at - 1, 0), min(at + len(form), len(letters) - 1)
                if b"=" in letters[last : last + 2]:
                    last = len(letters) - 1
                yield Span(run.start + kept[first], run.start + kept[first], run.start + kept[last] + 1)
                at = letters.find(form, at + 1)


def _in_base32(value: bytes) -> Iterator[bytes]:
    """The digits that are certain whatever surrounds the value, in each of the five places where it may begin."""
    for ahead in range(5):
        digits = base64.b32encode(bytes(ahead) + value)
        yield digits[(8 * ahead + 4) // 5 : 8 * (ahead + len(value)) // 5]

"""Cut a part out of a file so that neither a character nor a secret is cut in two.

A model that may choose where a part begins could read a key in halves, none of which looks like a key. So the
surroundings of a part are masked together with it, and what lies within a mask stays out.
"""

import os
from dataclasses import dataclass

from mtbot.domain.ports import Masker

MARGIN = 16 * 1024
"""Bytes on either side that are looked at together with a part; the longest usual key has a quarter of it."""

_LONGEST_RUNE = 4


@dataclass(frozen=True, slots=True)
class Window:
    """A masked part of a file: bytes ``start`` to ``end`` of it, on the borders of characters.

    ``exact``: the part is valid UTF-8 without NUL and without a mask, so the text says all there is.
    """

    text: str
    start: int
    end: int
    exact: bool


def read_window(descriptor: int, offset: int, limit: int, masker: Masker) -> Window:
    """At most ``limit`` bytes from ``offset`` on (one whole character at least). OSError if they cannot be read."""
    base = max(0, offset - MARGIN)
    data = _read(descriptor, base, offset - base + limit + MARGIN)
    start = _floor(data, min(offset - base, len(data)))
    end = _floor(data, min(offset - base + limit, len(data)))
    if end <= start:
        end = _ceiling(data, start + 1)
    before, part, after = (piece.decode("utf-8", "replace") for piece in (data[:start], data[start:end], data[end:]))
    text = masked_part(masker, before, part, after).replace("\0", "\u2400")
    return Window(text, base + start, base + end, exact=text.encode("utf-8", "replace") == data[start:end])


def masked_part(masker: Masker, before: str, part: str, after: str) -> str:
    """``part`` masked as if it was seen with what surrounds it; of a value that reaches over a border nothing is left."""
    if not before and not after:
        return str(masker.mask(part))
    whole = str(masker.mask(before + part + after))
    if whole == (apart := str(masker.mask(before))) + (own := str(masker.mask(part))) + str(masker.mask(after)):
        return whole[len(apart) : len(apart) + len(own)]
    # What the masked whole shares with the masked text from the part on is untouched by the first border, and so with
    # the second: a mask that only the whole has stays outside of both.
    start = len(whole) - _shared(whole[::-1], str(masker.mask(part + after))[::-1])
    end = _shared(whole, str(masker.mask(before + part)))
    return whole[start:end] if start < end else ""


def _shared(one: str, other: str) -> int:
    """The length of the common beginning."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _read(descriptor: int, at: int, count: int) -> bytes:
    pieces = []
    while count > 0 and (piece := os.pread(descriptor, count, at)):
        pieces.append(piece)
        at += len(piece)
        count -= len(piece)
    return b"".join(pieces)


def _floor(data: bytes, at: int) -> int:
    """The beginning of the character that ``at`` lies in; ``at`` itself where the bytes are no UTF-8."""
    for back in range(min(_LONGEST_RUNE, at + 1)):
        if at - back == len(data) or data[at - back] & 0xC0 != 0x80:
            return at - back
    return at


def _ceiling(data: bytes, at: int) -> int:
    """The end of the character that ends at ``at`` or later."""
    for forward in range(_LONGEST_RUNE):
        if at + forward >= len(data) or data[at + forward] & 0xC0 != 0x80:
            return min(at + forward, len(data))
    return at

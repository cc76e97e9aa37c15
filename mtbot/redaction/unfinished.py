"""Whether a line ends in the midst of a configured value: one of several lines, or one whose encoding is wrapped.

A wrapped encoding is recognised by its last few digits, wherever in the value they stand. So less of a value can show than
those digits hold, and now and then a line is held back for nothing.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence

from mtbot.redaction import encodings
from mtbot.redaction.patterns import Matcher

_DIGITS = 4
"""Of an encoding, that tell: three octets in base64, two in hexadecimal."""

_ENCODED_END = re.compile(rf"[A-Za-z0-9+/_-]{{{_DIGITS}}}\Z")
_MARK = r"(?:0x|%|\\{1,4}(?:x|u00)|&#x)?"
_OCTETS_END = re.compile(rf"([0-9A-Fa-f]{{2}})(?:;|[ :,-]|, |; )?{_MARK}([0-9A-Fa-f]{{2}})(?:;|[:,-])*\Z")
_TAIL = 32
_URL_SAFE = str.maketrans("-_", "+/")


class Unfinished:
    """Looks for the beginnings of `values`."""

    def __init__(self, values: Sequence[str]) -> None:
        several = [value for value in values if "\n" in value]
        lines = {line.strip() for value in several for line in value.splitlines()}
        self._blank = "" in lines
        forms = "|".join(sorted(encodings.escaped(line) for line in lines if line))
        self._lines = Matcher(rf"(?:{forms})\z").prepared() if forms else None
        # a line of a value has no digits that the whole of it has not
        self._digits = frozenset(_pieces(value for value in values if value not in lines))

    def ends(self, line: str) -> bool:
        """Whether a value could go on behind `line`, which has no blanks around it."""
        if not line:
            return self._blank
        if self._lines is not None and self._lines.is_in(line.encode("utf-8", "replace")):
            return True
        return any(piece in self._digits for piece in _last_digits(line[-_TAIL:]))


def _last_digits(end: str) -> Iterator[str]:
    if (found := _ENCODED_END.search(end)) is not None:
        yield found[0].translate(_URL_SAFE)
        yield found[0].lower()
    if (octets := _OCTETS_END.search(end)) is not None:
        yield (octets[1] + octets[2]).lower()


def _pieces(values: Iterable[str]) -> Iterator[str]:
    """Every piece of an encoding of a value that is so many digits long."""
    for value in values:
        octets = value.encode("utf-8", "replace")
        forms = [octets.hex()]
        forms += [base64.b64encode(bytes(ahead) + octets).decode("ascii").rstrip("=") for ahead in range(3)]
        forms += [base64.b32encode(bytes(ahead) + octets).decode("ascii").rstrip("=") for ahead in range(5)]
        for form in forms:
            yield from (form[at : at + _DIGITS] for at in range(len(form) - _DIGITS + 1))

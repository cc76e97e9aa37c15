"""The beginning of a text that still grows, as far as it can be shown without showing the beginning of a secret.

That is every line which nothing that comes can make a part of a secret (as in `stream.py`), and of the last one, if it
is prose, every sentence that has ended: what a format needs to be recognised stands within one line, and between a value
and what makes it one there is never the end of a sentence and the first letter of the next, but for a password piped into
sudo, whose option that asks for it may come late.
"""

import re
from typing import Protocol

from mtbot.domain.ids import SafeText
from mtbot.redaction import patterns
from mtbot.redaction.stream import Lines, quiet_end

_NEXT_SENTENCE = re.compile(r"(?:[.!?\u2026] +|[\u3002\uff01\uff1f])(?=[^\W\d_])")


class Masks(Lines, Protocol):
    """What is needed of the redactor."""

    @property
    def holds_sentences(self) -> bool:
        """Whether the end of a sentence stands within a configured value."""
        ...

    def mask(self, raw: str, /) -> SafeText:
        """`raw` masked."""
        ...


def ends_sentence(text: str) -> bool:
    """Whether a sentence ends in `text` and another one begins."""
    return _NEXT_SENTENCE.search(text) is not None


def settled(text: str, masks: Masks) -> SafeText:
    """The beginning of `text`, masked, that stands whatever comes behind it."""
    return masks.mask(text[: _settled_end(text, masks)])


def _settled_end(text: str, masks: Masks) -> int:
    end = quiet_end(text, masks)
    line = text[end:]
    if "\n" in line or "\r" in line or patterns.open_block(line) >= 0:
        return end
    if masks.holds_sentences or patterns.is_named_late(line):
        return end
    return max((end + found.end() for found in _NEXT_SENTENCE.finditer(line)), default=end)

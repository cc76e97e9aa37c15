"""Turn raw text into text that may leave the process: the only maker of `SafeText`.

Built from values alone, so that it can be made before anything else runs and tested without a machine. It knows the
exact values of configured secrets in every encoding and the formats of `formats.py`. A mask shows nothing of the
value: its four digits are a keyed fingerprint, by which two masks of one value can be told to be the same.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import LiteralString

from mtbot.domain.ids import SafeText
from mtbot.redaction import encodings, patterns
from mtbot.redaction.digits import Digits
from mtbot.redaction.display import display
from mtbot.redaction.growing import ends_sentence, settled
from mtbot.redaction.patterns import Matcher, Span
from mtbot.redaction.stream import MaskStream
from mtbot.redaction.unfinished import Unfinished

_OPEN, _CLOSE = "\u2039secret:", "\u203a"
_ANY_MASK = re.compile(
    r"(?:[\u2039<\u00ab\u3008]|\\u2039|%E2%80%B9|&lsaquo;|&lt;|&#8249;)secret(?::|%3A)([0-9a-f]{4})"
    r"(?=[\u203a>\u00bb\u3009]|\\u203a|%E2%80%BA|&rsaquo;|&gt;|&#8250;)",
    re.IGNORECASE,
)
_MASK = re.compile(r"\u2039secret:[0-9a-f]{4}\u203a")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CACHE = 4096
_DEEPEST_CAUSE = 20


class Redactor:
    """Masks text. One per process; safe to share between threads.

    `secrets` are named values of at least eight characters (shorter ones are found by format only), `key` is what
    fingerprints are keyed with. Nothing is ever unmasked, so no value is kept beyond what matching needs.
    """

    def __init__(self, secrets: Mapping[str, str], key: bytes) -> None:
        """Compile the exact values; names are used for nothing but telling values apart."""
        self._key = key
        self._prints: dict[bytes, str] = {}
        self._made: set[str] = set()
        self._known: frozenset[str] = frozenset()
        self._exact: Matcher | None = None
        self.longest = 0
        self.holds_sentences = False
        self.learn(secrets)

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Hide these values too from now on; what was hidden before stays so. Other threads may mask meanwhile."""
        fresh = {text for value in secrets.values() for text in encodings.worth_hiding(value)}
        self._known |= fresh
        values = sorted(self._known)
        sources = [(encodings.pattern_of(value), value.encode("utf-8", "replace")) for value in values]
        self._values = [(Matcher(source).prepared(), self._fingerprint(value)) for source, value in sources]
        self._unfinished = Unfinished(values)
        self.longest = max((12 * len(value) for value in values), default=0)
        self.holds_sentences = any(map(ends_sentence, values))
        self._digits = Digits(value for _, value in sources)
        # last, because it decides whether the others are looked at
        self._exact = Matcher("|".join(source for source, _ in sources), longest=True).prepared() if sources else None

    def mask(self, raw: str, /) -> SafeText:
        """`raw` with every secret replaced; applying it again changes nothing. Total: any string is taken."""
        data, text = _encode(raw)
        spans = self.spans(data)
        if not spans:
            return SafeText(text)
        pieces: list[str] = []
        at = 0
        for span in spans:
            pieces += (data[at : span.start].decode("utf-8"), self._mark(data[span.start : span.end]))
            at = span.end
        pieces.append(data[at:].decode("utf-8"))
        return SafeText("".join(pieces))

    def count(self, raw: str, /) -> int:
        """How many values `mask` would hide."""
        return len(self.spans(_encode(raw)[0]))

    def safe(self, literal: LiteralString, /) -> SafeText:
        """Text that the program itself contains; the type checker refuses anything computed."""
        return SafeText(literal)

    def join(self, separator: LiteralString, parts: Iterable[SafeText]) -> SafeText:
        """The parts in one text, masked again as a whole: two harmless halves can make a secret."""
        return self.mask(separator.join(parts))

    def cut(self, text: SafeText, limit: int) -> SafeText:
        """The beginning of `text` in at most `limit` UTF-8 bytes; never half a character, never half a mask."""
        data = text.encode("utf-8")
        if len(data) <= limit:
            return text
        kept = data[: max(0, limit)].decode("utf-8", "ignore")
        start = kept.rfind(_OPEN[0])
        broken = start >= 0 and (mark := _MASK.match(text, start)) is not None and mark.end() > len(kept)
        return SafeText(kept[:start] if broken else kept)

    def show(self, raw: str, /) -> SafeText:
        """Masked, and with everything hidden made visible: what a person is asked to judge."""
        return SafeText(display(self.mask(raw)))

    def made_mask(self, text: str, /) -> bool:
        """Whether `text` holds a mask that this process produced or would produce for a configured value."""
        return any(found.group(1).lower() in self._made for found in _ANY_MASK.finditer(text))

    def recall(self, text: str, /) -> None:
        """Count the masks in `text`, the work of an earlier process, among those that this one made."""
        self._made.update(found.group(1).lower() for found in _ANY_MASK.finditer(text))

    def scrub_exception(self, exc: BaseException) -> SafeText:
        """Types and messages of `exc`, its causes, its members and its notes, masked; no frames and no paths."""
        return self.mask("\n".join(_chain(exc, set())))

    def stream(self) -> MaskStream:
        """A stream that masks text which arrives in pieces."""
        return MaskStream(self)

    def settled(self, raw: str, /) -> SafeText:
        """The masked beginning of a text that still grows, as far as it stands whatever comes behind it."""
        return settled(raw, self)

    def spans(self, data: bytes) -> list[Span]:
        """The secrets in UTF-8 `data`, in order, none touching another's bytes. For the stream."""
        found = patterns.find(data)
        if self._exact is not None:
            found.extend(self._exact.overlapping(data))
            found.extend(self._digits.spans(data))
        return _merge(found)

    def may_continue(self, line: str) -> bool:
        """Whether a configured value, in any form that goes over several lines, could go on after `line`."""
        return self._unfinished.ends(line)

    def _mark(self, value: bytes) -> str:
        mark = self._prints.get(value)
        if mark is None:
            mark = f"{_OPEN}{self._configured(value) or self._fingerprint(value)}{_CLOSE}"
            if len(self._prints) >= _CACHE:
                self._prints.clear()
            self._prints[value] = mark
        return mark

    def _configured(self, written: bytes) -> str | None:
        """The fingerprint of the configured value that `written` is a form of: the same one in every encoding."""
        if self._exact is None or not self._exact.is_whole(written):
            return None
        return next(fingerprint for matcher, fingerprint in self._values if matcher.is_whole(written))

    def _fingerprint(self, value: bytes) -> str:
        digits = hmac.new(self._key, value, hashlib.sha256).hexdigest()[:4]
        self._made.add(digits)
        return digits


def _encode(raw: str) -> tuple[bytes, str]:
    """The bytes to search and the same text in a form that any sink can encode."""
    try:
        return raw.encode("utf-8"), str(raw)
    except UnicodeEncodeError:
        text = _SURROGATES.sub("\ufffd", raw)
        return text.encode("utf-8"), text


def _merge(found: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(found, key=lambda one: (one.start, one.end)):
        last = merged[-1] if merged else None
        if last is not None and span.start < last.end:
            merged[-1] = Span(min(last.context, span.context), last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def _chain(exc: BaseException, seen: set[int]) -> Iterator[str]:
    if id(exc) in seen or len(seen) >= _DEEPEST_CAUSE:
        return
    seen.add(id(exc))
    yield f"{type(exc).__name__}: {_message(exc)}"
    yield from (str(note) for note in getattr(exc, "__notes__", ()))
    if isinstance(exc, BaseExceptionGroup):
        for member in exc.exceptions:
            yield from _chain(member, seen)
    cause = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)
    if cause is not None:
        yield from _chain(cause, seen)


def _message(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # noqa: BLE001 - a broken __str__ must not replace the error that is being reported
        return "(its message cannot be read)"

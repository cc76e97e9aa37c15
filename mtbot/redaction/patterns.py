"""Find every stretch of bytes that is a secret: one pass of matching over the table of formats.

Everything works on UTF-8 bytes, so that RE2 (linear on any input, imported here and nowhere else in redaction) is
called without translating offsets. Formats are independent: each reports its own spans and the caller merges them,
so one format can never eat the context that another one needs.

Judged here beside the table: private key blocks, and long runs of base64 characters that look random. Commit hashes,
UUIDs, paths, public keys, checksums and encoded image data are not secrets and stay readable.
"""

import base64
import binascii
import bisect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, cast

import re2

from mtbot.redaction.formats import CONTEXTS, TOKENS, VALUE, Format, Kind

_MEMORY = 8 << 20
_MEMORY_OF_MANY = 64 << 20
"""Bytes for what one pass over the text looks for: all tokens, or all configured values."""

_LONGEST_SECRET_RUN = 512
_WRAP = 76
"""Line length of the base64 program and of MIME."""

_NEWLINE = 10
_SHORTEST_RUN = 32
_SHORTEST_WORD = 3
_APART = b"-"[0]


class Span(NamedTuple):
    """One secret in the text; `context` is where the words begin by which it was recognised."""

    context: int
    start: int
    end: int


class _Engine(Protocol):
    def search(self, text: bytes, pos: int) -> "_Found | None": ...

    def match(self, text: bytes, pos: int) -> "_Found | None": ...

    def fullmatch(self, text: bytes) -> "_Found | None": ...


class _Found(Protocol):
    def span(self, group: int) -> tuple[int, int]: ...


class Matcher:
    """A pattern over bytes, compiled at its first use: a command that masks nothing does not pay for the table.

    `value` is the group that holds the secret.
    """

    __slots__ = ("_longest", "_made", "_pattern", "_value")

    def __init__(self, pattern: str, *, value: int = 0, longest: bool = False) -> None:
        self._pattern = pattern
        self._value = value
        self._longest = longest
        self._made: _Engine | None = None

    def prepared(self) -> "Matcher":
        """Itself, compiled now; raises `re2.error` when RE2 cannot promise linear time."""
        self._compile()
        return self

    @property
    def _engine(self) -> _Engine:
        return self._made or self._compile()

    def _compile(self) -> _Engine:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY_OF_MANY if self._longest else _MEMORY
        options.longest_match = self._longest
        self._made = cast("_Engine", re2.compile(self._pattern, options))
        return self._made

    def spans(self, data: bytes) -> Iterator[Span]:
        """All matches from left to right; the search goes on where the last value ended."""
        at, engine = 0, self._engine
        while (found := engine.search(data, at)) is not None:
            start, end = found.span(self._value)
            yield Span(found.span(0)[0], start, end)
            at = end

    def overlapping(self, data: bytes) -> Iterator[Span]:
        """As `spans`, but one value may begin inside another."""
        at, engine = 0, self._engine
        while (found := engine.search(data, at)) is not None:
            start, end = found.span(0)
            yield Span(start, start, end)
            at = start + 1

    def at(self, data: bytes, position: int) -> Span | None:
        """The match that begins at `position`."""
        found = self._engine.match(data, position)
        return None if found is None else Span(position, position, found.span(0)[1])

    def is_in(self, data: bytes) -> bool:
        """Whether any of `data` is a match."""
        return self._engine.search(data, 0) is not None

    def is_whole(self, data: bytes) -> bool:
        """Whether all of `data` is one match."""
        return self._engine.fullmatch(data) is not None


_GAP = r"""(?:\\{1,4}[rn]|[\s"',\\#-])+"""
_LINE = r"[A-Za-z0-9+/=]{16,}"
_SHORT = r"[A-Za-z0-9+/=]{1,15}"
_LABEL = r"(?:Proc-Type|DEK-Info|Version|Comment|Charset)[ \t]*:[ \t]*[A-Za-z0-9 .,/@:-]{0,120}"
_BEGIN = rf"-----BEGIN (?:[A-Z0-9]+ ){{0,4}}PRIVATE KEY(?: BLOCK)?-----{_GAP}(?:{_LABEL}{_GAP})*"
_WHOLE_BLOCK = Matcher(
    rf"{_BEGIN}(?:{_LINE}{_GAP})*(?:{_SHORT}{_GAP})?(?:{_LINE}{_GAP})*(?:{_SHORT}{_GAP}){{0,2}}\+?-----END [A-Z0-9 ]{{1,60}}-----"
)
_CUT_BLOCK = Matcher(rf"{_BEGIN}{_LINE}(?:{_GAP}{_LINE})*(?:{_GAP}{_SHORT}\z)?")
_HEADLESS_BLOCK = Matcher(
    rf"(?:{_SHORT}{_GAP})?(?:{_LINE}{_GAP})+(?:{_SHORT}{_GAP})?\+?-----END (?:[A-Z0-9]+ ){{0,4}}PRIVATE KEY(?: BLOCK)?-----"
)
"""The end of a key whose beginning was cut off, as at the middle of a long output."""
_PUBLIC = Matcher(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}(?:CERTIFICATE|PUBLIC KEY|CERTIFICATE REQUEST|X509 CRL|CMS|PKCS7|SIGNATURE|MESSAGE)"
    r"(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,.-]*?-----END "
)
_RUN = Matcher(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_FULL_LINE = Matcher(r"[\n]?[A-Za-z0-9+/]{76}")
_OPEN_TAIL = 32
_REST_OF_RUN = re.compile(r"[A-Za-z0-9+/_-]{1,31}={0,2}")
_INTO_SUDO = re.compile(r"\|[ \t]*sudo\b")
_OPEN_RUN = Matcher(r"[A-Za-z0-9+/_-]{30,32}={0,2}")
_KINDS = bytes(
    b"A"[0] if 65 <= code <= 90 else b"a"[0] if 97 <= code <= 122 else b"1"[0] if 48 <= code <= 57 else b"-"[0]
    for code in range(256)
)
_CHANGES = (b"aA", b"a1", b"1a", b"1A", b"A1", b"AAa")
"""Where a word ends: a capital may begin one, so "Aa" is not among them."""


_IMAGES = (b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR", b"JVBERi0", b"PHN2Zy", b"AAABAA", b"SUkqA", b"TU0AK", b"Qk0")
_PUBLIC_KEYS = (b"AAAAB3NzaC1", b"AAAAC3NzaC1", b"AAAAE2VjZHNh", b"AAAAGnNrLX", b"AAAAInNrLW")
_SUMS = (b"sha1", b"sha224", b"sha256", b"sha384", b"sha512", b"md5", b"h1")
_PLAIN_WORDS = frozenset(
    b"true false null none nil yes no undefined string required optional redacted token tokens secret password auth "
    b"authentication authorization scheme header headers format bearer basic digest negotiate".split()
)
_NOT_VALUES = (
    b"file",
    b"path",
    b"name",
    b"arn",
    b"dir",
    b"stdin",
    b"env",
    b"type",
    b"url",
    b"ttl",
    b"length",
    b"count",
)
_PATHS = (b"/", b"./", b"../", b"~/", b"@/", b"file:")


def _has_word(value: bytes) -> bool:
    return any(byte > 127 or chr(byte).isalnum() for byte in value)


def _is_path(value: bytes) -> bool:
    return value.startswith(_PATHS) and not value.endswith(b"=") and not looks_random(value)


def _plain(_name: bytes, value: bytes) -> bool:
    return _has_word(value)


def _wordy(name: bytes, value: bytes) -> bool:
    if not _has_word(value) or value.lower().rstrip(b",.:") in _PLAIN_WORDS:
        return False
    lowered = name.lower()
    nameless = b"key" in lowered or b"credential" in lowered or lowered.startswith(b"pwd")
    return not (nameless and _is_path(value))


def _basic(_name: bytes, value: bytes) -> bool:
    try:
        return b":" in base64.b64decode(value + b"=" * (-len(value) % 4), altchars=b"-_")
    except binascii.Error:
        return False


def _numbered(_name: bytes, value: bytes) -> bool:
    hidden = value.partition(b":")[2]
    return hidden.lower() != hidden or not all(chr(byte) in "0123456789abcdef" for byte in hidden)


def _option(name: bytes, value: bytes) -> bool:
    word = name.rstrip(b" \t\r\n\\=\"'").lower()
    if word.endswith(_NOT_VALUES):
        return False
    return _has_word(value) and not (b"key" in word and _is_path(value))


def _address(_name: bytes, value: bytes) -> bool:
    return not value.partition(b"/")[0].isdigit() or b"/" not in value


def _mixed(_name: bytes, value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


_JUDGES: Mapping[Kind, Callable[[bytes, bytes], bool]] = {
    Kind.PLAIN: _plain,
    Kind.WORDY: _wordy,
    Kind.BASIC: _basic,
    Kind.NUMBERED: _numbered,
    Kind.OPTION: _option,
    Kind.MIXED: _mixed,
    Kind.ADDRESS: _address,
}


def looks_random(run: bytes) -> bool:
    """Whether a run is too jumbled to be words: capitals, small letters and digits in pieces of under three."""
    kinds = run.translate(_KINDS)
    if not (b"A" in kinds and b"a" in kinds and b"1" in kinds):
        return False
    apart = kinds.count(b"-")
    pieces = 1 + apart + sum(kinds.count(change) for change in _CHANGES)
    return len(kinds) - apart < 3 * pieces


_VALUE = Matcher(rf"[A-Za-z0-9]{VALUE}*")
_TOKENS = Matcher("|".join(f"(?:{row.pattern})" for row in TOKENS), longest=True)
_CONTEXTS: tuple[tuple[Format, Matcher], ...] = tuple((row, Matcher(row.pattern, value=1)) for row in CONTEXTS)
_BY_ANCHOR: Mapping[bytes, tuple[int, ...]] = {
    anchor: tuple(index for index, row in enumerate(CONTEXTS) if anchor in row.anchors)
    for anchor in sorted({anchor for row in CONTEXTS for anchor in row.anchors})
}


def find(data: bytes) -> list[Span]:
    """Every secret in `data` that a format knows, unordered and possibly overlapping."""
    runs = list(_RUN.spans(data))
    readable = [run for run in runs if _is_data(data, run.start, run.end)]
    public = list(_PUBLIC.spans(data)) if b"-----BEGIN " in data else []
    spans = [token for token in _TOKENS.spans(data) if not (_in_run(token, readable) or _in_any(token, public))]
    lowered = data.lower()
    for index in {index for anchor, rows in _BY_ANCHOR.items() if anchor in lowered for index in rows}:
        row, matcher = _CONTEXTS[index]
        judge = _JUDGES[row.kind]
        for span in matcher.spans(data):
            if judge(data[span.context : span.start], data[span.start : span.end]):
                spans.append(span)
                spans.extend(_beyond_dollars(data, span))
    if b"PRIVATE KEY" in data:
        spans.extend(_WHOLE_BLOCK.spans(data))
        spans.extend(_CUT_BLOCK.spans(data))
        spans.extend(_HEADLESS_BLOCK.spans(data))
    for run in sorted(set(runs) - set(readable)):
        if not _in_any(run, public):
            spans.extend(_random_parts(data, run))
    return spans


def _in_run(token: Span, runs: list[Span]) -> bool:
    """Whether `token` is a coincidence of letters inside one of `runs`, which are in order and apart."""
    before = bisect.bisect_left(runs, token.start, key=_start) - 1
    return before >= 0 and token.end <= runs[before].end


def _start(span: Span) -> int:
    return span.start


def _in_any(span: Span, blocks: list[Span]) -> bool:
    return any(block.start <= span.start and span.end <= block.end for block in blocks)


def _beyond_dollars(data: bytes, span: Span) -> Iterator[Span]:
    """The rest of a quoted value with dollar signs in it; the signs stay, and alone they begin no command."""
    end = span.end
    if data[span.start - 1 : span.start] not in (b'"', b"'"):
        return
    while data[end : end + 1] == b"$" and (more := _VALUE.at(data, end + 1)) is not None:
        yield Span(span.context, more.start, more.end)
        end = more.end


def _random_parts(data: bytes, run: Span) -> Iterator[Span]:
    """The jumbled part of a run: all of it when slashes are as rare as in base64, else a long segment of a path."""
    text = data[run.start : run.end]
    at = run.start
    if text.count(b"/") <= 2 + len(text) // 32 and looks_random(text):
        lead = _words_ahead(text)
        yield Span(at + lead, at + lead, run.end)
        return
    for segment in text.split(b"/"):
        if len(segment) >= _SHORTEST_RUN and looks_random(segment):
            yield Span(at, at, at + len(segment))
        at += len(segment) + 1


def _words_ahead(text: bytes) -> int:
    """Bytes of the segments at the beginning that are plain words or numbers: where a secret stands, not a part of it."""
    length = 0
    for segment in text.split(b"/")[:-1]:
        if 0 < len(segment) < _SHORTEST_WORD or len(set(segment.translate(_KINDS)) - {_APART}) > 1:
            break
        length += len(segment) + 1
    return length


def _is_data(data: bytes, start: int, end: int) -> bool:
    """Whether a run is encoded content, a checksum or a public key by where it stands or how it begins."""
    if end - start >= _LONGEST_SECRET_RUN:
        return not data.startswith(b"MII", start)
    if data.startswith(_IMAGES, start) or data.startswith(_PUBLIC_KEYS, start):
        return True
    before = data[max(0, start - 8) : start].lower()
    if before.endswith(b";base64,") or before[:-1].endswith(_SUMS):
        return True
    if data[start : start + 7].lower().startswith(_SUMS) and data[start : start + 8].count(b"-"):
        return True
    return _is_wrapped(data, start, end)


def _is_wrapped(data: bytes, start: int, end: int) -> bool:
    """Whether the run is a full line of wrapped base64, or the short last line after one."""
    if (start and data[start - 1] != _NEWLINE) or (end < len(data) and data[end] not in b"\r\n"):
        return False
    if end - start == _WRAP:
        return True
    before = data[max(0, start - _WRAP - 4) : start].rstrip(b"\r\n")
    return _FULL_LINE.is_whole(before[-_WRAP - 1 :])


def is_open(line: str) -> bool:
    """Whether a secret could go on in the line after `line`: it is continued, or ends in a long run of base64."""
    end = line.rstrip("\r\n")
    return end.endswith("\\") or _ends_in_run(end)


def is_rest(line: str, before: str) -> bool:
    """Whether `line` is nothing but what may be left of the base64 that the line `before` it ends in."""
    return _REST_OF_RUN.fullmatch(line.strip()) is not None and _ends_in_run(before.rstrip("\r\n"))


def _ends_in_run(line: str) -> bool:
    return _OPEN_RUN.is_whole(line[-_OPEN_TAIL:].encode("utf-8", "replace"))


def is_named_late(line: str) -> bool:
    """Whether something that comes, even sentences later, may make a secret of what stands in `line` before it."""
    return _INTO_SUDO.search(line) is not None


def open_block(text: str) -> int:
    """Where the last armoured block begins that has no end in `text`; -1 when there is none."""
    begin = text.rfind("-----BEGIN ")
    return begin if begin >= 0 and text.find("-----END ", begin) < 0 else -1

"""Values that must never be seen again, texts in which they are planted, and a search that finds any six characters.

Searched is not only the text as it lies there: it is also read with percent signs, JSON escapes and backslashes undone,
and for the value in base64. Stretches of nothing but hex digits count from twelve characters on, because every hash and
every time is full of shorter ones.
"""

import base64
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from tests.unit.redaction.samples import SAMPLES, draw, windows

WIDTH = 6
LONG = 12
_HEX = re.compile(r"[0-9a-fA-F]{6}")
_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")
_LINE_BREAK = re.compile(r"[\x00-\x1f\ufffd]+|\\+n")
_FIXED = re.compile(r"-----|\w+:\s|\\n")

MODEL_KEY = f"{draw(13)}+/{draw(17, seed=7)}=="
"""A key without any known format: only who was told of it can know it."""

CONFIGURED: Mapping[str, str] = {
    "DEPLOY_PASSWORD": 'Zk9$vQ "w;Rd\\mU7/tB+x=Lé&Jh',
    "BACKUP_TOKEN": draw(31, seed=3),
    "SERVICE_SECRET": f"{draw(9, seed=4)}|{draw(9, seed=5)}`{draw(9, seed=6)}",
}
"""Variables of the gateway, by whose names their values are secrets: with every character that somebody escapes."""


def forms(value: str) -> tuple[str, ...]:
    """A value as programs repeat it: plain, as JSON, percent-encoded, quoted for a shell, in base64."""
    octets = value.encode()
    return (
        value,
        json.dumps(value),
        json.dumps(json.dumps(value, ensure_ascii=False)),
        quote(value, safe=""),
        shlex.quote(value),
        re.sub(r"(\W)", r"\\\1", value),
        base64.b64encode(octets).decode(),
        base64.b64encode(b"x" + octets + b"yz").decode(),
        base64.urlsafe_b64encode(b"user:" + octets).decode(),
    )


@dataclass(frozen=True, slots=True)
class Plants:
    """What is planted: the sample of every format, and each of ``exact`` in all its forms."""

    exact: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in one text, each piece in lines of its own."""
        return "\n\n".join((*(sample.text for sample in SAMPLES if "PRIVATE" in sample.text), self.lines))

    @property
    def lines(self) -> str:
        """The same without private keys, which no command may hold."""
        pieces = [sample.text for sample in SAMPLES if "PRIVATE" not in sample.text]
        pieces += [f"form {number} {form} ." for value in self.exact for number, form in enumerate(forms(value))]
        return "\n\n".join(pieces)

    @property
    def short(self) -> str:
        """One of each kind, for places that hold little."""
        few = [sample.text for sample in SAMPLES if len(sample.text) < 60 and "\n" not in sample.text][::12]
        return " , ".join([*few, *self.exact])

    @property
    def values(self) -> tuple[str, ...]:
        """Every value by itself."""
        return (*(sample.secret for sample in SAMPLES), *self.exact)

    def chunks(self, limit: int) -> list[str]:
        """The text in parts of at most ``limit`` characters; a piece that is longer is left out."""
        found = [""]
        for piece in self.text.split("\n\n"):
            if len(piece) <= limit:
                joined = f"{found[-1]}\n\n{piece}".lstrip("\n")
                found[-1:] = [joined] if len(joined) <= limit else [found[-1], piece]
        return found

    def leaks(self, sinks: Mapping[str, str]) -> list[str]:
        """Where which part of a value can be read, with what stands before it."""
        needles = _needles(self.values)
        widths = sorted({len(needle) for needle in needles})
        found: list[str] = []
        seen: set[str] = set()
        for name, text in sinks.items():
            for line in set(_LINE_BREAK.split(text)) - seen:
                seen.add(line)
                for how, view in _views(line):
                    found += [f"{name} ({how}): {hit}" for hit in _hits(view, needles, widths)]
        return found


def _hits(view: str, needles: frozenset[str], widths: Iterable[int]) -> Iterator[str]:
    hits = {at for width in widths for at in range(len(view) - width + 1) if view[at : at + width] in needles}
    for at in sorted(at for at in hits if at - 1 not in hits):
        end = next(one for one in range(at, len(view) + 1) if one not in hits) + WIDTH - 1
        yield f"{view[at:end]!r} after {view[max(0, at - 60) : at]!r}"


def _needles(values: Iterable[str]) -> frozenset[str]:
    """Six characters of a value, or twelve hex digits, and eight of its base64; never what a format has in common."""
    found: set[str] = set()
    for value in values:
        for part in _FIXED.split(value):
            found |= {one for one in windows(part) if not _HEX.fullmatch(one)} | windows(part, LONG)
    for value in values:
        for ahead in range(3):
            encoded = base64.b64encode(bytes(ahead) + value.encode()).decode()
            certain = encoded[(8 * ahead + 5) // 6 : 8 * (ahead + len(value.encode())) // 6]
            found |= windows(certain, 8)
    ordinary = "\n".join([*ORDINARY, *(sample.before + sample.after for sample in SAMPLES)])
    return frozenset(one for one in found if one not in ordinary)


ORDINARY: tuple[str, ...] = ("SERVICE_SECRET", "SIMULATED-token-for-tests-only-", "REDACTED")
"""Fixed beginnings of formats that also stand in honest texts."""


def _views(text: str) -> Iterator[tuple[str, str]]:
    """``text`` as it is, and as whoever undoes an encoding would read it."""
    yield "as it is", text
    plain = _ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)
    if plain != text or "\\" in text:
        yield "unescaped", plain.replace("\\", "")
    if "%" in text:
        yield "percent-decoded", unquote(text)

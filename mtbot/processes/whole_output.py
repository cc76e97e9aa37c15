"""The whole of an output that was cut: spooled in memory, masked on its way to the disk, kept for some days.

What a command wrote may hold secrets, so the raw bytes never reach a disk: the supervisor writes them into memory that
has no name, at most as much as will be kept, and what is written to the file has passed the redactor. A disk that is
full, or a redactor that takes too long, costs the file and never the command.
"""

import codecs
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mtbot.domain.ids import CallId, SafeText
from mtbot.domain.outputs import WholeOutput
from mtbot.domain.process import Spool
from mtbot.processes.output import harmless

DAY_MS = 86_400_000
PIECE = 64 * 1024
MASK_SECONDS = 20.0
"""How long masking one output may take; what is not masked by then is left out."""

_ESCAPE = 64
"""Characters of an unfinished escape sequence that wait for its end."""

_NAME = re.compile(r"([A-Z0-9]{3,12})-([A-Za-z0-9_-]{1,64})\.txt")
_PART = ".part"


class Stream(Protocol):
    """A redactor for text in pieces (redaction/stream)."""

    def feed(self, piece: str) -> SafeText:
        """Take a piece; what can be shown by now."""
        ...

    def close(self) -> SafeText:
        """The rest."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept: bytes of one output (0: none are), bytes of all, days."""

    one: int
    all: int
    days: int


class OutputFiles:
    """Implements WholeOutputs in a directory of its own (0700), a file (0600) for each output."""

    def __init__(
        self,
        directory: Path,
        limits: Limits,
        masks: Callable[[], Stream],
        names: Callable[[], str],
        now_ms: Callable[[], int],
    ) -> None:
        self._directory = directory
        self._limits = limits
        self._masks = masks
        self._names = names
        self._now_ms = now_ms

    def spool(self) -> Spool | None:
        """Memory without a name; None where nothing is kept or there is none."""
        if self._limits.one <= 0:
            return None
        try:
            return Spool(os.memfd_create("output", os.MFD_CLOEXEC), self._limits.one)
        except OSError:
            return None

    def keep(self, spool: Spool, call: CallId, *, wanted: bool) -> tuple[str, str]:
        """Keep it, masked, if ``wanted``; its id, or an empty text and why not. Closes the spool; never raises."""
        try:
            size = os.fstat(spool.descriptor).st_size
            if not wanted or size == 0:
                return "", ""
            return self._write(spool, size, call), ""
        except OSError as fault:
            return "", (fault.strerror or "unknown reason").lower()
        finally:
            os.close(spool.descriptor)

    def _write(self, spool: Spool, size: int, call: CallId) -> str:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(size)
        ident = self._fresh()
        path = self._directory / f"{ident}-{call}.txt"
        part = path.with_suffix(_PART)
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(opened, "w", encoding="utf-8", errors="replace", newline="") as file:
                for piece in _masked(_pieces(spool.descriptor), self._masks()):
                    file.write(piece)
                if size >= spool.limit:
                    file.write(f"\n[… what came after {spool.limit} bytes was not kept …]\n")
            moment = self._now_ms() / 1000
            os.utime(part, (moment, moment))
            part.rename(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        return ident

    def _fresh(self) -> str:
        taken = {kept.id for kept, _ in self._kept()}
        while (ident := self._names()) in taken:
            continue
        return ident

    def _make_room(self, size: int) -> None:
        """Remove the oldest until ``size`` bytes more are within the limit."""
        kept = sorted(self._kept(), key=lambda one: one[0].at_ms)
        total = sum(output.size for output, _ in kept) + size
        for output, path in kept:
            if total <= self._limits.all:
                return
            path.unlink(missing_ok=True)
            total -= output.size

    def _kept(self) -> Iterator[tuple[WholeOutput, Path]]:
        try:
            entries = list(os.scandir(self._directory))
        except FileNotFoundError:
            return
        for entry in entries:
            name = _NAME.fullmatch(entry.name)
            if name is None or not entry.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(FileNotFoundError):  # another process removed it a moment ago
                found = entry.stat(follow_symlinks=False)
                yield WholeOutput(name[1], CallId(name[2]), found.st_size, round(found.st_mtime * 1000)), Path(entry)

    def find(self, which: str) -> WholeOutput | None:
        """The output of that id, or of the call of that id. OSError."""
        wanted = which.lstrip("#")
        ident = wanted.upper()
        return next((kept for kept, _ in self._kept() if kept.id == ident or kept.call == wanted), None)

    def read(self, output: WholeOutput) -> bytes:
        """Its text as UTF-8. OSError."""
        path = self._directory / f"{output.id}-{output.call}.txt"
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read(2 * output.size + PIECE)

    def expire(self) -> int:
        """Remove what was kept for long enough, what is too much, and what a crash left half written; how many."""
        before = len(list(self._kept()))
        oldest = self._now_ms() - self._limits.days * DAY_MS
        for output, path in list(self._kept()):
            if output.at_ms < oldest:
                path.unlink(missing_ok=True)
        self._make_room(0)
        for part in self._directory.glob(f"*{_PART}"):
            if part.stat().st_mtime * 1000 < self._now_ms() - DAY_MS:
                part.unlink(missing_ok=True)
        return before - len(list(self._kept()))


def _pieces(descriptor: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(descriptor, PIECE, at):
        at += len(piece)
        yield piece


def _masked(pieces: Iterator[bytes], stream: Stream) -> Iterator[str]:
    """Harmless and masked text, in pieces; what a piece cuts in two (a character, a sequence) waits for the next."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    deadline = time.monotonic() + MASK_SECONDS
    held = ""
    for piece in pieces:
        if time.monotonic() > deadline:
            yield f"{stream.close()}\n[… the rest was not kept: masking it took too long …]\n"
            return
        text = held + decoder.decode(piece)
        at = _whole_until(text)
        text, held = text[:at], text[at:]
        yield str(stream.feed(harmless(text.encode("utf-8"))))
    last = held + decoder.decode(b"", final=True)
    yield f"{stream.feed(harmless(last.encode('utf-8')))}{stream.close()}"


def _whole_until(text: str) -> int:
    """Up to where ``text`` can be made harmless by itself: before line ends and escape sequences that may go on."""
    end = len(text.rstrip("\r"))
    escape = text.rfind("\x1b", max(0, end - _ESCAPE), end)
    return end if escape < 0 else escape

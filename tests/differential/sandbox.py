"""Run shell texts in real bash inside a namespace sandbox, and read back everything that they did."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

INSIDE = Path(__file__).with_name("inside.py")
_WAYS = (
    ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"),
    ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"),
)
WORKERS = 2


class SandboxError(RuntimeError):
    """The sandbox died; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One program that really ran: its path, its arguments, and the directory it ran in (relative to the fresh one)."""

    program: str
    arguments: tuple[str, ...]
    directory: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What one text did: programs in order, commands as bash traced them, exit status (None: never ended), files left."""

    ran: tuple[Ran, ...]
    traced: tuple[tuple[str, ...], ...]
    status: int | None
    files: tuple[str, ...]


@cache
def way() -> tuple[str, ...] | None:
    """The command prefix that makes namespaces here, or None where nothing does."""
    for prefix in _WAYS:
        if shutil.which(prefix[0]) is None:
            continue
        with tempfile.TemporaryDirectory() as root:
            tried = subprocess.run(
                [*prefix, sys.executable, "-I", str(INSIDE), root],
                input="",
                capture_output=True,
                text=True,
                check=False,
            )
        if tried.returncode == 0:
            return prefix
    return None


def observe(texts: Sequence[str], *, per_batch: int = 1000) -> list[Observation]:
    """What each text did, in order; batches run side by side, each in a sandbox of its own."""
    size = min(per_batch, max(1, -(-len(texts) // WORKERS)))
    batches = [texts[at : at + size] for at in range(0, len(texts), size)]
    with ThreadPoolExecutor(WORKERS) as pool:
        return [one for batch in pool.map(_run_batch, batches) for one in batch]


def _run_batch(texts: Sequence[str]) -> list[Observation]:
    prefix = way()
    assert prefix is not None, "no sandbox here"
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    with tempfile.TemporaryDirectory() as root:
        done = subprocess.run(
            [*prefix, sys.executable, "-I", str(INSIDE), root], input=lines, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise SandboxError(done.stderr[-2000:])
    return [_observation(json.loads(line)) for line in done.stdout.splitlines()]


def _observation(raw: dict[str, object]) -> Observation:
    base, calls, trace, status, files = (raw[key] for key in ("directory", "calls", "trace", "status", "files"))
    assert isinstance(base, str)
    assert isinstance(calls, str)
    assert isinstance(trace, str)
    assert isinstance(files, list)
    assert status is None or isinstance(status, int)
    return Observation(
        tuple(_calls(calls, base)),
        tuple(parse_trace(trace)),
        status,
        tuple(files),
    )


def _calls(log: str, base: str) -> list[Ran]:
    fields = log.split("\0")
    found = []
    at = 0
    while at + 2 < len(fields):
        count = int(fields[at + 2])
        directory = fields[at + 1]
        inside = directory == base or directory.startswith(base + "/")
        found.append(
            Ran(fields[at], tuple(fields[at + 3 : at + 3 + count]), directory[len(base) + 1 :] if inside else directory)
        )
        at += 3 + count
    return found


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\033", "f": "\f", "v": "\v"}


UNREADABLE = ("<a trace that could not be read>",)


def parse_trace(text: str) -> list[tuple[str, ...]]:
    """Every command of bash's trace; a trace that cannot be read holds one command that nobody decided."""
    try:
        return _parse_trace(text)
    except (ValueError, IndexError):
        return [UNREADABLE]


def _parse_trace(text: str) -> list[tuple[str, ...]]:
    """Take a trace apart: bash quotes words in three ways, and a quoted newline stays a newline."""
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    word: str | None = None
    at = _after_marks(text, 0)
    while at < len(text):
        character = text[at]
        if character in " \n":
            if word is not None:
                words.append(word)
            word, at = None, at + 1
            if character == "\n":
                commands.append(tuple(words))
                words, at = [], _after_marks(text, at)
        elif text.startswith("$'", at):
            piece, at = _ansi(text, at + 2)
            word = (word or "") + piece
        elif character == "'":
            close = text.index("'", at + 1)
            word, at = (word or "") + text[at + 1 : close], close + 1
        elif character == "\\":
            word, at = (word or "") + text[at + 1], at + 2
        else:
            word, at = (word or "") + character, at + 1
    return commands


def _after_marks(text: str, at: int) -> int:
    """Past the `+` marks (one for each level of substitution) and the blank at the start of a line."""
    while text.startswith("+", at):
        at += 1
    return at + text.startswith(" ", at)


def _ansi(text: str, at: int) -> tuple[str, int]:
    piece = ""
    while text[at] != "'":
        if text[at] != "\\":
            piece, at = piece + text[at], at + 1
        elif text[at + 1] in _ESCAPES:
            piece, at = piece + _ESCAPES[text[at + 1]], at + 2
        elif text[at + 1] in "01234567":
            piece, at = piece + chr(int(text[at + 1 : at + 4], 8)), at + 4
        else:
            piece, at = piece + text[at + 1], at + 2
    return piece, at + 1

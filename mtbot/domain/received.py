"""Files that people send: what a message announces, under which name it is kept, and the ports that get and keep it."""

import re
import unicodedata
from typing import Protocol

from mtbot.domain.ids import BotName
from mtbot.domain.turn import Address

RECEIVED = "[received file: "
"""How a kept file is announced to the model; a conversation that holds it has third-party text in it."""

PLACE = "inbox"
"""Directory below the workspace."""

LONGEST_NAME = 80
_UNSAFE = re.compile(r"[^\w.+-]+")


class FileRefused(Exception):
    """The file is not taken; the text completes the sentence "I could not take NAME: ..."."""


class Full(FileRefused):
    """There is no room for it. ``most`` is the bytes that may be kept in all."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{PLACE} in the workspace would hold more than {size_text(most)}. Have something in it deleted or moved, "
            "then send it again."
        )


class Attachments(Protocol):
    """The channel, as far as files come from it."""

    async def fetch(self, bot: BotName, handle: str, most: int) -> bytes:
        """The file's bytes. FileRefused if there are more than ``most``; ChannelError if it cannot be had."""
        ...


class Shelf(Protocol):
    """Where received files are kept, up to a size in all."""

    async def room(self, address: Address) -> int:
        """How many bytes more can be kept now. FileRefused if that cannot be found out."""
        ...

    async def put(self, address: Address, name: str, data: bytes) -> str:
        """Keep a new file, never over another one; where it lies, seen from the workspace. FileRefused, also ``Full``."""
        ...


def kept_name(name: str, day: str) -> str:
    """A name that is safe in any shell and file system: ``20261130-report.pdf`` for ``day`` 2026-11-30.

    The day in front keeps it from being hidden, an option, or a name that programs look for (``.env``, ``Makefile``).
    """
    base = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    clean = _UNSAFE.sub("_", base).strip("._-") or "file"
    stem, dot, suffix = clean.rpartition(".")
    if dot and len(suffix) <= 10:
        clean = f"{stem[: LONGEST_NAME - len(suffix) - 1]}.{suffix}"
    return f"{day.replace('-', '')}-{clean[:LONGEST_NAME]}"


def numbered(name: str, number: int) -> str:
    """``a.pdf``, ``a-2.pdf``, ``a-3.pdf`` for 1, 2, 3."""
    if number == 1:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{number}.{suffix}" if dot else f"{name}-{number}"


def size_text(size: int) -> str:
    """``25.0 MB``, ``12.3 kB``, ``17 bytes``."""
    for unit, length in (("MB", 1_000_000), ("kB", 1000)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return f"{size} bytes"

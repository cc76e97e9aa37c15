"""The tool send_file: a file goes to the chat that the turn came from, by the outbox like everything that is said.

It is read once, under the same policy as read_file, and travels sealed until it is delivered: what is sent is what was
decided on, whatever becomes of the file meanwhile. Text is masked; what cannot be masked must hold no secret.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, ToolDefault, ToolSpec
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.domain.record import Attachment, OutboxItem, OutKind
from mtbot.domain.turn import Address
from mtbot.policy.explain import size_text
from mtbot.redaction.display import terminal_safe
from mtbot.tools import roots
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, Invalid
from mtbot.tools.roots import PathRefused

MAX_NAME = 60
"""Characters of a file's name; its ending is kept."""

TIMEOUT = 60.0
"""Seconds; a large file is read and masked as a whole."""

SPEC = ToolSpec(
    name="send_file",
    description=(
        "Send a file to the person, into the chat of this conversation. Secrets in text are masked. Relative paths start "
        "at the workspace. It arrives before your answer."
    ),
    schema={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file."}},
        "required": ["path"],
        "additionalProperties": False,
    },
    risk=Risk.EXTERNAL,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.READ),),
)


@dataclass(frozen=True, slots=True)
class Post:
    """The way into a chat: ``place`` says which chat a turn belongs to (None: there is none), ``put`` queues an item."""

    place: Callable[[Address], Address | None]
    put: Callable[[OutboxItem], Awaitable[None]]


class SendFileTool:
    """Sends files of at most ``most`` bytes."""

    def __init__(self, settings: FileSettings, most: int, post: Post, masker: Masker) -> None:
        self._most = most
        self._post = post
        self._masker = masker
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of send_file."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """That it is on its way, and whether anything in it was masked."""
        del progress

        async def sent() -> str:
            place = self._post.place(call.address)
            if place is None:
                raise PathRefused("cannot be sent: this scheduled job has no chat that its results go to")
            path, file, masked = await off_loop(lambda: self._read(permit), TIMEOUT)
            item = OutboxItem(OutKind.NOTICE, place, text=self._masker.mask(f"File: {path}"), silent=True, file=file)
            try:
                await self._post.put(item)
            except StorageError as error:
                raise PathRefused(f"could not be queued: {error.message}") from error
            note = f"\nnote: {masked} secret{'' if masked == 1 else 's'} in it masked" if masked else ""
            return f"on its way: {path} ({size_text(len(file.data))}){note}"

        return await self._access.run(call, "Not sent", sent)

    def _read(self, permit: Permit) -> tuple[str, Attachment, int]:
        path = self._access.admit(permit, Access.READ).path
        with roots.regular_file(path) as opened:
            data = self._content(opened)
        # masked before it is cut, because half a secret is recognized by nothing
        visible = terminal_safe(str(self._masker.mask(path.rpartition("/")[2])), table=True)
        name = self._masker.mask(_short(visible))
        text = _text(data)
        if text is None:
            if self._masker.count(data.decode("latin-1")):
                raise PathRefused("holds what looks like a secret, and what is no text cannot be masked")
            return path, Attachment(name, data, readable=False), 0
        masked = self._masker.count(text)
        return path, Attachment(name, str(self._masker.mask(text)).encode(), readable=True), masked

    def _content(self, opened: int) -> bytes:
        status = os.fstat(opened)
        if status.st_nlink > 1:
            raise PathRefused(f"has {status.st_nlink} names (hard links), and another one may lie outside the roots")
        if not status.st_size:
            raise Invalid("the file is empty, and an empty file cannot be sent")
        if status.st_size > self._most:
            raise PathRefused(f"has {status.st_size} bytes, and at most {self._most} are sent")
        pieces, left = [], status.st_size
        while left > 0 and (piece := os.read(opened, left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


def _text(data: bytes) -> str | None:
    """The bytes as text, or None if they are none."""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _short(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    ending = name[-16:]
    return f"{name[: MAX_NAME - 17]}…{ending}"

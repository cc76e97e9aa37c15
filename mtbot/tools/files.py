"""The tools read_file and write_file: text of regular files below the roots, masked on its way out.

A read never returns a secret, so what was read and is written back may hold a mask in its place: such a write is
refused. An existing file is overwritten only by a turn that has read it, and only as it was then.
"""

import os
from collections.abc import Callable

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.tools import replacement, roots
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, Invalid, Told, number_of, text_of
from mtbot.tools.listing import ListDirTool
from mtbot.tools.replacement import WriteMode, Written
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp
from mtbot.tools.window import Window, read_window

__all__ = ["FileSettings", "ListDirTool", "ReadFileTool", "WriteFileTool"]

READ_SPEC = ToolSpec(
    name="read_file",
    description=(
        "Read a text file. Relative paths start at the workspace. offset and limit count bytes; without them the file is "
        "read from its beginning, up to a limit that the answer names."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "offset": {"type": "integer", "minimum": 0, "description": "First byte to read; 0 is the beginning."},
            "limit": {"type": "integer", "minimum": 1, "description": "Most bytes to read."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    risk=Risk.READ,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.READ),),
    parallel_safe=True,
)

WRITE_SPEC = ToolSpec(
    name="write_file",
    description=(
        "Write a text file, whole or not at all. Relative paths start at the workspace; missing directories are made. "
        "Overwriting a file needs a read_file of it in the same turn; append and create_new do not."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "content": {"type": "string", "description": "The text, exactly as it shall stand in the file."},
            "mode": {
                "type": "string",
                "enum": [mode.value for mode in WriteMode],
                "description": "overwrite (default), append, or create_new, which fails if the file exists.",
            },
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    risk=Risk.WRITE_LOCAL,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.WRITE),),
)

_SNIFFED = 8192


class ReadFileTool:
    """Reads text files."""

    def __init__(self, settings: FileSettings, masker: Masker) -> None:
        self._settings = settings
        self._masker = masker
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of read_file."""
        return READ_SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """The file's text with its size, and a note for whatever is not shown as it is."""
        del progress

        async def read() -> str:
            path, stamp, text = await off_loop(lambda: self._read(call, permit), self._settings.timeout)
            self._settings.seen.remember(call.turn, path, stamp)
            return text

        return await self._access.run(call, "Not read", read)

    def _read(self, call: Call, permit: Permit) -> tuple[str, Stamp, str]:
        most = self._settings.max_read
        offset = number_of(call, "offset", 0, low=0, high=2**62)
        limit = number_of(call, "limit", most, low=1, high=most)
        path = self._access.admit(permit, Access.READ).path
        with roots.regular_file(path) as descriptor:
            status = os.fstat(descriptor)
            if status.st_nlink > 1:
                raise PathRefused(
                    f"has {status.st_nlink} names (hard links), and another one may lie outside the roots"
                )
            if b"\0" in os.pread(descriptor, _SNIFFED, 0):
                raise PathRefused(f"is not text (size {status.st_size} bytes)")
            if offset > 0 and offset >= status.st_size:
                raise Invalid(f"the offset {offset} is past the end of the file (size {status.st_size})")
            window = read_window(descriptor, offset, min(limit, max(status.st_size - offset, 1)), self._masker)
        return path, Stamp.of(status), _told(path, status.st_size, window)


def _told(path: str, size: int, window: Window) -> str:
    lines = [f"path: {path}", f"size: {size} bytes"]
    if window.start or window.end < size:
        lines.append(f"shown: bytes {window.start} to {window.end}")
    if not window.exact:
        lines.append("note: not shown as it is: secrets are masked, and what is no UTF-8 text is replaced")
    if not size:
        return "\n".join([*lines, "content: (the file is empty)"])
    lines.append(f"content:\n{window.text}")
    if window.end < size:
        lines.append(f"[truncated: {size - window.end} bytes follow; go on with offset {window.end}]")
    return "\n".join(lines)


class WriteFileTool:
    """Writes text files."""

    def __init__(self, settings: FileSettings, masker: Masker) -> None:
        self._settings = settings
        self._masker = masker
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of write_file."""
        return WRITE_SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """How many bytes the file has now. On any failure it is as it was."""
        del progress

        async def write() -> Told:
            content = self._content(call)
            path, done = await off_loop(lambda: self._write(call, permit, content), self._settings.timeout)
            self._settings.seen.remember(call.turn, path, done.stamp)
            verb = "created" if done.created else "written"
            kept = f"\nthe old version is kept in the trash: {done.kept}" if done.kept else ""
            return Told(
                f"{verb}: {path}\nbytes given: {len(content)}\nsize now: {done.stamp.size} bytes{kept}", done.kept
            )

        return await self._access.run(call, "Not written", write)

    def _content(self, call: Call) -> bytes:
        """The bytes to write. Invalid for what must not or cannot be written."""
        content = text_of(call, "content")
        if self._masker.made_mask(content):
            raise Invalid(
                "the content holds a mask where the file has a secret; leave that part of the file as it is, "
                "or ask the person to edit it"
            )
        try:
            encoded = content.encode()
        except UnicodeEncodeError:
            raise Invalid("the content has half a character in it (a lone surrogate)") from None
        most = self._settings.max_write
        if len(encoded) > most:
            raise Invalid(f"the content has {len(encoded)} bytes and one write may hold {most}")
        return encoded

    def _write(self, call: Call, permit: Permit, content: bytes) -> tuple[str, Written]:
        path = self._access.admit(permit, Access.WRITE).path
        mode = WriteMode(text_of(call, "mode", WriteMode.OVERWRITE.value))
        known = self._settings.seen.recall(call.turn, path)
        return path, replacement.write(path, content, mode, known, self._settings.keep(path, call))

"""Reading a small file that somebody named, without hanging on what is none.

A FIFO or a device under the name of a secret must neither block the start nor be read without end.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path


class NotReadable(ValueError):
    """The file cannot be used; the text says why, without the path."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The content of a file; ``open_to_others``: somebody beside its owner and group may read it."""

    content: bytes
    open_to_others: bool


def read_regular(path: Path, limit: int) -> FileText:
    """At most ``limit`` bytes of a regular file (links are followed). NotReadable for all else, at once."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise NotReadable("does not exist") from None
    except OSError as error:
        raise NotReadable(f"cannot be opened: {(error.strerror or 'unknown reason').lower()}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotReadable("is not a regular file")
        content = b""
        while len(content) <= limit:
            piece = os.read(descriptor, limit + 1 - len(content))
            if not piece:
                return FileText(content, bool(status.st_mode & stat.S_IROTH))
            content += piece
        raise NotReadable(f"is larger than {limit} bytes")
    except OSError as error:
        raise NotReadable(f"cannot be read: {(error.strerror or 'unknown reason').lower()}") from error
    finally:
        os.close(descriptor)

"""What lies in the trash, as its manifest says: where it came from, what it was, until when it is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mtbot.domain.ids import CallId


class Reason(StrEnum):
    """Why something is in the trash."""

    TRASHED = "trashed"
    OVERWRITTEN = "overwritten"


@dataclass(frozen=True, slots=True)
class Item:
    """One path of an entry. ``size`` is in bytes; ``sha256`` (hex) is that of a small file, else empty."""

    path: str
    directory: bool
    mode: int
    uid: int
    gid: int
    files: int
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call put into the trash. Times are Unix milliseconds; after ``until_ms`` it may be removed."""

    id: str
    reason: Reason
    call: CallId
    at_ms: int
    until_ms: int
    items: tuple[Item, ...]

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return sum(item.size for item in self.items)

    @property
    def files(self) -> int:
        """Files of all of it."""
        return sum(item.files for item in self.items)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it came from."""
        return tuple(item.path for item in self.items)

    def to_json(self) -> str:
        """The manifest."""
        data = {
            "version": 1,
            "reason": self.reason.value,
            "call": self.call,
            "at_ms": self.at_ms,
            "until_ms": self.until_ms,
            "items": [
                {
                    "path": item.path,
                    "directory": item.directory,
                    "mode": item.mode,
                    "uid": item.uid,
                    "gid": item.gid,
                    "files": item.files,
                    "size": item.size,
                    "sha256": item.sha256,
                }
                for item in self.items
            ],
        }
        return json.dumps(data, ensure_ascii=True, indent=1)

    @classmethod
    def from_json(cls, ident: str, text: str) -> "Entry":
        """Read a manifest. ValueError if it is none."""
        data = json.loads(text)
        if not isinstance(data, Mapping) or data.get("version") != 1:
            raise ValueError("no manifest of a known version")
        try:
            return cls(
                ident,
                Reason(data["reason"]),
                CallId(str(data["call"])),
                int(data["at_ms"]),
                int(data["until_ms"]),
                tuple(_item(one) for one in data["items"]),
            )
        except (KeyError, TypeError) as fault:
            raise ValueError(f"the manifest lacks {fault}") from fault


def _item(data: Mapping[str, object]) -> Item:
    path = data["path"]
    numbers = [data[name] for name in ("mode", "uid", "gid", "files", "size")]
    if not isinstance(path, str) or not path.startswith("/") or not all(isinstance(one, int) for one in numbers):
        raise ValueError("an item of the manifest is not as it should be")
    mode, uid, gid, files, size = (one for one in numbers if isinstance(one, int))
    return Item(path, data["directory"] is True, mode, uid, gid, files, size, str(data["sha256"]))

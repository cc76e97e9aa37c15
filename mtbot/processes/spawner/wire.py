"""Length-limited frames between gateway, spawner and supervisors.

A frame is four bytes of length, one byte of kind, and that many bytes of payload: JSON for facts, raw bytes for output.
Every command has a socket pair of its own. Its supervisor holds one end, so its closing says that the supervisor is gone,
and a stop that is sent early simply lies in the socket before the supervisor looks. The main socket carries only orders
(eight bytes and descriptors) one way and the spawner's own reports the other way.
"""

import json
from collections.abc import Iterator
from enum import IntEnum

MAX_PAYLOAD = 64 * 1024 * 1024
ORDER_BYTES = 8
_HEADER = 5


class Kind(IntEnum):
    """What a frame says. REQUEST and STOP go to a supervisor; the rest comes from a supervisor or the spawner."""

    REQUEST = 1
    STOP = 2
    STARTED = 3
    LIVE = 4
    HEAD = 5
    TAIL = 6
    END = 7
    READY = 8
    LOST = 9
    REFUSED = 10


class EndWord:
    """The words of an END frame's ``status``."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    FAILED_TO_START = "failed_to_start"
    LOST = "lost"


class BrokenFrame(Exception):
    """The other side sent what is no frame; the connection cannot be trusted any more."""


class FrameReader:
    """Cut a byte stream into frames; raises BrokenFrame at a wrong kind or an excessive length."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Kind, bytes]]:
        """Yield every frame that ``data`` completes."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= _HEADER:
            size = int.from_bytes(buffer[:4], "big")
            if size > MAX_PAYLOAD:
                raise BrokenFrame(f"a frame of {size} bytes is over the limit of {MAX_PAYLOAD}")
            if len(buffer) < _HEADER + size:
                return
            try:
                kind = Kind(buffer[4])
            except ValueError as unknown:
                raise BrokenFrame(f"no frame has kind {buffer[4]}") from unknown
            payload = bytes(buffer[_HEADER : _HEADER + size])
            del buffer[: _HEADER + size]
            yield kind, payload


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    """Return ``payload`` as one frame; raises BrokenFrame if it is over the limit."""
    if len(payload) > MAX_PAYLOAD:
        raise BrokenFrame(f"a frame of {len(payload)} bytes is over the limit of {MAX_PAYLOAD}")
    return len(payload).to_bytes(4, "big") + bytes((kind,)) + payload


def json_frame(kind: Kind, value: object) -> bytes:
    """Return ``value`` as one frame of JSON."""
    return frame(kind, json.dumps(value, separators=(",", ":")).encode())


def end_fields(
    status: str,
    *,
    code: int | None = None,
    number: int | None = None,
    duration: float = 0.0,
    dropped: int = 0,
    background: bool = False,
    survivors: list[list[object]] | None = None,
    message: str = "",
) -> dict[str, object]:
    """Return the fields of an END frame."""
    return {
        "status": status,
        "code": code,
        "signal": number,
        "duration": duration,
        "dropped": dropped,
        "background": background,
        "survivors": survivors or [],
        "message": message,
        "again": False,
    }

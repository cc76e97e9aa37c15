"""What is said over the control socket: one JSON object in one line each way, and then the connection is over.

A request is ``{"v": 1, "do": VERB, ...}``. An answer is ``{"v": 1, "ok": true, ...}`` or ``{"v": 1, "ok": false,
"code": CODE, "message": TEXT, "hint": TEXT}``; with ``"problems"`` where a configuration has several.
"""

import json
from collections.abc import Mapping

from mtbot.domain.errors import ControlError

VERSION = 1
MAX_FRAME = 65_536
"""Bytes of a frame, its newline included."""

JsonObject = dict[str, object]


def frame(value: Mapping[str, object]) -> bytes:
    """``value`` as a frame. ControlError if it is longer than a frame may be."""
    data = json.dumps({"v": VERSION, **value}, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    if len(data) > MAX_FRAME:
        raise ControlError(f"a message of {len(data)} bytes is over the limit of {MAX_FRAME}")
    return data


def read_frame(data: bytes) -> JsonObject:
    """What a frame says, its newline taken off or not. ControlError names what is wrong with it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise ControlError("the message is no JSON") from wrong
    if not isinstance(value, dict):
        raise ControlError("the message is no JSON object")
    if value.get("v") != VERSION or isinstance(value["v"], bool):
        raise ControlError(
            f"the message is of version {value.get('v')}, and this program speaks {VERSION}",
            hint="use the mtclaw that the gateway was started with, or restart the gateway",
        )
    return value


def text_of(value: Mapping[str, object], name: str) -> str:
    """A text in a message; empty if it is not there. ControlError if it is something else."""
    found = value.get(name, "")
    if not isinstance(found, str):
        raise ControlError(f"{name} must be a text")
    return found

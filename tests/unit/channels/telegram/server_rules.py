"""Telegram's own rules about a message with entities, written down a second time so that rendering can't grade itself.

The lists follow what the server does with a text before it counts: see the Bot API's page on formatting and the
behaviour of the open server (blank characters, address check, nesting).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from mtbot.channels.telegram.render import Entity, Part

BLANK_TO_THE_SERVER = frozenset(
    " \n\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u200e\u200f"
    "\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc"
)
ALTERED_BY_THE_SERVER = re.compile("[\x00-\x09\x0b-\x1f\u2028-\u202e]")
STYLES = frozenset({"bold", "italic", "strikethrough"})
CODE = frozenset({"code", "pre"})


def faults(parts: Sequence[Part], limit: int = 4096) -> list[str]:
    """Everything for which the server would refuse or silently alter one of these messages; empty when all is well."""
    return [f"part {index}: {fault}" for index, part in enumerate(parts) for fault in _part_faults(part, limit)]


def visible_to_server(text: str) -> bool:
    """Whether the server finds a character in it that is not blank."""
    return any(char not in BLANK_TO_THE_SERVER for char in text)


def _part_faults(part: Part, limit: int) -> list[str]:
    try:
        raw = part.text.encode("utf-16-le")
    except UnicodeEncodeError:
        return ["lone surrogate"]
    found = []
    if len(raw) // 2 > limit:
        found.append(f"{len(raw) // 2} units")
    if not visible_to_server(part.text):
        found.append("nothing to see")
    if ALTERED_BY_THE_SERVER.search(part.text):
        found.append("characters that the server replaces")
    if len(part.entities) > 100:
        found.append(f"{len(part.entities)} entities")
    payload = {"text": part.text, "entities": [_as_json(entity) for entity in part.entities]}
    if len(json.dumps(payload, ensure_ascii=False).encode()) > 32 * 1024:
        found.append("payload over 32 KiB")
    for entity in part.entities:
        found += _entity_faults(entity, raw)
    return found + _nesting_faults(part.entities)


def _as_json(entity: Entity) -> dict[str, object]:
    record: dict[str, object] = {"type": entity.type.value, "offset": entity.offset, "length": entity.length}
    extra = {"url": entity.url, "language": entity.language}
    return record | {key: value for key, value in extra.items() if value is not None}


def _entity_faults(entity: Entity, raw: bytes) -> list[str]:
    start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
    if entity.length <= 0 or start < 0 or end > len(raw):
        return [f"out of range: {entity}"]
    try:
        covered = raw[start:end].decode("utf-16-le")
    except UnicodeDecodeError:
        return [f"inside a surrogate pair: {entity}"]
    found = []
    if not covered.strip():
        found.append(f"covers blanks only: {entity}")
    if (entity.url is not None) != (entity.type == "text_link"):
        found.append(f"address where none belongs or none where one does: {entity}")
    if entity.url is not None and not _takes_address(entity.url):
        found.append(f"address refused: {entity}")
    if entity.language is not None and (entity.type != "pre" or not 1 <= len(entity.language) <= 64):
        found.append(f"language: {entity}")
    return found


def _takes_address(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"}:
        return "." in parts.netloc or "[" in parts.netloc
    return (parts.scheme == "tg" and bool(parts.netloc)) or (parts.scheme == "mailto" and "@" in parts.path)


def _nesting_faults(entities: Sequence[Entity]) -> list[str]:
    found = []
    around: list[Entity] = []
    last = (-1, 0)
    for entity in entities:
        key = (entity.offset, -entity.length)
        if key < last:
            found.append(f"not in order: {entity}")
        last = key
        while around and around[-1].offset + around[-1].length <= entity.offset:
            around.pop()
        if around and entity.offset + entity.length > around[-1].offset + around[-1].length:
            found.append(f"crosses {around[-1]}: {entity}")
        kinds = {outer.type.value for outer in around}
        if entity.type.value in kinds:
            found.append(f"inside one of its kind: {entity}")
        if kinds & CODE:
            found.append(f"inside code: {entity}")
        if entity.type in CODE and kinds - {"blockquote"}:
            found.append(f"code inside {kinds}: {entity}")
        if entity.type in {"text_link", "blockquote"} and kinds - {"blockquote"}:
            found.append(f"{entity.type.value} inside {kinds}: the server would split the outer one")
        around.append(entity)
    return found

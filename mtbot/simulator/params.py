"""Turn the body of a Bot API request into typed parameters, whichever of the four encodings the client chose.

Why so strict about types: a stand-in that confuses 17 with "17" makes a good bot look broken, or a broken one good.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from aiohttp import web

from mtbot.simulator.values import JsonObject, bad_request

_INTEGERS = frozenset(
    [
        "chat_id",
        "message_id",
        "message_thread_id",
        "reply_to_message_id",
        "offset",
        "limit",
        "timeout",
        "user_id",
        "from_chat_id",
        "draft_id",
        "direct_messages_topic_id",
        "cache_time",
        "max_connections",
    ]
)
_FLAGS = frozenset(
    [
        "disable_notification",
        "protect_content",
        "allow_sending_without_reply",
        "disable_web_page_preview",
        "show_alert",
        "drop_pending_updates",
        "has_spoiler",
        "disable_content_type_detection",
        "show_caption_above_media",
        "allow_paid_broadcast",
    ]
)
_OBJECTS = frozenset(
    [
        "reply_markup",
        "reply_parameters",
        "entities",
        "caption_entities",
        "allowed_updates",
        "link_preview_options",
        "commands",
        "scope",
        "suggested_post_parameters",
    ]
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with the request."""

    name: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Params:
    """The parameters of one call. Getters answer None for what is absent and refuse what has the wrong type."""

    values: Mapping[str, object]
    uploads: Mapping[str, Upload] = field(default_factory=dict)

    def logged(self) -> Mapping[str, object]:
        """The parameters for the call log: parsed values, files by name."""
        return {**self.values, **{key: f"<file {upload.name}>" for key, upload in self.uploads.items()}}

    def integer(self, name: str) -> int | None:
        """A whole number."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise bad_request(f'parameter "{name}" must be an integer')
        return value

    def text(self, name: str) -> str | None:
        """A string that can be encoded in UTF-8; a lone surrogate is refused as the real server does."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise bad_request(f'parameter "{name}" must be a string')
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise bad_request("strings must be encoded in UTF-8") from None
        return value

    def flag(self, name: str) -> bool:
        """A switch; absent is off."""
        return self.values.get(name) is True

    def object(self, name: str) -> JsonObject | None:
        """A JSON object."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise bad_request(f"object expected as {name.replace('_', ' ')}")
        return value

    def objects(self, name: str) -> list[JsonObject] | None:
        """A JSON array of objects."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise bad_request(f"array of objects expected as {name.replace('_', ' ')}")
        return value

    def strings(self, name: str) -> list[str] | None:
        """A JSON array of strings."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise bad_request(f"array of strings expected as {name.replace('_', ' ')}")
        return value


async def read_params(request: web.Request) -> Params:
    """Parameters from the query string, a form, a multipart body or JSON; later sources win, as on the real server."""
    values: dict[str, object] = {name: typed(name, value) for name, value in request.query.items()}
    uploads: dict[str, Upload] = {}
    if request.method == "POST" and request.can_read_body:
        if request.content_type == "application/json":
            values.update(_from_json(await request.read()))
        elif request.content_type == "application/x-www-form-urlencoded":
            pairs = parse_qsl((await request.read()).decode("utf-8", "surrogateescape"), keep_blank_values=True)
            values.update({name: typed(name, value) for name, value in pairs})
        else:
            for name, item in (await request.post()).items():
                if isinstance(item, web.FileField):
                    uploads[name] = Upload(item.filename, item.content_type, item.file.read())
                elif isinstance(item, str):
                    values[name] = typed(name, item)
    return Params(values, uploads)


def _from_json(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        raise bad_request("can't parse request JSON object") from None
    if not isinstance(found, dict):
        raise bad_request("request body must be a JSON object")
    return {name: typed(name, value) if isinstance(value, str) else value for name, value in found.items()}


def typed(name: str, value: str) -> object:
    """The value of a named parameter as the Bot API types it; text stays text even if it looks like a number."""
    if name in _FLAGS:
        return value.lower() in {"true", "1", "yes", "t"}
    if name in _INTEGERS:
        digits = value[1:] if value.startswith("-") else value
        return int(value) if digits.isascii() and digits.isdigit() else value
    if name in _OBJECTS and value:
        try:
            found: object = json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name.replace('_', ' ')} JSON object") from None
        return found
    return value or None if name in _OBJECTS else value

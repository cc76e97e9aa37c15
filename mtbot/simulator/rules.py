"""What the Bot API refuses: lengths, entity bounds, keyboards, callback data, command lists, with its own words.

Pure functions over parameters; each raises ApiRefusal or returns what the server would keep. Limits are published ones;
where only practice is known (100 entities, 32 KiB before parsing) practice counts.
"""

import re
from dataclasses import dataclass, replace

from mtbot.simulator.entities import parse, utf16_length
from mtbot.simulator.params import Params
from mtbot.simulator.values import Entity, JsonObject, bad_request, buttons_of

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
RAW_LIMIT_BYTES = 32 * 1024
ENTITY_LIMIT = 100
CALLBACK_DATA_BYTES = 64
BUTTONS_PER_ROW = 8
BUTTONS_IN_ALL = 100
ANSWER_LIMIT = 200
DOWNLOAD_LIMIT_BYTES = 20 * 1024 * 1024
UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
PHOTO_LIMIT_BYTES = 10 * 1024 * 1024
DELETE_WINDOW_SECONDS = 48 * 3600

_ENTITY_TYPES = frozenset(
    [
        "mention",
        "hashtag",
        "cashtag",
        "bot_command",
        "url",
        "email",
        "phone_number",
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "blockquote",
        "expandable_blockquote",
        "code",
        "pre",
        "text_link",
        "text_mention",
        "custom_emoji",
        "date_time",
    ]
)
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_CODE = frozenset({"code", "pre"})
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)


@dataclass(frozen=True, slots=True)
class Formatted:
    """Text after entity parsing, and what the server dropped without a word."""

    text: str
    entities: tuple[Entity, ...]
    notes: tuple[str, ...] = ()


def formatted_text(params: Params) -> Formatted:
    """The `text` of a call: 1 to 4096 UTF-16 units after parsing."""
    raw = params.text("text") or ""
    found = _formatted(raw, params.text("parse_mode"), params.objects("entities"))
    if not found.text.strip():
        raise bad_request("message text is empty")
    if utf16_length(found.text) > TEXT_LIMIT:
        raise bad_request("message is too long")
    return found


def formatted_draft(params: Params) -> Formatted:
    """The `text` of a draft: up to 4096 UTF-16 units after parsing; may be empty, which shows that the bot thinks."""
    found = _formatted(params.text("text") or "", params.text("parse_mode"), params.objects("entities"))
    if utf16_length(found.text) > TEXT_LIMIT:
        raise bad_request("message is too long")
    return found


def formatted_caption(params: Params) -> Formatted:
    """The `caption` of a call: up to 1024 UTF-16 units after parsing; may be empty."""
    raw = params.text("caption") or ""
    found = _formatted(raw, params.text("parse_mode"), params.objects("caption_entities"))
    if utf16_length(found.text) > CAPTION_LIMIT:
        raise bad_request("message caption is too long")
    return found


def _formatted(raw: str, mode: str | None, given: list[JsonObject] | None) -> Formatted:
    if len(raw.encode()) > RAW_LIMIT_BYTES:
        raise bad_request("text is too long")
    text, entities = parse(raw, mode)
    if not mode and given:
        entities = tuple(_entity(item) for item in given)
    notes = check_entities(text, entities)
    kept = text.rstrip()
    length = utf16_length(kept)
    clipped = tuple(
        replace(entity, length=min(entity.end, length) - entity.offset) for entity in entities if entity.offset < length
    )
    return Formatted(kept, clipped[:ENTITY_LIMIT], notes)


def _entity(item: JsonObject) -> Entity:
    kind, offset, length = item.get("type"), item.get("offset"), item.get("length")
    if not isinstance(kind, str) or kind not in _ENTITY_TYPES:
        raise bad_request(f'can\'t parse entities: unsupported type "{kind}"')
    if type(offset) is not int or type(length) is not int:
        raise bad_request("can't parse entities: offset and length must be integers")
    url, language = item.get("url"), item.get("language")
    if kind == "text_link" and not (isinstance(url, str) and url):
        raise bad_request("can't parse entities: text_link needs a url")
    return Entity(
        kind,
        offset,
        length,
        url if isinstance(url, str) else None,
        language if isinstance(language, str) else None,
    )


def check_entities(text: str, entities: tuple[Entity, ...]) -> tuple[str, ...]:
    """Refuse entities outside the text, inside a surrogate pair, or crossing each other.

    Answers one note for each thing that the real server drops without a word.
    """
    inside_pairs = set()
    units = 0
    for char in text:
        if ord(char) > 0xFFFF:
            inside_pairs.add(units + 1)
            units += 1
        units += 1
    for entity in entities:
        if entity.offset < 0 or entity.length <= 0 or entity.end > units:
            raise bad_request(
                f"can't parse entities: {entity.type} at {entity.offset}+{entity.length} is outside a text of {units}"
            )
        if entity.offset in inside_pairs:
            raise bad_request("can't parse entities: entity begins in a middle of a UTF-16 symbol")
        if entity.end in inside_pairs:
            raise bad_request("can't parse entities: entity ends in a middle of a UTF-16 symbol")
    notes = [f"entities beyond {ENTITY_LIMIT} ignored: {len(entities) - ENTITY_LIMIT}"]
    if len(entities) <= ENTITY_LIMIT:
        notes.clear()
    around: list[Entity] = []
    for entity in sorted(entities, key=lambda entity: (entity.offset, -entity.length)):
        while around and around[-1].end <= entity.offset:
            around.pop()
        if around and entity.end > around[-1].end:
            raise bad_request(f"can't parse entities: {entity.type} crosses {around[-1].type}")
        notes += [
            f"{entity.type} inside {outer.type} loses its formatting"
            for outer in around
            if _loses_formatting(outer, entity)
        ]
        around.append(entity)
    return tuple(notes)


def _loses_formatting(outer: Entity, inner: Entity) -> bool:
    if outer.type in _CODE or (outer.type in _QUOTES and inner.type in _QUOTES):
        return True
    return inner.type in _CODE and outer.type not in _QUOTES


def keyboard(params: Params) -> JsonObject | None:
    """The inline keyboard of a call, or None; callback data is 1 to 64 bytes, not characters."""
    markup = params.object("reply_markup")
    if markup is None or "inline_keyboard" not in markup:
        return None
    cells = markup["inline_keyboard"]
    if not isinstance(cells, list) or not all(isinstance(row, list) for row in cells):
        raise bad_request('field "inline_keyboard" must be an Array of Arrays')
    if not all(isinstance(cell, dict) for row in cells for cell in row):
        raise bad_request("can't parse inline keyboard button: object expected")
    rows = buttons_of(markup)
    if any(len(row) > BUTTONS_PER_ROW for row in rows) or sum(len(row) for row in rows) > BUTTONS_IN_ALL:
        raise bad_request("reply markup is too long")
    for row, raw_row in zip(rows, cells, strict=True):
        for button, raw in zip(row, raw_row, strict=True):
            if not button.label.strip():
                raise bad_request("inline keyboard button text can't be empty")
            if len(raw) < 2:
                raise bad_request("text buttons are unallowed in the inline keyboard")
            if button.data is not None and not 1 <= len(button.data.encode()) <= CALLBACK_DATA_BYTES:
                raise bad_request("BUTTON_DATA_INVALID")
    return markup if any(rows) else None


def callback_text(params: Params) -> str:
    """The text of an answer to a press: at most 200 characters, may be empty."""
    text = params.text("text") or ""
    if utf16_length(text) > ANSWER_LIMIT:
        raise bad_request("MESSAGE_TOO_LONG")
    return text


def chat_action(params: Params) -> str:
    """A known chat action."""
    action = params.text("action") or ""
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    return action


def command_list(params: Params) -> tuple[tuple[str, str], ...]:
    """The menu of a bot: up to 100 commands of a-z 0-9 _, each described in 1 to 256 characters."""
    items = params.objects("commands")
    if items is None:
        raise bad_request('parameter "commands" is required')
    if len(items) > 100:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    found = []
    for item in items:
        name, description = str(item.get("command", "")).removeprefix("/"), str(item.get("description", ""))
        if not _COMMAND.fullmatch(name):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= utf16_length(description) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        found.append((name, description))
    return tuple(found)

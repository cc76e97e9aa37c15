"""Mask messages of a conversation, whose calls hold JSON inside JSON, and leave that JSON.

In its escaped form a line break is a backslash and a letter, so that the word behind it no longer begins where a format
expects a word to begin. So every text is masked as it was meant, and then the whole once more, because a name and its
value may be two texts.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from mtbot.domain.turn import Message, ToolCall

Mask = Callable[[str], str]


MASKED_NAME = "masked"
"""The name of a tool whose own name held a secret: providers refuse names with anything but letters in them."""


def masked_message(message: Message, mask: Mask) -> Message:
    """``message`` with everything masked that was said by anybody."""
    calls = tuple(ToolCall(call.id, _name(call.name, mask), mask_json(call.arguments, mask)) for call in message.calls)
    return replace(message, content=str(mask(message.content)), calls=calls, tool_name=_name(message.tool_name, mask))


def mask_json(raw: str, mask: Mask) -> str:
    """``raw`` masked; what was JSON still is. Applying it again changes nothing. Total: any string is taken."""
    try:
        value = json.loads(raw)
        masked = masked_value(value, mask)
    except (ValueError, RecursionError):
        return str(mask(raw))
    text = raw if masked == value else json.dumps(masked, ensure_ascii=False)
    whole = str(mask(text))
    if whole == text:
        return text
    try:
        json.loads(whole)
    except ValueError:
        # a value that ends in a quote may have taken the quote of the notation along
        return json.dumps({"masked": whole}, ensure_ascii=False)
    return whole


def _name(name: str, mask: Mask) -> str:
    return name if mask(name) == name else MASKED_NAME


def masked_value(value: object, mask: Mask) -> object:
    """``value``, lists and mappings of plain values at any depth, with every text in it masked."""
    if isinstance(value, str):
        return str(mask(value))
    if isinstance(value, list):
        return [masked_value(one, mask) for one in value]
    if isinstance(value, dict):
        return {
            str(mask(name)) if isinstance(name, str) else name: masked_value(one, mask) for name, one in value.items()
        }
    return value

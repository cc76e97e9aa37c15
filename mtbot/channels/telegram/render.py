"""Markdown of a model to Telegram messages: every part valid by itself, nothing of the answer lost.

This is the door to rendering; what is behind it is split by concern: `render_markdown` reads, `render_tree` lays out,
`render_links` and `render_tables` judge links and shape tables, `render_split` cuts.
"""

from __future__ import annotations

from mtbot.channels.telegram.render_split import MAX_UNITS, Entity, Part, split, utf16_len
from mtbot.channels.telegram.render_style import EntityType, Styled, clean
from mtbot.channels.telegram.render_tree import styled

__all__ = ["Entity", "EntityType", "Part", "plain", "render", "utf16_len"]


def render(markdown: str, limit: int = MAX_UNITS) -> tuple[Part, ...]:
    """The messages that show this Markdown, in order; none if nothing of it can be seen.

    `limit` is the longest text of one message in UTF-16 units (2 to 4096). Total over all strings. Markup around
    nothing (an empty code block alone) is shown as it was written, so that no answer disappears.
    """
    return split(styled(markdown), limit) or plain(markdown, limit)


def plain(text: str, limit: int = MAX_UNITS) -> tuple[Part, ...]:
    """The messages that show this text as it is, without any formatting: what to send when a rendering is refused."""
    return split(Styled(clean(text).strip("\n").rstrip()), limit)

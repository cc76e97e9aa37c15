"""Tokens of Markdown to flat text with spans: how each construct looks where there are only text and formats.

Headings are bold, items have bullets or numbers, inner quotes a bar (a quote can't hold a quote), images are their
caption and address. Nothing that the model wrote is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtbot.channels.telegram.render_links import linkable, note_for
from mtbot.channels.telegram.render_markdown import parse
from mtbot.channels.telegram.render_style import Composer, EntityType, Prefix, Styled, clean, is_visible
from mtbot.channels.telegram.render_tables import Align, Grid, aligned

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["MAX_LANGUAGE", "MAX_MARKDOWN", "styled"]

MAX_LANGUAGE = 64
"""Longest language of a code block, in characters; what an answer has more is cut off."""

MAX_MARKDOWN = 65_536
"""Longest text read as Markdown, in characters; a longer one is sent as it is (hostile ones take a second)."""

_RULE = "──────────"
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_STYLES = {"strong": EntityType.BOLD, "em": EntityType.ITALIC, "s": EntityType.STRIKETHROUGH}


def styled(markdown: str) -> Styled:
    """The whole answer before any cut. Total: a text that can't be read as Markdown comes back as plain text."""
    source = clean(markdown)
    tokens = parse(source) if len(source) <= MAX_MARKDOWN else None
    if tokens is None:
        return Styled(source.strip("\n").rstrip())
    tree = _Tree(source)
    tree.blocks(tokens)
    return tree.out.finish()


class _Tree:
    """One walk over the block tokens of one answer."""

    def __init__(self, source: str) -> None:
        self.out = Composer()
        self._lines = source.split("\n")
        self._numbers: list[int | None] = []
        self._quotes: list[list[Prefix] | None] = []

    def blocks(self, tokens: Sequence[Token]) -> None:
        """Writes all blocks in order."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                end = next(at for at in range(index, len(tokens)) if tokens[at].type == "table_close")
                self._table(tokens[index + 1 : end], token.map or (0, 0))
                index = end
            else:
                self._block(token)
            index += 1

    def _block(self, token: Token) -> None:
        match token.type:
            case "inline":
                _Inline(self.out, token.children or [], in_item=bool(self._numbers)).run()
            case "paragraph_close":
                self.out.gap(1 if token.hidden else 2)
            case "heading_open":
                self.out.open(EntityType.BOLD)
            case "heading_close":
                self.out.close()
                self.out.gap(2)
            case "fence" | "code_block":
                self.out.pre(token.content, _language(token.info))
                self._end_block()
            case "hr":
                self.out.write(_RULE)
                self._end_block()
            case "blockquote_open" | "blockquote_close":
                self._quote(token)
            case "bullet_list_open" | "ordered_list_open" | "bullet_list_close" | "ordered_list_close":
                self._list(token)
            case "list_item_open":
                self._item()
            case "list_item_close":
                self.out.pop()
                self.out.gap(1)
            case _:  # paragraph_open carries nothing
                pass

    def _end_block(self) -> None:
        self.out.gap(1 if self._numbers else 2)

    def _quote(self, token: Token) -> None:
        if token.nesting == 1:
            if not self._quotes:
                self._quotes.append(self.out.without_prefixes())
                self.out.open(EntityType.BLOCKQUOTE)
            else:
                self._quotes.append(None)
                self.out.push(Prefix(None, "│ "))
            return
        aside = self._quotes.pop()
        if aside is None:
            self.out.pop()
        else:
            self.out.close()
            self.out.restore(aside)
        self.out.gap(1 if self._numbers else 2)

    def _list(self, token: Token) -> None:
        if token.nesting == 1:
            number = token.attrGet("start")
            ordered = token.type == "ordered_list_open"
            self._numbers.append(int(number if number is not None else 1) if ordered else None)
            self.out.gap(1)
            return
        self._numbers.pop()
        self._end_block()

    def _item(self) -> None:
        number = self._numbers[-1]
        marker = "• "
        if number is not None:
            marker = f"{number}. "
            self._numbers[-1] = number + 1
        self.out.gap(1)
        self.out.push(Prefix(marker, " " * len(marker)))

    def _table(self, tokens: Sequence[Token], span: Sequence[int]) -> None:
        rows: list[list[Token]] = []
        aligns: list[Align] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                rows[-1].append(tokens[index + 1])
                if len(rows) == 1:
                    aligns.append(_align(token))
        if any(_cells(self._lines[at]) > len(aligns) for at in range(*span)):
            self.out.pre("\n".join(line.strip() for line in self._lines[slice(*span)]))
            self._end_block()
            return
        texts = tuple(tuple(_plain(cell.children or []) for cell in row) for row in rows)
        links = any(
            child.type in {"link_open", "image"} for row in rows for cell in row for child in cell.children or []
        )
        block = None if links else aligned(Grid(tuple(aligns), texts))
        if block is not None:
            self.out.pre(block)
        else:
            self._records(texts[0] if len(rows) > 1 else [""] * len(aligns), rows[1:] or rows)
        self._end_block()

    def _records(self, head: Sequence[str], rows: Sequence[Sequence[Token]]) -> None:
        for row in rows:
            for index, (name, cell) in enumerate(zip(head, row, strict=True)):
                children = cell.children or []
                if index == 0:
                    self.out.open(EntityType.BOLD)
                self.out.write(f"{name}:{' ' if children else ''}" if name else "")
                _Inline(self.out, children, in_item=False).run()
                if index == 0:
                    self.out.close()
                self.out.gap(1)
            self.out.gap(2)


class _Inline:
    """One run over the inline tokens of one paragraph, heading or cell."""

    def __init__(self, out: Composer, tokens: Sequence[Token], in_item: bool) -> None:
        self._out = out
        self._tokens = tokens
        self._in_item = in_item
        self._link = _Link(linked=False, behind="")

    def run(self) -> None:
        """Writes all tokens in order."""
        for index, token in enumerate(self._tokens):
            kind = token.type.removesuffix("_open").removesuffix("_close")
            if kind in _STYLES:
                self._style(_STYLES[kind], opens=token.nesting == 1)
            elif kind == "link":
                self._link_open(index) if token.nesting == 1 else self._link_close()
            elif kind == "code_inline":
                self._out.code(token.content)
            elif kind in {"softbreak", "hardbreak"}:
                self._out.write("\n")
            elif kind == "image":
                self._out.write(_image(token))
            else:
                self._out.write(self._text(index, token.content))

    def _style(self, kind: EntityType, *, opens: bool) -> None:
        if opens:
            self._out.open(kind)
        else:
            self._out.close()

    def _text(self, index: int, content: str) -> str:
        if index == 0 and self._in_item and content[:4] in _TASKS:
            return _TASKS[content[:4]] + content[4:]
        return content

    def _link_open(self, index: int) -> None:
        url = clean(str(self._tokens[index].attrGet("href") or ""))
        end = next(at for at in range(index, len(self._tokens)) if self._tokens[at].type == "link_close")
        label = _plain(self._tokens[index + 1 : end])
        if is_visible(label) and linkable(url):
            note = note_for(label, url)
            self._link = _Link(linked=True, behind=f" ({note})" if note else "")
            self._out.open_link(url)
        elif is_visible(label):
            self._link = _Link(linked=False, behind=f" ({url})" if url and url not in label else "")
        else:
            self._link = _Link(linked=False, behind=url)

    def _link_close(self) -> None:
        if self._link.linked:
            self._out.close_link()
        self._out.write(self._link.behind)


@dataclass(frozen=True, slots=True)
class _Link:
    """The link that is being written, and what comes behind it."""

    linked: bool
    behind: str


def _plain(tokens: Sequence[Token]) -> str:
    """Inline tokens as one line of bare text."""
    pieces = []
    for token in tokens:
        if token.type == "image":
            pieces.append(_image(token))
        elif token.type in {"softbreak", "hardbreak"}:
            pieces.append(" ")
        else:
            pieces.append(token.content)
    return " ".join(clean("".join(pieces)).split())


def _image(token: Token) -> str:
    caption = _plain(token.children or [])
    url = str(token.attrGet("src") or "")
    return f"{caption} ({url})" if caption and url else caption or url


def _language(info: str) -> str | None:
    words = clean(info).split(maxsplit=1)
    return words[0][:MAX_LANGUAGE] if words else None


def _cells(line: str) -> int:
    """How many cells a row has in the source, whatever quote or list it stands in."""
    return len(re.split(r"(?<!\\)\|", line.lstrip("> ").rstrip().removeprefix("|").removesuffix("|")))


def _align(token: Token) -> Align:
    style = str(token.attrGet("style") or "")
    return next((align for align in Align if style.endswith(align.value)), Align.LEFT)

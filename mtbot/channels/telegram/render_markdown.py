"""Markdown as chat answers mean it: CommonMark with tables, less the rules that would eat a name or an address.

HTML is literal text, reference definitions are text, and emphasis marks that belong to a name, a glob or a formula
(`__init__`, `2*3*4`, `/srv/*/logs`) stay what they are. Only this module imports markdown-it, on first use: it costs
about 40 ms.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

__all__ = ["parse"]

_MAX_NESTING = 40
"""Blocks nested deeper are left out by the parser, so such a text is not taken for Markdown at all."""

_JOINS_NAMES = frozenset("/\\.=$@&|%+^")
"""Characters that tie what stands on both sides of them into one path, glob, address or formula."""

_BOLD_PATH = re.compile(r"(\*\*|__)[^\s*]+\1(?!\*)")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_ADDRESS_REST = re.compile(r"://[^\s<>`\[\]()|*\"'\\]+")
_ADDRESS_SCHEME = re.compile(r"(?:^|[^A-Za-z0-9])(?:https?|ftp|tg)$", re.IGNORECASE)


def parse(markdown: str) -> list[Token] | None:
    """The block tokens of a text; None when it nests so deeply that the parser would leave some of it out."""
    tokens = _parser().parse(markdown)
    if any(token.nesting == 1 and token.level >= _MAX_NESTING - 1 for token in tokens):
        return None
    return tokens


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  paid for by the first answer, not by every start

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["html_inline", "html_block", "reference", "autolink"])
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.inline.ruler.before("emphasis", "address", _address)
    return parser


def _address(state: StateInline, silent: bool) -> bool:
    """Takes a bare address whole, so that underscores, tildes and entities in it are not read as markup."""
    if state.src[state.pos] != ":" or not _ADDRESS_SCHEME.search(state.src, max(0, state.pos - 6), state.pos):
        return False
    found = _ADDRESS_REST.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    rest = found[0].rstrip("_~")
    if not silent:
        state.append_pending(rest)
    state.pos += len(rest)
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Reads a run of `*` or `_` as emphasis marks, unless it belongs to a name."""
    from markdown_it.rules_inline.state_inline import Delimiter  # noqa: PLC0415  loaded by then

    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    scanned = state.scanDelims(state.pos, marker == "*")
    can_open, can_close = scanned.can_open, scanned.can_close
    if can_open or can_close:
        may_open, may_close = _may_delimit(state.src, state.pos, scanned.length)
        can_open, can_close = can_open and may_open, can_close and may_close
    for _ in range(scanned.length):
        token = state.push("text", "", 0)
        token.content = marker
        mark = Delimiter(ord(marker), scanned.length, len(state.tokens) - 1, -1, can_open, can_close)
        state.delimiters.append(mark)
    state.pos += scanned.length
    return True


def _may_delimit(source: str, start: int, length: int) -> tuple[bool, bool]:
    """Whether a run of marks may open and may close emphasis, judged by its neighbours on both sides."""
    end = start + length
    before = source[start - 1] if start else " "
    after = source[end] if end < len(source) else " "
    if _in_word(before) and _in_word(after):
        return False, False
    if source[start] == "_" and _is_dunder(source, start, end):
        return False, False
    opens = before not in _JOINS_NAMES or (length > 1 and _in_word(after))
    if after in "/.":  # `*.py` and `**/x` are globs; `**/etc/hosts**` is a path made bold
        opens = opens and length > 1 and _BOLD_PATH.match(source, start) is not None
    closes = not (before in _JOINS_NAMES and after in _JOINS_NAMES)
    return opens, closes


def _in_word(char: str) -> bool:
    """Letters of scripts without upper and lower case don't count: they are written without blanks between words."""
    return char.isdigit() or char.lower() != char.upper()


def _is_dunder(source: str, start: int, end: int) -> bool:
    """Whether the run at [start, end) is an edge of a name such as `__init__`."""
    first = start
    while first and (source[first - 1] == "_" or (source[first - 1].isascii() and source[first - 1].isalnum())):
        first -= 1
    found = _NAME.match(source, first)
    name = found[0] if found is not None and found.end() >= end else ""
    return name.startswith("__") and name.endswith("__") and bool(name.strip("_"))

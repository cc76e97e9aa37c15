"""Read a text with bashlex: the simple commands in its own words, or Unread with the reason.

The only importer of bashlex. It is a second opinion: allow wants it to read the same argv as our lexer, deny
takes every command that it finds. It needs over a second for 64 KiB, hence the limits; it loops for ever on some
short texts, hence what it is not given; and it fails in many ways on valid bash, hence the broad except.
"""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Protocol, cast

from mtbot.policy.reading_values import BashlexReading, RawCommand, Span, Unread

MAX_BYTES = 2048
MAX_WORDS = 256

_EXPANSION = re.compile(r"\$\{[A-Za-z0-9_:=+?#%/.,^@*!~\[\]-]*\}")

PLAIN_KINDS = frozenset({"list", "pipeline", "command", "word", "operator", "pipe", "redirect"})


_SUBSTITUTIONS = frozenset({"commandsubstitution", "processsubstitution"})

_HOLDS_PARTS_ONLY = frozenset({"word", "command", "list", "pipeline", "operator", "pipe"})
"""Kinds that keep no child under a name of its own."""


class _Node(Protocol):
    """The part of bashlex's nodes that is used here (they are built with free attributes)."""

    kind: str
    pos: tuple[int, int]


@cache
def load() -> ModuleType:
    """bashlex itself: it builds the tables of its grammar for a tenth of a second, and many verbs read no command."""
    import bashlex  # noqa: PLC0415 - only where a command is read

    return cast("ModuleType", bashlex)


def read(text: str) -> BashlexReading | Unread:
    """Parse `text` once; never raises."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return Unread(f"longer than {MAX_BYTES} bytes")
    if len(text.split()) > MAX_WORDS:
        return Unread(f"more than {MAX_WORDS} words")
    if not text.strip():
        return Unread("empty")
    if "\0" in text:
        return Unread("NUL character")
    if text.count("${") != len(_EXPANSION.findall(text)):
        # bashlex looks for the brace within one word and starts the word again, for ever, when there is none
        return Unread("an expansion that bashlex may never finish")
    try:
        return _collect(_roots(text))
    except Exception as error:  # noqa: BLE001 - bashlex raises AttributeError, NotImplementedError, RecursionError
        # and its own errors on valid bash; a reader that fails only forbids allow, so the failure is the answer
        return Unread(f"{type(error).__name__}: {error}"[:200])


def _roots(text: str) -> list[_Node]:
    """The top-level nodes, as `bashlex.parse` gives them; for one line that is one node it is asked for less work."""
    # a here-document that ends without a newline is a parsing error otherwise
    bashlex, ended = load(), text + "\n"
    if "\n" not in text and "<<" not in text:
        root = cast("_Node", bashlex.parsesingle(ended))
        if root.pos[1] + 1 == len(ended):
            return [root]
    return cast("list[_Node]", bashlex.parse(ended))


def _collect(roots: list[_Node]) -> BashlexReading:
    argvs: list[tuple[str, ...]] = []
    found: list[RawCommand] = []
    plain = True
    stack: list[tuple[_Node, int]] = [(root, 0) for root in reversed(roots)]
    while stack:
        node, depth = stack.pop()
        if node.kind == "command":
            words = [part for part in node.__dict__.get("parts", ()) if part.kind == "word"]
            if depth == 0:
                argvs.append(tuple(str(getattr(part, "word", "")) for part in words))
            if words:
                spans = tuple(Span(*part.pos) for part in words)
                found.append(RawCommand(node.pos[0], node.pos[1], spans, depth=depth))
        if node.kind not in PLAIN_KINDS:
            plain = False
        children = _parts(node)
        if children:
            inner = depth + (node.kind in _SUBSTITUTIONS)
            stack.extend([(child, inner) for child in reversed(children)])
    return BashlexReading(tuple(argvs), plain, tuple(found))


def _parts(node: _Node) -> list[_Node]:
    """The children of a node, wherever its kind keeps them."""
    held = node.__dict__
    children: list[_Node] = [*(held.get("parts") or ()), *(held.get("list") or ())]
    if node.kind not in _HOLDS_PARTS_ONLY:
        children += [held[name] for name in ("command", "output", "heredoc", "body") if hasattr(held.get(name), "kind")]
    return children

"""Read a text with tree-sitter-bash: every simple command at any depth, and whether the text is well formed.

The only importer of tree-sitter. It is thirty times faster than bashlex, recovers from errors and reports them
honestly, so it is the main reader. It needs quadratic time where it recovers from errors, hence the limit;
the places where it is known to hide commands (`loose`) are handed on to be looked through by others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from mtbot.policy.reading_values import RawCommand, RawReading, Span, Unread

MAX_CODE = 2048
"""Characters of shell code that are read: 25 ms at worst, and the worst is quadratic."""
MAX_NODES = 12_000
MAX_COMMANDS = 500

_PARSER = Parser(Language(tree_sitter_bash.language()))

_NOT_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect", "ERROR"})
_DECLARATIONS = frozenset({"declaration_command", "unset_command"})
_LOOSE = frozenset({"expansion", "heredoc_body", "regex", "arithmetic_expansion", "test_command", "string"})
_STATEMENTS = frozenset({
    "pipeline", "list", "command", "redirected_statement", "subshell", "compound_statement", "negated_command",
    "if_statement", "while_statement", "for_statement", "case_statement", "c_style_for_statement",
    "function_definition", "test_command", "declaration_command", "unset_command", "variable_assignments",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """What a node inherits from the nodes around it."""

    depth: int = 0
    fed: Span | None = None
    host: int = 0
    bodies: tuple[tuple[Span, bool], ...] = ()
    redirects: tuple[tuple[str, Span], ...] = ()
    extra: tuple[Span, ...] = ()


@dataclass(slots=True)
class _Found:
    commands: list[RawCommand] = field(default_factory=list)
    assignments: list[tuple[str, Span]] = field(default_factory=list)
    functions: list[tuple[str, Span]] = field(default_factory=list)
    loops: list[tuple[str, Span]] = field(default_factory=list)
    loose: list[Span] = field(default_factory=list)
    programs: set[int] = field(default_factory=set)
    stack: list[tuple[Node, _Place]] = field(default_factory=list)
    trailing: dict[int, _Place] = field(default_factory=dict)
    """For the last command of a list or pipeline: the redirects that tree-sitter gives to the whole of it."""


def read(text: str, code: int | None = None) -> RawReading | Unread:
    """Parse `text`; offsets are characters of `text`; never raises.

    `code` is how much of it is shell code, when the caller knows that the rest is data of one piece.
    """
    if (len(text) if code is None else code) > MAX_CODE:
        return Unread(f"more than {MAX_CODE} characters of shell code")
    # one byte a character keeps offsets equal; what is not ASCII is an ordinary character of a word anyway
    source = text.encode("ascii", "replace").replace(b"\0", b"?")
    try:
        root = _PARSER.parse(source).root_node
        found = _Found()
        nodes = _collect(root, text, found)
    except Exception as error:  # noqa: BLE001 - a foreign library in C; that it fails is the answer, and it asks
        return Unread(f"{type(error).__name__}: {error}"[:200])
    if nodes > MAX_NODES or len(found.commands) > MAX_COMMANDS:
        return Unread("more commands than are looked at one by one")
    return RawReading(
        tuple(found.commands),
        tuple(found.assignments),
        tuple(found.functions),
        tuple(found.loops),
        tuple(found.loose),
        frozenset(found.programs),
        "tree-sitter sees a syntax error" if root.has_error else None,
    )


def _collect(root: Node, text: str, found: _Found) -> int:
    """Walk the tree without recursion (10,000 nested substitutions are a tree as well)."""
    found.stack.append((root, _Place()))
    count = 0
    while found.stack and count <= MAX_NODES and len(found.commands) <= MAX_COMMANDS:
        node, place = found.stack.pop()
        count += 1
        kind = node.type
        if kind == "command" or kind in _DECLARATIONS:
            _command(node, place, text, found)
        elif kind == "pipeline":
            _pipeline(node, place, found)
        elif kind == "redirected_statement":
            _redirected(node, place, text, found)
        else:
            _other(node, kind, place, text, found)
    return count


def _other(node: Node, kind: str, place: _Place, text: str, found: _Found) -> None:
    """The parts that the grammar demands are there also where the parser repaired; without one the text is unread."""
    if kind in ("word", "raw_string", "comment", "number", "variable_name", "string_content", "ansi_c_string"):
        return
    children = node.children
    if kind == "variable_assignment":
        _assignment(node, text, found)
    elif kind == "function_definition":
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        assert name is not None
        assert body is not None
        found.functions.append((text[name.start_byte : name.end_byte], _span(body)))
        strings = [
            _span(part) for child in children if child.type == "herestring_redirect" for part in child.named_children
        ]
        if strings:  # what every call of it reads
            given = tuple([("<<<", span) for span in strings])
            found.commands.append(RawCommand(node.start_byte, node.end_byte, (), (), given, (), place.fed, place.depth))
    elif kind == "for_statement":
        variable = node.child_by_field_name("variable")
        assert variable is not None
        name_text = text[variable.start_byte : variable.end_byte]
        found.loops.extend([(name_text, _span(value)) for value in node.children_by_field_name("value")])
    elif kind in ("command_substitution", "process_substitution"):
        fed = place.fed
        if children[0].type == ">(":
            fed = Span(place.host, node.start_byte)
        if children[0].type == "`" and "\\`" in text[node.start_byte : node.end_byte]:
            found.loose.append(_span(node))  # tree-sitter does not look into backticks inside backticks
        else:
            found.programs.add(children[0].end_byte)
        place = _Place(place.depth + 1, fed, place.host)
    elif kind in _LOOSE:
        found.loose.append(_span(node))
    found.stack.extend([(child, place) for child in reversed(children)])


def _pipeline(node: Node, place: _Place, found: _Found) -> None:
    start = place.fed.start if place.fed else node.start_byte
    stages = [child for child in node.children if child.is_named]
    # a pipeline that a here-document cut off begins with its bar: what comes before it feeds every stage
    cut = bool(node.children) and node.children[0].type in ("|", "|&")
    for index, stage in enumerate(reversed(stages)):
        first = index == len(stages) - 1
        fed = place.fed if first and not cut else Span(place.host if cut else start, stage.start_byte)
        found.stack.append((stage, _Place(place.depth, fed, place.host, place.bodies)))


def _redirected(node: Node, place: _Place, text: str, found: _Found) -> None:
    """Redirects belong to the command that they follow; words after a redirect are still that command's."""
    body = node.child_by_field_name("body")
    bodies, redirects, extra = list(place.bodies), list(place.redirects), list(place.extra)
    start = node.start_byte
    for child in node.children:
        if child.type == "file_redirect":
            _file_redirect(child, redirects, extra)
            found.stack.append((child, _Place(place.depth, place.fed, start)))
        elif child.type == "herestring_redirect":
            redirects.extend([("<<<", _span(part)) for part in child.named_children[:1]])
            found.stack.append((child, _Place(place.depth, place.fed, start)))
        elif child.type == "heredoc_redirect":
            _heredoc(child, place, text, start, bodies, redirects, extra, found)
    inherited = _Place(place.depth, place.fed, start, tuple(bodies), tuple(redirects), tuple(extra))
    last = body
    while last is not None and last.type in ("list", "pipeline", "negated_command") and last.named_children:
        last = last.named_children[-1]
    if last is not None and (last.type == "command" or last.type in _DECLARATIONS):
        found.trailing[last.id] = inherited
    elif redirects or extra:
        found.commands.append(
            RawCommand(node.start_byte, node.end_byte, tuple(extra), (), tuple(redirects), (), place.fed, place.depth)
        )
    if body is not None:
        found.stack.append((body, _Place(place.depth, place.fed, start, tuple(bodies))))


def _heredoc(
    node: Node,
    place: _Place,
    text: str,
    start: int,
    bodies: list[tuple[Span, bool]],
    redirects: list[tuple[str, Span]],
    extra: list[Span],
    found: _Found,
) -> None:
    quoted = False
    inner = _Place(place.depth, place.fed, start)
    for child in node.children:
        kind = child.type
        if kind == "heredoc_start":
            quoted = any(mark in text[child.start_byte : child.end_byte] for mark in "'\"\\")
        elif kind == "heredoc_body":
            bodies.append((_span(child), quoted))
            if not quoted:
                found.stack.append((child, inner))
        elif kind == "file_redirect":
            _file_redirect(child, redirects, extra)
            found.stack.append((child, inner))
        elif kind == "herestring_redirect":
            redirects.extend([("<<<", _span(part)) for part in child.named_children[:1]])
            found.stack.append((child, inner))
        elif kind in _STATEMENTS or kind == "ERROR":
            found.stack.append((child, inner))
        elif child.is_named and kind not in ("heredoc_end", "file_descriptor"):
            extra.append(_span(child))
            found.stack.append((child, inner))


def _file_redirect(node: Node, redirects: list[tuple[str, Span]], extra: list[Span]) -> None:
    """The first destination is the target; tree-sitter also counts the words after it as destinations."""
    operator, seen = ">", False
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if seen:
            extra.append(_span(child))
        elif child.is_named:
            redirects.append((operator, _span(child)))
            seen = True
        else:
            operator = child.type


def _command(node: Node, place: _Place, text: str, found: _Found) -> None:
    words: list[Span] = []
    assignments: list[tuple[str, Span]] = []
    behind = found.trailing.pop(node.id, place)
    redirects = list(behind.redirects)
    late: list[Span] = []
    declaration = node.type in _DECLARATIONS
    children = node.children
    inner = _Place(place.depth, place.fed, node.start_byte)
    for child in children:
        kind = child.type
        if kind == "variable_assignment":
            pair = _assignment(child, text, found)
            if declaration:
                words.append(_span(child))
            else:
                assignments.append(pair)
        elif kind == "file_redirect":
            _file_redirect(child, redirects, late)
        elif kind == "herestring_redirect":
            redirects.extend([("<<<", _span(part)) for part in child.named_children[:1]])
            if words and words[-1].end == child.start_byte and text[words[-1].start : words[-1].end].isdigit():
                words.pop()  # a descriptor, which tree-sitter takes for a word
        elif kind not in _NOT_WORDS and (child.is_named or kind not in (";", "&", "\n")):
            if words and words[-1].end == child.start_byte:  # `$IFS-rf$IFS/` comes in two pieces
                words[-1] = Span(words[-1].start, child.end_byte)
            else:
                words.append(_span(child))
            if kind == "word":
                continue
        if child.child_count:
            found.stack.append((child, inner))
    words.extend(late)
    words.extend(behind.extra)
    # whoever reads this needs inner commands to end before the command that they belong to
    end = max([node.end_byte, *[span.end for span in behind.extra], *[span.end for _, span in redirects]])
    found.commands.append(
        RawCommand(
            node.start_byte,
            end,
            tuple(words),
            tuple(assignments),
            tuple(redirects),
            place.bodies,
            place.fed,
            place.depth,
        )
    )


def _assignment(node: Node, text: str, found: _Found) -> tuple[str, Span]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    assert name is not None
    span = _span(value) if value is not None else Span(node.end_byte, node.end_byte)
    name_text = text[name.start_byte : name.end_byte].partition("[")[0]
    equals = span.start - 1
    if text[equals - 1 : equals] == "+":
        name_text += "+"
    pair = (name_text, span)
    if pair not in found.assignments[-8:]:
        found.assignments.append(pair)
    return pair


def _span(node: Node) -> Span:
    return Span(node.start_byte, node.end_byte)

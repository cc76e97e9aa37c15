"""YAML text to a tree that knows where each value stands, with every fault found and never a guess.

PyYAML's own constructor forgets positions, turns ``off`` into False and lets the last of two equal keys win; each of
these has opened a bot to strangers somewhere. So only its composer is used (libyaml's where it is there), and the
meaning of a plain word is decided here: ``true`` and ``false`` are the only booleans, numbers are decimal, all other
words stay words.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from mtbot.config.problems import Path, Place, Problem

MAX_NODES = 50_000
MAX_DEPTH = 50
_PLAIN_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_REAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"[-+]?\.(inf|nan)\Z", re.IGNORECASE)
_MAX_DIGITS = 30

Scalar = str | int | float | bool | None
Plain = Scalar | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value and where it stands; ``path`` is the place in the file that it was written at."""

    value: Scalar
    place: Place
    path: Path


@dataclass(frozen=True, slots=True)
class Listing:
    """A YAML list."""

    items: tuple["Node", ...]
    place: Place
    path: Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping: where the key stands, and its value."""

    key_place: Place
    node: "Node"


@dataclass(frozen=True, slots=True)
class Table:
    """A YAML mapping; keys are kept as they were written, without quotes."""

    entries: Mapping[str, Entry]
    place: Place
    path: Path

    def get(self, *keys: str) -> "Node | None":
        """The node under that chain of keys, or None where a link of the chain is missing or no mapping."""
        node: Node = self
        for key in keys:
            if not isinstance(node, Table) or key not in node.entries:
                return None
            node = node.entries[key].node
        return node


Node = Leaf | Listing | Table


def plain(node: Node) -> Plain:
    """The tree as dicts, lists and scalars, for a validator that wants no positions."""
    if isinstance(node, Table):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    return node.value


def find(node: Node, path: Path, *, at_key: bool = False) -> tuple[Place, Path]:
    """Where ``path`` below that node was written, and its name there: the value's place, or with ``at_key`` the key's.

    What was not written is named below, and placed at, the deepest part that was.
    """
    place = node.place
    for index, part in enumerate(path):
        if isinstance(node, Table):
            entry = node.entries.get(str(part))
            if entry is None:
                return place, (*node.path, *path[index:])
            node = entry.node
            place = entry.key_place if at_key and index == len(path) - 1 else node.place
        elif isinstance(node, Listing) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            place = node.place
        else:
            break
    return place, node.path


@dataclass(slots=True)
class _Reading:
    """What one pass over the composed nodes collects."""

    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    open: set[int] = field(default_factory=set)

    def say(self, mark: yaml.Mark, path: Path, message: str) -> None:
        self.problems.append(Problem(_place(mark), path, message))


def parse(text: str) -> tuple[Table | None, list[Problem]]:
    """Read one YAML document. The tree is None where there is none; the problems are all that could be found."""
    try:
        nodes = list(_documents(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(mark) if mark else Place(1, 1)
        words = " ".join(part for part in (error.context, error.problem) if part)
        return None, [Problem(place, (), f"not YAML: {words}")]
    except yaml.reader.ReaderError as error:
        place = _at(text, int(error.position))
        return None, [Problem(place, (), "not YAML: a character that YAML does not permit")]
    except RecursionError:
        return None, [Problem(Place(1, 1), (), "nested too deep")]
    if not nodes:
        return None, [Problem(Place(1, 1), (), "the file is empty")]
    reading = _Reading()
    for extra in nodes[1:]:
        reading.say(extra.start_mark, (), "a second YAML document; one file holds one configuration")
    root = _convert(nodes[0], (), reading)
    if reading.count > MAX_NODES:
        return None, [
            Problem(Place(1, 1), (), f"more than {MAX_NODES} values, aliases counted as often as they are used")
        ]
    if isinstance(root, Table):
        return root, reading.problems
    if isinstance(root, Leaf) and root.value is None:
        return None, [*reading.problems, Problem(root.place, (), "the file is empty")]
    return None, [*reading.problems, Problem(root.place, (), "the file must hold a mapping of keys")]


def _documents(text: str) -> Iterator[yaml.Node]:
    """The composed documents; a fault ends the whole reading."""
    loader_class = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    loader = loader_class(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield node
    finally:
        loader.dispose()


def _place(mark: yaml.Mark) -> Place:
    return Place(mark.line + 1, mark.column + 1)


def _at(text: str, offset: int) -> Place:
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _convert(node: yaml.Node, path: Path, reading: _Reading) -> Node:
    place = _place(node.start_mark)
    reading.count += 1
    if reading.count > MAX_NODES:
        return Leaf(None, place, path)
    if len(path) > MAX_DEPTH:
        reading.say(node.start_mark, path[:1], "nested too deep")
        return Leaf(None, place, path)
    if id(node) in reading.open:
        reading.say(node.start_mark, path, "an alias that contains itself")
        return Leaf(None, place, path)
    if node.tag not in _PLAIN_TAGS:
        reading.say(node.start_mark, path, f"tags such as {_short_tag(node.tag)} are not understood here")
    if isinstance(node, yaml.ScalarNode):
        return Leaf(_scalar(node), place, path)
    reading.open.add(id(node))
    try:
        if isinstance(node, yaml.SequenceNode):
            items = tuple(_convert(item, (*path, index), reading) for index, item in enumerate(node.value))
            return Listing(items, place, path)
        assert isinstance(node, yaml.MappingNode)
        return Table(_entries(node, path, reading), place, path)
    finally:
        reading.open.discard(id(node))


def _entries(node: yaml.MappingNode, path: Path, reading: _Reading) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            reading.say(key_node.start_mark, path, "a key must be a single word or number")
            continue
        key = key_node.value
        value = _convert(value_node, (*path, key), reading)
        if key in entries:
            first = entries[key].key_place
            reading.say(key_node.start_mark, (*path, key), f"is given twice, first at line {first.line}")
            continue
        entries[key] = Entry(_place(key_node.start_mark), value)
    return entries


def _scalar(node: yaml.ScalarNode) -> Scalar:
    """The meaning of a word: quoted ones are text, the plain ones are looked at."""
    text: str = node.value
    if node.style:
        return text
    if text in {"", "~", "null"}:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if len(text) > _MAX_DIGITS:
        return text
    if _WHOLE.match(text):
        return int(text)
    if _REAL.match(text):
        return float(text)
    if _SPECIAL.match(text):
        return float(text.replace(".", ""))
    return text


def _short_tag(tag: str) -> str:
    prefix = "tag:yaml.org,2002:"
    return "!!" + tag.removeprefix(prefix) if tag.startswith(prefix) else tag

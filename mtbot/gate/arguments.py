"""Read a model's arguments against a tool's schema; whatever is wrong becomes one sentence for the model.

Cut or mangled JSON is never mended: a repaired command would be another command. Only the small part of JSON Schema
that our own tools use is understood; a schema with more in it makes the tool unusable rather than unchecked.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_NOTES = frozenset({"type", "description", "title", "default", "examples"})
_UNDERSTOOD = _NOTES | {"enum", "minimum", "maximum", "items", "minItems", "maxItems"}
_TOP = _NOTES | {"properties", "required", "additionalProperties", "$schema"}
_UNCHECKED = "has a schema that cannot be checked"
_MAX_LENGTH = 2_000_000
_MAX_SHOWN = 64


@dataclass(frozen=True, slots=True)
class BadArguments:
    """The arguments cannot be used; ``reason`` tells the model what to mend."""

    reason: str


def read_arguments(
    raw: str, schema: Mapping[str, object], mask: Callable[[str], str] = str
) -> dict[str, object] | BadArguments:
    """The arguments as a checked mapping. An empty text means no arguments. Never raises.

    ``mask`` masks a name before it is shortened in a reason.
    """
    if len(raw) > _MAX_LENGTH:
        return BadArguments("the arguments are too long")
    text = raw.strip()
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once) if text else {}
    except _Twice as twice:
        return BadArguments(
            f"argument {_short(twice.name, mask)!r} stands there twice; send the call again with it once"
        )
    except (ValueError, RecursionError):
        return BadArguments("the arguments are no valid JSON; send the call again with valid JSON")
    if isinstance(value, str):
        return BadArguments("the arguments are a string and not an object; send a JSON object")
    if not isinstance(value, dict):
        return BadArguments("the arguments are not a JSON object")
    if not _encodable(value):
        return BadArguments("the arguments hold half a character (a lone surrogate); send the call again without it")
    problems = _problems(value, schema, mask)
    if problems:
        return BadArguments("; ".join(problems))
    return value


class _Twice(ValueError):
    """A name that stands twice in one object: which of the two counts would depend on the reader."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(name)
        found[name] = value
    return found


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _encodable(value: object) -> bool:
    """Whether it can be written down again, every text in it as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)


def _short(name: str, mask: Callable[[str], str]) -> str:
    return str(mask(name))[:_MAX_SHOWN]


def _problems(value: Mapping[str, object], schema: Mapping[str, object], mask: Callable[[str], str]) -> list[str]:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple) or not _TOP.issuperset(schema):
        return ["this tool's schema cannot be checked, so it cannot be used"]
    found = [f"missing argument {name}" for name in required if name not in value]
    for name, item in value.items():
        rule = properties.get(name)
        if not isinstance(rule, Mapping):
            known = ", ".join(sorted(properties)) or "none"
            found.append(f"unknown argument {_short(name, mask)!r} (known: {known})")
            continue
        fault = _fault(item, rule)
        if fault:
            found.append(f"argument {name} {fault}")
    return found


def _fault(item: object, rule: Mapping[str, object]) -> str:
    """What is wrong with one value, or the empty string."""
    wanted = rule.get("type")
    expected = _TYPES.get(wanted) if isinstance(wanted, str) else None
    if expected is None or not _UNDERSTOOD.issuperset(rule):
        return _UNCHECKED
    if isinstance(item, bool) and wanted != "boolean":
        return f"must be of type {wanted}, not boolean"
    if not isinstance(item, expected):
        return f"must be of type {wanted}, not {_kind(item)}"
    allowed = rule.get("enum")
    if isinstance(allowed, list | tuple) and item not in allowed:
        return f"must be one of {', '.join(map(str, allowed))}"
    if isinstance(item, int | float):
        return _out_of_range(item, rule.get("minimum"), rule.get("maximum"))
    if isinstance(item, list):
        return _wrong_count(len(item), rule.get("minItems"), rule.get("maxItems")) or _bad_item(item, rule)
    return ""


def _out_of_range(item: float, low: object, high: object) -> str:
    if not math.isfinite(item):
        return "must be a number that is finite"
    if isinstance(low, int | float) and item < low:
        return f"must be at least {low}"
    if isinstance(high, int | float) and item > high:
        return f"must be at most {high}"
    return ""


def _wrong_count(count: int, low: object, high: object) -> str:
    if isinstance(low, int) and count < low:
        return f"must have at least {low} item{'' if low == 1 else 's'}"
    if isinstance(high, int) and count > high:
        return f"must have at most {high} item{'' if high == 1 else 's'}"
    return ""


def _bad_item(items: Sequence[object], of: Mapping[str, object]) -> str:
    """What is wrong with the first item that is wrong; without ``items`` in the rule any item will do."""
    if "items" not in of:
        return ""
    rule = of["items"]
    if not isinstance(rule, Mapping):
        return _UNCHECKED
    faults = ((number, _fault(item, rule)) for number, item in enumerate(items, 1))
    return next((f"item {number} {fault}" for number, fault in faults if fault), "")


def _kind(item: object) -> str:
    """The JSON name of a value's type."""
    if item is None:
        return "null"
    return next(name for name, kind in _TYPES.items() if isinstance(item, kind))

"""Read a model's arguments against a tool's schema; whatever is wrong becomes one sentence for the model.

Cut or mangled JSON is never mended: a repaired command would be another command. Only the small part of JSON Schema
that our own tools use is understood; a schema with more in it makes the tool unusable rather than unchecked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_MAX_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class BadArguments:
    """The arguments cannot be used; ``reason`` tells the model what to mend."""

    reason: str


def read_arguments(raw: str, schema: Mapping[str, object]) -> dict[str, object] | BadArguments:
    """The arguments as a checked mapping. An empty text means no arguments. Never raises."""
    if len(raw) > _MAX_BYTES:
        return BadArguments("the arguments are too long")
    text = raw.strip()
    try:
        value = json.loads(text, parse_constant=_no_constant) if text else {}
    except (ValueError, RecursionError):
        return BadArguments("the arguments are no valid JSON; nothing was run, send the call again with valid JSON")
    if isinstance(value, str):
        return BadArguments("the arguments are a string and not an object; send a JSON object")
    if not isinstance(value, dict):
        return BadArguments("the arguments are not a JSON object")
    problems = _problems(value, schema)
    if problems:
        return BadArguments("; ".join(problems))
    return value


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _problems(value: Mapping[str, object], schema: Mapping[str, object]) -> list[str]:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        return ["this tool's schema cannot be checked, so it cannot be used"]
    found = [f"missing argument {name}" for name in required if name not in value]
    for name, item in value.items():
        rule = properties.get(name)
        if not isinstance(rule, Mapping):
            known = ", ".join(sorted(properties)) or "none"
            found.append(f"unknown argument {name!r} (known: {known})")
            continue
        fault = _fault(item, rule)
        if fault:
            found.append(f"argument {name} {fault}")
    return found


def _fault(item: object, rule: Mapping[str, object]) -> str:
    wanted = rule.get("type")
    expected = _TYPES.get(wanted) if isinstance(wanted, str) else None
    if expected is None:
        return "has a schema that cannot be checked"
    if isinstance(item, bool) and wanted != "boolean":
        return f"must be a {wanted}, not a boolean"
    if not isinstance(item, expected):
        return f"must be a {wanted}, not {type(item).__name__}"
    allowed = rule.get("enum")
    if isinstance(allowed, list | tuple) and item not in allowed:
        return f"must be one of {', '.join(map(str, allowed))}"
    low, high = rule.get("minimum"), rule.get("maximum")
    if isinstance(item, int | float) and isinstance(low, int | float) and item < low:
        return f"must be at least {low}"
    if isinstance(item, int | float) and isinstance(high, int | float) and item > high:
        return f"must be at most {high}"
    return ""

"""What pydantic found wrong, said again in the words of this project and at the line where it was written."""

from collections.abc import Mapping
from typing import TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mtbot.config.problems import NO_VALUE, Path, Problem, nearest
from mtbot.config.values import Frame, Section
from mtbot.config.yaml_marks import Leaf, Listing, Node, find, plain

S = TypeVar("S", bound=Section)

_INLINE = {"api_key", "token"}
_EXPECTED = {
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "tuple_type": "must be a list",
    "mapping_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "missing": "is missing",
}


def judge(model: type[S], node: Node, frame: Frame) -> tuple[S | None, list[Problem]]:
    """Read a node as that section: the section, or every fault in it."""
    try:
        section = model.model_validate(plain(node), context=frame)
    except ValidationError as error:
        return None, [_problem(detail, model, node) for detail in error.errors(include_url=False)]
    # with a key that has no value, the section is not what somebody meant, even where that key may be unset
    empty = empty_values(node)
    return (None if empty else section), empty


def empty_values(node: Node) -> list[Problem]:
    """Keys that somebody wrote without a value; whether they meant the default or nothing, nobody can tell."""
    if isinstance(node, Leaf):
        if node.value is None:
            return [Problem(node.place, node.path, NO_VALUE)]
        return []
    below = node.items if isinstance(node, Listing) else [entry.node for entry in node.entries.values()]
    return [problem for item in below for problem in empty_values(item)]


def _problem(detail: ErrorDetails, model: type[BaseModel], node: Node) -> Problem:
    """The fault at the value, or at the key where the key itself is the fault."""
    loc, kind = detail["loc"], detail["type"]
    key_is_wrong = bool(loc) and loc[-1] == "[key]"
    if key_is_wrong:
        loc = loc[:-1]
    place, path = find(node, loc, at_key=key_is_wrong or kind == "extra_forbidden")
    return Problem(place, path, _message(detail, model, loc))


def _message(detail: ErrorDetails, model: type[BaseModel], loc: Path) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(loc[-1]), keys_at(model, loc[:-1]))
    if kind == "value_error":
        text = str(context["error"])
        inline = str(loc[-1]) if loc else ""
        if inline in _INLINE and "must not stand in this file" in text:
            return f"{text}; name the variable in {inline}_env or the file in {inline}_file"
        return text
    if kind in {"enum", "literal_error"}:
        given = detail["input"]
        known = _choices(context.get("expected", ""))
        hint = nearest(given, known) if isinstance(given, str) else ""
        return f"must be one of {', '.join(known)}{hint}"
    return _EXPECTED.get(kind, detail["msg"])


def _unknown(key: str, known: tuple[str, ...]) -> str:
    hint = nearest(key, known)
    return f"unknown key{hint}" if hint or not known else f"unknown key; known here: {', '.join(known)}"


def _choices(expected: str) -> tuple[str, ...]:
    return tuple(word.strip("' ") for word in expected.replace(" or ", ", ").split(","))


def keys_at(model: type[BaseModel], loc: Path) -> tuple[str, ...]:
    """The keys that a mapping at that place may have, as they are written in the file."""
    current: object = model
    for part in loc:
        current = _below(current, part)
    found = section_of(current)
    return (*(field.alias or name for name, field in found.model_fields.items()), *found.short_form) if found else ()


def _below(annotation: object, part: str | int) -> object:
    found = section_of(annotation)
    if found:
        for name, field in found.model_fields.items():
            if part in (name, field.alias):
                return field.annotation
        return None
    return element_of(annotation)


def section_of(annotation: object) -> type[Section] | None:
    """The section that an annotation is, looking through ``Annotated`` and ``| None``."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    origin = get_origin(annotation)
    if origin is Union or type(annotation).__name__ == "UnionType" or hasattr(annotation, "__metadata__"):
        inner = (get_args(annotation)[0],) if hasattr(annotation, "__metadata__") else get_args(annotation)
        return next((found for found in map(section_of, inner) if found), None)
    return None


def element_of(annotation: object) -> object:
    """What stands in a list or mapping of that annotation; None for anything else."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return args[0]
    if origin is Mapping:
        return args[1]
    return None

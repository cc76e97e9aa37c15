"""Prints, as JSON, how every type and method of aiogram behaves; run as a module, once for each way of importing it.

What a model says about wrong input names every field, its kind and the models inside it, so equal answers mean equal
validators. Models are taken from the last to the first, an order in which no import builds them.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from types import ModuleType
from typing import cast

import mtbot.channels.telegram  # noqa: F401  comes first: it decides how aiogram is imported

# isort: split
from aiogram import methods, types
from aiogram.methods.base import Response
from pydantic import BaseModel, ValidationError

PROBES: tuple[object, ...] = ({}, [], [{}], "x", 1, True, [[{"type": "bold"}]], {"type": "private", "id": 1})


def names(room: ModuleType) -> list[str]:
    """What a package exports, by its source: asked for its `__all__`, it would import everything at once."""
    (listed,) = (
        node.value
        for node in ast.parse(inspect.getsource(room)).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    )
    found: list[str] = list(ast.literal_eval(listed))
    return found


def models() -> dict[str, type[BaseModel]]:
    """All types, methods and answers of methods, by name."""
    found: dict[str, type[BaseModel]] = {}
    for room in (types, methods):
        for name in names(room):
            model = getattr(room, name)
            if isinstance(model, type) and issubclass(model, BaseModel):
                found[f"{room.__name__}.{name}"] = model
            returned = getattr(model, "__returning__", None)
            if room is methods and returned is not None and not isinstance(returned, property):
                found[f"answer of {name}"] = Response[returned]  # type: ignore[valid-type]  # a run-time parameter
    return found


def behaviour(model: type[BaseModel]) -> list[object]:
    """What the model makes of an empty object and of every probe in every field."""
    inputs: list[dict[str, object]] = [{}, *(dict.fromkeys(_fields(model), probe) for probe in PROBES)]
    return [sorted(_fields(model)), *(_outcome(model, given) for given in inputs)]


def _fields(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _outcome(model: type[BaseModel], given: object) -> object:
    try:
        made = model.model_validate(given)
    except ValidationError as refused:
        return [[list(error["loc"]), error["type"], error["msg"]] for error in refused.errors(include_url=False)]
    except TypeError as abstract:
        return str(abstract)
    return repr(made) + repr(made.model_dump(warnings=False))


if __name__ == "__main__":
    every = models()
    built_by_import = sorted(
        name
        for name, model in every.items()
        if cast("bool", getattr(model, "__pydantic_complete__"))  # noqa: B009 - a name that mypy does not let be read as an attribute
    )
    behaviours = {name: behaviour(every[name]) for name in sorted(every, reverse=True)}
    whole = "aiogram.client.bot" in sys.modules
    print(json.dumps({"built_by_import": built_by_import, "behaviour": behaviours, "whole": whole}))

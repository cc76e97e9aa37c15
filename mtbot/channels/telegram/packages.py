"""aiogram's packages without importing their seven hundred modules: each is imported when a name of it is first used.

What a package's own ``__init__`` imports is read out of its source. A name that is not found so has that source run as it
is, which imports everything; the same happens at once where the source is not written as expected.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from inspect import get_annotations
from types import ModuleType
from typing import ForwardRef, Literal, Optional, Union, get_args

TYPES = "aiogram.types"

LATE_PACKAGES = frozenset({"aiogram", TYPES, "aiogram.methods", "aiogram.enums"})

_WRITTEN_OUT = LATE_PACKAGES - {"aiogram"}
"""Packages that import each name of theirs from a module of their own."""

_LINE = re.compile(r"^from \.(\w+) import (?:\(([^()]*)\)|([\w, ]+))$", re.MULTILINE)

_FEWEST = 20
"""Names; with fewer, a source is taken to be written in another way."""

_ASKED = frozenset({"__all__", "__version__", "__api_version__"})
"""The names with underscores that somebody may want; all others are Python's own questions."""

_IDENTIFIER = re.compile(r"[A-Za-z]\w*")

_names: dict[str, Mapping[str, str]] = {}
"""What was read of each package that was loaded without running its source."""


def names_in(source: str) -> Mapping[str, str]:
    """The names that the source of a package imports from modules of its own, each with its module."""
    found: dict[str, str] = {}
    for module, in_brackets, on_line in _LINE.findall(source):
        found |= dict.fromkeys((in_brackets or on_line).replace(",", " ").split(), module)
    return found


class Wrapper(importlib.abc.Loader):
    """Stands before the ordinary loader of a module, to change how it is filled, and for nothing else."""

    def __init__(self, ordinary: importlib.machinery.SourceFileLoader) -> None:
        self._ordinary = ordinary

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Left to the ordinary loader."""
        return self._ordinary.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module, which names its ordinary loader by then: tracebacks and readers of resources ask that one."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._ordinary
        module.__loader__ = self._ordinary
        self._fill(module)

    @abstractmethod
    def _fill(self, module: ModuleType) -> None:
        """Run its source, or not."""


class LatePackage(Wrapper):
    """Leaves a package with nothing but a way to get each name, as long as ``trusted`` says that models can be built late."""

    def __init__(self, ordinary: importlib.machinery.SourceFileLoader, trusted: Callable[[], bool]) -> None:
        super().__init__(ordinary)
        self._trusted = trusted

    def _fill(self, module: ModuleType) -> None:
        written_out = module.__name__ in _WRITTEN_OUT
        names = names_in(self._ordinary.get_source(module.__name__) or "") if written_out else {}
        if not self._trusted() or (written_out and len(names) < _FEWEST):
            self._ordinary.exec_module(module)
            return
        _names[module.__name__] = names
        setattr(module, "__getattr__", self._getter(module, names))  # noqa: B010 - a name that mypy does not let be set

    def _getter(self, module: ModuleType, names: Mapping[str, str]) -> Callable[[str], object]:
        whole: list[bool] = []

        def get(name: str) -> object:
            """A name of the package, from the module that has it; AttributeError as from any module."""
            if name in names:
                value: object = getattr(importlib.import_module(f"{module.__name__}.{names[name]}"), name)
                setattr(module, name, value)
                return value
            if name in _ASKED or not name.startswith("_"):
                inside = f"{module.__name__}.{name}"
                if name not in _ASKED and importlib.util.find_spec(inside) is not None:
                    return importlib.import_module(inside)
                if not whole:
                    self._ordinary.exec_module(module)  # a second thread may do so too, to the same end
                    whole.append(True)
                if name in module.__dict__:
                    return module.__dict__[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        return get


def named_by(model: type) -> dict[str, object]:
    """What the annotations of a model name of aiogram's types, and what those name in turn, with what all of them use."""
    from pydantic import BaseModel  # noqa: PLC0415 - by then aiogram has imported it

    types, names = importlib.import_module(TYPES), _names.get(TYPES, {})
    default = importlib.import_module("aiogram.client.default").Default
    found: dict[str, object] = {
        "List": list,
        "Optional": Optional,
        "Union": Union,
        "Literal": Literal,
        "Default": default,
    }
    waiting: list[object] = [model]
    seen: set[type] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, ForwardRef):
            one = one.__forward_arg__
        if isinstance(one, str):
            new = [name for name in _IDENTIFIER.findall(one) if name in names and name not in found]
            found |= {name: getattr(types, name) for name in new}
            waiting += [found[name] for name in new]
        elif isinstance(one, type) and issubclass(one, BaseModel):
            if one not in seen:
                seen.add(one)
                waiting += [said for base in one.__mro__ for said in get_annotations(base).values()]
                waiting += one.__pydantic_generic_metadata__["args"]
        elif hasattr(one, "__value__"):  # an alias with a name of its own
            waiting.append(one.__value__)
        else:
            waiting += get_args(one)
    return found

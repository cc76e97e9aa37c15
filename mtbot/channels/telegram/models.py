"""aiogram without building six hundred validators at its import: each model is built when it is first used.

A plain import builds the validator of every type and method of the Bot API at once, of which a bot uses a few dozen:
seconds and a hundred megabytes on the hosts that such bots live on. aiogram itself marks its types to be built late
and then builds them all in one loop, because their annotations name each other. So the modules of a type or method are
imported when one is first used (see `packages`), the loop runs only where somebody wants all of them, and a model that is
built late gets the names that the loop would have given it.

Only public names of pydantic and aiogram are touched. Where anything is not as expected, or where EAGER_VARIABLE is
set, aiogram is imported as it is, slower and with the same result.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import ModuleType, SimpleNamespace

from mtbot.channels.telegram.packages import LATE_PACKAGES, LatePackage, Wrapper, named_by

__all__ = ["EAGER_VARIABLE", "hold_back_building"]

EAGER_VARIABLE = "MTCLAW_EAGER_MODELS"
"""Environment variable that, when not empty, leaves aiogram's import alone."""

_REBUILD = "model_rebuild"
_BASES = {"aiogram.types.base": ("TelegramObject",), "aiogram.methods.base": ("TelegramMethod", "Response")}


def hold_back_building() -> bool:
    """Arranges that aiogram, when it is imported later, builds each model on first use; False where it can't.

    Must run before aiogram's first import in the process, costs nothing by itself, and may run any number of times.
    """
    if any(isinstance(finder, _BaseFinder) for finder in sys.meta_path):
        return True
    if os.environ.get(EAGER_VARIABLE) or "aiogram" in sys.modules:
        return False
    sys.meta_path.insert(0, _BaseFinder())
    return True


class _BaseFinder(importlib.abc.MetaPathFinder):
    """Finds the modules that define aiogram's base classes, and its packages of many modules, and nothing else."""

    def __init__(self) -> None:
        self._builder = _LateBuilder()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The ordinary spec with a loader that prepares the base classes, or one that leaves a package's names for later."""
        if fullname not in _BASES and fullname not in LATE_PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        spec.loader = (
            _BaseLoader(spec.loader, self._builder)
            if fullname in _BASES
            else LatePackage(spec.loader, _pydantic_builds_late)
        )
        return spec


class _BaseLoader(Wrapper):
    """Runs a module as the ordinary loader does, then prepares its base classes."""

    def __init__(self, ordinary: importlib.machinery.SourceFileLoader, builder: _LateBuilder) -> None:
        super().__init__(ordinary)
        self._builder = builder

    def _fill(self, module: ModuleType) -> None:
        self._run(module)
        if not _pydantic_builds_late():
            return
        for name in _BASES[module.__name__]:
            base = getattr(module, name, None)
            if isinstance(base, type):
                self._builder.prepare(base)

    def _run(self, module: ModuleType) -> None:
        """aiogram wants one sentinel of unittest.mock, which loads Python's whole test framework, two megabytes, for it."""
        if "unittest" not in sys.modules:
            with contextlib.suppress(ImportError, AttributeError), _sentinel_alone():
                self._ordinary.exec_module(module)
                return
        self._ordinary.exec_module(module)


@contextlib.contextmanager
def _sentinel_alone() -> Iterator[None]:
    """A `unittest.mock` that holds nothing else, for as long as one module is run."""
    package, mock = ModuleType("unittest"), ModuleType("unittest.mock")
    package.__path__ = []
    setattr(mock, "sentinel", SimpleNamespace(UNSET=_Unset()))  # noqa: B010 - a name that mypy does not let be set
    stand_ins = {"unittest": package, "unittest.mock": mock}
    sys.modules |= stand_ins
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


class _Unset:
    def __repr__(self) -> str:
        return "sentinel.UNSET"


class _LateBuilder:
    """Builds a model of aiogram when it is first used, with the names that aiogram's own loop would have used."""

    def __init__(self) -> None:
        self._names: Mapping[str, object] | None = None
        self._kept: set[type] = set()
        self._lock = threading.RLock()  # pydantic's rebuilding is not safe for two threads at once

    def prepare(self, base: type) -> None:
        """Makes the models below this base class build late. A base that pydantic doesn't know is left alone."""
        config, inherited = getattr(base, "model_config", None), getattr(base, _REBUILD, None)
        original = getattr(inherited, "__func__", None)
        if not isinstance(config, dict) or original is None:
            return
        config["defer_build"] = True

        def model_rebuild(
            cls: type,
            *,
            force: bool = False,
            raise_errors: bool = True,
            _parent_namespace_depth: int = 2,
            _types_namespace: Mapping[str, object] | None = None,
        ) -> bool | None:
            """As pydantic's, with aiogram's names behind those of the caller."""
            given = _types_namespace or {}
            if (
                given.get(cls.__name__) is cls and not force and not _takes_parameters(cls)
            ):  # aiogram's loop over all its types
                self._names = given
                return None
            with self._lock:
                names = self._names or named_by(cls)
                built: bool | None = original(
                    cls,
                    force=force,
                    raise_errors=raise_errors,
                    _parent_namespace_depth=_parent_namespace_depth + 1,
                    _types_namespace={**names, **given},
                )
                if "[" in cls.__name__:
                    self._kept.add(cls)  # pydantic forgets Response[Message] between two answers, and builds it again
            return built

        setattr(base, _REBUILD, classmethod(model_rebuild))


def _takes_parameters(model: type) -> bool:
    """Whether it is one such as `Response`, which pydantic gives the names around whenever a parameter of it is named."""
    return bool(getattr(model, "__pydantic_generic_metadata__", {}).get("parameters"))


@lru_cache(maxsize=1)
def _pydantic_builds_late() -> bool:
    """Whether this pydantic asks a model's own `model_rebuild` for a validator that was held back: tried, not assumed."""
    from pydantic import BaseModel, ConfigDict  # noqa: PLC0415  by then aiogram has imported it

    try:

        class Probe(BaseModel):
            model_config = ConfigDict(defer_build=True)

            later: "KnownLater"  # type: ignore[name-defined]  # noqa: F821, UP037  nothing here is called so

        _LateBuilder().prepare(Probe)
        Probe.model_rebuild(_types_namespace={"Probe": Probe, "KnownLater": int})
        return Probe.model_validate({"later": "1"}).model_dump() == {"later": 1}
    except Exception:  # noqa: BLE001  whatever it is, the answer is no, and aiogram is imported the ordinary way
        return False

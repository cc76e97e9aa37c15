"""How large a thing may grow before it has to be two things."""

import ast
from collections.abc import Iterator

from tests.architecture.rule import CodeRule
from tests.architecture.sources import Source

FILE, FUNCTION, CLASS, CONSTRUCTOR = 400, 60, 250, 6


def long_file(source: Source) -> Iterator[str]:
    """A file over the limit."""
    lines = source.text.count("\n")
    if lines > FILE:
        yield f"1 has {lines} lines, {FILE} are allowed"


def long_function(source: Source) -> Iterator[str]:
    """A function over the limit, from ``def`` to its last line."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = _lines(node)
            if lines > FUNCTION:
                yield f"{node.lineno} {node.name} has {lines} lines, {FUNCTION} are allowed"


def long_class(source: Source) -> Iterator[str]:
    """A class over the limit."""
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and _lines(node) > CLASS:
            yield f"{node.lineno} {node.name} has {_lines(node)} lines, {CLASS} are allowed"


def wide_constructor(source: Source) -> Iterator[str]:
    """A thing that is given too much: ``__init__``, or the fields of a dataclass that does work of its own.

    A plain value may have as many fields as it needs; what has an async method is no plain value.
    """
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
        given = next((_parameters(method) for method in methods if method.name == "__init__"), 0)
        if _is_dataclass(node) and any(isinstance(method, ast.AsyncFunctionDef) for method in methods):
            given = sum(isinstance(item, ast.AnnAssign) and not _made_inside(item) for item in node.body)
        if given > CONSTRUCTOR:
            yield f"{node.lineno} {node.name} is given {given} things, {CONSTRUCTOR} are allowed"


def _lines(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    return len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) - 1


def _is_dataclass(node: ast.ClassDef) -> bool:
    names = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return any(isinstance(name, ast.Name) and name.id == "dataclass" for name in names)


def _made_inside(field: ast.AnnAssign) -> bool:
    """Whether no caller gives the field: ``field(init=False)``, or with a default that the class makes itself."""
    if not isinstance(field.value, ast.Call):
        return field.value is not None
    return any(word.arg in {"init", "default_factory"} for word in field.value.keywords)


_BODY = "    pass\n"
_SERVICE = "@dataclass(slots=True)\nclass A:\n{}    made: list[int] = field(default_factory=list)\n    async def run(self): ...\n"

SIZE_RULES = (
    CodeRule(
        "file-size",
        long_file,
        planted=(("mtbot/a.py", "\n" * 401),),
        spared=(("mtbot/a.py", "\n" * 400),),
    ),
    CodeRule(
        "function-size",
        long_function,
        planted=(("mtbot/a.py", "async def f():\n" + _BODY * 60), ("tests/a.py", "def f():\n" + _BODY * 60)),
        spared=(("mtbot/a.py", "async def f():\n" + _BODY * 59),),
    ),
    CodeRule(
        "class-size",
        long_class,
        planted=(("tests/a.py", "class A:\n" + _BODY * 250),),
        spared=(("tests/a.py", "class A:\n" + _BODY * 249),),
    ),
    CodeRule(
        "constructor-size",
        wide_constructor,
        planted=(
            ("mtbot/a.py", "class A:\n    def __init__(self, a, b, c, d, *, e, f, g): ...\n"),
            ("mtbot/a.py", _SERVICE.format("".join(f"    f{number}: int\n" for number in range(7)))),
        ),
        spared=(
            ("mtbot/a.py", "class A:\n    def __init__(self, a, b, c, d, *, e, f): ...\n"),
            ("mtbot/a.py", _SERVICE.format("".join(f"    f{number}: int\n" for number in range(6)))),
        ),
    ),
)

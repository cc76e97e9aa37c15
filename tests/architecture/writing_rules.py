"""How the code is written: what has to be said beside it, and what may not stay in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.architecture.rule import CodeRule
from tests.architecture.sources import Source

_WAIVER = re.compile(r"#\s*(noqa|type:\s*ignore|pragma:\s*no cover|pragma:\s*no branch)(.*)")
_CODE = {"noqa": re.compile(r":\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*"), "type": re.compile(r"\[[a-z-]+(,\s*[a-z-]+)*\]")}
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
_SHAPELESS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}


def silent_waiver(source: Source) -> Iterator[str]:
    """A waiver names what it waives and, behind that, why."""
    for line, comment in source.comments:
        found = _WAIVER.search(comment)
        if not found:
            continue
        rest = found[2]
        expected = _CODE.get(found[1].partition(":")[0])
        if expected:
            code = expected.match(rest)
            if not code:
                yield f"{line} the waiver names no code: {comment}"
                continue
            rest = rest[code.end() :]
        if len(rest.strip(" -#:,")) < 5:
            yield f"{line} the waiver gives no reason: {comment}"


def unfinished(source: Source) -> Iterator[str]:
    """Nothing is handed in to be finished later."""
    for line, comment in source.comments:
        if _UNFINISHED.search(comment):
            yield f"{line} is marked as unfinished: {comment}"
    for node in source.nodes:
        if isinstance(node, ast.Raise) and node.exc and "NotImplementedError" in ast.unparse(node.exc):
            yield f"{node.lineno} raises NotImplementedError"


def untold(source: Source) -> Iterator[str]:
    """A module says why it exists, and what is public says what it promises; a test says in a sentence what holds."""
    if PurePosixPath(source.path).name == "__init__.py" and not source.text.strip():
        return
    if not source.within("migrations/") and not ast.get_docstring(source.tree):
        yield "1 the module has no docstring"
    public = [node for node in source.tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    owners: list[ast.Module | ast.ClassDef] = [source.tree, *public]
    for owner in owners:
        for node in owner.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            is_test = node.name.startswith(("test_", "Test"))
            if (is_test or source.within("mtbot/")) and not ast.get_docstring(node) and not _is_overload(node):
                yield f"{node.lineno} {node.name} has no docstring"


def shapeless_name(source: Source) -> Iterator[str]:
    """A file is named for what it holds."""
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if set(part.split("_")) & _SHAPELESS:
            yield f"1 {part} says nothing about what is in it"


def waiting_test(source: Source) -> Iterator[str]:
    """A test waits for an event and never for a while; a test is never marked as not to be run."""
    if not source.within("tests/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name == "time.sleep":
                yield f"{node.lineno} sleeps"
            elif re.search(r"\bmark\.(skip|skipif|xfail)$|^pytest\.xfail$", name):
                yield f"{node.lineno} is not run: {name}"


def _is_overload(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("overload" in ast.unparse(item) for item in node.decorator_list)


WRITING_RULES = (
    CodeRule(
        "waiver",
        silent_waiver,
        planted=(
            ("mtbot/a.py", "import x  # noqa - it is needed\n"),
            ("mtbot/a.py", "import x  # noqa: F401\n"),
            ("mtbot/a.py", "x = 1  # type: ignore[assignment]\n"),
            ("mtbot/a.py", "x = 1  # pragma: no cover\n"),
        ),
        spared=(
            ("mtbot/a.py", "import x  # noqa: F401, E402 - it is needed\n"),
            ("mtbot/a.py", "x = 1  # type: ignore[assignment]  # the stub is wrong\n"),
        ),
    ),
    CodeRule(
        "finished",
        unfinished,
        planted=(
            ("mtbot/a.py", "x = 1  # TODO: more\n"),
            ("mtbot/a.py", "def f():\n    raise NotImplementedError('f')\n"),
        ),
        spared=(
            ("mtbot/a.py", "x = 'grep TODO'\n"),
            ("mtbot/a.py", "def f():\n    try:\n        g()\n    except NotImplementedError:\n        pass\n"),
        ),
    ),
    CodeRule(
        "docstring",
        untold,
        planted=(
            ("tests/a.py", "x = 1\n"),
            ("mtbot/a.py", '"""Why."""\nclass A:\n    """What."""\n    def f(self): ...\n'),
            ("tests/a.py", '"""Why."""\nasync def test_it() -> None: ...\n'),
        ),
        spared=(
            ("mtbot/a/__init__.py", ""),
            ("mtbot/a.py", '"""Why."""\nclass A:\n    """What."""\n    def _f(self): ...\n'),
            ("tests/a.py", '"""Why."""\nasync def build() -> None: ...\n'),
        ),
    ),
    CodeRule(
        "name",
        shapeless_name,
        planted=(("mtbot/gate/call_helpers.py", ""), ("mtbot/utils/a.py", "")),
        spared=(("mtbot/gate/call.py", ""),),
    ),
    CodeRule(
        "waiting",
        waiting_test,
        planted=(
            ("tests/a.py", "import time\ntime.sleep(1)\n"),
            ("tests/a.py", "@pytest.mark.skipif(True, reason='x')\ndef f(): ...\n"),
        ),
        spared=(("mtbot/a.py", "import time\ntime.sleep(1)\n"), ("tests/a.py", "pytest.skip('needs: bash')\n")),
    ),
)

"""The program of the spawner stands alone: the standard library, its own folder, and nothing else."""

import ast
import sys
from pathlib import Path

import mtbot.processes

ROOM = Path(mtbot.processes.__file__).parent
PROGRAM = [ROOM / "child.py", *sorted((ROOM / "spawner").glob("*.py"))]


def imported(source: Path) -> set[str]:
    """Return the top-level names that a file imports absolutely."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{source.name} reaches out of its folder"
    return names


def test_the_spawner_imports_nothing_but_the_standard_library() -> None:
    """No module of mtbot and no package is loaded into the process that forks."""
    assert len(PROGRAM) > 5
    for source in PROGRAM:
        assert imported(source) <= sys.stdlib_module_names, source.name


def test_the_spawner_imports_nothing_that_is_slow() -> None:
    """What costs more than the fork that it serves stays out."""
    slow = {
        "asyncio",
        "dataclasses",
        "inspect",
        "logging",
        "pathlib",
        "subprocess",
        "tempfile",
        "typing",
        "multiprocessing",
    }
    assert not [source.name for source in PROGRAM if imported(source) & slow]

"""Every Python file of the project, read and parsed once per process."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """A file by its path from the top of the project, with ``/``."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The file as a tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def comments(self) -> tuple[tuple[int, str], ...]:
        """Every comment with its line."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return tuple((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)

    @cached_property
    def imports(self) -> tuple[tuple[int, str], ...]:
        """Every imported module with its line, as a dotted name; ``from a import b`` counts as ``a``."""
        found: list[tuple[int, str]] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append((node.lineno, "." * node.level + (node.module or "")))
        return tuple(found)

    def calls(self) -> Iterator[tuple[int, str, ast.Call]]:
        """Every call with its line and the last name of what is called."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name):
                    yield node.lineno, node.func.id, node
                elif isinstance(node.func, ast.Attribute):
                    yield node.lineno, node.func.attr, node

    def within(self, *places: str) -> bool:
        """Whether the file is one of ``places``, or below one that ends in ``/``."""
        return any(self.path.startswith(place) if place.endswith("/") else self.path == place for place in places)


@cache
def sources() -> tuple[Source, ...]:
    """All files of the product, the tests, the benchmarks and the migrations."""
    found: list[Path] = []
    for top in ("mtbot", "tests", "benchmarks", "migrations"):
        found += sorted((ROOT / top).rglob("*.py"))
    return tuple(Source(path.relative_to(ROOT).as_posix(), path.read_text()) for path in found)

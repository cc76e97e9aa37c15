"""Only bootstrap constructs what stands behind a port; everybody else receives it."""

import ast
from collections.abc import Iterator

from tests.architecture.sources import Source, sources

PORTS = "mtbot/domain/ports.py"


Method = tuple[str, ...]
"""A method by its name and those of its arguments, which a class has to keep where it stands behind a port."""


def methods(node: ast.ClassDef) -> frozenset[Method]:
    """The methods that a class offers; a property is none."""
    return frozenset(
        (item.name, *(argument.arg for argument in (*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs)))
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        and not item.name.startswith("_")
        and not any(isinstance(mark, ast.Name) and mark.id == "property" for mark in item.decorator_list)
    )


def is_protocol(node: ast.ClassDef) -> bool:
    """Whether a class only describes."""
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def classes(source: Source) -> Iterator[ast.ClassDef]:
    """The classes of a file."""
    return (node for node in source.nodes if isinstance(node, ast.ClassDef))


def behind_ports(files: tuple[Source, ...]) -> dict[str, str]:
    """The classes that offer every method of some port, with that port."""
    ports = {
        node.name: methods(node)
        for source in files
        if source.path == PORTS
        for node in classes(source)
        if is_protocol(node) and methods(node)
    }
    found = {}
    for source in files:
        for node in classes(source):
            if source.path == PORTS or is_protocol(node):
                continue
            offered = methods(node)
            ported = sorted(name for name, needed in ports.items() if needed <= offered)
            if ported:
                found[node.name] = ", ".join(ported)
    return found


def constructions(files: tuple[Source, ...], names: dict[str, str]) -> list[str]:
    """Where those classes are constructed outside bootstrap."""
    return [
        f"{source.path}:{line} constructs {name}, which stands behind {names[name]}"
        for source in files
        if not source.within("mtbot/bootstrap/")
        for line, name, _ in source.calls()
        if name in names
    ]


def test_only_bootstrap_constructs_what_stands_behind_a_port() -> None:
    """No part of the product builds a driver for itself."""
    product = tuple(source for source in sources() if source.within("mtbot/"))
    assert constructions(product, behind_ports(product)) == []


def test_a_construction_elsewhere_is_seen() -> None:
    """A class is recognised by its methods, whatever it is called, and its construction by its name."""
    files = (
        Source(PORTS, "class Clock(Protocol):\n    def now_ms(self): ...\n    def text(self, at): ...\n"),
        Source("mtbot/storage/a.py", "class Sundial:\n    def now_ms(self): ...\n    def text(self, at): ...\n"),
        Source("mtbot/storage/b.py", "class Half:\n    def now_ms(self): ...\n    def text(self): ...\n"),
        Source("mtbot/gate/a.py", "x = a.Sundial()\ny = Half()\n"),
        Source("mtbot/bootstrap/a.py", "x = Sundial()\n"),
    )
    told = ["mtbot/gate/a.py:1 constructs Sundial, which stands behind Clock"]
    assert constructions(files, behind_ports(files)) == told

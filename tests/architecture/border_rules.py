"""Who may touch what: the pure core, one door per library, and the two types that only one place makes."""

import ast
import sys
from collections.abc import Iterator

from tests.architecture.rule import CodeRule
from tests.architecture.sources import Source

CORE = ("mtbot/policy/", "mtbot/redaction/", "mtbot/domain/", "mtbot/audit.py")

SPAWNER = "mtbot/processes/spawner/"
"""A program of its own, which must start without the rest: its files name each other without naming mtbot."""

PURE_MODULES = {
    *("__future__", "base64", "binascii", "bisect", "collections", "dataclasses", "enum", "fnmatch", "functools"),
    *("hashlib", "hmac", "itertools", "json", "re", "string", "types", "typing", "unicodedata"),
}
"""Top-level modules of the standard library that the core may import: none reads a clock, a file, a random number."""

IMPURE_CALLS = {
    *("open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__", "globals", "vars"),
    *("now", "utcnow", "today", "getenv", "read_text", "write_text", "read_bytes", "write_bytes"),
}

DOORS: dict[str, tuple[str, ...]] = {
    "aiogram": ("mtbot/channels/telegram/",),
    "aiohttp": ("mtbot/simulator/",),
    "alembic": ("mtbot/storage/", "migrations/"),
    "anyio": ("mtbot/net/", "mtbot/llm/"),
    "apscheduler": ("mtbot/cron/",),
    "bashlex": ("mtbot/policy/bashlex_reading.py",),
    "click": ("mtbot/cli/",),
    "cronsim": ("mtbot/cron/",),
    "httpcore": ("mtbot/net/", "mtbot/tools/"),
    "httpx": ("mtbot/net/", "mtbot/llm/", "mtbot/tools/", "mtbot/channels/telegram/"),
    "markdown_it": ("mtbot/channels/telegram/",),
    "nacl": ("mtbot/storage/seal.py",),
    "psycopg": ("mtbot/storage/",),
    "pydantic": ("mtbot/config/", "mtbot/channels/telegram/"),
    "pydantic_core": ("mtbot/config/",),
    "re2": ("mtbot/policy/rule.py", "mtbot/redaction/patterns.py"),
    "ruamel": ("mtbot/config/", "mtbot/cli/"),
    "sqlalchemy": ("mtbot/storage/", "migrations/"),
    "sqlmodel": ("mtbot/storage/", "migrations/"),
    "structlog": (
        "mtbot/bootstrap/",
        "mtbot/gateway/",
        "mtbot/agent/",
        "mtbot/gate/",
        "mtbot/channels/",
        "mtbot/cron/",
        "mtbot/control/",
    ),
    "trafilatura": ("mtbot/tools/",),
    "tree_sitter": ("mtbot/policy/treesitter_reading.py",),
    "tree_sitter_bash": ("mtbot/policy/treesitter_reading.py",),
    "yaml": ("mtbot/config/",),
}
"""Every library that the product may import, and where; one that is not named here has no door."""


def impure_import(source: Source) -> Iterator[str]:
    """The core imports itself, a few harmless modules, and the readers that have a door in it."""
    if not source.within(*CORE):
        return
    for line, module in source.imports:
        top = module.partition(".")[0]
        if top in PURE_MODULES or top == "mtbot" or module == "urllib.parse" or top in DOORS:
            continue
        yield f"{line} the core imports {module}"


def impure_call(source: Source) -> Iterator[str]:
    """The core does nothing to the world and asks it nothing."""
    if not source.within(*CORE):
        return
    for line, name, call in source.calls():
        compiles_a_pattern = name == "compile" and isinstance(call.func, ast.Attribute)
        if name in IMPURE_CALLS and not compiles_a_pattern:
            yield f"{line} the core calls {name}()"


def other_door(source: Source) -> Iterator[str]:
    """A library is imported only where its door is."""
    if not source.within("mtbot/", "migrations/"):
        return
    for line, module in source.imports:
        top = module.partition(".")[0]
        if top in {"mtbot", "migrations"} or top in sys.stdlib_module_names:
            continue
        if module.startswith("."):
            if not source.within(SPAWNER):
                yield f"{line} imports by a relative name"
        elif not source.within(*DOORS.get(top, ())):
            yield f"{line} imports {top}, which has its door in {', '.join(DOORS.get(top, ('no place',)))}"


def stranger(source: Source) -> Iterator[str]:
    """What starts without the product knows nothing of it: the spawner's own program runs on the standard library."""
    if not source.within("mtbot/processes/child.py", SPAWNER):
        return
    for line, module in source.imports:
        neighbour = module.startswith((".", "spawner")) and not module.startswith("..")
        if module.partition(".")[0] not in sys.stdlib_module_names and not neighbour:
            yield f"{line} the spawner imports {module}"


def forged_permit(source: Source) -> Iterator[str]:
    """Only the gate says that a call may be performed."""
    if not source.within("mtbot/") or source.within("mtbot/gate/"):
        return
    for line, name, _ in source.calls():
        if name == "Permit":
            yield f"{line} makes a Permit"


def forged_safe_text(source: Source) -> Iterator[str]:
    """Only the redactor says that a text is safe; a cast would say so as well."""
    if not source.within("mtbot/") or source.within("mtbot/redaction/mask.py"):
        return
    for line, name, call in source.calls():
        if name == "SafeText" or (name == "cast" and call.args and "SafeText" in ast.unparse(call.args[0])):
            yield f"{line} makes a SafeText"


BORDER_RULES = (
    CodeRule(
        "core-imports",
        impure_import,
        planted=(("mtbot/policy/a.py", "from os import path\n"), ("mtbot/audit.py", "import asyncio\n")),
        spared=(("mtbot/policy/a.py", "import re\nfrom urllib.parse import urlsplit\n"),),
    ),
    CodeRule(
        "core-calls",
        impure_call,
        planted=(
            ("mtbot/audit.py", "def f(clock):\n    return clock.now()\n"),
            ("mtbot/domain/a.py", "def f(code):\n    return compile(code, '', 'exec')\n"),
        ),
        spared=(
            ("mtbot/audit.py", "import re\n_X = re.compile('x')\n"),
            ("mtbot/storage/a.py", "x = open('y')\n"),
        ),
    ),
    CodeRule(
        "one-door",
        other_door,
        planted=(
            ("mtbot/gateway/a.py", "def f():\n    from sqlalchemy import text\n"),
            ("mtbot/policy/rules/a.py", "import re2\n"),
            ("mtbot/tools/a.py", "import requests\n"),
            ("mtbot/tools/a.py", "from . import b\n"),
        ),
        spared=(("mtbot/storage/a.py", "from sqlalchemy import text\nimport socket\n"),),
    ),
    CodeRule(
        "spawner-alone",
        stranger,
        planted=(
            ("mtbot/processes/spawner/a.py", "from mtbot.domain.ids import CallId\n"),
            ("mtbot/processes/child.py", "import re2\n"),
        ),
        spared=(("mtbot/processes/spawner/a.py", "import socket\nfrom .wire import read\n"),),
    ),
    CodeRule(
        "permit",
        forged_permit,
        planted=(("mtbot/tools/a.py", "x = call.Permit(digest)\n"),),
        spared=(("mtbot/gate/a.py", "x = Permit(digest)\n"),),
    ),
    CodeRule(
        "safe-text",
        forged_safe_text,
        planted=(
            ("mtbot/gate/a.py", "x = cast('SafeText', raw)\n"),
            ("mtbot/redaction/display.py", "x = SafeText(raw)\n"),
        ),
        spared=(("mtbot/redaction/mask.py", "x = SafeText(raw)\n"),),
    ),
)

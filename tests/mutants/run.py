"""``make mutants``: remove each deny rule, allow check, lexer check and gate step in turn; each removal must fail a test.

    python -m tests.mutants.run [PART OF A NAME]

A textual mutant is applied to a copy of the project in a temporary directory; a deny rule is taken away by a plugin.
The tests named beside a mutant run until the first failure. A mutant that no test notices is printed and counts.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtbot.policy.rules import RULES
from tests.mutants.cuts import CUTS, Cut

PROJECT = Path(__file__).parents[2]
DENY_TESTS = ("tests/unit/policy/test_deny.py", "tests/unit/policy/rules", "tests/unit/policy/test_deny_corpus.py")


@dataclass(frozen=True, slots=True)
class Result:
    """Whether a mutant was noticed, and by what."""

    name: str
    noticed: bool
    by: str


def main(arguments: Sequence[str]) -> int:
    """Run every mutant whose name holds the argument; 1 if one of them lives."""
    wanted = arguments[0] if arguments else ""
    lives = 0
    total = 0
    for result in results(wanted):
        total += 1
        lives += not result.noticed
        print(f"{'noticed' if result.noticed else 'LIVES  '}  {result.name}  {result.by}", flush=True)
    print(f"{total} mutants, {lives} not noticed")
    return 1 if lives or not total else 0


def results(wanted: str) -> Iterator[Result]:
    """Every mutant in turn."""
    for rule in RULES:
        name = f"deny rule {rule.id}"
        if wanted in name:
            yield _judge(name, PROJECT, [test for test in DENY_TESTS if (PROJECT / test).exists()], rule.id)
    with tempfile.TemporaryDirectory(prefix="mtclaw-mutants-") as directory:
        copy = Path(directory) / "project"
        for part in ("mtbot", "tests", "migrations", "config", "docs", "pyproject.toml"):
            source = PROJECT / part
            if source.is_dir():
                shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / part)
        for cut in CUTS:
            if wanted in cut.name:
                yield _cut(copy, cut)


def _cut(copy: Path, cut: Cut) -> Result:
    file = copy / cut.file
    text = file.read_text()
    if text.count(cut.old) != 1:
        return Result(cut.name, noticed=False, by=f"(its text occurs {text.count(cut.old)} times in {cut.file})")
    file.write_text(text.replace(cut.old, cut.new))
    try:
        return _judge(cut.name, copy, cut.tests, None)
    finally:
        file.write_text(text)


def _judge(name: str, directory: Path, tests: Sequence[str], rule: str | None) -> Result:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header"]
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
    if rule is not None:
        command += ["-p", "tests.mutants.without_rule"]
        environment["MTCLAW_WITHOUT_RULE"] = rule
    try:
        done = subprocess.run(
            [*command, *tests], cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
    except subprocess.TimeoutExpired:
        return Result(name, noticed=False, by="(the tests did not end within ten minutes)")
    failed = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    if done.returncode not in (0, 1):
        return Result(name, noticed=False, by=f"(the tests could not run: {done.stdout[-300:]}{done.stderr[-300:]})")
    return Result(name, noticed=done.returncode == 1, by=failed[:120])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One verb does everything, on a machine that has only Python, make and bash; what CI runs is that verb."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

PROMISED = (
    "demo",
    "install",
    "uninstall",
    "test",
    "check",
    "format",
    "docs",
    "fuzz",
    "crash",
    "interop",
    "mutants",
    "bench",
    "lock",
    "clean",
)
"""The targets that the project's texts speak of."""


def make(directory: Path, *words: str, python: str = "python3") -> subprocess.CompletedProcess[str]:
    """Run make in a directory with nothing on the PATH but system programs, and the checkout's own python3."""
    return subprocess.run(
        ["make", "--no-print-directory", f"PYTHON={python}", *words],
        cwd=directory,
        env={"PATH": f"{directory / 'bin'}:/usr/bin:/bin", "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh checkout, as far as make looks at it: no environment, no stamps."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin/python3", "exit 0")
    return tmp_path


def program(path: Path, text: str) -> str:
    """A program that stands in for a Python."""
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_make_alone_tells_every_target() -> None:
    """``make`` lists exactly what there is, each with what it does."""
    told = make(ROOT).stdout.splitlines()
    assert sorted(line.split()[1] for line in told) == sorted(("help", *PROMISED))
    assert all(len(line.split()) > 3 for line in told)


def test_the_demo_is_set_up_from_the_first_lock_and_then_run(checkout: Path) -> None:
    """A fresh machine gets the environment, the locked packages with hashes, the command, and then the demo."""
    steps = [re.sub(r"--(disable-pip-version-check|no-input|quiet) ", "", line) for line in plan(checkout, "demo")]
    assert steps == [
        "python3 -m venv --clear .venv",
        ".venv/bin/python -m pip install --require-hashes -r requirements.lock",
        "touch .venv/runtime.stamp",
        ".venv/bin/python -m pip install --no-build-isolation --no-deps --editable .",
        "touch .venv/package.stamp",
        ".venv/bin/mtclaw demo",
    ]


def test_nothing_is_installed_again_while_the_locks_stand(checkout: Path) -> None:
    """With stamps younger than the locks the demo only runs."""
    (checkout / ".venv/bin").mkdir(parents=True)
    for name in ("bin/python", "runtime.stamp", "package.stamp"):
        (checkout / ".venv" / name).touch()
    assert plan(checkout, "demo") == [".venv/bin/mtclaw demo"]


def test_a_new_lock_is_installed(checkout: Path) -> None:
    """A lock that is younger than its stamp is installed before anything runs."""
    (checkout / ".venv/bin").mkdir(parents=True)
    for name in ("bin/python", "runtime.stamp", "package.stamp"):
        (checkout / ".venv" / name).touch()
    stamp = (checkout / ".venv/runtime.stamp").stat()
    os.utime(checkout / "requirements.lock", ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 10**9))
    assert any("--require-hashes -r requirements.lock" in line for line in plan(checkout, "demo"))


def test_the_tests_come_last_and_everything_else_before_them(checkout: Path) -> None:
    """Layout, lint, types, layers and generated files are checked before the one run of pytest that closes it all."""
    programs = [line.split()[0].removeprefix(".venv/bin/") for line in plan(checkout, "test")]
    after = programs[programs.index("ruff") :]
    assert after == ["ruff", "ruff", "mypy", "lint-imports", "python", "python"]
    assert "-m pytest" in plan(checkout, "test")[-1]


@pytest.mark.parametrize("target", ["demo", "test", "install"])
def test_a_python_that_cannot_make_environments_is_told_in_one_line(target: str, checkout: Path) -> None:
    """The Debian package is named, and nothing is made."""
    python = program(checkout / "stand-in", '[[ "$*" == "-c import ensurepip" ]] && exit 1; exit 0')
    ran = make(checkout, target, python=python)
    told = f"{python} cannot make environments: install the Debian package python3-venv (apt-get install python3-venv)"
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n"), told in ran.stderr) == (2, "", 1, True)
    assert not (checkout / ".venv").exists()


def test_a_python_that_is_too_old_is_told_in_one_line(checkout: Path) -> None:
    """The version that is there and the one that is needed are named."""
    ran = make(
        checkout, "demo", python=program(checkout / "stand-in", "[[ $1 == --version ]] && echo Python 3.9.2; exit 1")
    )
    told = "Python 3.9.2 is too old: mtclaw needs 3.11 or newer"
    assert (ran.returncode, ran.stderr.count("\n"), told in ran.stderr) == (2, 1, True)


def test_a_python_that_is_not_there_is_told_in_one_line(checkout: Path) -> None:
    """The missing program is named."""
    ran = make(checkout, "demo", python="python9")
    assert (ran.returncode, ran.stderr.count("\n"), "python9 is not installed" in ran.stderr) == (2, 1, True)


def test_install_leaves_another_program_of_that_name_alone(checkout: Path) -> None:
    """What stands in the way is named, kept, and nothing is made."""
    other = Path(os.environ["HOME"]) / ".local/bin/mtclaw"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    ran = make(checkout, "install", python=program(checkout / "stand-in", "exit 0"))
    assert (ran.returncode, ran.stderr.splitlines()[0]) == (2, f"{other} is something else: move it away first")
    assert (other.read_text(), list(other.parents[1].iterdir())) == ("mine", [other.parent])


def test_ci_runs_make_test_and_nothing_after_it() -> None:
    """The script is sound, is executable, and hands over to the one verb with CI set."""
    script = ROOT / ".ci/run"
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=10)
    lines = script.read_text().splitlines()
    assert (lines[0], os.access(script, os.X_OK)) == ("#!/bin/bash", True)
    assert lines[-1] == 'exec make --no-print-directory test PYTHON="$PYTHON"'
    assert 'export CI="${CI:-true}" DEBIAN_FRONTEND=noninteractive' in lines


def plan(directory: Path, target: str) -> list[str]:
    """The commands that a target would run, each on a line without layout."""
    ran = make(directory, "--dry-run", target)
    assert ran.returncode == 0, ran.stderr
    return [" ".join(line.split()) for line in ran.stdout.splitlines()]

"""What a test may see of the machine: no home of a person, no variable that could hold a secret, one time zone.

The process is put into these surroundings before any test module is imported, so that imports and session fixtures are
under the same rule; each test then gets a home of its own.
"""

import ctypes
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from mtbot.processes.spawner import kernel

_KEPT = re.compile(
    r"PATH|TMPDIR|TERM|USER|LOGNAME|SHELL|CI"  # what programs need to start at all
    r"|(PYTHON|PYTEST|PYENV|COV|COVERAGE|HYPOTHESIS|VIRTUAL_ENV|LD_LIBRARY|MTCLAW_TEST)\w*"  # what runs the tests
)
FIXED = {"LANG": "C.UTF-8", "TZ": "UTC"}

_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36
_numbers = count(1)


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """What tests see of an environment: only names that are known to hold no secret, and what is the same everywhere."""
    return {name: value for name, value in environment.items() if _KEPT.fullmatch(name)} | FIXED


def enter() -> tempfile.TemporaryDirectory[str]:
    """Leave the person's home and environment behind; the directory that is HOME until a test has its own."""
    home = tempfile.TemporaryDirectory(prefix="mtclaw-home-")
    environment = kept(os.environ) | {"HOME": home.name}
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    return home


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the homes of the tests lie."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home for every test."""
    own = homes / str(next(_numbers))
    own.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(own))
    yield own
    if not any(own.iterdir()):
        own.rmdir()


@pytest.fixture(autouse=True)
def unhardened() -> Iterator[None]:
    """A command line that ran inside a test hardens this process; the next test must find it as it was.

    Above all it must not stay the parent of orphans: a runner whose spawner dies ends every child of such a process, and
    here that would be the database server of other tests.
    """
    yield
    if kernel.adopts_orphans():
        prctl = ctypes.CDLL(None).prctl
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        prctl(_SET_DUMPABLE, 1, 0, 0, 0)

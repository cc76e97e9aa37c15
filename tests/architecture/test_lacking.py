"""A skip names what the machine lacks, and where nothing may be lacking it fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.lacking import objection

IN_A_TEST = "import pytest\ndef test_it():\n    pytest.skip('needs: a moon')\n"
IN_A_FIXTURE = """
import pytest
@pytest.fixture
def part():
    pytest.skip('needs: a moon')
def test_it(part):
    pass
"""
OF_A_FILE = "import pytest\npytest.skip('needs: a moon', allow_module_level=True)\n"


def run(directory: Path, sample: str, *, ci: bool) -> str:
    """The last line of a run over one sample."""
    (directory / "test_sample.py").write_text(sample)
    (directory / "pytest.ini").write_text("[pytest]\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.lacking", "-p", "no:cacheprovider", "-p", "no:randomly", "."],
        cwd=directory,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(directory)} | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.stdout.splitlines()[-1].strip("= ").partition(" in ")[0]


def test_a_lack_is_no_fault_where_things_may_be_lacking() -> None:
    """On a person's machine a skip that names what it needs is in order."""
    assert objection("needs: bubblewrap", everything_is_there=False) is None


def test_a_lack_is_a_fault_where_everything_is_meant_to_be_there() -> None:
    """In CI the same skip is a failure that names the lack."""
    told = "this machine is meant to have everything, but the test needs: bubblewrap"
    assert objection("needs: bubblewrap", everything_is_there=True) == told


@pytest.mark.parametrize("everything_is_there", [False, True])
def test_no_other_reason_lets_a_test_be_skipped(everything_is_there: bool) -> None:
    """A skip for convenience fails everywhere."""
    told = "a skip must say what the machine lacks ('needs: ...'), not: flaky"
    assert objection("flaky", everything_is_there=everything_is_there) == told


@pytest.mark.parametrize(
    ("sample", "in_ci"),
    [(IN_A_TEST, "1 failed"), (IN_A_FIXTURE, "1 error"), (OF_A_FILE, "1 error")],
    ids=["test", "fixture", "file"],
)
def test_a_skip_is_counted_as_what_it_is(sample: str, in_ci: str, tmp_path: Path) -> None:
    """The last line counts a lack as skipped, and in CI as a failure of the test, its fixture or its file."""
    assert [run(tmp_path, sample, ci=ci) for ci in (False, True)] == ["1 skipped", in_ci]

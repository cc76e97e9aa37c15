"""The floors of coverage judge what coverage measured, and a missed one fails the run."""

import json
import subprocess
import sys
from pathlib import Path

from tests.architecture.coverage_floor import FLOORS, Covered, measured, missed
from tests.architecture.sources import ROOT

WHOLE = {f"{place}a.py" if place.endswith("/") else place: Covered(900, 900) for place in FLOORS}


def test_a_run_that_reaches_every_floor_is_in_order() -> None:
    """Nothing is missed where the core is covered whole and the rest to nine tenths."""
    assert list(missed(WHOLE | {"mtbot/cli/run.py": Covered(0, 400)})) == []


def test_one_branch_of_the_core_is_enough_to_miss_its_floor() -> None:
    """A core file is told by its places, however little of it is missing."""
    files = WHOLE | {"mtbot/policy/lexer.py": Covered(999, 1000, "7->9")}
    assert list(missed(files)) == ["mtbot/policy/lexer.py is covered to 99.9 %, not 100 %: 7->9"]


def test_everything_together_has_a_floor() -> None:
    """Files outside the core count together."""
    files = WHOLE | {"mtbot/cli/run.py": Covered(0, 401)}
    assert list(missed(files)) == ["everything together is covered to 90.0 %, not 90 %"]


def test_a_part_of_the_core_that_was_not_measured_is_missed() -> None:
    """A floor cannot be reached by measuring nothing."""
    files = {path: covered for path, covered in WHOLE.items() if path != "mtbot/audit.py"}
    assert list(missed(files)) == ["mtbot/audit.py was not measured"]


def test_lines_and_branches_count_together() -> None:
    """The numbers are those of coverage's report, with the places that are missing."""
    summary = {"covered_lines": 8, "num_statements": 10, "covered_branches": 3, "num_branches": 4}
    entry = {"summary": summary, "missing_lines": [5, 6], "missing_branches": [[4, 5]]}
    report = json.dumps({"files": {"mtbot/a.py": entry}})
    assert measured(report) == {"mtbot/a.py": Covered(11, 14, "5, 6, 4->5")}


def test_a_missed_floor_fails_the_run_and_is_counted_in_its_last_line(tmp_path: Path) -> None:
    """A run whose tests pass and that covers too little ends with an error and status 1."""
    sample = tmp_path / "test_sample.py"
    sample.write_text("def test_nothing():\n    assert True\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "mtbot").mkdir()
    (tmp_path / "mtbot" / "audit.py").write_text("x = 1\n")
    (tmp_path / ".coveragerc").write_text("[run]\nbranch = true\nsource = mtbot\n")
    plugin = "tests.architecture.coverage_floor"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", plugin, "-p", "no:cacheprovider", "--cov", "--cov-report=", "."],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert "mtbot/audit.py is covered to 0.0 %, not 100 %: 1" in ran.stdout
    assert "1 passed, 1 error in" in ran.stdout.splitlines()[-1]

"""Holds a run with coverage to its floors, as a plugin: ``pytest -p tests.architecture.coverage_floor --cov``.

The core is covered whole, with every branch; all of it together to nine tenths. A floor that is missed is one more error
of the run, so that the last line says so and the exit status with it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from coverage import Coverage

FLOORS: Mapping[str, float] = {
    "mtbot/policy/": 100.0,
    "mtbot/audit.py": 100.0,
    "mtbot/redaction/": 100.0,
    "mtbot/domain/": 100.0,
}
"""What each file at or below a place has to reach, in percent."""

OVERALL = 90.0


@dataclass(frozen=True, slots=True)
class Covered:
    """What was run of a file, lines and branches counted together, and where the rest is."""

    seen: int
    whole: int
    missing: str = ""

    @property
    def percent(self) -> float:
        """A file in which there is nothing to run is covered."""
        return 100.0 * self.seen / self.whole if self.whole else 100.0


def missed(files: Mapping[str, Covered]) -> Iterator[str]:
    """Every floor that is missed, in a sentence each."""
    for path, covered in sorted(files.items()):
        floor = max((floor for place, floor in FLOORS.items() if path.startswith(place)), default=0.0)
        if covered.percent < floor:
            yield f"{path} is covered to {covered.percent:.1f} %, not {floor:.0f} %: {covered.missing}"
    for place in FLOORS:
        if not any(path.startswith(place) for path in files):
            yield f"{place} was not measured"
    together = Covered(sum(one.seen for one in files.values()), sum(one.whole for one in files.values()))
    if together.percent < OVERALL:
        yield f"everything together is covered to {together.percent:.1f} %, not {OVERALL:.0f} %"


def measured(report: str) -> dict[str, Covered]:
    """The files of coverage's own JSON report."""
    found = {}
    for path, entry in json.loads(report)["files"].items():
        numbers = entry["summary"]
        branches = [f"{start}->{end}" for start, end in entry.get("missing_branches", ())]
        found[path] = Covered(
            numbers["covered_lines"] + numbers.get("covered_branches", 0),
            numbers["num_statements"] + numbers.get("num_branches", 0),
            _first([*(str(line) for line in entry["missing_lines"]), *branches]),
        )
    return found


def _first(places: list[str], count: int = 12) -> str:
    more = len(places) - count
    return ", ".join(places[:count]) + (f" and {more} more" if more > 0 else "")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Judge the run, in the process that has the numbers of all workers; a run that failed anyway is not judged."""
    if (
        hasattr(session.config, "workerinput")
        or session.testsfailed
        or not session.config.pluginmanager.hasplugin("_cov")
    ):
        return
    target = Path(str(session.config.rootpath), ".coverage.json")
    coverage = Coverage()
    coverage.load()
    coverage.json_report(outfile=str(target))
    faults = list(missed(measured(target.read_text())))
    target.unlink()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if faults and reporter is not None:
        fault = pytest.TestReport("coverage", ("", None, "coverage"), {}, "failed", "\n".join(faults), "teardown")
        reporter.stats.setdefault("error", []).append(fault)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

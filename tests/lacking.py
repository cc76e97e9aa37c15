"""A skip may only say what the machine lacks, and where everything is meant to be there it is a failure.

A test that needs something of the machine calls ``pytest.skip("needs: bubblewrap")``; the reasons stand by name above
the last line of the run, which counts them. With CI set nothing may be lacking, so there the same skip fails; any other
reason for a skip fails everywhere.
"""

import os
from collections.abc import Generator

import pytest

NEEDS = "needs: "


def objection(reason: str, *, everything_is_there: bool) -> str | None:
    """Why a skip for ``reason`` is no skip but a failure; None for one that is in order."""
    if not reason.startswith(NEEDS):
        return f"a skip must say what the machine lacks ('{NEEDS}...'), not: {reason}"
    if everything_is_there:
        return f"this machine is meant to have everything, but the test {reason}"
    return None


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip that is not in order into a failure."""
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    fault = objection(reason, everything_is_there=bool(os.environ.get("CI")))
    if fault:
        report.outcome = "failed"
        report.longrepr = fault


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the skips of tests and of their fixtures."""
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the skips of whole files."""
    report = yield
    refuse_skip(report)
    return report

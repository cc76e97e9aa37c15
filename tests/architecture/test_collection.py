"""Test processes must agree on what there is to run, whenever and with whatever hash seed each of them was started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_another_process_collects_the_same_tests(request: pytest.FixtureRequest) -> None:
    """No id holds the hour, an address in memory, a set's order or a drawn number: pytest-xdist refuses to begin then."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-cov", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *request.config.args],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    collected = set(done.stdout.splitlines())
    assert [item.nodeid for item in request.session.items if item.nodeid not in collected] == []

"""The collector rests while a program loads, and for no longer."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mtbot.bootstrap import collector


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Other tests are collected as usual."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_rests_until_it_is_woken() -> None:
    """Then everything is as Python has it, and what was loaded is not looked through again."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    collector.rest()
    assert gc.isenabled()
    assert gc.get_threshold()[0] == 1_000_000
    collector.wake()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() > frozen


def test_one_that_did_not_rest_is_left_as_it_is() -> None:
    """As where a gateway is one of many in a process, and ends before it."""
    frozen = gc.get_freeze_count()
    collector.wake()
    assert gc.get_freeze_count() == frozen


def test_the_command_line_lets_it_rest() -> None:
    """From its start on."""
    code = (
        "import atexit, gc; from mtbot.cli.main import main; "
        "atexit.register(lambda: print(gc.get_threshold()[0])); main(['version'])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.splitlines()[-1] == "1000000"

"""What holds for every test: surroundings without a person in them, skips that name a lack, no deadline on a clock."""

import gc
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import settings

from mtbot.bootstrap import collector
from tests import surroundings
from tests.surroundings import home, homes, unhardened

pytest_plugins = ["tests.lacking"]

__all__ = ["home", "homes", "unhardened"]

# A slow machine is no fault of the code, and what a run found must be shown well enough to be run again.
settings.register_profile("mtclaw", deadline=None, print_blob=True)
settings.load_profile("mtclaw")

_home = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Before anything is collected."""
    config.stash[_home] = surroundings.enter()


def pytest_unconfigure(config: pytest.Config) -> None:
    """After everything."""
    config.stash[_home].cleanup()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The garbage collector rests meanwhile, as while mtclaw itself loads, and never looks at what was collected: all of it stays."""
    collector.rest()
    try:
        return (yield)
    finally:
        gc.freeze()
        collector.wake()

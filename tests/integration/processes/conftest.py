"""A real spawner for every test, and the check that it leaves nothing behind."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner

from .captive import NOBODY, ROOT, Confined
from .test_other_users import ordinary


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """A runner with a spawner of its own."""
    runner = Runner(start_spawner())
    yield runner
    await runner.close()
    assert not runner.alive


@pytest.fixture(scope="module", params=["itself", "ordinary"] if ROOT else ["itself"])
def confined(request: pytest.FixtureRequest) -> Iterator[Confined]:
    """One gateway for all attempts of a user."""
    folder = Path(f"/tmp/mtclaw-confined-{os.getpid()}-{request.param}")
    folder.mkdir(mode=0o755)
    command, uid = (ordinary(), NOBODY) if request.param == "ordinary" else ((sys.executable,), os.geteuid())
    try:
        with Confined(folder, command, uid) as made:
            yield made
    finally:
        shutil.rmtree(folder)

"""A real spawner for every test, and the check that it leaves nothing behind."""

from collections.abc import AsyncIterator

import pytest

from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """A runner with a spawner of its own."""
    runner = Runner(start_spawner())
    yield runner
    await runner.close()
    assert not runner.alive

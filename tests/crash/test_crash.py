"""SIGKILL at every named point of an exec call, and at random instants."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from tests.crash.points import POINTS
from tests.crash.scene import open_scene

RANDOM_KILLS = int(os.environ.get("MTCLAW_TEST_RANDOM_KILLS", "4"))


@pytest.mark.parametrize("point", [point.name for point in POINTS])
async def test_a_kill_at_this_point_leaves_an_honest_record_and_a_living_session(point: str, tmp_path: Path) -> None:
    """At most one run, none without its record, a whole chain, a told chat."""
    async with open_scene(tmp_path) as scene:
        await scene.start(point)
        playing = asyncio.create_task(scene.play())
        try:
            assert await scene.gone() == -signal.SIGKILL, "it ended otherwise"
        finally:
            await playing
        await scene.start()
        await scene.settle()
        assert await scene.stop() == 143
        await scene.check()


@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
async def test_a_kill_at_a_random_instant_does_too(seed: int, tmp_path: Path) -> None:
    """Instants are spread over the whole life of the call."""
    async with open_scene(tmp_path) as scene:
        await scene.start()
        playing = asyncio.create_task(scene.play())
        await asyncio.wait([playing], timeout=random.Random(seed).uniform(0.0, 1.0))
        await scene.kill()
        await asyncio.gather(playing, return_exceptions=True)
        await scene.start()
        await scene.settle()
        await scene.stop()
        await scene.check()

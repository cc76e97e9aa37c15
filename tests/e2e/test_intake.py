"""A small run of benchmarks/intake: what comes in is answered once and in order, and what waits holds nothing open."""

import sys
from pathlib import Path

from benchmarks.contenders import mtclaw
from benchmarks.gateway import FIRST, begin, end
from benchmarks.intake import KEPT_OPEN, answer, burst, held, park, rows, strangers
from mtbot.simulator.values import Person


async def test_nothing_is_lost_reordered_or_held_open(tmp_path: Path) -> None:
    """Bursts in several chats, people whom nobody knows, and questions that nobody answers."""
    people = [Person(FIRST + number, f"P{number}") for number in range(6)]
    scene = await begin(mtclaw((sys.executable, "-m", "mtbot.cli.main")), tmp_path, people, answer)
    try:
        assert await burst(scene, people[1:], 10) == 0
        stored = rows(tmp_path, "SELECT count(*) FROM inbox")
        assert stored == 50
        await strangers(scene, people[0], 0, 150)
        assert rows(tmp_path, "SELECT count(*) FROM inbox") == stored + 1, "a stranger left a row"
        before = held(scene)
        await park(scene, people[1:], "parked1x")
        after = held(scene)
        assert rows(tmp_path, "SELECT count(*) FROM parked_turns WHERE length(sealed) > 0") == 5
        assert after.threads + after.files <= before.threads + before.files + KEPT_OPEN
    finally:
        await end(scene)

"""What is known about containment, when it is tried again, and what is left of a call."""

import asyncio
import json
from pathlib import Path

import pytest

from mtbot.domain.process import ChildRequest, ChildStatus, Containment, Grants
from mtbot.processes import probe
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard, parts_for
from mtbot.processes.runner import Runner
from mtbot.processes.spawner import parts
from tests.integration.processes.scenes import PATH

NOTHING_GUARDED = Guard(lambda _path: False, lambda _path: False)
GOOD = json.dumps({"allowed": True, "made": []})


async def test_it_is_tried_once(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever asks meanwhile waits for the same answer."""
    tries: list[int] = []

    def command(_found: object) -> tuple[str, ...]:
        tries.append(1)
        return ("/bin/echo", GOOD)

    monkeypatch.setattr(probe, "command", command)
    confiner = Confiner(runner, NOTHING_GUARDED)
    before = confiner.known
    expected = Containment(files=True, network=True, signals=True)
    assert tuple(await asyncio.gather(confiner.state(), confiner.state())) == (expected, expected)
    assert before is None
    assert (await confiner.state(), confiner.known, await confiner.ready(), len(tries)) == (expected, expected, True, 1)


async def test_a_busy_host_is_asked_again(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that was stopped by its time limit has proved nothing for ever."""
    commands = [("/bin/sleep", "60"), ("/bin/echo", GOOD)]
    monkeypatch.setattr(probe, "SECONDS", 0.1)
    monkeypatch.setattr(probe, "command", lambda _found: commands.pop(0))
    confiner = Confiner(runner, NOTHING_GUARDED)
    assert not await confiner.ready()
    monkeypatch.setattr(probe, "SECONDS", 10.0)
    assert await confiner.ready()


async def test_closing_gives_up_a_probe(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for an answer that nobody needs any more."""
    monkeypatch.setattr(probe, "command", lambda _found: ("/bin/sleep", "60"))
    confiner = Confiner(runner, NOTHING_GUARDED)
    task = confiner.begin()
    await confiner.close()
    assert (task.cancelled(), confiner.known) == (True, None)


async def test_a_stopped_call_leaves_no_directory(runner: Runner) -> None:
    """Whatever it had in it."""
    children = RunnerChildren(runner, Confiner(runner, NOTHING_GUARDED))
    told: asyncio.Queue[bytes] = asyncio.Queue()
    request = ChildRequest(
        "c", ("bash", "-c", 'touch "$TMPDIR/x"; echo "$TMPDIR"; sleep 60'), "/", PATH, 30.0, profile="contained"
    )
    running = asyncio.ensure_future(children.run(request, told.put_nowait))
    private = (await told.get()).decode().strip()
    assert await children.stop("c")
    end = await running
    assert end.status is ChildStatus.STOPPED
    assert not await asyncio.to_thread(_exists, private)


async def test_without_a_confiner_nothing_is_contained(runner: Runner) -> None:
    """The profile is refused and never weakened."""
    end = await RunnerChildren(runner).run(
        ChildRequest("c", ("true",), "/", PATH, profile="contained", grants=Grants())
    )
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, "this host has no containment profile contained")


def test_every_part_that_is_asked_for_is_known_to_the_supervisor() -> None:
    """A name that one side mistypes would stop every contained command."""
    assert {part.name for part in parts_for(Grants(), (), "/tmp", NOTHING_GUARDED)} <= set(parts.PARTS)


def _exists(path: str) -> bool:
    return Path(path).exists()

"""The gateway does not wait for ever for a spawner or a supervisor that has fallen silent."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mtbot.processes import runner as module
from mtbot.processes.ending import EndStatus
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import SpawnerProcess, start_spawner

from .scenes import PATH, Heard, Watched, eventually, shell, spawner_children


@pytest.fixture
async def impatient(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runner]:
    """A runner that looks after its commands every few hundredths of a second."""
    monkeypatch.setattr(module, "_START_SECONDS", 0.3)
    monkeypatch.setattr(module, "_END_SECONDS", 0.3)
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.15)
    runner = Runner(start_spawner())
    await runner.ready()
    yield runner
    await runner.close()


async def test_a_stopped_spawner_is_woken(impatient: Runner) -> None:
    """A spawner that something stopped forks again after a while, and the command runs."""
    await impatient.run(shell("true"))
    os.kill(impatient.pid(), signal.SIGSTOP)
    ends = await asyncio.gather(*(impatient.run(shell("exit 3", name=str(n))) for n in range(3)))
    assert [end.exit_code for end in ends] == [3, 3, 3]


async def test_a_supervisor_that_stays_silent_is_killed(impatient: Runner) -> None:
    """A supervisor that is kept stopped does not hold the call: it is killed, and the spawner ends what it leaves."""
    heard = Heard()
    # The spawner wakes its supervisor three times; stopping both keeps it asleep until the gateway wakes the spawner.
    script = f"sleep 600 & echo $! $$; read -t 0.3 <> <(:); kill -STOP {impatient.pid()} $PPID; exec sleep 600"
    running = asyncio.ensure_future(impatient.run(shell(script, timeout=0.5), heard))
    watched = Watched(*await heard.pids(1))
    end = await running
    assert end.status in (EndStatus.TIMED_OUT, EndStatus.LOST)
    assert await asyncio.to_thread(watched.gone)
    assert await eventually(lambda: len(spawner_children(impatient)) <= 2)
    watched.close()


async def test_a_supervisor_that_cannot_be_woken_is_killed(impatient: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """With spawner and supervisor kept asleep the gateway kills the supervisor first, and the call still ends."""
    # Even a moment awake can be enough to end the command in order, and then there is nothing to kill.
    monkeypatch.setattr(module, "_WAKE_CHECK", -1)
    old, heard = impatient.pid(), Heard()
    running = asyncio.ensure_future(impatient.run(shell("echo $PPID; sleep 600", timeout=0.5), heard))
    (supervisor,) = await heard.pids(1)
    watched = Watched(supervisor)
    while not watched.gone(0):
        os.kill(old, signal.SIGSTOP)
        os.kill(supervisor, signal.SIGSTOP)
        await asyncio.sleep(0.001)
    assert (impatient.alive, impatient.pid()) == (True, old)
    os.kill(old, signal.SIGCONT)
    end = await running
    assert (end.status, end.message) == (EndStatus.LOST, "its supervisor was killed by signal 9")
    watched.close()


async def test_a_spawner_that_cannot_be_woken_is_replaced(impatient: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing helps, the spawner is killed: the call ends as lost and the next one runs."""
    # Even a moment awake can be enough for it to fork what it was asked for.
    monkeypatch.setattr(module, "_WAKE_CHECK", -1)
    old = impatient.pid()
    await impatient.run(shell("true"))
    os.kill(old, signal.SIGSTOP)
    assert await eventually(lambda: Path(f"/proc/{old}/stat").read_text().rpartition(")")[2].split()[0] == "T")

    async def keep_stopped() -> None:
        while impatient.pid() == old and impatient.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(old, signal.SIGSTOP)
            await asyncio.sleep(0.001)

    keeper = asyncio.ensure_future(keep_stopped())
    # More at once than supervisors wait ready: at least one of them needs the spawner.
    ends = await asyncio.gather(*(impatient.run(shell("exit 3", name=str(n))) for n in range(6)))
    await asyncio.wait_for(keeper, 30)
    assert EndStatus.LOST in [end.status for end in ends]
    assert await eventually(lambda: impatient.alive)
    assert (await impatient.run(shell("exit 7"))).exit_code == 7


async def test_spawners_that_die_at_once_are_not_restarted_in_a_loop() -> None:
    """Each early death makes the next start wait longer; commands are refused meanwhile and nothing raises."""
    started: list[SpawnerProcess] = []

    def stillborn() -> SpawnerProcess:
        spawner = start_spawner()
        spawner.process.kill()
        started.append(spawner)
        return spawner

    runner = Runner(stillborn(), restart=stillborn)
    assert await eventually(lambda: len(started) >= 3)
    end = await runner.run(shell("true"))
    assert end.status in (EndStatus.FAILED_TO_START, EndStatus.LOST)
    await asyncio.wait_for(runner.close(), 10)
    assert len(started) < 8
    assert all(spawner.process.returncode is not None for spawner in started)


async def test_a_large_request_can_be_stopped_while_it_is_sent(runner: Runner) -> None:
    """A stop never gets into the middle of a request: what was not sent whole was not started."""
    await runner.ready()
    assert await eventually(lambda: len(spawner_children(runner)) == 1)
    words = tuple("x" * 100_000 for _ in range(15))
    running = asyncio.ensure_future(runner.run(SpawnRequest("c", ("true", *words), PATH, "/", 5, 4096)))
    await asyncio.sleep(0)
    assert await runner.stop("c")
    end = await running
    assert (end.status, end.message) == (EndStatus.STOPPED, "stopped before it started")
    assert (await runner.run(shell("exit 7"))).exit_code == 7

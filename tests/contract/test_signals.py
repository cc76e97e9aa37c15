"""A signal for a job that runs by hand stops its turn, and nothing of what is put in order afterwards."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtbot.bootstrap.offline import Office, load_all
from mtbot.bootstrap.serve import Interrupted, run_job
from mtbot.gateway.outbox import OutboxWorker
from mtbot.processes.spawning import start_spawner
from mtbot.simulator.script import HANG, say
from tests.contract.stage import Stage, open_stage


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Office]:
    """The databases that were closed."""
    found: list[Office] = []
    close = Office.close

    async def closing(office: Office) -> None:
        await close(office)
        found.append(office)

    monkeypatch.setattr(Office, "close", closing)
    return found


@contextlib.contextmanager
def while_it_closes(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> Iterator[None]:
    """Do that when the job has ended and its words are being seen off."""
    close = OutboxWorker.close

    async def closing(worker: OutboxWorker, seconds: float) -> bool:
        do()
        await asyncio.sleep(0)
        return await close(worker, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(OutboxWorker, "close", closing)
        yield


async def run(stage: Stage) -> str:
    """The job, in this process."""
    return await run_job(load_all(str(stage.config)), start_spawner(), "nightly", deliver=False, ephemeral=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_after_the_end_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, closed: list[Office]
) -> None:
    """The job's words are not lost, and the database is closed."""
    async with open_stage(tmp_path, [say("All well.")], start=False) as stage:
        with while_it_closes(monkeypatch, lambda: signal.raise_signal(number)):
            assert await run(stage) == "All well."
    assert len(closed) == 1


async def test_a_second_signal_ends_the_process_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[Office]
) -> None:
    """As the host would without us; here that is only noted."""
    ended: list[tuple[int, object]] = []

    def end() -> None:
        monkeypatch.setattr(signal, "signal", lambda number, what: ended.append((number, what)))
        monkeypatch.setattr(signal, "raise_signal", ended.append)
        send(signal.SIGINT)

    send = signal.raise_signal
    async with open_stage(tmp_path, [HANG], start=False) as stage:
        with while_it_closes(monkeypatch, end):
            running = asyncio.create_task(run(stage))
            await stage.model.wait_for(lambda model: model.hanging == 1, 30)
            send(signal.SIGTERM)
            with pytest.raises(Interrupted) as interrupted:
                await running
    assert interrupted.value.args == (signal.SIGTERM,)
    assert ended == [(signal.SIGINT, signal.SIG_DFL), signal.SIGINT]
    assert len(closed) == 1

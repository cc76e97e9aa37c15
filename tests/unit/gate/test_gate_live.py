"""What runs is told to whoever shows it: from its start on record to its end, however it ends."""

import asyncio
from dataclasses import dataclass, field

import pytest

from mtbot.domain.live import Running
from mtbot.gate.gate import CallStopped
from tests.unit.gate.houses import House, approved


@dataclass
class Seen:
    """What is told."""

    said: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    def begins(self, running: Running) -> None:
        """A call begins."""
        question = "" if running.approval is None else f" #{running.approval.id}"
        self.said.append(f"begins {running.shown}{question}")

    async def ends(self, running: Running) -> None:
        """It ended."""
        self.ending.set()
        if self.held is not None:
            await self.held.wait()
        self.said.append(f"ends {running.shown}")


async def test_an_approved_call_is_told_with_its_question(house: House) -> None:
    """Begin and end, once each."""
    house.live = seen = Seen()
    ident = await approved(house)
    done = await house.resume(ident)
    assert seen.said == [f"begins {done.shown} #{ident}", f"ends {done.shown}"]


async def test_a_call_that_fails_inside_is_told_to_have_ended(house: House) -> None:
    """Nobody goes on showing it."""
    house.live = seen = Seen()
    house.shell.fault = RuntimeError("broken")
    await house.resume(await approved(house))
    assert [line.partition(" ")[0] for line in seen.said] == ["begins", "ends"]


async def test_a_call_that_is_stopped_is_told_to_have_ended(house: House) -> None:
    """Also if the turn is cancelled once more while that is told."""
    house.live = seen = Seen(held=asyncio.Event())
    house.shell.holds = asyncio.Event()
    task = asyncio.create_task(house.resume(await approved(house)))
    await house.shell.begun.wait()
    task.cancel()
    await seen.ending.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert seen.held is not None
    seen.held.set()
    with pytest.raises(CallStopped):
        await task
    assert [line.partition(" ")[0] for line in seen.said] == ["begins", "ends"]


async def test_what_does_not_start_is_not_told(house: House) -> None:
    """A question is no run."""
    house.live = seen = Seen()
    await house.submit()
    assert seen.said == []

"""The order of start and stop, and what ends a gateway."""

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest

from mtbot.gateway.lanes import Lanes
from mtbot.gateway.lifecycle import Gateway, Parts, Service
from mtbot.gateway.outbox import OutboxWorker
from mtbot.gateway.turns import Turns


@dataclass
class House:
    """Parts that only note what happens to them."""

    log: list[str] = field(default_factory=list)
    drains: bool = True
    says_all: bool = True
    failure: Exception | None = None
    opens: asyncio.Event | None = None
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def service(self) -> None:
        """Serve until cancelled."""
        self.opened.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append("service ended")

    async def failing(self) -> None:
        """Give up."""
        raise RuntimeError("gave up")

    async def open(self) -> Sequence[Service]:
        """Connect."""
        if self.opens is not None:
            self.opened.set()
            await self.opens.wait()
        if self.failure is not None:
            raise self.failure
        self.log.append("open")
        return [self.service]

    async def drain(self, _seconds: float) -> bool:
        """As Lanes.drain."""
        self.log.append("drained")
        return self.drains

    async def close_outbox(self, _seconds: float) -> bool:
        """As OutboxWorker.close."""
        self.log.append("said")
        return self.says_all

    async def close(self) -> None:
        """Close the store."""
        self.log.append("closed")

    def gateway(self) -> Gateway:
        """A gateway over these."""
        lanes = cast("Lanes", SimpleNamespace(drain=self.drain))
        outbox = cast("OutboxWorker", SimpleNamespace(run=self.service, close=self.close_outbox))
        self.turns = SimpleNamespace(closing=False)
        return Gateway(Parts(lanes, cast("Turns", self.turns), outbox, self.open, self.close))


ORDER = ["open", "service ended", "service ended", "drained", "said", "closed"]


async def stopped(house: House, number: int) -> int:
    """Serve, then stop."""
    gateway = house.gateway()
    running = asyncio.create_task(gateway.run())
    await house.opened.wait()
    gateway.stop(number)
    return await running


@pytest.mark.parametrize(("number", "status"), [(0, 0), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_it_stops_in_order_with_the_status_of_the_signal(number: int, status: int) -> None:
    """Intake first, then what runs, then what is to be said, then the store."""
    house = House()
    assert await stopped(house, number) == status
    assert sorted(house.log[1:5]) == sorted(ORDER[1:5])
    assert (house.log[0], house.log[-1]) == ("open", "closed")
    assert house.log.index("drained") < house.log.index("said")
    assert house.turns.closing


async def test_a_turn_that_does_not_end_leaves_the_store_open() -> None:
    """Something still writes there: exit 1, and nothing is pulled away from under it."""
    house = House(drains=False)
    assert await stopped(house, signal.SIGTERM) == 1
    assert "closed" not in house.log


async def test_what_could_not_be_said_is_no_failure() -> None:
    """It is said at the next start."""
    assert await stopped(House(says_all=False), signal.SIGTERM) == 143


async def test_a_start_that_fails_closes_everything_and_keeps_the_reason() -> None:
    """The status is 1 and the failure is for whoever called."""
    house = House(failure=ValueError("no such token"))
    gateway = house.gateway()
    assert await gateway.run() == 1
    assert str(gateway.failure) == "no such token"
    assert house.log[-1] == "closed"


async def test_a_stop_during_the_start_ends_it() -> None:
    """A server that cannot be reached does not make a process that cannot be stopped."""
    house = House(opens=asyncio.Event())
    assert await stopped(house, signal.SIGTERM) == 143
    assert house.log == ["drained", "said", "closed"]


async def test_a_service_that_gives_up_ends_the_gateway() -> None:
    """Half a gateway is worse than none."""
    house = House()

    async def opening() -> Sequence[Service]:
        return [house.service, house.failing]

    house.open = opening  # type: ignore[method-assign] # this house has a weak service
    gateway = house.gateway()
    assert await gateway.run() == 1
    assert str(gateway.failure) == "gave up"


async def test_a_second_signal_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default action is put back and the signal raised again."""
    house = House()
    gateway = house.gateway()
    done: list[object] = []
    monkeypatch.setattr(signal, "signal", lambda number, action: done.append((number, action)))
    monkeypatch.setattr(signal, "raise_signal", done.append)
    gateway.stop(signal.SIGTERM)
    gateway.stop(signal.SIGTERM)
    assert done == [(signal.SIGTERM, signal.SIG_DFL), signal.SIGTERM]

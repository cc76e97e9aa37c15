"""A running Telegram simulator and a bare HTTP caller for it."""

from collections.abc import AsyncIterator, Callable, Coroutine

import aiohttp
import pytest

from mtbot.simulator.telegram import Clocks, TelegramSimulator
from mtbot.simulator.values import BotAccount, JsonObject

TOKEN = "7001001:AAA-for-tests"


class HandClock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    """The monotonic and the wall clock of the simulator."""
    return HandClock()


@pytest.fixture
async def sim(clock: HandClock) -> AsyncIterator[TelegramSimulator]:
    """One bot that reads groups, one in privacy mode."""
    bots = [BotAccount(TOKEN, "nas_ops_bot"), BotAccount("7001002:BBB-for-tests", "shy_bot", reads_groups=False)]
    async with TelegramSimulator(bots, clocks=Clocks(clock, clock)) as running:
        yield running


@pytest.fixture
async def api(sim: TelegramSimulator) -> AsyncIterator[Callable[..., Coroutine[None, None, JsonObject]]]:
    """Call a method with JSON parameters and answer the JSON body, whatever the status."""
    async with aiohttp.ClientSession() as session:

        async def call(method: str, bot: str | None = None, **params: object) -> JsonObject:
            url = f"{sim.base_url}/bot{sim.token(bot)}/{method}"
            async with session.post(url, json=params) as response:
                found: JsonObject = await response.json()
                return found

        yield call

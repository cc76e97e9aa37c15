"""Imports the package before any test module imports aiogram, as every way into the program does."""

from collections.abc import AsyncIterator

import pytest

import mtbot.channels.telegram  # noqa: F401 - the import itself is what is wanted
from mtbot.simulator.telegram import TelegramSimulator


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramSimulator]:
    """A server with one open private chat."""
    async with TelegramSimulator() as server:
        server.open(1001)
        yield server

"""Databases that were opened once, and openings that are refused."""

import pytest

from mtbot.domain.errors import StateError, StorageError
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import draft


async def made(place: Place) -> None:
    """A database with something in it, closed again."""
    db = await Database.open_for_writing(place)
    await Trail(db, Chain(db)).append(*(draft(call=f"c{n}") for n in range(300)))
    await db.close()


async def refusal(place: Place, kind: type[StateError] = StorageError, *, create: bool = True) -> str:
    """The one line with which opening for writing is refused."""
    with pytest.raises(kind) as refused:
        await Database.open_for_writing(place, create=create)
    assert "\n" not in str(refused.value)
    return str(refused.value)

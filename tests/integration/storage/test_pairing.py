"""The pairing of a bot, on both databases."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.bootstrap.stores import stores_of
from mtbot.domain.ids import BotName, UserId
from mtbot.domain.pairing import MAX_TRIES, Pairing, Standing, digest_of
from mtbot.storage.engine import Database
from mtbot.storage.pairing import PairingStore
from mtbot.storage.tables import MarkRow
from tests.integration.storage.samples import NOW, safe

OPS = BotName("ops")
OPEN = Pairing(OPS, "deploy", "salt", digest_of("CODE", "salt"), NOW + 1000)
WHO = UserId(2**51)


@pytest.fixture
def pairings(db: Database) -> PairingStore:
    """The store."""
    return stores_of(db, safe).pairings


async def test_a_pairing_is_kept_for_its_bot(pairings: PairingStore) -> None:
    """A later one takes its place, and the earlier can change nothing any more."""
    assert await pairings.find(OPS) is None
    await pairings.begin(OPEN)
    assert await pairings.find(OPS) == OPEN
    later = replace(OPEN, digest=digest_of("OTHER", "salt"))
    await pairings.begin(later)
    assert not await pairings.end(OPEN, None)
    assert await pairings.find(OPS) == later
    assert await pairings.end(later, Standing.WRITTEN)
    assert await pairings.find(OPS) == replace(later, standing=Standing.WRITTEN)
    assert await pairings.end(later, None)
    assert not await pairings.end(later, None)
    assert await pairings.find(OPS) is None


async def test_of_many_that_come_at_once_one_matches(pairings: PairingStore) -> None:
    """And each wrong one counts, for its sender."""
    await pairings.begin(OPEN)
    for _ in range(MAX_TRIES):
        assert await pairings.attempt(OPS, "x", UserId(6666), "", NOW) is not None
    assert await pairings.attempt(OPS, "code", UserId(6666), "", NOW) is None
    wrong = await asyncio.gather(*(pairings.attempt(OPS, "x", WHO, "", NOW) for _ in range(MAX_TRIES - 1)))
    assert sorted(one.wrong[WHO] for one in wrong if one is not None) == list(range(1, MAX_TRIES))
    right = await asyncio.gather(*(pairings.attempt(OPS, "code", WHO, "Deploy", NOW) for _ in range(4)))
    matched = [one for one in right if one is not None]
    assert [(one.standing, one.user, one.called) for one in matched] == [(Standing.MATCHED, WHO, "Deploy")]
    assert await pairings.attempt(BotName("other"), "code", WHO, "", NOW) is None


async def test_a_mark_that_makes_no_sense_is_as_good_as_none(db: Database, pairings: PairingStore) -> None:
    """Nobody is paired by it."""
    for value in ("{", "[]", '{"person": 1}'):
        await db.write(lambda session, text=value: session.merge(MarkRow(name="pair:ops", value=text)))  # type: ignore[misc]  # a default binds the loop
        assert await pairings.find(OPS) is None
        assert await pairings.attempt(OPS, "CODE", WHO, "", NOW) is None

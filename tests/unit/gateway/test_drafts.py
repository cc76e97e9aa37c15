"""When an answer is shown while it is written, and when not any more."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from mtbot.domain.ids import BotName, ChatId, SafeText
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway import drafts
from mtbot.gateway.drafts import LONGEST, DraftFrame, Drafting
from mtbot.redaction.mask import Redactor

REDACTOR = Redactor({"model": "swordfish9"}, b"key")
HERE = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))


class Way:
    """Keeps what it is to show, and says which came."""

    def __init__(self) -> None:
        self.takes = True
        self.comes = True
        self.shown: list[tuple[int, str]] = []
        self.asked = asyncio.Event()
        self.before: Callable[[], None] = lambda: None

    def takes_drafts(self, address: Address) -> bool:
        """As told."""
        del address
        return self.takes

    async def draft(self, address: Address, number: int, text: SafeText) -> bool:
        """Keep it."""
        del address
        self.shown.append((number, text))
        self.asked.set()
        self.before()
        await asyncio.sleep(0)
        return self.comes

    async def more(self) -> None:
        """Wait for the next one."""
        self.asked.clear()
        await self.asked.wait()


class Room:
    """A way and what is drawn over it; ``told`` are the places that heard of a draft."""

    def __init__(self) -> None:
        self.way = Way()
        self.wanted = True
        self.told: list[Address] = []
        frame = DraftFrame(REDACTOR.settled, lambda _address: self.wanted, self.told.append)
        self.drafting = Drafting(self.way, frame)


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """Without waiting."""
    monkeypatch.setattr(drafts, "FIRST_SECONDS", 0)
    monkeypatch.setattr(drafts, "EVERY_SECONDS", 0)
    return Room()


@pytest.mark.parametrize("surface", [one for one in SurfaceName if one is not SurfaceName.PRIVATE])
async def test_only_private_chats_see_an_answer_grow(room: Room, surface: SurfaceName) -> None:
    """No other place knows drafts."""
    with room.drafting.writing(replace(HERE, surface=surface)) as grown:
        assert grown is None


async def test_nobody_looks_where_drafts_are_not_wanted_or_not_taken(room: Room) -> None:
    """The configuration as it stands, and what the channel knows."""
    room.wanted = False
    with room.drafting.writing(HERE) as grown:
        assert grown is None
    room.wanted, room.way.takes = True, False
    with room.drafting.writing(HERE) as grown:
        assert grown is None


async def test_what_is_whole_is_shown_masked_and_the_place_is_told(room: Room) -> None:
    """Under a number of its own; the next answer has another."""
    for number, word in ((1, "runs"), (2, "stands")):
        with room.drafting.writing(HERE) as grown:
            assert grown is not None
            grown(f"It {word} by swordfish9. Go")
            await room.way.more()
            await room.way.more()
        assert room.way.shown[-1] == (number, f"It {word} by {REDACTOR.mask('swordfish9')}. ")
    assert room.told
    assert set(room.told) == {HERE}


async def test_nothing_is_begun_for_an_answer_without_words(room: Room) -> None:
    """Calls alone, or nothing at all."""
    with room.drafting.writing(HERE) as grown:
        assert grown is not None
        grown("")
        assert room.drafting._tasks == set()


async def test_what_was_taken_back_is_not_shown(room: Room) -> None:
    """Nor what only begins, nor what is not to be sent; what comes then is."""
    with room.drafting.writing(HERE) as grown:
        assert grown is not None
        for text in ("Old. New", "", "It", "NO_REPLY\n", " \n\n"):
            grown(text)
            if text.startswith("Old"):
                await room.way.more()
            before = len(room.way.shown)
            for _ in range(5):
                await asyncio.sleep(0)
            assert text.startswith("Old") or len(room.way.shown) <= before
        grown("It runs. So")
        await room.way.more()
    assert {text for _, text in room.way.shown} == {"Old. ", "It runs. "}


async def test_nothing_is_shown_once_the_answer_is_whole(room: Room) -> None:
    """Neither what was about to be sent nor what is on its way."""
    with room.drafting.writing(HERE) as grown:
        assert grown is not None
        grown("It runs. So")
        await room.way.more()
    shown = len(room.way.shown)
    told = len(room.told)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (len(room.way.shown), len(room.told), room.drafting._tasks) == (shown, told, set())


async def test_it_ends_with_whatever_the_model_ends_with(room: Room) -> None:
    """A fault, a stop."""

    def stopped() -> None:
        with room.drafting.writing(HERE) as grown:
            assert grown is not None
            grown("It runs. So")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        stopped()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (room.drafting._tasks, room.way.shown) == (set(), [])


async def test_a_way_that_takes_no_drafts_any_more_is_left(room: Room) -> None:
    """The server said that it knows none; or the owner turned them off meanwhile."""

    def off() -> None:
        room.way.takes = False

    room.way.before, room.way.comes = off, False
    with room.drafting.writing(HERE) as grown:
        assert grown is not None
        grown("It runs. So")
        await room.way.more()
        while room.drafting._tasks:
            await asyncio.sleep(0)
        grown("It runs. So it does. Yes")
    assert (len(room.way.shown), room.told) == (1, [])


async def test_no_more_of_an_answer_is_looked_at_than_is_shown(room: Room) -> None:
    """However long it is."""
    with room.drafting.writing(HERE) as grown:
        assert grown is not None
        grown("It runs.\n" * LONGEST)
        await room.way.more()
    assert LONGEST - 20 < len(room.way.shown[0][1]) <= LONGEST

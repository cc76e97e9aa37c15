"""Files of a message: kept and announced, or told why not; an album is one message."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.domain.errors import Ambiguous, ChannelError, StorageError, Throttled, Unreachable
from mtbot.domain.ids import BotName
from mtbot.domain.received import FileRefused
from mtbot.domain.turn import Address, Attached, Inbound, SourceRef
from mtbot.gateway import received as module
from mtbot.gateway.received import LARGEST_ALBUM, Albums, Received, Shelving
from tests.unit.approvals.samples import CHIEF, PRIVATE
from tests.unit.gateway.rooms import inbound

FOREVER = 3600.0
AT_ONCE = 0.0


class Place:
    """A channel and a shelf in memory. What is in ``broken`` cannot be fetched, in ``passing`` not at once."""

    def __init__(
        self,
        broken: dict[str, Exception] | None = None,
        full: bool = False,
        room: int = 10**9,
        passing: dict[str, list[ChannelError]] | None = None,
    ) -> None:
        self.broken = broken or {}
        self.passing = passing or {}
        self.full = full
        self.left = room
        self.kept: dict[str, bytes] = {}
        self.fetched: list[str] = []

    async def fetch(self, bot: BotName, handle: str, most: int) -> bytes:
        """The handle's own bytes."""
        del bot, most
        self.fetched.append(handle)
        if handle in self.broken:
            raise self.broken[handle]
        if self.passing.get(handle):
            raise self.passing[handle].pop()
        return handle.encode()

    async def room(self, address: Address) -> int:
        """What is left."""
        del address
        return self.left

    async def put(self, address: Address, name: str, data: bytes) -> str:
        """Keep."""
        del address
        if self.full:
            raise FileRefused("it could not be written: no space left on device.")
        self.kept[name] = data
        return f"inbox/{name}"


def received(place: Place, most: int = 1000, most_in_all: int = 5000) -> Received:
    """What keeps files there."""
    return Received(Shelving(place, place, most, most_in_all, lambda: "2026-11-30"))


def with_files(*files: Attached, text: str = "look") -> Inbound:
    """A message that carries them."""
    return replace(inbound(text), files=files)


async def test_what_is_kept_is_announced_below_the_words() -> None:
    """With its place, its type and its size."""
    place = Place()
    message, told = await received(place).kept(
        with_files(Attached("f1", "a.pdf", "application/pdf", 2), Attached("f22"))
    )
    assert message.text.splitlines() == [
        "look",
        "[received file: inbox/20261130-a.pdf, application/pdf, 2 bytes]",
        "[received file: inbox/20261130-file, 3 bytes]",
    ]
    assert (message.files, told, place.kept["20261130-a.pdf"]) == ((), (), b"f1")


async def test_one_file_that_cannot_be_had_does_not_cost_the_others() -> None:
    """Each gets its own sentence."""
    place = Place({"gone": ChannelError("wrong file identifier"), "huge": FileRefused("it is larger than 1 MB.")})
    message, told = await received(place).kept(
        with_files(Attached("gone", "a"), Attached("huge", "b"), Attached("f", "c"), text="")
    )
    assert message.text == "[received file: inbox/20261130-c, 1 bytes]"
    assert told == (f"I could not take a: {module.NOT_HAD}", "I could not take b: it is larger than 1 MB.")
    assert place.fetched == ["gone", "huge", "f"]


@pytest.mark.parametrize(
    "fault",
    [Unreachable("broke"), Ambiguous("broke"), Throttled("slow", 3), ChannelError("bad gateway", status=502)],
    ids=["unreachable", "ambiguous", "throttled", "502"],
)
async def test_what_may_pass_is_waited_out(fault: ChannelError, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is asked for a few times; then its sender is told, in words and not in codes."""
    monkeypatch.setattr(module, "FETCH_PAUSES", (0.0, 0.0))
    for times, fetched in ((2, True), (3, False)):
        place = Place(passing={"f": [fault] * times})
        message, told = await received(place).kept(with_files(Attached("f", "a")))
        assert place.fetched == ["f"] * 3
        assert ("[received file" in message.text) is fetched
        assert told == (() if fetched else (f"I could not take a: {module.NOT_HAD}",))


async def test_a_file_that_took_its_time_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other messages of its chat wait for it."""
    monkeypatch.setattr(module, "FETCH_SECONDS", -1.0)
    place = Place(passing={"f": [Unreachable("broke")]})
    assert (await received(place).kept(with_files(Attached("f", "a"))))[1] == (f"I could not take a: {module.NOT_HAD}",)
    assert place.fetched == ["f"]


async def test_what_is_too_large_is_not_even_fetched() -> None:
    """By what the sender's program says; the rest shows while it comes."""
    place = Place()
    _, told = await received(place, most=10).kept(with_files(Attached("f", "big.iso", size=25_000_000)))
    assert told == ("I could not take big.iso: it has 25.0 MB, and I take at most 10 bytes.",)
    assert place.fetched == []


async def test_where_no_files_are_taken_that_is_said() -> None:
    """And nothing is fetched."""
    place = Place()
    for none in (received(place, most=0), received(place, most_in_all=0)):
        assert (await none.kept(with_files(Attached("f"))))[1] == ("I could not take the file: I take no files here.",)
    assert place.fetched == []


async def test_where_there_is_no_room_left_one_line_says_so() -> None:
    """However many files there are; what cannot fit is not fetched, and what fits is taken."""
    place = Place(room=10)
    files = (Attached("f", "a", size=11), Attached("f", "b", size=10), Attached("f", size=12))
    _, told = await received(place).kept(with_files(*files))
    why = (
        "inbox in the workspace would hold more than 5.0 kB. Have something in it deleted or moved, then send it again."
    )
    assert told == (f"I could not take a, the file: {why}",)
    assert (place.fetched, list(place.kept)) == (["f"], ["20261130-b"])
    place.left = 0
    _, told = await received(place).kept(with_files(Attached("f", "c"), text=""))
    assert told == (f"I could not take c: {why}",)


async def test_a_full_disk_is_said() -> None:
    """The words of the message still count."""
    message, told = await received(Place(full=True)).kept(with_files(Attached("f", "a")))
    assert (message.text, told) == ("look", ("I could not take a: it could not be written: no space left on device.",))


def part(number: int, text: str = "", album: str = "g1") -> Inbound:
    """A part of an album."""
    return replace(
        inbound(text), album=album, files=(Attached(f"f{number}"),), ref=SourceRef(number, number), addressed=bool(text)
    )


class Told:
    """What albums became."""

    def __init__(self, fails: bool = False) -> None:
        self.messages: list[Inbound] = []
        self.came = asyncio.Event()
        self.fails = fails

    async def complete(self, message: Inbound) -> None:
        """Note."""
        self.messages.append(message)
        self.came.set()
        if self.fails:
            raise StorageError("no")


async def test_an_album_is_one_message_when_it_is_quiet() -> None:
    """Every caption, every file, every update; meant for the bot if any part was."""
    told = Told()
    albums = Albums(told.complete, AT_ONCE)
    await albums.add(part(5))
    await albums.add(part(6, "two"))
    await albums.add(part(7, "three"))
    await told.came.wait()
    [message] = told.messages
    assert (message.text, [file.handle for file in message.files]) == ("two\nthree", ["f5", "f6", "f7"])
    assert (message.ref.updates, message.addressed, message.album) == ((5, 6, 7), True, "")


async def test_whatever_is_said_next_comes_after_the_album() -> None:
    """Nobody waits for the clock then, and closing twice tells nothing twice."""
    told = Told()
    albums = Albums(told.complete, FOREVER)
    await albums.add(part(5))
    await albums.close(PRIVATE)
    await albums.close(PRIVATE)
    assert len(told.messages) == 1


async def test_another_album_or_another_person_ends_the_first() -> None:
    """They are different messages."""
    told = Told()
    albums = Albums(told.complete, FOREVER)
    await albums.add(part(5))
    await albums.add(part(6, album="g2"))
    await albums.add(replace(part(7, album="g2"), sender=replace(CHIEF, id=1002)))
    assert [message.ref.updates for message in told.messages] == [(5,), (6,)]
    albums.abandon()


async def test_an_album_that_is_full_does_not_wait() -> None:
    """Telegram allows no more parts."""
    told = Told()
    albums = Albums(told.complete, FOREVER)
    for number in range(LARGEST_ALBUM):
        await albums.add(part(number))
    assert len(told.messages[0].files) == LARGEST_ALBUM


async def test_at_the_end_an_open_album_is_left_to_the_next_start() -> None:
    """Its rows are open."""
    told = Told()
    albums = Albums(told.complete, FOREVER)
    await albums.add(part(5))
    albums.abandon()
    await albums.close(PRIVATE)
    assert told.messages == []


async def test_a_fault_while_an_album_is_taken_in_is_logged_and_no_more() -> None:
    """Nobody awaits the clock's task."""
    told = Told(fails=True)
    albums = Albums(told.complete, AT_ONCE)
    await albums.add(part(5))
    await told.came.wait()
    await asyncio.sleep(0)

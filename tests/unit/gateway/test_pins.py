"""Notes that people want kept: their own words, few and short."""

from dataclasses import replace

from mtbot.domain.turn import Address, Inbound, InboundKind, SourceRef
from mtbot.gateway.pins import LONGEST, MOST, PinDesk
from mtbot.policy.people import BotPeople, People
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import CHIEF, GROUP, PRIVATE, REDACTOR


def said(text: str = "", own_words: str | None = None, address: Address = PRIVATE) -> Inbound:
    """A command."""
    return Inbound(address, CHIEF, SourceRef(5, 6), InboundKind.COMMAND, text, own_words=own_words)


def desk(office: Office) -> PinDesk:
    """A desk over a real database."""
    return PinDesk(office.stores.memories, lambda: office.people, office.clock, REDACTOR)


async def test_a_note_is_kept_listed_and_dropped(office: Office) -> None:
    """In its own conversation only."""
    pins = desk(office)
    assert await pins.pins(said()) == "No notes here. /pin TEXT keeps one in mind."
    assert await pins.pin(said(" prod is\n  nas2 ")) == (
        "Pinned as 1, until /new. /pins lists the notes, /unpin 1 drops this one."
    )
    assert await pins.pin(said("", "no restarts at night")) == (
        "Pinned as 2, until /new. /pins lists the notes, /unpin 2 drops this one."
    )
    assert await pins.pin(said()) == await pins.pins(said()) == "1: prod is nas2\n2: no restarts at night"
    assert await pins.pins(said(address=GROUP)) == "No notes here. /pin TEXT keeps one in mind."
    assert await pins.unpin(said("1", address=GROUP)) == "There is no note 1 here; /pins lists them."
    assert await pins.unpin(said(" 1 ")) == "Note 1 is dropped."
    assert await pins.pins(said()) == "2: no restarts at night"


async def test_only_words_of_ones_own_are_pinned(office: Office) -> None:
    """In reply to anybody else's, the bot's among them, what is said with the command counts."""
    pins = desk(office)
    assert await pins.pin(said("", "")) == "I only pin words of your own: say /pin TEXT."
    assert await pins.pin(said("what it says", "")) != ""
    assert await pins.pins(said()) == "1: what it says"


async def test_a_note_of_who_was_taken_off_the_list_is_left_out(office: Office) -> None:
    """It is still listed, so that it can be dropped."""
    pins = desk(office)
    await pins.pin(said("prod is nas2"))
    office.people = People({}, None, {PRIVATE.bot: BotPeople(frozenset())})
    assert await pins.pins(said()) == "1: prod is nas2 (left out: who pinned it is not on the list)"


async def test_a_secret_in_a_note_is_masked(office: Office) -> None:
    """As in everything that is kept."""
    pins = desk(office)
    await pins.pin(said("key swordfish9"))
    assert (await pins.pins(said())).startswith("1: key ‹secret:")


async def test_notes_are_few_and_short(office: Office) -> None:
    """Each is sent with every request."""
    pins = desk(office)
    assert await pins.pin(said("x" * (LONGEST + 1))) == "That is 501 characters long; a note has at most 500."
    for number in range(MOST):
        assert (await pins.pin(said(str(number) * LONGEST))).startswith(f"Pinned as {number + 1},")
    assert await pins.pin(said("more")) == (
        "There are 10 notes already, which is all there is room for. /unpin NUMBER drops one."
    )


async def test_a_number_is_a_number(office: Office) -> None:
    """One that is none, or far too long, is asked for again."""
    pins = desk(office)
    for word in ("", "one", "-1", "１", "1" * 5000):
        assert await pins.unpin(said(word)) == "Which one? Say /unpin NUMBER; /pins lists them."
    assert await pins.unpin(replace(said("007"))) == "There is no note 7 here; /pins lists them."

"""Earlier conversations as they are listed, and what happens where one is gone or cannot be left."""

from mtbot.domain.ids import TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Inbound, InboundKind, Message, Role, SourceRef, Usage
from mtbot.gateway.afresh import LISTED, Afresh
from mtbot.gateway.commands import Left
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import CHIEF, PRIVATE


def said(command: str, text: str = "") -> Inbound:
    """A command."""
    return Inbound(PRIVATE, CHIEF, SourceRef(5, 6), InboundKind.COMMAND, text, command=command)


def afresh(office: Office, refusal: str = "") -> Afresh:
    """Over a real database; nothing runs."""

    async def leave(_inbound: Inbound) -> Left:
        return Left(refusal)

    stores = office.stores
    return Afresh(stores.archives, (stores.history, stores.memories), office.clock, lambda: 30, leave)


async def talk(office: Office, words: str) -> None:
    """One message."""
    flush = TurnFlush(TurnId(f"t-{words}"), PRIVATE, (Message(Role.USER, words),), Usage(), ())
    await office.stores.history.flush(flush, office.clock.now)


async def test_a_long_list_is_cut_and_each_line_is_one(office: Office) -> None:
    """The latest first, by the first words of each."""
    desk = afresh(office)
    for number in range(LISTED + 2):
        await talk(office, f"{number} `x`\n{'w' * 99}")
        assert (await desk.new(said("new"))).startswith("A fresh start: 1 message put away. /resume")
    lines = (await desk.resume(said("resume"))).splitlines()
    assert len(lines) == LISTED + 1
    assert lines[0].startswith("22: ")
    assert lines[0].endswith(f", 1 message: `21 ´x´ {'w' * 52}…`")
    assert lines[-1] == "and 2 older ones"


async def test_nothing_said_is_nothing_put_away(office: Office) -> None:
    """And nothing to go back to."""
    desk = afresh(office)
    assert await desk.new(said("new")) == "A fresh start: 0 messages forgotten. The record of what ran is kept."
    assert await desk.resume(said("resume")) == "No earlier conversations here; /new puts one away."
    for word in ("1", "one", "-1", "9" * 400):
        told = f"There is no earlier conversation {word[:20]} here; /resume lists them."
        assert await desk.resume(said("resume", word)) == told


async def test_what_cannot_be_left_stays(office: Office) -> None:
    """Whichever of the three was said."""
    await talk(office, "one")
    await afresh(office).new(said("new"))
    await talk(office, "two")
    desk = afresh(office, "It is open.")
    for command in (desk.new(said("new")), desk.resume(said("resume", "1")), desk.forget(said("forget"))):
        assert await command == "It is open."
    assert [message.content for _, message in await office.stores.history.messages(PRIVATE.session)] == ["two"]


async def test_one_that_is_removed_meanwhile_is_told(office: Office) -> None:
    """As one that never was."""
    await talk(office, "one")
    await afresh(office).new(said("new"))
    await talk(office, "two")

    async def leave(_inbound: Inbound) -> Left:
        await office.stores.archives.forget(PRIVATE)
        return Left("")

    stores = office.stores
    desk = Afresh(stores.archives, (stores.history, stores.memories), office.clock, lambda: 30, leave)
    told = "There is no earlier conversation 1 here; /resume lists them."
    assert await desk.resume(said("resume", "1")) == told

"""A person who is taken off the list has nothing more done for them, whatever rule would allow it."""

from dataclasses import replace

from mtbot.domain.call import Status
from mtbot.gate.gate import Done, Waiting
from mtbot.gate.listed import Listed
from tests.unit.approvals.samples import REDACTOR, people
from tests.unit.gate.houses import House, turn, wanted


async def test_nothing_is_proposed_any_more_for_somebody_who_was_removed(house: House) -> None:
    """By the list of the moment: no question is asked and nothing comes to the record."""
    gate = Listed(house.gate(), lambda: house.office.people, REDACTOR)
    assert isinstance(await gate.submit(wanted("touch x"), turn("touch x"), house.names), Waiting)
    known = await house.kinds()
    house.office.people = replace(people(), bots={})
    done = await gate.submit(wanted("touch y"), turn("touch y"), house.names)
    assert isinstance(done, Done)
    assert done.outcome.status is Status.REFUSED
    assert str(done.outcome.text).startswith("Not run: the person who asked for this is not on the list")
    assert await house.kinds() == known
    assert house.shell.permits == []

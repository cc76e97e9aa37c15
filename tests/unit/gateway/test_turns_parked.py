"""Turns that wait for a person: gone on with once, by the ruling that they wait for, or given up aloud."""

import asyncio

import pytest

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.errors import SealError, StorageError
from mtbot.domain.ids import ApprovalId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import ApprovalState, Ruling, Via
from mtbot.domain.turn import SYSTEM, Message, Role, Usage
from mtbot.gateway.lanes import Rest, Resume
from mtbot.gateway.turns import CANCELED, STOPPED
from tests.unit.agent.scenes import done, says, wants
from tests.unit.approvals.office import Office
from tests.unit.approvals.samples import PRIVATE
from tests.unit.gateway.rooms import (
    SESSION,
    Asking,
    asking,
    inbound,
    nothing_left,
    parked,
    rule,
    stored,
)


async def test_a_parked_turn_rests_with_its_row_closed(office: Office) -> None:
    """Nothing waits in memory; who watches is not told of an end yet."""
    here = asking(office, wants("id"), says("Done."), gate=(done(asked=True),))
    ident = await parked(here)
    assert here.ends == []
    assert here.signs.at == []
    await nothing_left(office)
    await office.stores.leases.release(SESSION, "other")
    assert await here.turns.step(SESSION, Resume(ident)) == Rest(ident)
    await rule(here, ident, ApprovalState.APPROVED)
    assert await here.turns.step(SESSION, Resume(ident)) is None
    assert (await here.said())[-1] == "Done."
    assert [end.text for end in here.ends] == ["Done."]


@pytest.mark.parametrize("closing", [False, True])
async def test_a_turn_that_is_cut_when_its_question_is_there_rests_on_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """Whoever stopped it turns the question down, and after a shutdown it is answered: its turn must not be gone."""
    await stored(office)
    here = asking(office, wants("id"), says("Done."), gate=(done(asked=True),))
    reached, whole = asyncio.Event(), office.stores.inbox.done

    async def under_way(*args: object) -> None:
        writing = asyncio.ensure_future(whole(*args))  # type: ignore[arg-type]  # passed on as they came
        reached.set()
        await asyncio.shield(writing)

    monkeypatch.setattr(office.stores.inbox, "done", under_way)
    task = asyncio.create_task(here.turns.step(SESSION, inbound()))
    await reached.wait()
    here.turns.closing = closing
    task.cancel()
    rest = await task
    assert isinstance(rest, Rest)
    assert here.ends == []
    await nothing_left(office)
    await office.stores.leases.release(SESSION, "other")
    await rule(here, rest.approval, ApprovalState.APPROVED)
    here.turns.closing = False
    await here.turns.step(SESSION, Resume(rest.approval))
    assert (await here.said())[-1] == "Done."


async def test_a_second_resume_of_the_same_ruling_does_nothing(office: Office) -> None:
    """By then the turn waits for another request, and an old yes must not answer that one."""
    here = asking(office, wants("id"), wants("id"), says("Done."), gate=(done(asked=True), done(asked=True)))
    first = await parked(here)
    await rule(here, first, ApprovalState.APPROVED)
    rest = await here.turns.step(SESSION, Resume(first))
    assert isinstance(rest, Rest)
    assert rest.approval != first
    assert await here.turns.step(SESSION, Resume(first)) == rest
    assert isinstance(here.gate, Asking)
    assert len(here.gate.resumed) == 1


@pytest.mark.parametrize(("left", "tainted"), [(f"Its result is {UNTRUSTED}.", True), ("Its result is 3.", False)])
async def test_what_came_while_it_waited_marks_the_rest_of_the_turn(
    office: Office, left: str, *, tainted: bool
) -> None:
    """A job that ended meanwhile left its result where the model reads it next."""
    here = asking(office, wants("id"), wants("id"), gate=(done(asked=True),))
    first = await parked(here)
    note = (Message(Role.USER, "(Not from a person)"), Message(Role.ASSISTANT, left))
    await office.stores.history.flush(TurnFlush(TurnId("job-1"), PRIVATE, note, Usage(), ()), office.clock.now)
    await rule(here, first, ApprovalState.APPROVED)
    rest = await here.turns.step(SESSION, Resume(first))
    assert isinstance(rest, Rest)
    state = await office.stores.consents.parked((await office.stores.consents.get(rest.approval)).turn)
    assert state is not None
    assert state.tainted is tainted


async def test_a_resume_of_nothing_rests_on_nothing(office: Office) -> None:
    """A request that is gone, a turn that is gone."""
    here = asking(office, wants("id"), says("Done."), gate=(done(asked=True),))
    assert await here.turns.step(SESSION, Resume(ApprovalId("NONE"))) is None
    ident = await parked(here)
    await rule(here, ident, ApprovalState.APPROVED)
    await here.turns.step(SESSION, Resume(ident))
    assert await here.turns.step(SESSION, Resume(ident)) is None


async def test_a_yes_that_is_stopped_before_it_began_is_a_no(office: Office) -> None:
    """The gate is told that the person stopped it, and nothing is said."""
    here = asking(office, wants("id"), gate=(done("Not run: the person stopped this turn.", None, asked=True),))
    ident = await parked(here)
    await here.said()
    await rule(here, ident, ApprovalState.APPROVED)
    await here.said()
    assert await here.turns.step(SESSION, Resume(ident, stopped=True)) is None
    assert await here.said() == []
    assert (await here.history())[-1] == (Role.ASSISTANT, STOPPED)


async def test_a_request_that_lapsed_for_want_of_an_asker_is_silent(office: Office) -> None:
    """There is nobody to tell."""
    here = asking(office, wants("id"), gate=(done("Not run", None, asked=True),))
    ident = await parked(here)
    await here.said()
    await here.office.desk().decide(
        ident, Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, office.clock.now, CANCELED)
    )
    assert await here.turns.step(SESSION, Resume(ident)) is None
    assert not [text for text in await here.said() if "expired" in text.lower() and text.startswith("#")]


@pytest.mark.parametrize("closing", [False, True])
async def test_a_ruling_that_is_cut_before_it_was_acted_on(
    office: Office, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """A shutdown leaves it for the next start; a stop ends the turn without it."""
    here = asking(office, wants("id"), gate=(done("Not run", None, asked=True),))
    ident = await parked(here)
    await rule(here, ident, ApprovalState.APPROVED)
    reached = asyncio.Event()
    acquire = office.stores.leases.acquire

    async def waits(*args: object) -> bool:
        if not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        return await acquire(*args)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(office.stores.leases, "acquire", waits)
    task = asyncio.create_task(here.turns.step(SESSION, Resume(ident)))
    await reached.wait()
    here.turns.closing = closing
    task.cancel()
    assert await task == (Rest(ident) if closing else None)
    unused = [one.id for one in await office.stores.consents.resumable()]
    assert unused == ([ident] if closing else [])


async def test_a_parked_turn_that_cannot_be_read_is_given_up_and_told(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be tried every five seconds for ever."""
    here = asking(office, wants("id"))
    ident = await parked(here)
    await rule(here, ident, ApprovalState.APPROVED)
    await here.said()

    async def torn(_turn: object) -> None:
        raise SealError("the parked turn cannot be read")

    monkeypatch.setattr(office.stores.consents, "parked", torn)
    assert await here.turns.step(SESSION, Resume(ident)) is None
    assert await here.said() == ["That did not work: the parked turn cannot be read"]
    assert await office.stores.consents.resumable() == ()


async def test_a_ruling_waits_for_a_database_that_is_locked(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up for a fault that passes."""
    here = asking(office, wants("id"))
    ident = await parked(here)
    await rule(here, ident, ApprovalState.APPROVED)

    async def locked(_turn: object) -> None:
        raise StorageError("locked")

    monkeypatch.setattr(office.stores.consents, "parked", locked)
    assert await here.turns.step(SESSION, Resume(ident)) == Rest(ident)
    assert [one.id for one in await office.stores.consents.resumable()] == [ident]

"""Calls that a person allowed for a while: how they run, and what becomes of those whose grant ends at the last moment."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.domain.call import Basis, Status
from mtbot.domain.errors import NotUsable, RecordUnavailable
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import ApprovalState, EventKind, Ruling, Via, Word
from mtbot.gate.gate import Done, Waiting
from mtbot.policy.ruleset import Mode
from tests.unit.approvals.office import yes
from tests.unit.approvals.samples import CHIEF, MINUTE
from tests.unit.gate.houses import Classifier, House


@pytest.fixture
async def grant(house: House) -> ApprovalId:
    """`touch x` was approved for a while and has run."""
    house.minutes = 15
    asked = await house.submit()
    assert isinstance(asked, Waiting)
    await house.office.desk().decide(asked.approval, replace(yes(), lasts_ms=15 * MINUTE))
    await house.resume(asked.approval)
    return asked.approval


async def test_it_runs_as_it_was_approved(house: House, grant: ApprovalId) -> None:
    """In its canonical form, given to the shell of approvals, on record as that person's yes."""
    done = await house.submit(" touch   'x' ")
    assert isinstance(done, Done)
    assert (done.outcome.status, done.asked) == (Status.OK, False)
    assert done.decision is not None
    assert done.decision.grant is not None
    assert done.decision.grant.id == grant
    first, second = house.shell.permits
    assert (first.basis, second.basis, second.runs) == (Basis.RULING, Basis.GRANT, "touch x")
    assert (second.profile, second.needs, second.environment) == (first.profile, first.needs, {})
    found = await house.office.stores.trail.page(limit=4)
    assert [event.draft.kind for event in reversed(found)] == [
        EventKind.PROPOSED,
        EventKind.DECIDED,
        EventKind.STARTED,
        EventKind.FINISHED,
    ]
    for event in found[:3]:
        draft = event.draft
        assert (draft.word, draft.stage, draft.rule) == (Word.APPROVED, "grant", f"grant.{grant}")
        assert (draft.decider, draft.via, draft.approval) == (CHIEF.key, Via.BUTTON, None)


async def test_fifty_calls_at_once_all_run(house: House, grant: ApprovalId) -> None:
    """Each with its own start; the grant counts them."""
    gate = house.gate()
    house.gate = lambda: gate  # type: ignore[method-assign] # one gate for all of them
    ended = await asyncio.gather(*(house.submit() for _ in range(50)))
    assert {type(one) for one in ended} == {Done}
    assert len({permit.seq for permit in house.shell.permits}) == 51
    assert (await house.office.stores.grants.get(grant)).uses == 50


async def end(house: House, grant: ApprovalId) -> None:
    """Revoke it."""
    ruling = Ruling(ApprovalState.REVOKED, CHIEF, Via.COMMAND, 0)
    await house.office.desk().grants.revoke(grant, ruling)


async def test_one_that_ends_before_the_start_is_asked_about(house: House, grant: ApprovalId) -> None:
    """Looked at, decided, then revoked: the call goes on to a person, and both decisions are on record."""
    house.log.pauses[EventKind.STARTED] = asyncio.Event()
    running = asyncio.ensure_future(house.submit())
    await house.log.reached.wait()
    await end(house, grant)
    house.log.pauses.pop(EventKind.STARTED).set()
    asked = await running
    assert isinstance(asked, Waiting)
    assert len(house.shell.permits) == 1
    assert (await house.kinds())[-4:] == [
        EventKind.DECIDED,
        EventKind.APPROVAL_RESOLVED,
        EventKind.DECIDED,
        EventKind.APPROVAL_REQUESTED,
    ]


async def test_one_that_ends_before_the_start_goes_to_the_classifier_in_auto_mode(
    house: House, grant: ApprovalId
) -> None:
    """As if the grant had never been."""
    house.mode = Mode.AUTO
    house.classifier = Classifier("no answer at all")
    house.log.pauses[EventKind.STARTED] = asyncio.Event()
    running = asyncio.ensure_future(house.submit())
    await house.log.reached.wait()
    await end(house, grant)
    house.log.pauses.pop(EventKind.STARTED).set()
    assert isinstance(await running, Waiting)
    assert len(house.shell.permits) == 1


async def test_a_start_that_cannot_be_recorded_is_none(house: House, grant: ApprovalId) -> None:
    """A grant is no way around the record."""
    del grant
    house.log.faults[EventKind.STARTED] = RecordUnavailable("disk full")
    done = await house.submit()
    assert isinstance(done, Done)
    assert str(done.outcome.text).startswith("Not run: the record cannot be written (disk full)")
    assert len(house.shell.permits) == 1


@pytest.mark.parametrize("fault", [NotUsable("grant", "it is over"), NotUsable("used", "call c1 was started before")])
async def test_what_cannot_be_written_after_a_lost_race_runs_nothing(
    house: House, grant: ApprovalId, fault: NotUsable
) -> None:
    """The second decision is recorded before anybody is asked; a call id that repeats is refused."""
    del grant
    house.log.faults[EventKind.STARTED] = fault
    house.log.faults[EventKind.DECIDED] = RecordUnavailable("disk full")
    done = await house.submit()
    assert isinstance(done, Done)
    wanted = "Not run: the record cannot be written" if fault.why == "grant" else "Not run: call c1 was started before."
    assert str(done.outcome.text).startswith(wanted)
    assert len(house.shell.permits) == 1


async def test_a_resumed_call_rests_on_its_own_yes(house: House, grant: ApprovalId) -> None:
    """Another question about the same command, approved once: the record names that question, not the grant."""
    house.minutes = 0
    asked = await house.submit()
    assert isinstance(asked, Waiting)
    house.minutes = 15
    await house.office.desk().decide(asked.approval, yes())
    await house.resume(asked.approval)
    started = next(e for e in await house.office.stores.trail.page(limit=5) if e.draft.kind is EventKind.STARTED)
    assert started.draft.approval == asked.approval
    assert started.draft.stage != "grant"
    assert (await house.office.stores.grants.get(grant)).uses == 0

"""A call that is asked for again passes the gate like a new one, and what was kept of the first is used up once."""

from dataclasses import replace

import pytest

from mtbot.domain.again import KeptState
from mtbot.domain.call import Status
from mtbot.domain.errors import RecordUnavailable
from mtbot.domain.ids import Digest
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.domain.turn import Repeats
from mtbot.gate.gate import Done, Waiting
from tests.unit.approvals.office import yes
from tests.unit.approvals.samples import CHIEF
from tests.unit.gate.houses import House, approved, turn, wanted


@pytest.fixture
async def cut(house: House) -> AuditEvent:
    """A call whose end was never written down."""
    ident = await approved(house)
    house.log.faults[EventKind.FINISHED] = RecordUnavailable("the process ended")
    await house.resume(ident)
    del house.log.faults[EventKind.FINISHED]
    found = await house.office.stores.trail.page(limit=1)
    assert found[0].draft.kind is EventKind.STARTED
    return found[0]


async def again(
    house: House, cut: AuditEvent, digest: Digest | None = None, command: str = "touch x"
) -> Done | Waiting:
    """Ask for it again."""
    repeats = Repeats(cut.seq, cut.draft.digest if digest is None else digest)
    return await house.gate().submit(wanted(command), replace(turn(command), repeats=repeats, step=0), house.names)


async def question(house: House) -> str:
    """The lines of the open question."""
    (pending,) = await house.office.stores.consents.pending()
    return "\n".join(map(str, pending.card.lines))


async def test_what_was_started_is_kept_until_its_end_is_written(house: House, cut: AuditEvent) -> None:
    """Exactly as the model proposed it; a call that ends leaves nothing."""
    kept = await house.office.stores.kept.standing(cut.seq)
    assert kept is not None
    assert kept.call is not None
    assert (kept.call.tool, kept.call.arguments, kept.call.digest) == (
        "exec",
        '{"command":"touch x"}',
        cut.draft.digest,
    )
    assert (kept.call.cwd, kept.call.requester, kept.call.tainted) == (house.cwd, CHIEF.key, False)
    ident = await approved(house)
    await house.resume(ident)
    ended = (await house.office.stores.trail.page(limit=1))[0].draft
    started = next(
        one for one in await house.office.stores.trail.trail_of(ended.call) if one.draft.kind is EventKind.STARTED
    )
    assert await house.office.stores.kept.standing(started.seq) is None


async def test_it_is_a_new_question_with_the_same_digest(house: House, cut: AuditEvent) -> None:
    """Nothing changed, so nothing is said of a change."""
    assert isinstance(await again(house, cut), Waiting)
    assert "since it was cut off" not in await question(house)
    standing = await house.office.stores.kept.standing(cut.seq)
    assert standing is not None
    assert (standing.state, standing.by) == (KeptState.ASKED, CHIEF.key)


async def test_a_change_is_named_in_the_question(house: House, cut: AuditEvent) -> None:
    """And only where a question is put."""
    assert isinstance(await again(house, cut, Digest("0" * 64)), Waiting)
    assert "since it was cut off, its script, directory, environment or program has changed" in await question(house)


async def test_the_next_call_of_that_turn_is_no_repetition(house: House, cut: AuditEvent) -> None:
    """Of other calls of the same turn nothing is compared."""
    state = replace(turn("touch y"), repeats=Repeats(cut.seq, cut.draft.digest), step=1)
    assert isinstance(await house.gate().submit(wanted("touch y"), state, house.names), Waiting)
    assert "since it was cut off" not in await question(house)


async def test_what_was_dismissed_meanwhile_is_not_asked_about(house: House, cut: AuditEvent) -> None:
    """The turn goes on with that as its result."""
    await house.office.stores.kept.dismiss(cut.seq, CHIEF, house.office.clock.now_ms())
    done = await again(house, cut)
    assert isinstance(done, Done)
    assert (done.outcome.status, str(done.outcome.text)) == (Status.REFUSED, "Not run: it was dismissed meanwhile.")
    assert await house.office.stores.consents.pending() == ()


async def test_the_yes_runs_it_once(house: House, cut: AuditEvent) -> None:
    """The start of the second run finds its own turn's request, and is no third one."""
    assert isinstance(await again(house, cut), Waiting)
    (pending,) = await house.office.stores.consents.pending()
    await house.office.desk().decide(pending.id, yes())
    row = await house.office.stores.consents.get(pending.id)
    state = await house.office.stores.consents.parked(row.turn)
    assert state is not None
    assert state.repeats == Repeats(cut.seq, cut.draft.digest)
    done = await house.gate().resume(state.open_calls[0], state, row)
    assert done.outcome.status is Status.OK
    assert len(house.shell.permits) == 2


async def test_what_was_proposed_after_text_from_outside_stays_marked(house: House) -> None:
    """The turn that asks again begins with the mark of the one that was cut off."""
    ident = await approved(house)
    house.log.faults[EventKind.FINISHED] = RecordUnavailable("the process ended")
    row = await house.office.stores.consents.get(ident)
    await house.gate().resume(wanted("touch x"), replace(turn("touch x"), tainted=True), row)
    started = (await house.office.stores.trail.page(limit=1))[0]
    kept = await house.office.stores.kept.standing(started.seq)
    assert kept is not None
    assert kept.call is not None
    assert kept.call.tainted

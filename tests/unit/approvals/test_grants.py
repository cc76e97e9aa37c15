"""Grants after they were given: shown, judged at each use, taken back, also while nothing can be written."""

from dataclasses import replace

import pytest

from mtbot.approvals.card import Cards, Place
from mtbot.approvals.desk import Desk
from mtbot.approvals.grants import MAX_SHOWN, GrantDesk
from mtbot.domain.call import Call
from mtbot.domain.errors import (
    AlreadyDecided,
    NoSuchApproval,
    NotAllowed,
    NotWrittenYet,
    RecordUnavailable,
    StorageError,
)
from mtbot.domain.grant import Grant
from mtbot.domain.ids import ApprovalId, Digest, SessionId, TurnId
from mtbot.domain.record import ApprovalState, ChoiceAction, EventDraft, EventKind, Offer, OutboxItem, Ruling, Via, Word
from mtbot.domain.turn import SYSTEM, Actor
from mtbot.storage.grants import GrantStore
from tests.unit.approvals.office import Office, yes
from tests.unit.approvals.samples import (
    CHIEF,
    DEPLOY,
    GROUP,
    HOST,
    MINUTE,
    PRIVATE,
    REDACTOR,
    STRANGER,
    call,
    question,
    state,
)

OFFER = Offer(Digest("b" * 64), 15 * MINUTE)
LASTING = replace(yes(), lasts_ms=15 * MINUTE)
TOUCH = call("touch made")


class Broken(GrantStore):
    """The grants of an office, that cannot be read or written when a test says so."""

    def __init__(self, store: GrantStore) -> None:
        self.store = store
        self.readable = self.writable = True

    async def live(self, now_ms: int, session: SessionId | None = None) -> tuple[Grant, ...]:
        """Read, if it can be."""
        if not self.readable:
            raise StorageError("cannot be read")
        return await self.store.live(now_ms, session)

    async def get(self, grant: ApprovalId) -> Grant:
        """Read."""
        return await self.store.get(grant)

    async def revoke(self, grant: ApprovalId, ruling: Ruling, draft: EventDraft, *items: OutboxItem) -> Grant:
        """Write, if it can be."""
        if not self.writable:
            raise RecordUnavailable("the disk is full")
        return await self.store.revoke(grant, ruling, draft, *items)


@pytest.fixture
def broken(office: Office) -> Broken:
    """Works until a test breaks it."""
    return Broken(office.stores.grants)


@pytest.fixture
def desk(office: Office, broken: Broken) -> Desk:
    """A desk over those grants."""
    return office.desk(replace(office.stores, grants=broken))


async def give(desk: Desk, wanted: Call = TOUCH, ruling: Ruling = LASTING) -> ApprovalId:
    """Ask and approve for a while."""
    asked = replace(question(wanted), offer=OFFER)
    ident = await desk.ask(asked, replace(state(wanted), id=TurnId(f"turn-{wanted.id}")))
    await desk.decide(ident, ruling)
    return ident


def back(by: Actor = CHIEF, via: Via = Via.COMMAND) -> Ruling:
    """A revocation."""
    return Ruling(ApprovalState.REVOKED, by, via, 0)


async def test_a_yes_that_lasts_says_so_and_is_on_record(office: Office, desk: Desk) -> None:
    """The question offers it in a button of its own; below it stands until when, and how to end it."""
    ident = await give(desk)
    asked, ruled = await office.said()
    assert asked.card is not None
    assert [(choice.label, choice.action) for choice in asked.card.choices] == [
        ("✅ Approve once", ChoiceAction.APPROVE),
        ("✅ Approve for 15 min", ChoiceAction.GRANT),
        ("🚫 Deny", ChoiceAction.DENY),
    ]
    assert ruled.card is not None
    assert [str(line) for line in ruled.card.lines] == [
        "✅ Approved for 15 min by Chief 19:06",
        "Until 19:21 exactly this runs here again unasked, for the same person · /grants ends it",
    ]
    resolved = (await office.events())[-1]
    until = office.clock.now + 15 * MINUTE
    assert (resolved.word, resolved.detail) == (Word.APPROVED, f"grant.{ident} until {until}")


@pytest.mark.parametrize(("wanted", "configured", "given"), [(15, 15, 15), (60, 15, 15), (15, 5, 5), (5, 60, 5)])
async def test_it_lasts_as_long_as_all_agree_to(
    office: Office, desk: Desk, wanted: int, configured: int, given: int
) -> None:
    """What was pressed, what was offered, and what the configuration permits by now."""
    desk.grants.minutes = lambda _address: configured
    ident = await give(desk, ruling=replace(yes(), lasts_ms=wanted * MINUTE))
    found = await office.stores.grants.get(ident)
    assert found.until_ms - found.given_ms == given * MINUTE


async def test_what_was_not_offered_or_is_switched_off_is_not_given(office: Office, desk: Desk) -> None:
    """And stays open for a yes of the other kind."""
    bare = await desk.ask(question(TOUCH), state(TOUCH))
    with pytest.raises(NotAllowed, match="can only be approved once"):
        await desk.decide(bare, LASTING)
    other = call("touch other", ident="c2", turn="t2")
    ident = await desk.ask(replace(question(other), offer=OFFER), replace(state(other), id=TurnId("t2")))
    desk.grants.minutes = lambda _address: 0
    with pytest.raises(NotAllowed, match="switched off by now"):
        await desk.decide(ident, LASTING)
    row = await desk.decide(ident, yes())
    assert row.ruling is not None
    assert row.ruling.lasts_ms == 0


async def test_it_stands_for_its_place_and_person_only(office: Office, desk: Desk) -> None:
    """While it may; and never where it cannot be read."""
    ident = await give(desk)
    assert [grant.id for grant in await desk.grants.standing(TOUCH)] == [ident]
    assert await desk.grants.standing(replace(TOUCH, requester=DEPLOY)) == ()
    assert await desk.grants.standing(replace(TOUCH, address=GROUP)) == ()
    assert [grant.id for grant in await desk.grants.here(PRIVATE)] == [ident]
    assert await desk.grants.here(GROUP) == ()
    desk.grants.minutes = lambda _address: 0
    assert await desk.grants.standing(TOUCH) == ()
    assert await desk.grants.all() == ()


async def test_what_cannot_be_read_does_not_hold(desk: Desk, broken: Broken) -> None:
    """A question is asked instead."""
    await give(desk)
    broken.readable = False
    assert await desk.grants.standing(TOUCH) == ()


async def test_whoever_could_deny_may_take_it_back(office: Office, desk: Desk) -> None:
    """Once, told in the chat, on record; others are told that it is not theirs."""
    ident = await give(desk)
    with pytest.raises(NotAllowed):
        await desk.grants.revoke(ident, back(STRANGER))
    assert (await desk.grants.revoke(ident, back(HOST, Via.CLI))).revoked is not None
    said = (await office.said())[-1].card
    assert said is not None
    assert str(said.title) == "🚫 Denied from now on: touch made"
    assert [str(line) for line in said.lines] == [
        f"#{ident} was revoked by the owner of this host 19:06; the next time I ask again."
    ]
    event = (await office.events())[-1]
    assert (event.kind, event.stage, event.rule) == (EventKind.APPROVAL_RESOLVED, "grant", f"grant.{ident}")
    with pytest.raises(AlreadyDecided) as lost:
        await desk.grants.revoke(ident, back())
    assert (lost.value.state, lost.value.decider) == ("revoked", "the owner of this host")
    with pytest.raises(NoSuchApproval):
        await desk.grants.revoke(ApprovalId("ZZZZ"), back())


async def test_one_that_lapsed_says_so(office: Office, desk: Desk) -> None:
    """By whom nothing was done."""
    ident = await give(desk)
    office.clock.now += 15 * MINUTE
    with pytest.raises(AlreadyDecided) as lost:
        await desk.grants.revoke(ident, back())
    assert (lost.value.state, lost.value.at_ms) == ("expired", office.clock.now)
    assert lost.value.decider == office.people.name(SYSTEM)


async def test_a_revocation_that_cannot_be_written_counts_and_is_made_up_for(
    office: Office, desk: Desk, broken: Broken
) -> None:
    """In this process from now on; on record as soon as that is possible."""
    ident = await give(desk)
    broken.writable = False
    with pytest.raises(NotWrittenYet):
        await desk.grants.revoke(ident, back())
    assert await desk.grants.standing(TOUCH) == ()
    assert (await office.stores.grants.get(ident)).revoked is None
    with pytest.raises(NotWrittenYet):
        await desk.write_owed()
    broken.writable = True
    await desk.write_owed()
    assert (await office.stores.grants.get(ident)).revoked is not None
    assert await desk.grants.standing(TOUCH) == ()


async def test_one_that_is_over_is_owed_no_more(office: Office, desk: Desk, broken: Broken) -> None:
    """It lapsed before the database came back."""
    ident = await give(desk)
    broken.writable = False
    with pytest.raises(NotWrittenYet):
        await desk.grants.revoke(ident, back())
    broken.writable = True
    office.clock.now += 20 * MINUTE
    await desk.write_owed()
    assert (await office.stores.grants.get(ident)).revoked is None


async def test_a_stop_ends_all_of_a_conversation_that_are_ones_to_end(office: Office, desk: Desk) -> None:
    """Without a line for each: its answer says it."""
    first = await give(desk)
    second = await give(desk, call("touch other", ident="c2", turn="t2"))
    there = await give(desk, call("touch there", ident="c3", turn="t3", address=GROUP))
    before = len(await office.said())
    assert before == 6
    assert await desk.grants.end_all(PRIVATE, STRANGER) == ([], [first, second])
    assert await desk.grants.end_all(PRIVATE, CHIEF) == ([first, second], [])
    assert [grant.id for grant in await desk.grants.all()] == [there]
    assert await office.said() == []


async def test_a_stop_counts_for_all_of_them_while_nothing_can_be_written(desk: Desk, broken: Broken) -> None:
    """It waits for the database once, not once for each."""
    first = await give(desk)
    second = await give(desk, call("touch other", ident="c2", turn="t2"))
    broken.writable = False
    assert await desk.grants.end_all(PRIVATE, CHIEF) == ([first, second], [])
    assert await desk.grants.all() == ()


async def test_a_stop_counts_while_nothing_can_be_read(office: Office, desk: Desk, broken: Broken) -> None:
    """For what was given up to then; what is given later holds."""
    await give(desk)
    broken.readable = False
    with pytest.raises(StorageError):
        await desk.grants.end_all(PRIVATE, CHIEF)
    broken.readable = True
    assert await desk.grants.standing(TOUCH) == ()
    office.clock.now += 1
    later = await give(desk, call("touch later", ident="c2", turn="t2"))
    assert [grant.id for grant in await desk.grants.standing(TOUCH)] == [later]


async def test_the_list_names_each_with_a_button(office: Office, desk: Desk) -> None:
    """As many as fit, and how to end the others."""
    ident = await give(desk)
    (grant,) = await desk.grants.all()
    card = desk.grants.card((grant,))
    assert str(card.title) == "Approved for a while, so this runs here without a question:"
    assert [str(line) for line in card.lines] == [
        f"#{ident} until 19:21, for Chief, by Chief, 0 runs since: touch made"
    ]
    assert [(choice.label, choice.data) for choice in card.choices] == [(f"🚫 Revoke #{ident}", f"end.{grant.token}")]
    long = replace(grant, command="x" * 500, uses=1)
    assert "1 run since: " in desk.grants.line(long)
    assert desk.grants.line(long).endswith("…")
    many = desk.grants.card((grant,) * (MAX_SHOWN + 2))
    assert str(many.lines[-1]).startswith("and 2 more")
    assert "these run" in str(many.title)
    assert len(many.choices) == MAX_SHOWN


def test_nothing_is_granted_before_somebody_says_how_long(office: Office) -> None:
    """A desk that bootstrap did not finish grants nothing."""
    desk = GrantDesk(
        office.stores.grants, lambda: office.people, Cards(Place("nas", "mtclaw"), office.clock, REDACTOR), office.clock
    )
    assert desk.minutes(PRIVATE) == 0

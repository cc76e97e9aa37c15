"""Grants as rows: given with their ruling, used with their start, ended by one compare-and-set; on both databases."""

import asyncio
from dataclasses import replace

import pytest

from mtbot.bootstrap.stores import maintenance_of
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotUsable
from mtbot.domain.grant import Grant
from mtbot.domain.ids import ApprovalId, CallId, Digest, SessionId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import Approval, ApprovalState, EventDraft, EventKind, Offer, Ruling, Via, Word
from mtbot.domain.turn import Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.grants import GrantStore
from mtbot.storage.history import HistoryStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    CHIEF,
    GROUP,
    MINUTE,
    NOW,
    REVIEW,
    SESSION,
    approval,
    asked,
    draft,
    question,
    resolved,
    safe,
    start,
    turn_state,
    yes,
)

ID = ApprovalId("K7QD")
BINDING = Digest("b" * 64)
OFFER = Offer(BINDING, 15 * MINUTE)
GIVEN = NOW + MINUTE
UNTIL = GIVEN + 15 * MINUTE
LASTING = replace(yes(GIVEN), lasts_ms=15 * MINUTE)
BACK = Ruling(ApprovalState.REVOKED, CHIEF, Via.COMMAND, GIVEN + MINUTE)


@pytest.fixture
def grants(db: Database, chain: Chain) -> GrantStore:
    """The grants of the database."""
    return GrantStore(db, chain)


async def ask(consents: ConsentStore, name: str = "K7QD", call: str = "c1", turn: str = "t1") -> Approval:
    """A question that offers a yes that lasts."""
    request = replace(approval(name, call, turn), offer=OFFER)
    await consents.open(request, turn_state(turn), asked(name, call), question(name))
    return request


async def give(consents: ConsentStore, name: str = "K7QD", call: str = "c1", turn: str = "t1") -> Approval:
    """A grant."""
    await ask(consents, name, call, turn)
    return await consents.rule(ApprovalId(name), LASTING, resolved(name, call))


def ending(at_ms: int = BACK.at_ms) -> EventDraft:
    """The event of a revocation."""
    bare = draft(EventKind.APPROVAL_RESOLVED, "c1", at_ms)
    return replace(bare, approval=ID, word=Word.DENIED_USER, stage="grant", rule="grant.K7QD")


async def test_it_is_there_with_its_ruling_and_not_before(consents: ConsentStore, grants: GrantStore) -> None:
    """The question offers, the yes gives; everything that judges it comes back."""
    request = await ask(consents)
    assert await consents.get(ID) == request
    with pytest.raises(NoSuchApproval):
        await grants.get(ID)
    row = await consents.rule(ID, LASTING, resolved())
    assert row.ruling == LASTING
    assert await consents.get(ID) == row
    expected = Grant(
        ID, CallId("c1"), GROUP, CHIEF, REVIEW, Via.BUTTON, "docker compose up -d", BINDING, "token-K7QD", GIVEN, UNTIL
    )
    assert await grants.get(ID) == expected
    assert await grants.live(GIVEN) == (expected,)
    assert await grants.live(GIVEN, SESSION) == (expected,)
    assert await grants.live(GIVEN, SessionId("telegram:ops:1001:0")) == ()


@pytest.mark.parametrize(
    "ruling", [yes(GIVEN), replace(LASTING, state=ApprovalState.DENIED), replace(LASTING, at_ms=NOW + 31 * MINUTE)]
)
async def test_no_other_ruling_gives_one(consents: ConsentStore, grants: GrantStore, ruling: Ruling) -> None:
    """Once, no, and too late."""
    await ask(consents)
    if ruling.at_ms > NOW + 30 * MINUTE:
        with pytest.raises(AlreadyDecided):
            await consents.rule(ID, ruling, resolved(at_ms=ruling.at_ms))
    else:
        await consents.rule(ID, ruling, resolved())
    assert await grants.live(GIVEN) == ()


async def test_a_second_yes_that_lasts_changes_nothing(consents: ConsentStore, grants: GrantStore) -> None:
    """A press that comes again: the time runs from the first."""
    await give(consents)
    later = replace(LASTING, at_ms=GIVEN + 5 * MINUTE)
    with pytest.raises(AlreadyDecided):
        await consents.rule(ID, later, resolved(at_ms=later.at_ms))
    assert (await grants.get(ID)).until_ms == UNTIL


async def test_fifty_uses_at_once_are_fifty_starts(
    place: Place, db: Database, consents: ConsentStore, grants: GrantStore, trail: Trail
) -> None:
    """No use is lost and none is counted twice, also from two processes."""
    await give(consents)
    other = await Database.open_for_writing(place)
    trails = (trail, Trail(other, Chain(other)))
    events = await asyncio.gather(*(trails[n % 2].start(start(f"u{n}"), None, ID) for n in range(50)))
    await other.close()
    assert len({event.seq for event in events}) == 50
    assert (await grants.get(ID)).uses == 50
    assert (await trail.verify()).whole


async def test_no_use_starts_after_a_revocation(
    place: Place, db: Database, consents: ConsentStore, grants: GrantStore, trail: Trail
) -> None:
    """Fifty uses and a revocation race from two processes: every start stands before it on record, none behind."""
    await give(consents)
    other = await Database.open_for_writing(place)
    second = Chain(other)
    trails = (trail, Trail(other, second))

    async def use(number: int) -> bool:
        try:
            await trails[number % 2].start(start(f"u{number}"), None, ID)
        except NotUsable as refused:
            return refused.why != "grant"
        return True

    first = [asyncio.ensure_future(use(number)) for number in range(25)]
    revoked = asyncio.ensure_future(GrantStore(other, second).revoke(ID, BACK, ending()))
    rest = [asyncio.ensure_future(use(number)) for number in range(25, 50)]
    ran = sum(await asyncio.gather(*first, *rest))
    await revoked
    late = await use(50)
    await other.close()
    record = list(reversed(await trail.page(limit=200)))
    kinds = [(event.draft.kind, event.draft.stage) for event in record]
    at = kinds.index((EventKind.APPROVAL_RESOLVED, "grant"))
    assert late is False
    assert EventKind.STARTED not in [kind for kind, _ in kinds[at:]]
    assert [kind for kind, _ in kinds[:at]].count(EventKind.STARTED) == ran == (await grants.get(ID)).uses


@pytest.mark.parametrize("at_ms", [GIVEN - 1, UNTIL, UNTIL + MINUTE])
async def test_it_is_used_only_in_its_time(consents: ConsentStore, trail: Trail, at_ms: int) -> None:
    """A clock that was set back behind the yes does not make it longer; nothing is written."""
    await give(consents)
    before = await trail.head()
    with pytest.raises(NotUsable) as refused:
        await trail.start(start("u1", at_ms=at_ms), None, ID)
    assert refused.value.why == "grant"
    assert await trail.head() == before
    await trail.start(start("u1", at_ms=UNTIL - 1), None, ID)


async def test_another_conversation_cannot_use_it(consents: ConsentStore, trail: Trail) -> None:
    """Nor does a name that there is none of."""
    await give(consents)
    elsewhere = replace(start("u1"), session=SessionId("telegram:ops:1001:0"))
    for event, name in ((elsewhere, "K7QD"), (start("u1"), "ZZZZ")):
        with pytest.raises(NotUsable):
            await trail.start(event, None, ApprovalId(name))


async def test_a_revocation_is_decided_once(
    db: Database, consents: ConsentStore, grants: GrantStore, trail: Trail
) -> None:
    """With its event and what is to be said; the second reads who was first, and one that lapsed says so."""
    await give(consents)
    before = len(await trail.page())
    ended = await grants.revoke(ID, BACK, ending(), question("K7QD"))
    assert (ended.revoked, ended.live(GIVEN)) == (BACK, False)
    assert await grants.live(GIVEN) == ()
    assert len(await OutboxStore(db, safe).next(["group"], UNTIL)) == 1
    with pytest.raises(AlreadyDecided) as lost:
        await grants.revoke(ID, replace(BACK, decider=REVIEW), ending())
    assert (lost.value.state, lost.value.decider, lost.value.at_ms) == ("revoked", CHIEF.key, BACK.at_ms)
    assert len(await trail.page()) == before + 1
    await give(consents, "M3XA", "c2", "t2")
    with pytest.raises(AlreadyDecided) as lost:
        await grants.revoke(ApprovalId("M3XA"), replace(BACK, at_ms=UNTIL), ending(UNTIL))
    assert (lost.value.state, lost.value.at_ms) == ("expired", UNTIL)
    with pytest.raises(NoSuchApproval):
        await grants.revoke(ApprovalId("ZZZZ"), BACK, ending())


async def test_a_yes_that_is_taken_back_takes_its_grant_along(consents: ConsentStore, grants: GrantStore) -> None:
    """Before its call has run."""
    await give(consents)
    taken = replace(BACK, via=Via.CLI)
    await consents.rule(ID, taken, resolved(word=Word.DENIED_USER, at_ms=taken.at_ms))
    assert await grants.live(GIVEN) == ()
    assert (await grants.get(ID)).revoked == taken


async def test_it_goes_with_its_conversation(db: Database, consents: ConsentStore, grants: GrantStore) -> None:
    """/new forgets what was given; the name is free again, and a new request of it has no grant."""
    await give(consents)
    await HistoryStore(db).clear(SESSION)
    assert await grants.live(GIVEN) == ()
    await ask(consents, call="c9", turn="t9")
    with pytest.raises(NoSuchApproval):
        await grants.get(ID)


async def test_old_ones_are_tidied_and_live_ones_kept_with_their_requests(
    db: Database, consents: ConsentStore, grants: GrantStore, trail: Trail
) -> None:
    """Whatever the age of its request."""
    for number, name in enumerate(("K7QD", "M3XA", "T8WN")):
        await give(consents, name, f"c{number}", f"t{number}")
        await trail.start(start(f"c{number}", name), ApprovalId(name))
        # the turn ends, so that nothing but the grant keeps the request
        await HistoryStore(db).flush(TurnFlush(TurnId(f"t{number}"), GROUP, (), Usage(), ()), NOW)
    await grants.revoke(ID, BACK, ending())
    care = maintenance_of(db)
    early = await care.tidy(GIVEN + 10 * MINUTE, GIVEN + 10 * MINUTE)
    assert (early.grants, early.requests) == (1, 0)
    assert [grant.id for grant in await grants.live(GIVEN)] == ["M3XA", "T8WN"]
    late = await care.tidy(NOW + 60 * MINUTE, NOW + 60 * MINUTE)
    assert (late.grants, late.requests) == (2, 3)

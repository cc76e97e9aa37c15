"""Calls that a person runs at the host: one transaction begins them, and their end waits beside the turn."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text, update
from sqlmodel import col

from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotUsable, SealError
from mtbot.domain.host_run import Beginning, Ran
from mtbot.domain.ids import ApprovalId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import Approval, ApprovalState, EventKind, Ruling, Via, Word
from mtbot.domain.turn import Actor, ActorKind, Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.host_runs import HostRunStore
from mtbot.storage.tables import EventRow, ParkedRow
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    GROUP,
    MINUTE,
    NOW,
    approval,
    asked,
    draft,
    no,
    question,
    reply,
    resolved,
    safe,
    turn_state,
)

ID = ApprovalId("K7QD")
HOST = Actor(ActorKind.LOCAL, 1000, "chief")
OUTCOME = Outcome(Status.OK, safe("exit_code: 0"), 0, 41_000, 12, 38, ("pid 7",), tainted=True)


@pytest.fixture
def runs(db: Database, consents: ConsentStore) -> HostRunStore:
    """The store."""
    return HostRunStore(db, Chain(db), consents, safe)


async def ask(consents: ConsentStore) -> Approval:
    """Open a request that only the host can answer."""
    request = replace(approval(), elevates=True)
    await consents.open(request, turn_state(), asked(), question())
    return request


def beginning(at_ms: int = NOW + MINUTE, call: str = "c1") -> Beginning:
    """A yes at the host, and the start that it is."""
    ruling = Ruling(ApprovalState.APPROVED, HOST, Via.TERMINAL, at_ms)
    started = replace(draft(EventKind.STARTED, call, at_ms), word=Word.APPROVED, via=Via.TERMINAL, approval=ID)
    return Beginning(ruling, resolved(at_ms=at_ms), started)


async def finish(runs: HostRunStore) -> None:
    """Begin and end."""
    _row, started = await runs.begin(ID, beginning())
    await runs.end(ID, replace(draft(EventKind.FINISHED, at_ms=NOW + 2 * MINUTE), exit_code=0), OUTCOME, started.seq)


async def kinds(trail: Trail) -> list[EventKind]:
    """What is on record, in order."""
    return [event.draft.kind for event in reversed(await trail.page())]


async def make_dead(db: Database) -> None:
    """Have a process that is certainly gone have started it."""
    here = db.instance
    writer = f"{here.host}:{'0' * 8}:1:1"
    statement = update(EventRow).where(col(EventRow.kind) == EventKind.STARTED).values(instance=writer)
    await db.write(lambda session: session.execute(statement))


class TestBeginning:
    """The yes, the start and the use of the yes are one."""

    async def test_it_rules_starts_and_leaves_the_turn_parked(
        self, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """Two events side by side; nothing is there to be resumed before it has ended."""
        await ask(consents)
        row, started = await runs.begin(ID, beginning())
        assert (row.state, row.ruling) == (ApprovalState.APPROVED, beginning().ruling)
        assert (started.draft.kind, started.draft.via) == (EventKind.STARTED, Via.TERMINAL)
        assert await kinds(trail) == [
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVAL_RESOLVED,
            EventKind.STARTED,
        ]
        assert await consents.parked(TurnId("t1")) == turn_state()
        assert await consents.resumable() == ()
        assert [(one.approval.id, one.dead) for one in await runs.running()] == [(ID, False)]

    async def test_after_its_time_it_lapses_instead(
        self, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """To the millisecond; the record says who came too late."""
        request = await ask(consents)
        with pytest.raises(AlreadyDecided) as lost:
            await runs.begin(ID, beginning(request.expires_ms))
        assert lost.value.state == ApprovalState.EXPIRED
        assert (await consents.get(ID)).state is ApprovalState.EXPIRED
        assert (await kinds(trail))[-1] is EventKind.APPROVAL_RESOLVED
        assert (await trail.page())[0].draft.detail == "local:1000 approved too late"

    async def test_whoever_denied_first_has_won(self, runs: HostRunStore, consents: ConsentStore) -> None:
        """Nothing is written."""
        await ask(consents)
        await consents.rule(ID, no(), resolved(word=Word.DENIED_USER))
        with pytest.raises(AlreadyDecided) as lost:
            await runs.begin(ID, beginning())
        assert lost.value.state == ApprovalState.DENIED
        assert await runs.running() == ()

    async def test_what_begins_denies_expires_at_once_has_one_winner(
        self, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """Many at the same moment, of all kinds."""
        await ask(consents)
        lapse = Ruling(ApprovalState.EXPIRED, HOST, Via.EXPIRY, NOW + MINUTE, "timeout")
        work = [
            step
            for _ in range(8)
            for step in (
                runs.begin(ID, beginning()),
                consents.rule(ID, no(), resolved(word=Word.DENIED_USER)),
                consents.rule(ID, lapse, resolved(word=Word.EXPIRED)),
            )
        ]
        results = await asyncio.gather(*work, return_exceptions=True)
        won = [one for one in results if not isinstance(one, BaseException)]
        assert len(won) == 1
        assert all(isinstance(one, AlreadyDecided) for one in results if isinstance(one, BaseException))
        starts = (await kinds(trail)).count(EventKind.STARTED)
        assert starts == ((await consents.get(ID)).state is ApprovalState.APPROVED)

    async def test_it_is_bound_to_its_call_and_digest(self, runs: HostRunStore, consents: ConsentStore) -> None:
        """Another call, or the same one with something else in it, is not what was asked."""
        await ask(consents)
        other = beginning(call="c2")
        changed = replace(beginning(), started=replace(beginning().started, digest=other.started.digest))
        for begin in (other, changed):
            with pytest.raises(NotUsable) as caught:
                await runs.begin(ID, begin)
            assert caught.value.why == "changed"
        assert (await consents.get(ID)).state is ApprovalState.PENDING

    async def test_a_call_that_was_started_before_is_not_started_again(
        self, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """By whatever road."""
        await ask(consents)
        await trail.start(draft(EventKind.STARTED), None)
        with pytest.raises(NotUsable, match="used before"):
            await runs.begin(ID, beginning())
        assert (await consents.get(ID)).state is ApprovalState.PENDING

    async def test_without_its_turn_nothing_begins(
        self, db: Database, runs: HostRunStore, consents: ConsentStore
    ) -> None:
        """Nobody would hear of it."""
        await ask(consents)
        await HistoryStore(db).flush(TurnFlush(TurnId("t1"), GROUP, (), Usage(), (reply(),)), NOW)
        with pytest.raises(NotUsable, match="no turn waits"):
            await runs.begin(ID, beginning())
        with pytest.raises(NoSuchApproval):
            await runs.begin(ApprovalId("ZZZZ"), beginning())


class TestEnding:
    """Its end is laid beside the turn and taken once."""

    async def test_the_end_waits_sealed_and_is_taken_once(
        self, db: Database, runs: HostRunStore, consents: ConsentStore
    ) -> None:
        """Turn and outcome come out as they went in; a second look finds nothing."""
        await ask(consents)
        _row, started = await runs.begin(ID, beginning())
        assert await runs.take(ID) is None
        ended = replace(draft(EventKind.FINISHED, at_ms=NOW + 2 * MINUTE), exit_code=0)
        await runs.end(ID, ended, OUTCOME, started.seq)
        assert [one.id for one in await consents.resumable()] == [ID]
        assert await runs.running() == ()
        raw = await db.read(
            lambda session: session.connection().execute(text("SELECT outcome FROM parked_turns")).scalar()
        )
        assert isinstance(raw, bytes | memoryview)
        assert b"exit_code" not in bytes(raw)
        assert await runs.take(ID) == Ran(turn_state(), OUTCOME)
        assert await runs.take(ID) is None
        assert await consents.resumable() == ()
        assert await consents.parked(TurnId("t1")) is None

    async def test_many_who_take_it_at_once_get_it_once(self, runs: HostRunStore, consents: ConsentStore) -> None:
        """Two processes that serve the same session."""
        await ask(consents)
        await finish(runs)
        taken = await asyncio.gather(*(runs.take(ID) for _ in range(8)))
        assert [one for one in taken if one is not None] == [Ran(turn_state(), OUTCOME)]

    async def test_an_end_without_a_turn_is_only_on_record(
        self, db: Database, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """The session was cleared meanwhile."""
        await ask(consents)
        _row, started = await runs.begin(ID, beginning())
        await HistoryStore(db).clear(GROUP.session)
        await runs.end(ID, replace(draft(EventKind.FINISHED), exit_code=0), OUTCOME, started.seq)
        assert (await kinds(trail))[-1] is EventKind.FINISHED
        assert await runs.take(ID) is None

    async def test_what_does_not_open_is_an_error(
        self, db: Database, runs: HostRunStore, consents: ConsentStore
    ) -> None:
        """Never a turn with another outcome."""
        await ask(consents)
        await finish(runs)
        forged = db.seal.close("{}", "parked_turns.outcome", ID)
        await db.write(lambda session: session.execute(update(ParkedRow).values(outcome=forged)))
        with pytest.raises(SealError, match="cannot be read"):
            await runs.take(ID)


class TestCrashes:
    """Who answers for it, at every moment."""

    async def test_a_run_whose_process_is_gone_is_known(
        self, db: Database, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """The record names it as unfinished."""
        await ask(consents)
        await runs.begin(ID, beginning())
        await make_dead(db)
        assert [one.dead for one in await runs.running()] == [True]
        assert [event.draft.approval for event in await trail.unfinished()] == [ID]
        assert await trail.cut_short() == ()

    async def test_an_end_that_waits_is_nobodys_crash(
        self, db: Database, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """The process that ran it is always gone by then."""
        await ask(consents)
        await finish(runs)
        await make_dead(db)
        assert await trail.unfinished() == ()
        assert await trail.cut_short() == ()

    async def test_a_turn_that_was_taken_is_its_takers(
        self, db: Database, runs: HostRunStore, consents: ConsentStore, trail: Trail
    ) -> None:
        """While the taker lives nothing was cut short, whoever started the call; afterwards it was."""
        await ask(consents)
        await finish(runs)
        await make_dead(db)
        await runs.take(ID)
        assert await trail.cut_short() == ()
        dead = f"{db.instance.host}:{'0' * 8}:1:1"
        await db.write(lambda session: session.execute(update(ParkedRow).values(holder=dead)))
        ((started, end),) = await trail.cut_short()
        assert (started.draft.kind, end.draft.kind) == (EventKind.STARTED, EventKind.FINISHED)

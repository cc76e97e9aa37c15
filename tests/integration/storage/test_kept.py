"""The exact call of a start: kept sealed until it ends, and asked for again once."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text, update

from mtbot.bootstrap.stores import maintenance_of
from mtbot.domain.again import Keep, KeptCall, KeptState, Standing
from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import NameTaken, NotUsable
from mtbot.domain.host_run import Beginning
from mtbot.domain.ids import ApprovalId, TurnId
from mtbot.domain.record import AuditEvent, EventDraft, EventKind
from mtbot.domain.turn import Repeats
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.host_runs import HostRunStore
from mtbot.storage.kept import KeptStore
from mtbot.storage.kept_tables import KeptRow
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    CHIEF,
    GROUP,
    MINUTE,
    NOW,
    PRIVATE,
    REVIEW,
    approval,
    asked,
    digest,
    draft,
    question,
    resolved,
    safe,
    start,
    turn_state,
    yes,
)

SECRET = "hunter2-in-plain-words"
CALL = KeptCall(
    "exec", f'{{"command":"echo {SECRET}"}}', "/srv/media", digest("c1"), GROUP.session, CHIEF.key, tainted=True
)
KEEP = Keep(TurnId("t1"), CALL)
AT = NOW + 2 * MINUTE


@pytest.fixture
def kept(db: Database) -> KeptStore:
    """The store."""
    return KeptStore(db)


def finished(call: str = "c1") -> EventDraft:
    """The end of a call."""
    return replace(draft(EventKind.FINISHED, call, NOW + 3 * MINUTE), exit_code=0)


async def ask(consents: ConsentStore, begun: AuditEvent, turn: str, name: str) -> None:
    """Open a request that asks for ``begun`` again, as ``turn``."""
    state = replace(turn_state(turn), repeats=Repeats(begun.seq, digest("c1")))
    await consents.open(approval(name, f"again-{turn}", turn), state, asked(name, f"again-{turn}"), question(name))


async def rows(db: Database) -> int:
    """How many rows there are."""
    found = await db.read(lambda look: look.connection().execute(text("SELECT count(*) FROM kept_calls")).scalar())
    assert isinstance(found, int)
    return found


class TestKeeping:
    """With the start, until the end."""

    async def test_a_start_keeps_its_call_sealed(self, db: Database, trail: Trail, kept: KeptStore) -> None:
        """It comes out as it went in, and lies there unreadable."""
        begun = await trail.start(start(), None, keep=KEEP)
        assert await kept.standing(begun.seq) == Standing(KeptState.KEPT, CHIEF.key, AT, CALL)
        raw = await db.read(lambda look: look.connection().execute(text("SELECT sealed FROM kept_calls")).scalar())
        assert isinstance(raw, bytes | memoryview)
        assert SECRET.encode() not in bytes(raw)

    async def test_the_end_takes_it_away(self, db: Database, trail: Trail, kept: KeptStore) -> None:
        """In the transaction of its event."""
        begun = await trail.start(start(), None, keep=KEEP)
        other = await trail.start(start("c2"), None, keep=KEEP)
        ended = await trail.end(finished(), begun.seq)
        assert ended.draft.kind is EventKind.FINISHED
        assert await kept.standing(begun.seq) is None
        assert (await kept.standing(other.seq) or Standing(KeptState.CLEARED)).state is KeptState.KEPT
        assert await rows(db) == 1

    async def test_an_interruption_on_record_leaves_it(self, trail: Trail, kept: KeptStore) -> None:
        """That is what it is kept for."""
        begun = await trail.start(start(), None, keep=KEEP)
        await trail.append(draft(EventKind.INTERRUPTED))
        assert (await kept.standing(begun.seq) or Standing(KeptState.CLEARED)).call == CALL

    async def test_a_start_that_fails_keeps_nothing(self, db: Database, trail: Trail) -> None:
        """The second start of a call, and one whose approval does not hold."""
        await trail.start(start(), None)
        with pytest.raises(NotUsable):
            await trail.start(start(), None, keep=KEEP)
        with pytest.raises(NotUsable):
            await trail.start(start("c2", "K7QD"), ApprovalId("K7QD"), keep=KEEP)
        assert await rows(db) == 0

    async def test_nothing_is_kept_where_nothing_is_wanted(self, db: Database, trail: Trail, kept: KeptStore) -> None:
        """A terminal, a job, a call that is too long."""
        begun = await trail.start(start(), None, keep=Keep(TurnId("t1")))
        assert await rows(db) == 0
        assert await kept.standing(begun.seq) is None
        await trail.end(finished(), begun.seq)

    async def test_a_run_at_the_host_keeps_its_call_too(
        self, db: Database, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """From its start to its end."""
        runs = HostRunStore(db, Chain(db), consents, safe)
        await consents.open(approval(), turn_state(), asked(), question())
        begin = Beginning(yes(), resolved(), replace(start(name="K7QD"), at_ms=NOW + MINUTE), KEEP)
        _row, begun = await runs.begin(ApprovalId("K7QD"), begin)
        assert (await kept.standing(begun.seq) or Standing(KeptState.CLEARED)).call == CALL
        await runs.end(ApprovalId("K7QD"), finished(), Outcome(Status.OK, safe("exit_code: 0"), 0), begun.seq)
        assert await rows(db) == 0

    async def test_a_call_that_does_not_open_is_there_and_not_to_be_had(
        self, db: Database, trail: Trail, kept: KeptStore
    ) -> None:
        """Another key, or a row that somebody moved."""
        begun = await trail.start(start(), None, keep=KEEP)
        await db.write(lambda session: session.execute(update(KeptRow).values(sealed=b"\x01" + b"x" * 40)).close())
        assert await kept.standing(begun.seq) == Standing(KeptState.KEPT, CHIEF.key, AT)

    async def test_old_ones_go_with_the_rest(self, db: Database, trail: Trail, kept: KeptStore) -> None:
        """After the time that the owner gave, and not before."""
        begun = await trail.start(start(), None, keep=KEEP)
        care = maintenance_of(db)
        assert (await care.tidy(AT, AT)).calls == 0
        assert (await care.tidy(AT + 1, AT + 1)).calls == 1
        assert await kept.standing(begun.seq) is None


class TestAskingAgain:
    """One request, whoever asks and however often."""

    async def test_a_question_wipes_it_in_the_same_transaction(
        self, trail: Trail, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """Who asked is remembered; the same turn may ask about more."""
        begun = await trail.start(start(), None, keep=KEEP)
        await ask(consents, begun, "t2", "AAAA")
        assert await kept.standing(begun.seq) == Standing(KeptState.ASKED, CHIEF.key, NOW)
        await ask(consents, begun, "t2", "BBBB")
        assert len(await consents.pending()) == 2

    async def test_another_turn_comes_too_late(self, trail: Trail, consents: ConsentStore) -> None:
        """Nothing of its request is written."""
        begun = await trail.start(start(), None, keep=KEEP)
        await ask(consents, begun, "t2", "AAAA")
        before = await trail.head()
        with pytest.raises(NotUsable, match="asked for again already"):
            await ask(consents, begun, "t3", "BBBB")
        assert [one.id for one in await consents.pending()] == ["AAAA"]
        assert await trail.head() == before
        assert await consents.parked(TurnId("t3")) is None

    async def test_a_start_without_a_question_wipes_it_too(self, trail: Trail, kept: KeptStore) -> None:
        """By a rule of the owner; its own call is kept instead."""
        begun = await trail.start(start(), None, keep=KEEP)
        again = Keep(TurnId("t2"), CALL, begun.seq)
        second = await trail.start(start("c2"), None, keep=again)
        assert await kept.standing(begun.seq) == Standing(KeptState.ASKED, CHIEF.key, AT)
        assert (await kept.standing(second.seq) or Standing(KeptState.CLEARED)).call == CALL
        with pytest.raises(NotUsable, match="asked for again already"):
            await trail.start(start("c3"), None, keep=replace(again, turn=TurnId("t3")))
        await trail.start(start("c4"), None, keep=again)

    async def test_many_at_once_ask_once(
        self, db: Database, place: Place, trail: Trail, consents: ConsentStore
    ) -> None:
        """Two processes, each with many presses; questions and starts mixed."""
        other = await Database.open_for_writing(place)
        chain = Chain(other)
        second, second_consents = Trail(other, chain), ConsentStore(other, chain, safe)
        begun = await trail.start(start(), None, keep=KEEP)

        async def one(number: int) -> None:
            if number % 3:
                await ask((consents, second_consents)[number % 2], begun, f"a{number}", f"A{number:03}")
            else:
                keep = Keep(TurnId(f"a{number}"), CALL, begun.seq)
                await (trail, second)[number % 2].start(start(f"s{number}"), None, keep=keep)

        ended = await asyncio.gather(*(one(number) for number in range(50)), return_exceptions=True)
        assert [fault for fault in ended if fault is not None and not isinstance(fault, NotUsable)] == []
        assert sum(fault is None for fault in ended) == 1
        await other.close()

    async def test_what_was_dismissed_is_not_asked_for(
        self, trail: Trail, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """Also when the press waited in line."""
        begun = await trail.start(start(), None, keep=KEEP)
        await kept.dismiss(begun.seq, REVIEW, AT + 5)
        await kept.dismiss(begun.seq, CHIEF, AT + 6)
        assert await kept.standing(begun.seq) == Standing(KeptState.DISMISSED, REVIEW.key, AT + 5)
        with pytest.raises(NotUsable, match="dismissed"):
            await ask(consents, begun, "t2", "AAAA")

    async def test_what_was_asked_for_cannot_be_dismissed(
        self, trail: Trail, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """Its question is there to be answered."""
        begun = await trail.start(start(), None, keep=KEEP)
        await ask(consents, begun, "t2", "AAAA")
        await kept.dismiss(begun.seq, REVIEW, AT)
        assert (await kept.standing(begun.seq) or Standing(KeptState.KEPT)).state is KeptState.ASKED

    async def test_a_conversation_that_begins_anew_wipes_its_own(
        self, db: Database, trail: Trail, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """And no other's."""
        begun = await trail.start(start(), None, keep=KEEP)
        elsewhere = replace(CALL, session=PRIVATE.session)
        other = await trail.start(
            replace(start("c2"), session=PRIVATE.session), None, keep=replace(KEEP, call=elsewhere)
        )
        for call in ("c1", "c2"):
            await trail.append(draft(EventKind.INTERRUPTED, call))
        await HistoryStore(db).clear(GROUP.session)
        assert await kept.standing(begun.seq) == Standing(KeptState.CLEARED, "", AT)
        assert (await kept.standing(other.seq) or Standing(KeptState.CLEARED)).state is KeptState.KEPT
        with pytest.raises(NotUsable, match="begun anew"):
            await ask(consents, begun, "t2", "AAAA")

    async def test_a_call_that_goes_on_behind_its_conversation_stays(
        self, db: Database, trail: Trail, kept: KeptStore
    ) -> None:
        """A job: if a crash cuts it off, it can be asked for again, and once that is on record a fresh start wipes it."""
        begun, behind = [await trail.start(start(call), None, keep=KEEP) for call in ("c1", "c2")]
        await trail.append(draft(EventKind.INTERRUPTED, "c1"))
        await HistoryStore(db).clear(GROUP.session)
        assert await kept.standing(begun.seq) == Standing(KeptState.CLEARED, "", AT)
        assert (await kept.standing(behind.seq) or Standing(KeptState.CLEARED)).call == CALL
        await trail.append(draft(EventKind.INTERRUPTED, "c2"))
        await HistoryStore(db).clear(GROUP.session)
        assert await kept.standing(behind.seq) == Standing(KeptState.CLEARED, "", AT)

    async def test_a_question_that_cannot_be_written_costs_nothing(
        self, trail: Trail, consents: ConsentStore, kept: KeptStore
    ) -> None:
        """Its name is taken; the call is still there to be asked for."""
        begun = await trail.start(start(), None, keep=KEEP)
        await consents.open(approval("AAAA"), turn_state(), asked("AAAA"), question("AAAA"))
        with pytest.raises(NameTaken):
            await ask(consents, begun, "t2", "AAAA")
        assert (await kept.standing(begun.seq) or Standing(KeptState.CLEARED)).call == CALL

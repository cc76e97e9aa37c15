"""The record: chained, once per call, consumed with its approval, fast to page, pruned from its beginning."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import event, text
from sqlmodel import Session

from mtbot.audit import GENESIS, Mark
from mtbot.domain.errors import NotUsable, RecordUnavailable
from mtbot.domain.ids import ApprovalId, CallId, ChatId, Digest, SessionId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Word
from mtbot.domain.turn import Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.events import EventFilter
from mtbot.storage.history import HistoryStore
from mtbot.storage.instance import this_instance
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    GROUP,
    MINUTE,
    NOW,
    PRIVATE,
    approval,
    asked,
    dead,
    digest,
    draft,
    end,
    no,
    question,
    resolved,
    start,
    turn_state,
    yes,
)


class TestAppend:
    """Events in their places."""

    async def test_events_are_chained_in_order(self, trail: Trail) -> None:
        """Each carries the hash of the one before it, across appends."""
        one, two = await trail.append(draft(), draft(EventKind.DECIDED))
        (three,) = await trail.append(end())
        assert [event.seq for event in (one, two, three)] == [1, 2, 3]
        assert [event.previous for event in (one, two, three)] == [GENESIS, one.hash, two.hash]
        assert one.instance == str(this_instance())
        assert (await trail.verify()).whole

    async def test_events_come_back_as_they_were_written(self, trail: Trail) -> None:
        """Every field survives the database."""
        full = replace(
            resolved(word=Word.DENIED_USER),
            message=12,
            stage="person",
            rule="files.rm",
            reason="not today",
            profile="host",
            exit_code=-1,
            duration_ms=2**40,
            dropped=3,
            detail="‹secret:3f9a›",
        )
        written = await trail.append(full)
        assert written[0].draft == full
        assert await trail.trail_of(CallId("c1")) == written

    async def test_nothing_is_nothing(self, trail: Trail) -> None:
        """An empty append writes no event."""
        assert await trail.append() == ()
        assert await trail.head() == Mark(0, GENESIS)

    async def test_text_that_no_database_holds_is_made_harmless_and_still_verifies(self, trail: Trail) -> None:
        """NUL and lone surrogates can come from a model; the record must not refuse them."""
        (event,) = await trail.append(replace(draft(), command="a\x00b\ud800", session=SessionId("s\x00")))
        assert event.draft.command == "a␀b�"
        assert (await trail.verify()).whole
        assert await trail.page() == (event,)

    async def test_a_number_that_does_not_fit_is_refused_and_leaves_nothing(self, trail: Trail) -> None:
        """A fault of the database is RecordUnavailable, whole batch or nothing."""
        with pytest.raises(RecordUnavailable, match="cannot be written"):
            await trail.append(draft(), replace(draft(), message=2**70))
        assert await trail.head() == Mark(0, GENESIS)

    async def test_many_appends_at_once_make_one_chain(self, trail: Trail) -> None:
        """Lanes run side by side."""
        await asyncio.gather(*(trail.append(draft(call=f"c{n}"), end(f"c{n}")) for n in range(20)))
        report = await trail.verify()
        assert (report.events, report.fault) == (40, None)

    async def test_two_processes_append_to_one_chain(self, place: Place, db: Database, trail: Trail) -> None:
        """The command line writes while the gateway runs."""
        other = await Database.open_for_writing(place)
        second = Trail(other, Chain(other))
        await asyncio.gather(*((trail, second)[n % 2].append(draft(call=f"c{n}")) for n in range(30)))
        await other.close()
        report = await trail.verify()
        assert (report.events, report.fault) == (30, None)

    async def test_a_second_event_after_the_same_one_is_impossible(self, db: Database, trail: Trail) -> None:
        """Were the head row set back, the unique hash of the predecessor stops a fork."""
        first, _ = await trail.append(draft(), draft())
        set_back = text("UPDATE exec_audit_head SET seq = 7, hash = :hash").bindparams(hash=first.hash)
        await db.write(lambda session: session.execute(set_back))
        with pytest.raises(RecordUnavailable):
            await trail.append(draft())

    async def test_a_lost_head_row_stops_everything(self, db: Database, trail: Trail) -> None:
        """Nothing guesses where the record ends."""
        await db.write(lambda session: session.execute(text("DELETE FROM exec_audit_head")))
        with pytest.raises(RecordUnavailable, match="lost its head row"):
            await trail.append(draft())


class TestStart:
    """Inserting STARTED is the permission, and the consumption of a yes."""

    async def test_a_call_starts_once_for_ever(self, trail: Trail) -> None:
        """A second start of the same call is refused and leaves no event."""
        event = await trail.start(start(), None)
        assert event.draft.kind is EventKind.STARTED
        with pytest.raises(NotUsable) as refused:
            await trail.start(start(), None)
        assert refused.value.why == "used"
        await trail.append(end())
        with pytest.raises(NotUsable):
            await trail.start(start(), None)
        assert (await trail.head()).seq == 2

    async def test_of_fifty_starts_at_once_one_wins(self, place: Place, db: Database, trail: Trail) -> None:
        """Also from two processes."""
        other = await Database.open_for_writing(place)
        second = Trail(other, Chain(other))
        results = await asyncio.gather(
            *((trail, second)[n % 2].start(start(), None) for n in range(50)), return_exceptions=True
        )
        await other.close()
        assert [type(one) for one in results if not isinstance(one, NotUsable)] == [AuditEvent]

    async def test_the_database_itself_refuses_a_second_start(self, trail: Trail) -> None:
        """Whoever appends past ``start`` meets the unique index."""
        await trail.start(start(), None)
        with pytest.raises(RecordUnavailable):
            await trail.append(start())

    async def test_only_started_events_start(self, trail: Trail) -> None:
        """Anything else is a mistake of the caller."""
        with pytest.raises(ValueError, match="starts nothing"):
            await trail.start(draft(), None)

    async def test_a_yes_is_used_once(self, trail: Trail, consents: ConsentStore) -> None:
        """The start consumes it and wipes the parked turn; nothing is left to resume."""
        await consents.open(approval(), turn_state(), asked(), question())
        await consents.rule(ApprovalId("K7QD"), yes(), resolved())
        await trail.start(start(name="K7QD"), ApprovalId("K7QD"))
        assert await consents.parked(TurnId("t1")) is None
        assert await consents.resumable() == ()
        with pytest.raises(NotUsable) as refused:
            await trail.start(start("c2", "K7QD"), ApprovalId("K7QD"))
        assert refused.value.why == "used"

    @pytest.mark.parametrize(
        ("why", "event", "name"),
        [
            ("not_approved", start(name="K7QD"), "ZZZZ"),
            ("expired", start(name="K7QD", at_ms=NOW + 30 * MINUTE), "K7QD"),
            ("changed", replace(start(name="K7QD"), digest=Digest("e" * 64)), "K7QD"),
            ("changed", replace(start("c2", "K7QD"), digest=digest("c1")), "K7QD"),
        ],
        ids=["unknown", "lapsed", "other-digest", "other-call"],
    )
    async def test_a_yes_for_something_else_permits_nothing(
        self, trail: Trail, consents: ConsentStore, why: str, event: EventDraft, name: str
    ) -> None:
        """It is bound to its call, its digest and its time, and stays usable for what it was given for."""
        await consents.open(approval(), turn_state(), asked(), question())
        await consents.rule(ApprovalId("K7QD"), yes(), resolved())
        before = await trail.head()
        with pytest.raises(NotUsable) as refused:
            await trail.start(event, ApprovalId(name))
        assert refused.value.why == why
        assert await trail.head() == before
        await trail.start(start(name="K7QD", at_ms=NOW + 30 * MINUTE - 1), ApprovalId("K7QD"))

    async def test_an_open_or_denied_request_permits_nothing(self, trail: Trail, consents: ConsentStore) -> None:
        """Only an explicit yes runs."""
        await consents.open(approval(), turn_state(), asked(), question())
        with pytest.raises(NotUsable) as refused:
            await trail.start(start(name="K7QD"), ApprovalId("K7QD"))
        assert refused.value.why == "not_approved"
        await consents.rule(ApprovalId("K7QD"), no(), resolved(word=Word.DENIED_USER))
        with pytest.raises(NotUsable) as refused:
            await trail.start(start(name="K7QD"), ApprovalId("K7QD"))
        assert refused.value.why == "not_approved"


class TestPage:
    """Reading in pages, newest first."""

    async def test_pages_follow_each_other_without_gap_or_overlap(self, trail: Trail) -> None:
        """The last number of a page is where the next one goes on."""
        await trail.append(*(draft(call=f"c{n}") for n in range(7)))
        seen: list[int] = []
        before: int | None = None
        while page := await trail.page(before=before, limit=3):
            seen.extend(event.seq for event in page)
            before = page[-1].seq
        assert seen == [7, 6, 5, 4, 3, 2, 1]

    async def test_the_record_can_be_read_forwards(self, trail: Trail) -> None:
        """An export begins at the oldest event and goes on behind the last one."""
        events = await trail.append(*(draft(call=f"c{n}") for n in range(5)))
        assert await trail.after(0, 3) == events[:3]
        assert await trail.after(3) == events[3:]
        assert await trail.after(5) == ()

    async def test_filters_narrow_and_combine(self, trail: Trail) -> None:
        """By chat, kind and time."""
        await trail.append(
            draft(at_ms=NOW),
            draft(at_ms=NOW + 1, address=PRIVATE),
            replace(resolved(at_ms=NOW + 2), word=Word.DENIED_USER),
            replace(resolved(at_ms=NOW + 3), word=Word.APPROVED),
        )

        async def seqs(which: EventFilter) -> list[int]:
            return [event.seq for event in await trail.page(which)]

        assert await seqs(EventFilter(chat=ChatId(1001))) == [2]
        assert await seqs(EventFilter(chat=ChatId(1001), kind=EventKind.PROPOSED)) == [2]
        assert await seqs(EventFilter(chat=ChatId(1001), kind=EventKind.STARTED)) == []
        assert await seqs(EventFilter(kind=EventKind.APPROVAL_RESOLVED)) == [4, 3]
        assert await seqs(EventFilter(since_ms=NOW + 1, until_ms=NOW + 3)) == [3, 2]
        assert await seqs(EventFilter(since_ms=NOW + 4)) == []
        assert await seqs(EventFilter(until_ms=NOW + 4)) == [4, 3, 2, 1]
        assert await seqs(EventFilter(kind=EventKind.PROPOSED, since_ms=NOW, until_ms=NOW + 1)) == [1]

    @pytest.mark.parametrize(
        "which",
        [
            EventFilter(),
            EventFilter(kind=EventKind.PROPOSED),
            EventFilter(chat=ChatId(1), kind=EventKind.PROPOSED),
            EventFilter(since_ms=NOW),
            EventFilter(chat=ChatId(1), kind=EventKind.PROPOSED, since_ms=NOW, until_ms=NOW + 1),
        ],
        ids=str,
    )
    async def test_no_page_reads_or_sorts_the_whole_record(
        self, db: Database, trail: Trail, which: EventFilter
    ) -> None:
        """Every filter has an index that already has the order, so a million events cost as much as a thousand."""
        if db.place.label.startswith("the PostgreSQL"):
            return  # its planner scans small tables whatever the indices; SQLite's tells what the indices allow
        await trail.append(draft())
        plans: list[str] = []

        def spy(
            connection: object, _cursor: object, statement: str, values: tuple[object, ...], *_rest: object
        ) -> None:
            if statement.startswith("SELECT"):
                asked_for.append((statement, values))

        asked_for: list[tuple[str, tuple[object, ...]]] = []
        event.listen(db._pair.swift, "before_cursor_execute", spy)
        await trail.page(which, before=10, limit=5)
        event.remove(db._pair.swift, "before_cursor_execute", spy)

        def explain(session: Session) -> None:
            connection = session.connection()
            for statement, values in asked_for:
                plans.extend(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values))

        await db.read(explain)
        assert plans
        assert not [plan for plan in plans if plan.startswith("SCAN") or "TEMP B-TREE" in plan], plans
        assert which.chat is None or "ix_exec_audit_chat_proposed" in plans[-1], plans

    async def test_trails_of_several_calls_come_at_once(self, trail: Trail) -> None:
        """A list of calls needs a query per hundreds and not one per line, however long it is."""
        await trail.append(draft(call="a"), draft(call="b"), end("a"))
        many = [CallId(f"none{n}") for n in range(40_000)]
        found = await trail.trails_of([CallId("a"), *many, CallId("b")])
        assert {call: [event.seq for event in events] for call, events in found.items() if events} == {
            "a": [1, 3],
            "b": [2],
        }
        assert len(found) == 40_002


class TestUnfinished:
    """What a crash left in the record."""

    async def test_a_start_without_end_of_a_dead_process_is_found(self, db: Database, trail: Trail) -> None:
        """Whatever its end would have been called, a call that ended is not."""
        db.instance, alive = dead(db), db.instance
        events = [await trail.start(start(f"c{n}"), None) for n in range(4)]
        kinds = (EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED)
        await trail.append(*(end(f"c{n}", kind) for n, kind in enumerate(kinds)))
        db.instance = alive
        assert await trail.unfinished() == (events[3],)

    async def test_an_approved_call_whose_turn_was_never_written_down_is_cut_short(
        self, db: Database, trail: Trail, consents: ConsentStore
    ) -> None:
        """It ended, so nothing is unfinished; but its process died before the turn did, and nobody has heard of it."""
        db.instance, alive = dead(db), db.instance
        await consents.open(approval(), turn_state(), asked(), question())
        await consents.rule(ApprovalId("K7QD"), yes(), resolved())
        begun = await trail.start(start(name="K7QD"), ApprovalId("K7QD"))
        assert await trail.cut_short() == ()
        (ended,) = await trail.append(end())
        assert await trail.cut_short() == ()
        db.instance = alive
        assert await trail.unfinished() == ()
        assert await trail.cut_short() == ((begun, ended),)
        await HistoryStore(db).flush(TurnFlush(TurnId("t1"), GROUP, (), Usage(), ()), NOW)
        assert await trail.cut_short() == ()

    async def test_what_ran_for_a_message_is_found(self, trail: Trail) -> None:
        """By the message that its proposal names."""
        for call, message in (("c1", 6), ("c2", 6), ("c3", 7)):
            await trail.append(replace(draft(call=call), message=message))
        begun = await trail.start(start("c2"), None)
        await trail.start(start("c3"), None)
        assert await trail.ran_for(GROUP.session, 6) == (begun,)
        assert await trail.ran_for(PRIVATE.session, 6) == ()

    async def test_an_event_is_found_by_its_number(self, trail: Trail) -> None:
        """Or not at all."""
        (event,) = await trail.append(draft())
        assert await trail.event(1) == event
        assert await trail.event(2) is None

    async def test_a_running_call_of_a_live_process_is_not(self, trail: Trail) -> None:
        """The gateway's own commands and a prompt next to it are none of a sweep's business."""
        await trail.start(start(), None)
        assert await trail.unfinished() == ()

    async def test_another_host_proves_nothing(self, db: Database, trail: Trail) -> None:
        """On a shared database only its own host can know that a process is dead."""
        db.instance, alive = replace(dead(db), host="elsewhere"), db.instance
        await trail.start(start(), None)
        db.instance = alive
        assert await trail.unfinished() == ()

"""Requests and parked turns: asked in one transaction, decided once, gone when the turn is."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text

from mtbot.domain.errors import (
    AlreadyDecided,
    NameTaken,
    NoSuchApproval,
    NotUsable,
    RecordUnavailable,
    SealError,
    StorageError,
)
from mtbot.domain.ids import ApprovalId, SafeText, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.record import Approval, ApprovalState, EventKind, OutboxRow, OutKind, Ruling, Via, Word
from mtbot.domain.turn import SYSTEM, Usage
from mtbot.storage.chain import Chain
from mtbot.storage.consent import ConsentStore
from mtbot.storage.engine import Database
from mtbot.storage.history import HistoryStore
from mtbot.storage.outbox import OutboxStore
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import (
    GROUP,
    MINUTE,
    NOW,
    PRIVATE,
    REVIEW,
    SESSION,
    approval,
    asked,
    no,
    question,
    reply,
    resolved,
    safe,
    turn_state,
    yes,
)

ID = ApprovalId("K7QD")


async def ask(consents: ConsentStore, name: str = "K7QD", call: str = "c1", turn: str = "t1") -> Approval:
    """Open a request."""
    request = approval(name, call, turn)
    await consents.open(request, turn_state(turn), asked(name, call), question(name))
    return request


async def queued(db: Database) -> tuple[OutboxRow, ...]:
    """What would leave now."""
    return await OutboxStore(db, safe).next(["group", "private"], NOW + 60 * MINUTE)


class TestOpen:
    """One transaction."""

    async def test_request_turn_event_and_question_are_there_together(
        self, db: Database, consents: ConsentStore, trail: Trail
    ) -> None:
        """Everything that a restart needs to go on."""
        request = await ask(consents)
        assert await consents.get(ID) == request
        assert await consents.parked(TurnId("t1")) == turn_state()
        assert [(event.draft.kind, event.draft.approval) for event in await trail.page()] == [
            (EventKind.APPROVAL_REQUESTED, "K7QD")
        ]
        assert [row.item for row in await queued(db)] == [question()]

    async def test_a_request_without_its_event_does_not_exist(
        self, db: Database, consents: ConsentStore, trail: Trail
    ) -> None:
        """If the record cannot be written, nothing was asked and nothing is parked."""
        with pytest.raises(RecordUnavailable):
            await consents.open(approval(), turn_state(), replace(asked(), message=2**70), question())
        with pytest.raises(NoSuchApproval):
            await consents.get(ID)
        assert await consents.parked(TurnId("t1")) is None
        assert await queued(db) == ()

    async def test_a_name_that_is_in_use_is_refused(self, db: Database, consents: ConsentStore) -> None:
        """Short names repeat; the caller chooses another one, and the old request is untouched."""
        request = await ask(consents)
        with pytest.raises(NameTaken):
            await ask(consents, call="c2", turn="t2")
        assert await consents.get(ID) == request
        assert await consents.parked(TurnId("t2")) is None
        assert len(await queued(db)) == 1
        with pytest.raises(NameTaken):
            await consents.open(
                replace(approval("AAAA"), token=request.token), turn_state(), asked("AAAA"), question("AAAA")
            )

    async def test_a_question_may_go_elsewhere(self, consents: ConsentStore) -> None:
        """If nobody in the group may decide, it goes to a private chat, and is found there by its message."""
        request = replace(approval(), asked_at=PRIVATE)
        await consents.open(request, turn_state(), asked(), question(address=PRIVATE))
        await consents.shown(ID, 99)
        assert await consents.by_message(PRIVATE, 99) == replace(request, message=99)
        assert await consents.by_message(GROUP, 99) is None

    async def test_the_turn_of_a_second_question_replaces_that_of_the_first(self, consents: ConsentStore) -> None:
        """One snapshot per turn: the one that waits now."""
        await ask(consents)
        await consents.rule(ID, no(), resolved(word=Word.DENIED_USER))
        later = replace(turn_state(), step=2)
        await consents.open(approval("M3XA", "c2"), later, asked("M3XA", "c2"), question("M3XA"))
        assert await consents.parked(TurnId("t1")) == later
        assert await consents.resumable() == ()

    async def test_the_parked_turn_is_not_readable_in_the_database(self, db: Database, consents: ConsentStore) -> None:
        """Unmasked arguments lie there only in a box."""
        await consents.open(approval(), turn_state(secret="hunter2-hunter2"), asked(), question())
        held = await db.read(
            lambda session: bytes(session.connection().execute(text("SELECT sealed FROM parked_turns")).scalar_one())
        )
        assert b"hunter2" not in held

    async def test_a_parked_turn_of_another_row_does_not_open(self, db: Database, consents: ConsentStore) -> None:
        """A box is bound to its turn, so swapping two turns is found."""
        await ask(consents)
        await ask(consents, "M3XA", "c2", "t2")
        swap = text(
            "UPDATE parked_turns SET sealed = (SELECT p.sealed FROM parked_turns p WHERE p.turn = 't2') WHERE turn = 't1'"
        )
        await db.write(lambda session: session.connection().execute(swap))
        with pytest.raises(SealError, match="does not open"):
            await consents.parked(TurnId("t1"))

    async def test_a_box_that_holds_no_turn_is_a_seal_error(self, db: Database, consents: ConsentStore) -> None:
        """Not a traceback."""
        await ask(consents)
        box = db.seal.close('{"id": 5}', "parked_turns", "t1")
        put = text("UPDATE parked_turns SET sealed = :box").bindparams(box=box)
        await db.write(lambda session: session.connection().execute(put))
        with pytest.raises(SealError, match="cannot be read"):
            await consents.parked(TurnId("t1"))


class TestRule:
    """Compare and set."""

    async def test_a_yes_is_kept_with_its_event_and_its_edit(
        self, db: Database, consents: ConsentStore, trail: Trail
    ) -> None:
        """Who, by which road and when are in the row."""
        request = await ask(consents)
        edit = replace(question(), kind=OutKind.EDIT)
        decided = await consents.rule(ID, yes(), resolved(), edit)
        assert decided == replace(request, state=ApprovalState.APPROVED, ruling=yes())
        assert await consents.get(ID) == decided
        assert (await trail.page())[0].draft == resolved()
        (first,) = await queued(db)
        await OutboxStore(db, safe).sent(first.id, 44)
        assert [row.item for row in await queued(db)] == [edit]

    async def test_the_second_ruling_loses_and_reads_who_was_first(self, consents: ConsentStore, trail: Trail) -> None:
        """A no after a yes changes nothing and leaves no event."""
        await ask(consents)
        decided = await consents.rule(ID, yes(), resolved())
        with pytest.raises(AlreadyDecided) as lost:
            await consents.rule(ID, no(), resolved(word=Word.DENIED_USER))
        assert (lost.value.state, lost.value.decider, lost.value.at_ms) == ("approved", REVIEW.key, NOW + MINUTE)
        assert await consents.get(ID) == decided
        assert (await trail.head()).seq == 2

    async def test_of_fifty_rulings_in_two_processes_one_wins(
        self, place: Place, db: Database, consents: ConsentStore, trail: Trail
    ) -> None:
        """A press and the command line at the same moment."""
        await ask(consents)
        other = await Database.open_for_writing(place)
        second = ConsentStore(other, Chain(other), safe)
        results = await asyncio.gather(
            *((consents, second)[n % 2].rule(ID, (yes, no)[n // 2 % 2](), resolved()) for n in range(50)),
            return_exceptions=True,
        )
        await other.close()
        won = [one for one in results if not isinstance(one, AlreadyDecided)]
        assert won == [await consents.get(ID)]
        assert (await trail.head()).seq == 2
        assert (await trail.verify()).whole

    async def test_a_yes_at_the_last_moment_counts(self, consents: ConsentStore) -> None:
        """Before the end is in time."""
        request = await ask(consents)
        decided = await consents.rule(ID, yes(request.expires_ms - 1), resolved())
        assert decided.state is ApprovalState.APPROVED

    async def test_a_late_yes_makes_it_expired(self, db: Database, consents: ConsentStore, trail: Trail) -> None:
        """The row and the record say expired, the edit that would have said approved is not sent."""
        request = await ask(consents)
        edit = replace(question(), kind=OutKind.EDIT)
        late = yes(request.expires_ms)
        with pytest.raises(AlreadyDecided) as lost:
            await consents.rule(ID, late, resolved(at_ms=request.expires_ms), edit)
        assert (lost.value.state, lost.value.decider) == ("expired", SYSTEM.key)
        lapse = Ruling(ApprovalState.EXPIRED, replace(SYSTEM), Via.EXPIRY, request.expires_ms, "timeout")
        assert await consents.get(ID) == replace(request, state=ApprovalState.EXPIRED, ruling=lapse)
        event = (await trail.page())[0].draft
        assert (event.word, event.via, event.decider, event.reason, event.detail) == (
            Word.EXPIRED,
            Via.EXPIRY,
            SYSTEM.key,
            "timeout",
            f"{REVIEW.key} approved too late",
        )
        assert [row.item for row in await queued(db)] == [question()]

    async def test_a_late_no_is_a_no(self, consents: ConsentStore) -> None:
        """Refusing late does no harm."""
        request = await ask(consents)
        decided = await consents.rule(ID, no(request.expires_ms + 1), resolved(word=Word.DENIED_USER))
        assert decided.state is ApprovalState.DENIED

    async def test_a_ruling_without_its_event_is_none(self, consents: ConsentStore) -> None:
        """If the record cannot be written, the request stays open."""
        await ask(consents)
        with pytest.raises(RecordUnavailable):
            await consents.rule(ID, yes(), replace(resolved(), message=2**70))
        assert (await consents.get(ID)).state is ApprovalState.PENDING

    async def test_what_does_not_exist_cannot_be_decided(self, consents: ConsentStore) -> None:
        """By id, by button, by message."""
        with pytest.raises(NoSuchApproval):
            await consents.rule(ID, yes(), resolved())
        with pytest.raises(NoSuchApproval):
            await consents.by_token("nobody's")
        with pytest.raises(NoSuchApproval):
            await consents.shown(ID, 1)
        assert await consents.by_message(GROUP, 1) is None

    async def test_what_is_due_is_asked_of_the_database(self, consents: ConsentStore) -> None:
        """Only requests that wait, and only those whose time is over: a thousand that wait cost a look nothing."""
        assert await consents.next_due() is None
        first, second = (
            approval(),
            replace(approval(), id=ApprovalId("Z9ZZ"), token="other", expires_ms=NOW + 9 * MINUTE),
        )
        await consents.open(second, replace(turn_state(), id=TurnId("t9")), asked(), question())
        await consents.open(replace(first, expires_ms=NOW + 5 * MINUTE), turn_state(), asked(), question())
        assert await consents.next_due() == NOW + 5 * MINUTE
        assert await consents.due(NOW + 5 * MINUTE - 1) == ()
        assert [one.id for one in await consents.due(NOW + 5 * MINUTE)] == [first.id]
        await consents.rule(first.id, yes(), resolved())
        assert await consents.due(NOW + 6 * MINUTE) == ()
        assert await consents.next_due() == NOW + 9 * MINUTE

    async def test_a_yes_can_be_taken_back_until_it_is_used(self, consents: ConsentStore, trail: Trail) -> None:
        """Revoking wins over an unused yes, and over nothing else."""
        revoke = Ruling(ApprovalState.REVOKED, REVIEW, Via.CLI, NOW + 2 * MINUTE, "changed my mind")
        await ask(consents)
        await consents.rule(ID, yes(), resolved())
        revoked = await consents.rule(ID, revoke, resolved(word=Word.DENIED_USER))
        assert (revoked.state, revoked.ruling) == (ApprovalState.REVOKED, revoke)
        assert await consents.resumable() == (revoked,)
        starting = replace(resolved(), kind=EventKind.STARTED)
        with pytest.raises(NotUsable):
            await trail.start(starting, ID)
        with pytest.raises(AlreadyDecided):
            await consents.rule(ID, revoke, resolved())
        used = ApprovalId("BBBB")
        await ask(consents, used, "c2", "t2")
        await consents.rule(used, yes(), resolved(used, "c2"))
        await trail.start(replace(resolved(used, "c2"), kind=EventKind.STARTED), used)
        with pytest.raises(AlreadyDecided):
            await consents.rule(used, revoke, resolved(used, "c2"))
        denied = ApprovalId("CCCC")
        await ask(consents, denied, "c3", "t3")
        await consents.rule(denied, no(), resolved(denied, "c3"))
        with pytest.raises(AlreadyDecided):
            await consents.rule(denied, revoke, resolved(denied, "c3"))

    async def test_a_ruling_decides(self, consents: ConsentStore) -> None:
        """Back to pending is no ruling."""
        await ask(consents)
        with pytest.raises(ValueError, match="decides"):
            await consents.rule(ID, replace(yes(), state=ApprovalState.PENDING), resolved())


class TestFind:
    """Looking requests up."""

    async def test_by_token_and_by_message(self, consents: ConsentStore) -> None:
        """The button and the reply find the same request."""
        request = await ask(consents)
        assert await consents.by_token(request.token) == request
        await consents.shown(ID, 12)
        assert await consents.by_message(GROUP, 12) == replace(request, message=12)

    async def test_pending_lists_the_open_ones_oldest_first(self, consents: ConsentStore) -> None:
        """Of everybody or of one session."""
        late = replace(approval("BBBB", "c2", "t2"), opened_ms=NOW + 1)
        private = replace(approval("CCCC", "c3", "t3", PRIVATE), opened_ms=NOW - 1)
        await consents.open(late, turn_state("t2"), asked("BBBB", "c2"), question("BBBB"))
        first = await ask(consents)
        await consents.open(private, turn_state("t3", PRIVATE), asked("CCCC", "c3"), question("CCCC"))
        await ask(consents, "DDDD", "c4", "t4")
        await consents.rule(ApprovalId("DDDD"), no(), resolved("DDDD", "c4"))
        assert await consents.pending() == (private, first, late)
        assert await consents.pending(SESSION) == (first, late)

    async def test_decided_requests_are_resumable_while_their_turn_is_parked(
        self, db: Database, consents: ConsentStore
    ) -> None:
        """What a restart, or the look for rulings of another process, has to go on with; the earliest ruling first."""
        for name, call, turn in (("AAAA", "c1", "t1"), ("BBBB", "c2", "t2"), ("CCCC", "c3", "t3")):
            await ask(consents, name, call, turn)
        denied = await consents.rule(ApprovalId("BBBB"), no(NOW + 2), resolved("BBBB", "c2"))
        approved = await consents.rule(ApprovalId("AAAA"), yes(NOW + 3), resolved("AAAA", "c1"))
        assert await consents.resumable() == (denied, approved)
        flush = TurnFlush(TurnId("t2"), GROUP, (), Usage(), ())
        await HistoryStore(db).flush(flush, NOW)
        assert await consents.resumable() == (approved,)
        assert await consents.parked(TurnId("t2")) is None

    async def test_texts_of_a_card_pass_the_redactor_when_they_come_back(self, db: Database, chain: Chain) -> None:
        """A row that somebody forged cannot carry a secret out."""
        store = ConsentStore(db, chain, lambda raw: SafeText(raw.replace("docker", "‹secret:1›")))
        await ask(store)
        assert (await store.get(ID)).card.body == "‹secret:1› compose up -d"

    async def test_a_card_that_makes_no_sense_is_one_clear_error(self, db: Database, consents: ConsentStore) -> None:
        """Not a traceback."""
        await ask(consents)
        await db.write(lambda session: session.connection().execute(text("UPDATE approvals SET card = '[]'")))
        with pytest.raises(StorageError, match="card of #K7QD"):
            await consents.get(ID)

    async def test_a_question_that_was_sent_is_found_by_its_message(self, db: Database, consents: ConsentStore) -> None:
        """Delivery notes the message id; a reply in between does not."""
        outbox = OutboxStore(db, safe)
        await ask(consents)
        (row,) = await queued(db)
        await outbox.sent(row.id, 77)
        found = await consents.by_message(GROUP, 77)
        assert found is not None
        assert found.id == ID
        await outbox.put(replace(reply(), approval=ID), now_ms=NOW)
        (row,) = await queued(db)
        await outbox.sent(row.id, 78)
        assert (await consents.get(ID)).message == 77

"""What takes a yes back: a stop before its call began, and a no that could not be written down when it was given."""

from contextlib import closing

import pytest

from mtbot.approvals.desk import Desk
from mtbot.bootstrap.stores import stores_of
from mtbot.domain.errors import AlreadyDecided, NotUsable, NotWrittenYet, RecordUnavailable
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import ApprovalState, EventDraft, EventKind, OutboxItem, OutKind, Via, Word
from mtbot.domain.turn import SYSTEM
from mtbot.storage.engine import Database
from mtbot.storage.place import SqlitePlace
from tests.unit.approvals.office import Office, no, yes
from tests.unit.approvals.samples import CHIEF, DEPLOY, GROUP, REDACTOR, REVIEW, STRANGER, safe


class TestOwing:
    """A no that could not be written down when it was given."""

    @staticmethod
    async def unwritten(office: Office, desk: Desk, ident: ApprovalId) -> None:
        """Deny while the record takes nothing."""
        pooled = office.db._pair.durable

        def tell(pragma: str) -> None:
            with closing(pooled.raw_connection()) as connection:
                connection.cursor().execute(f"PRAGMA query_only = {pragma}")

        await office.db._writer.run(lambda: tell("ON"))
        with pytest.raises(NotWrittenYet):
            await desk.decide(ident, no(reason="not now"))
        with pytest.raises(RecordUnavailable):
            await desk.write_owed()
        await office.db._writer.run(lambda: tell("OFF"))

    async def test_it_is_made_up_for(self, office: Office) -> None:
        """Once; until then nobody can approve the question here."""
        ident, desk = await office.ask(), office.desk()
        await self.unwritten(office, desk, ident)
        with pytest.raises(AlreadyDecided, match="denied"):
            await desk.decide(ident, yes(DEPLOY))
        await desk.write_owed()
        await desk.write_owed()
        row = await office.stores.consents.get(ident)
        assert (row.state, row.ruling and row.ruling.reason) == (ApprovalState.DENIED, "not now")
        assert [event.kind for event in await office.events()] == [
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVAL_RESOLVED,
        ]

    async def test_another_process_s_yes_is_taken_back(self, office: Office, place: SqlitePlace) -> None:
        """It approved the same question meanwhile: the no was first, so the yes never runs, and both are on record."""
        ident, desk = await office.ask(), office.desk()
        await self.unwritten(office, desk, ident)
        other = await Database.open_for_writing(place)
        await office.desk(stores_of(other, REDACTOR.mask)).decide(ident, yes(CHIEF))
        await other.close()
        await desk.write_owed()
        row = await office.stores.consents.get(ident)
        assert row.state is ApprovalState.REVOKED
        told = [(event.word, event.decider) for event in await office.events()][1:]
        assert told == [(Word.APPROVED, CHIEF.key), (Word.DENIED_USER, CHIEF.key)]
        with pytest.raises(NotUsable):
            await office.stores.trail.start(
                EventDraft(
                    EventKind.STARTED, office.clock.now, row.address.session, row.call, "exec", "x", digest=row.digest
                ),
                ident,
            )
        assert desk._owed == {}

    async def test_a_yes_that_was_used_already_stands(self, office: Office, place: SqlitePlace) -> None:
        """What has begun cannot be taken back; nothing is owed any more."""
        ident, desk = await office.ask(), office.desk()
        await self.unwritten(office, desk, ident)
        other = await Database.open_for_writing(place)
        stores = stores_of(other, REDACTOR.mask)
        row = await office.desk(stores).decide(ident, yes(CHIEF))
        begun = EventDraft(
            EventKind.STARTED, office.clock.now, row.address.session, row.call, "exec", "x", digest=row.digest
        )
        await stores.trail.start(begun, ident)
        await other.close()
        await desk.write_owed()
        assert (await office.stores.consents.get(ident)).state is ApprovalState.APPROVED
        assert desk._owed == {}


class TestTakingBack:
    """A turn was stopped between the yes and the start."""

    async def test_a_yes_that_was_taken_back_is_on_record_and_told(self, office: Office) -> None:
        """Below its question, silently; a second time changes nothing."""
        ruled = await office.desk().decide(await office.ask(), yes(REVIEW))
        await office.said()
        await office.desk().taken_back(ruled.id, CHIEF)
        await office.desk().taken_back(ruled.id, DEPLOY)
        card = ruled.card.closed(safe("⏹ Stopped by Chief 19:06, nothing ran"))
        assert await office.said() == [OutboxItem(OutKind.EDIT, GROUP, card=card, approval=ruled.id, silent=True)]
        last = (await office.events())[-1]
        assert (last.kind, last.word, last.via, last.decider) == (
            EventKind.APPROVAL_RESOLVED,
            Word.DENIED_USER,
            Via.STOP,
            CHIEF.key,
        )
        assert (await office.stores.consents.get(ruled.id)).state is ApprovalState.REVOKED

    async def test_who_may_stop_but_not_deny_has_mtclaw_take_it_back(self, office: Office) -> None:
        """The turn is stopped either way, and the record says that nothing will come of the yes."""
        ruled = await office.desk().decide(await office.ask(), yes(REVIEW))
        await office.desk().taken_back(ruled.id, STRANGER)
        last = (await office.events())[-1]
        assert (last.via, last.decider) == (Via.STOP, SYSTEM.key)

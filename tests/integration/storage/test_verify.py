"""Verifying a stored record, and the anchor beside it: every kind of damage is found and named."""

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlmodel import Session

from mtbot.audit import ChainFault, Mark
from mtbot.domain.errors import RecordUnavailable, StorageError
from mtbot.domain.ids import CallId
from mtbot.domain.record import EventKind
from mtbot.storage import trail as trail_module
from mtbot.storage.anchor import Anchor
from mtbot.storage.chain import Chain
from mtbot.storage.engine import Database
from mtbot.storage.place import Place
from mtbot.storage.trail import Trail
from tests.integration.storage.samples import NOW, draft


def restarted(db: Database) -> Trail:
    """The record as a process sees it that starts now."""
    return Trail(db, Chain(db))


def anchor(db: Database) -> Anchor:
    """The file beside the database."""
    return Anchor(db.place.anchor)


async def tamper(db: Database, *statements: str) -> None:
    """Do what somebody with the database's password or file could do."""
    for statement in statements:
        await db.write(lambda session, one=statement: session.execute(text(one)))  # type: ignore[misc]  # default of a lambda


class TestDamage:
    """What somebody does to the table."""

    @pytest.mark.parametrize(
        ("statement", "fault"),
        [
            (
                "UPDATE exec_audit SET command = 'ls' WHERE seq = 3",
                ChainFault(3, "its content does not match its hash"),
            ),
            (
                "UPDATE exec_audit SET exit_code = 0 WHERE seq = 5",
                ChainFault(5, "its content does not match its hash"),
            ),
            (
                "UPDATE exec_audit SET version = 9 WHERE seq = 2",
                ChainFault(2, "has the unknown version 9"),
            ),
            (
                "DELETE FROM exec_audit WHERE seq = 3",
                ChainFault(4, "follows event 2; what was between them is missing"),
            ),
            (
                "DELETE FROM exec_audit WHERE seq = 1",
                ChainFault(2, "is the oldest one kept, and no pruned event accounts for what came before"),
            ),
            (
                "DELETE FROM exec_audit WHERE seq = 5",
                ChainFault(4, "is the last one, but the record ended with event 5"),
            ),
            (
                "DELETE FROM exec_audit",
                ChainFault(0, "is the last one, but the record ended with event 5"),
            ),
            (
                "DELETE FROM exec_audit_head",
                ChainFault(5, "is the last one, but the record ended with event 0"),
            ),
        ],
        ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
    )
    async def test_the_first_bad_event_is_named(
        self, db: Database, trail: Trail, statement: str, fault: ChainFault
    ) -> None:
        """Edits, removals and a cut end, with the event where they show."""
        await trail.append(*(draft(call=f"c{n}") for n in range(5)))
        await tamper(db, statement)
        assert (await trail.verify()).fault == fault

    async def test_a_word_that_does_not_exist_is_a_fault_and_no_crash(self, db: Database, trail: Trail) -> None:
        """Check constraints can be switched off by whoever edits the file."""
        await trail.append(draft(), draft(), draft())

        def edit(session: Session) -> None:
            connection = session.connection()
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            else:
                connection.exec_driver_sql("ALTER TABLE exec_audit DROP CONSTRAINT ck_exec_audit_kind")
            connection.exec_driver_sql("UPDATE exec_audit SET kind = 'done' WHERE seq = 2")

        await db.write(edit)
        assert (await trail.verify()).fault == ChainFault(2, "cannot be read: 'done' is not a valid EventKind")
        for reading in (trail.page(), trail.after(0), trail.trail_of(CallId("c1"))):
            with pytest.raises(StorageError, match="event 2 cannot be read"):
                await reading

    async def test_a_long_record_is_read_in_pieces(
        self, db: Database, trail: Trail, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Pieces of any size give one judgement, also when the record ends with a whole piece."""
        await trail.append(*(draft(call=f"c{n}") for n in range(6)))
        for size in (1, 2, 3, 4, 6, 7):
            monkeypatch.setattr(trail_module, "CHUNK", size)
            report = await trail.verify()
            assert (report.events, report.fault) == (6, None)
        monkeypatch.setattr(trail_module, "CHUNK", 2)
        await tamper(db, "UPDATE exec_audit SET rule = 'x' WHERE seq = 5")
        assert (await trail.verify()).fault == ChainFault(5, "its content does not match its hash")

    async def test_a_hash_noted_elsewhere_must_be_in_the_record(self, trail: Trail) -> None:
        """What was sent to the owner's chat is checked against."""
        events = await trail.append(draft(), draft())
        assert (await trail.verify(events[0].hash)).whole
        assert not (await trail.verify("0" * 64)).whole

    async def test_a_reader_verifies_without_writing(self, place: Place, trail: Trail) -> None:
        """`mtclaw audit verify` opens for reading only, beside a running gateway."""
        await trail.append(draft())
        reader = await Database.open_read_only(place)
        report = await restarted(reader).verify()
        await reader.close()
        assert (report.events, report.fault) == (1, None)


class TestAnchor:
    """What this host remembers."""

    async def test_the_anchor_follows_every_commit(self, db: Database, trail: Trail) -> None:
        """After an append the file holds the end of the record, private to its owner."""
        for _ in range(3):
            (event,) = await trail.append(draft())
            assert anchor(db).read() == Mark(event.seq, event.hash)
        assert db.place.anchor.stat().st_mode & 0o777 == 0o600

    async def test_the_anchor_never_moves_back(self, db: Database, trail: Trail) -> None:
        """Two processes may commit in one order and write the file in the other."""
        first, second = await trail.append(draft(), draft())
        anchor(db).advance(Mark(first.seq, first.hash))
        assert anchor(db).read() == Mark(second.seq, second.hash)

    async def test_the_anchor_is_written_under_its_lock(
        self, db: Database, trail: Trail, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Otherwise an older place could overwrite a newer one between look and write."""
        await trail.append(draft())
        write, held = os.pwrite, []

        def spy(fd: int, data: bytes, offset: int) -> int:
            with db.place.anchor.open("rb") as other:
                try:
                    fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    held.append(True)
            return write(fd, data, offset)

        monkeypatch.setattr(os, "pwrite", spy)
        await trail.append(draft())
        assert held == [True]

    async def test_an_anchor_that_is_behind_is_fine(self, db: Database, trail: Trail) -> None:
        """A crash between commit and file leaves it so."""
        first, _ = await trail.append(draft(), draft())
        anchor(db).restart(Mark(first.seq, first.hash))
        again = restarted(db)
        assert await again.begin(NOW) is None
        assert (await again.verify()).whole

    async def test_a_cut_tail_becomes_a_gap_that_stays_red_until_acknowledged(self, db: Database, trail: Trail) -> None:
        """A start reports what the anchor remembers, keeps its hash, and repairs nothing."""
        events = await trail.append(*(draft(call=f"c{n}") for n in range(5)))
        third = events[2]
        await tamper(
            db,
            "DELETE FROM exec_audit WHERE seq > 3",
            f"UPDATE exec_audit_head SET seq = 3, hash = '{third.hash}'",
        )
        assert (await trail.verify()).fault == ChainFault(
            3, "is the last one, but this host's anchor remembers event 5"
        )
        again = restarted(db)
        gap = await again.begin(NOW)
        assert gap is not None
        why = "the record ends with event 3, but this host remembers event 5"
        assert (gap.seq, gap.draft.kind, gap.draft.reason) == (4, EventKind.GAP, why)
        assert (gap.draft.detail, gap.draft.digest) == ("5", events[4].hash)
        assert anchor(db).read() == Mark(4, gap.hash)
        red = ChainFault(4, f"reports a gap that nobody has acknowledged: {why}")
        assert (await again.verify()).fault == red
        assert await restarted(db).begin(NOW) is None
        await again.append(draft())
        assert (await again.verify()).fault == red
        known = await again.acknowledge("the disk was restored from a backup", "local:1000", NOW)
        assert (known.draft.kind, known.draft.decider) == (EventKind.ACKNOWLEDGED, "local:1000")
        assert (await again.verify()).whole

    async def test_the_first_append_of_a_process_looks_by_itself(self, db: Database, trail: Trail) -> None:
        """Nobody can forget to look: the gap comes before the event that was to be written."""
        events = await trail.append(draft(), draft())
        await tamper(
            db,
            "DELETE FROM exec_audit WHERE seq = 2",
            f"UPDATE exec_audit_head SET seq = 1, hash = '{events[0].hash}'",
        )
        again = restarted(db)
        (event,) = await again.append(draft(call="later"))
        assert event.seq == 3
        newest, gap, _ = await again.page()
        assert (newest, gap.draft.kind) == (event, EventKind.GAP)

    async def test_a_rewritten_event_becomes_a_gap(self, db: Database, trail: Trail) -> None:
        """The chain was computed anew, but the file remembers the old hash."""
        await trail.append(draft())
        anchor(db).restart(Mark(1, "a" * 64))
        gap = await restarted(db).begin(NOW)
        assert gap is not None
        assert gap.draft.reason == "event 1 is not the one that this host remembers"

    @pytest.mark.parametrize("content", [b"", b"rubbish", b"0" * 86, b"9" * 200])
    async def test_a_damaged_anchor_becomes_a_gap(self, db: Database, trail: Trail, content: bytes) -> None:
        """Emptying or overwriting the file does not make the host forget unseen."""
        await trail.append(draft())
        db.place.anchor.write_bytes(content)
        assert not (await trail.verify()).whole
        again = restarted(db)
        gap = await again.begin(NOW)
        assert gap is not None
        assert gap.draft.kind is EventKind.GAP
        assert anchor(db).read() == Mark(2, gap.hash)

    async def test_a_removed_anchor_becomes_a_gap(self, db: Database, trail: Trail) -> None:
        """The database knows that this host kept one."""
        await trail.append(draft())
        db.place.anchor.unlink()
        complaint = f"the audit anchor {db.place.anchor} of this host is missing"
        assert (await trail.verify()).fault == ChainFault(1, complaint)
        gap = await restarted(db).begin(NOW)
        assert gap is not None
        assert gap.draft.reason == complaint

    async def test_another_host_begins_its_own_anchor(self, db: Database, trail: Trail, tmp_path: Path) -> None:
        """A second host on a shared database has none yet, and that is no gap."""
        await trail.append(draft())
        db.instance = replace(db.instance, host="second")
        db.place.anchor.rename(tmp_path / "first.anchor")
        again = restarted(db)
        assert await again.begin(NOW) is None
        assert anchor(db).read() is not None
        assert (await again.verify()).whole

    async def test_a_crash_right_after_the_first_commit_is_no_gap(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file is made before the database notes that there is one."""
        monkeypatch.setattr(Chain, "_remember", lambda *_: None)
        await restarted(db).append(draft())
        monkeypatch.undo()
        assert await restarted(db).begin(NOW) is None

    async def test_a_new_host_with_a_damaged_anchor_reports_it_once(self, db: Database, trail: Trail) -> None:
        """The file was there before the database knew of this host."""
        await trail.append(draft())
        db.instance = replace(db.instance, host="second")
        db.place.anchor.write_bytes(b"rubbish")
        gap = await restarted(db).begin(NOW)
        assert gap is not None
        assert gap.draft.reason == f"the audit anchor {db.place.anchor} is damaged"
        assert await restarted(db).begin(NOW) is None

    async def test_a_begin_that_writes_nothing_is_no_gap_next_time(self, db: Database) -> None:
        """The very first start of a host leaves its file, even though nothing is on record."""
        assert await restarted(db).begin(NOW) is None
        assert await restarted(db).begin(NOW) is None
        assert (await restarted(db).verify()).whole

    async def test_without_a_writable_anchor_nothing_is_recorded(self, db: Database, trail: Trail) -> None:
        """No record that can be trusted, no run; what was committed before the fault stays."""
        db.place.anchor.mkdir()
        with pytest.raises(RecordUnavailable, match="audit anchor"):
            await trail.append(draft())
        db.place.anchor.rmdir()
        (event,) = await trail.append(draft())
        db.place.anchor.unlink()
        db.place.anchor.mkdir()
        (second,) = await trail.append(draft())
        with pytest.raises(RecordUnavailable, match="audit anchor"):
            await trail.append(draft(call="c3"))
        db.place.anchor.rmdir()
        (third,) = await trail.append(draft())
        assert [event.seq, second.seq, third.seq] == [1, 2, 3]
        assert anchor(db).read() == Mark(3, third.hash)
        assert await trail.trail_of(CallId("c3")) == ()

    async def test_the_anchor_may_lie_in_what_was_pruned(self, db: Database, trail: Trail) -> None:
        """Another host pruned while this one slept."""
        events = await trail.append(*(draft(call=f"c{n}", at_ms=NOW + n) for n in range(4)))
        await trail.prune(NOW + 3, NOW + 9, "x")
        for event in events:
            anchor(db).restart(Mark(event.seq, event.hash))
            assert await restarted(db).begin(NOW) is None
            assert (await trail.verify()).whole

"""Appending to the record: sequence and previous hash are taken under one lock, together with what they attest.

Everything that writes an audit event goes through ``Chain.commit``, be it a bare event, a start or a ruling. The lock
(BEGIN IMMEDIATE; on PostgreSQL the head row) is taken before any other row, so that two writers can never deadlock.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from sqlmodel import Session, bindparam, col, insert, select, update

from mtbot.audit import Mark, gap_draft, link
from mtbot.domain.errors import RecordUnavailable, StorageError
from mtbot.domain.record import AuditEvent, EventDraft
from mtbot.storage.anchor import Anchor, AnchorDamaged
from mtbot.storage.engine import Database
from mtbot.storage.events import COLUMNS, event_columns, event_from
from mtbot.storage.tables import EventRow, HeadRow, MarkRow
from mtbot.storage.wire import Prepared, Wire

T = TypeVar("T")

_HEAD = Prepared(select(col(HeadRow.seq), col(HeadRow.hash)).with_for_update())
_MOVE = Prepared(update(HeadRow), "seq", "hash")
_INSERT = Prepared(insert(EventRow), *EventRow.model_fields)
_HASH = Prepared(select(col(EventRow.hash)).where(col(EventRow.seq) == bindparam("wanted")))
_NOTED = Prepared(select(col(MarkRow.value)).where(col(MarkRow.name) == bindparam("wanted")))
_NOTE = Prepared(insert(MarkRow), "name", "value")


class Pen:
    """The right to append within one transaction; holds the lock on the end of the record."""

    def __init__(self, wire: Wire, instance: str) -> None:
        head = wire.run(_HEAD)
        if head is None:
            raise RecordUnavailable("the audit record has lost its head row", hint="see mtclaw audit verify")
        self._wire = wire
        self._instance = instance
        self.mark = Mark(*head)

    def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Give ``drafts`` their places, in order."""
        events = []
        for draft in drafts:
            event = link(draft, self.mark, self._instance)
            self.mark = Mark(event.seq, event.hash)
            self._wire.run(_INSERT, event_columns(event))
            events.append(event)
        self._wire.run(_MOVE, {"seq": self.mark.seq, "hash": self.mark.hash})
        return tuple(events)


class Chain:
    """The one way to append to the record of a database."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.anchor = Anchor(db.place.anchor)
        # what follows is touched only in the writer thread
        self._checked = False
        self._owed: Mark | None = None
        self._anew = False

    async def commit(self, at_ms: int, work: Callable[[Session, Pen], T]) -> T:
        """The result of ``work`` in one durable transaction that holds the lock on the record.

        RecordUnavailable when it cannot be written; errors that ``work`` raises on purpose undo everything. The first
        commit of a process compares the record with this host's anchor and appends a GAP event if they differ.
        """

        def within(session: Session) -> tuple[T, AuditEvent | None, Mark]:
            return self._append(at_ms, Wire.below(session.connection()), lambda pen: work(session, pen))

        return (await self._told(self.db.write(within, after=self._remember)))[0]

    async def commit_swiftly(self, at_ms: int, work: Callable[[Wire, Pen], T]) -> T:
        """``commit``, every bit as durable, for work that needs no session: what every call writes."""
        return (await self._swiftly(at_ms, work))[0]

    async def begin(self, at_ms: int) -> AuditEvent | None:
        """Compare the record with the anchor now; the GAP event if one had to be appended."""
        return (await self._swiftly(at_ms, lambda _wire, _pen: None))[1]

    async def _swiftly(self, at_ms: int, work: Callable[[Wire, Pen], T]) -> tuple[T, AuditEvent | None, Mark]:
        def within(wire: Wire) -> tuple[T, AuditEvent | None, Mark]:
            return self._append(at_ms, wire, lambda pen: work(wire, pen))

        return await self._told(self.db.transact(within, after=self._remember))

    async def _told(self, writing: Awaitable[T]) -> T:
        try:
            return await writing
        except RecordUnavailable:
            raise
        except StorageError as fault:
            raise RecordUnavailable(f"the record cannot be written: {fault.message}", hint=fault.hint) from fault

    def _append(self, at_ms: int, wire: Wire, work: Callable[[Pen], T]) -> tuple[T, AuditEvent | None, Mark]:
        self._pay()
        pen = Pen(wire, str(self.db.instance))
        gap = None if self._checked else self._compare(wire, pen, at_ms)
        return work(pen), gap, pen.mark

    def _compare(self, wire: Wire, pen: Pen, at_ms: int) -> AuditEvent | None:
        """Append what the anchor gives away. A start never repairs: verify stays red until somebody acknowledges."""
        remembered: Mark | None = None
        noted = wire.run(_NOTED, {"wanted": anchor_mark(self.db.instance.host)}) is not None
        try:
            remembered = self.anchor.read()
        except AnchorDamaged as fault:
            why = fault.message
        else:
            why = self._contradiction(wire, pen, remembered, noted=noted)
        if not noted:
            # the file first: were it missing after a crash, the next start would miss it
            if not why:
                self._write(lambda: self.anchor.advance(pen.mark))
            wire.run(_NOTE, {"name": anchor_mark(self.db.instance.host), "value": str(self.anchor.path)})
        return pen.append(gap_draft(why, remembered, at_ms))[0] if why else None

    def _contradiction(self, wire: Wire, pen: Pen, remembered: Mark | None, *, noted: bool) -> str:
        if remembered is None:
            return f"the audit anchor {self.anchor.path} of this host is missing" if noted else ""
        if remembered.seq > pen.mark.seq:
            return f"the record ends with event {pen.mark.seq}, but this host remembers event {remembered.seq}"
        found = wire.run(_HASH, {"wanted": remembered.seq})
        # an event that is not there was pruned or lost; which of the two, verify can tell and a start cannot afford to
        if found is not None and found[0] != remembered.hash:
            return f"event {remembered.seq} is not the one that this host remembers"
        return ""

    def _remember(self, done: tuple[object, AuditEvent | None, Mark]) -> None:
        """Move the anchor after a commit. The events are on disk, so a fault here is the next commit's to report."""
        _, gap, mark = done
        self._checked = True
        self._owed = mark
        self._anew = self._anew or gap is not None
        with suppress(RecordUnavailable):
            self._pay()

    def _pay(self) -> None:
        """Bring the anchor up to what was committed; RecordUnavailable while that is not possible."""
        owed = self._owed
        if owed is None:
            return
        self._write(lambda: self.anchor.restart(owed) if self._anew else self.anchor.advance(owed))
        self._owed, self._anew = None, False

    def _write(self, move: Callable[[], None]) -> None:
        try:
            move()
        except StorageError as fault:
            raise RecordUnavailable(fault.message, hint="nothing runs until it can be written") from fault


def anchor_mark(host: str) -> str:
    """The name under which the database notes that ``host`` keeps an anchor."""
    return f"anchor:{host}"


def event_of(row: EventRow) -> AuditEvent:
    """The event of a row. ValueError if somebody wrote words into it that are none of ours."""
    return event_from([getattr(row, name) for name in COLUMNS])

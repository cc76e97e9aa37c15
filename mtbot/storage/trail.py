"""The audit record: appended to, never changed; read in pages, verified as a stream, pruned only from its beginning."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from sqlalchemy import Select, bindparam, delete, exists, func, or_, text, update
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from mtbot.audit import ENDS, ChainFault, ChainReport, Mark, Verifier, prune_draft, settle
from mtbot.domain.again import Keep
from mtbot.domain.errors import NotUsable, StorageError
from mtbot.domain.ids import ApprovalId, CallId, SessionId
from mtbot.domain.record import ApprovalState, AuditEvent, EventDraft, EventKind, Word
from mtbot.storage import events, kept
from mtbot.storage.anchor import Anchor
from mtbot.storage.chain import Chain, Pen, anchor_mark, event_of
from mtbot.storage.engine import Database
from mtbot.storage.events import CHUNK, COLUMNS, EVERY, EventFilter, Rows, readable
from mtbot.storage.grants import use
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import ApprovalRow, EventRow, HeadRow, MarkRow, ParkedRow
from mtbot.storage.wire import Prepared, Wire

_BEGUN = Prepared(
    # the kind is written out, so that the index of starts can answer
    select(EventRow.seq).where(col(EventRow.call) == bindparam("wanted"), text(f"kind = '{EventKind.STARTED}'"))
)
_APPROVAL = Prepared(
    columns(
        col(ApprovalRow.state),
        col(ApprovalRow.used_seq),
        col(ApprovalRow.expires_ms),
        col(ApprovalRow.digest),
        col(ApprovalRow.call),
    )
    .where(col(ApprovalRow.id) == bindparam("wanted"))
    .with_for_update()
)
_USE = Prepared(update(ApprovalRow).where(col(ApprovalRow.id) == bindparam("wanted")), "used_seq")
_WIPE = Prepared(update(ParkedRow).where(col(ParkedRow.approval) == bindparam("wanted")), "sealed")


class Trail:
    """The record of a database; implements AuditLog and everything that people ask of the record."""

    def __init__(self, db: Database, chain: Chain) -> None:
        self._db = db
        self._chain = chain

    async def begin(self, at_ms: int) -> AuditEvent | None:
        """Compare the record with this host's anchor; the GAP event, if one had to be appended. RecordUnavailable."""
        return await self._chain.begin(at_ms)

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Chain and commit these events together, in order. RecordUnavailable."""
        if not drafts:
            return ()
        return await self._chain.commit_swiftly(drafts[0].at_ms, lambda _wire, pen: pen.append(*drafts))

    async def start(
        self,
        draft: EventDraft,
        approval: ApprovalId | None,
        grant: ApprovalId | None = None,
        keep: Keep | None = None,
    ) -> AuditEvent:
        """Commit the STARTED event of a call: once per call id, for ever, and with ``approval`` only if it is usable.

        With ``grant`` only if that one holds at the draft's moment; the use is counted. What ``keep`` names is kept.
        The start consumes the approval and wipes the parked turn, which goes on in memory from here; the row that is
        left says until the turn is flushed that it was not (``cut_short``).
        NotUsable (also for a second start), RecordUnavailable: then nothing was written and nothing may run.
        """
        if draft.kind is not EventKind.STARTED:
            raise ValueError(f"{draft.kind} starts nothing")
        bare = settle(draft)

        def work(wire: Wire, pen: Pen) -> AuditEvent:
            if wire.run(_BEGUN, {"wanted": bare.call}) is not None:
                raise NotUsable("used", f"call {bare.call} was started before")
            if approval is not None:
                _check_usable(wire, approval, bare)
            if grant is not None:
                use(wire, grant, bare)
            if keep is not None and keep.repeats is not None:
                kept.asks_again(wire, keep.repeats, keep.turn, bare.requester, bare.at_ms)
            (event,) = pen.append(bare)
            if keep is not None:
                kept.keep(wire, self._db.seal, event, keep)
            if approval is not None:
                wire.run(_USE, {"wanted": approval, "used_seq": event.seq})
                wire.run(_WIPE, {"wanted": approval, "sealed": b""})
            return event

        return await self._chain.commit_swiftly(bare.at_ms, work)

    async def end(self, draft: EventDraft, started: int) -> AuditEvent:
        """Commit how the call of that start ended; nothing of it is kept from here on. RecordUnavailable."""

        def work(wire: Wire, pen: Pen) -> AuditEvent:
            (event,) = pen.append(draft)
            kept.over(wire, started)
            return event

        return await self._chain.commit_swiftly(draft.at_ms, work)

    async def page(
        self, which: EventFilter = EVERY, *, before: int | None = None, limit: int = 50
    ) -> tuple[AuditEvent, ...]:
        """At most ``limit`` events with a sequence number below ``before``, newest first. StorageError."""

        return await self._db.read(lambda session: events.page(_rows(session), which, before, limit))

    async def after(self, seq: int, limit: int = CHUNK) -> tuple[AuditEvent, ...]:
        """At most ``limit`` events behind number ``seq``, oldest first. StorageError."""
        statement = select(EventRow).where(col(EventRow.seq) > seq).order_by(col(EventRow.seq)).limit(limit)
        return await self._db.read(lambda session: tuple(_event(row) for row in session.exec(statement)))

    async def trail_of(self, call: CallId) -> tuple[AuditEvent, ...]:
        """Everything on record about one call, oldest first. StorageError."""
        return (await self.trails_of((call,)))[call]

    async def trails_of(self, calls: Sequence[CallId]) -> dict[CallId, tuple[AuditEvent, ...]]:
        """The same for several calls at once; calls without any event have an empty trail."""

        return await self._db.read(lambda session: events.trails(_rows(session), calls))

    async def unfinished(self) -> tuple[AuditEvent, ...]:
        """STARTED events without an end whose process on this host is certainly dead, oldest first. StorageError."""
        here = self._db.instance

        def work(session: Session) -> tuple[AuditEvent, ...]:
            events = (_event(row) for row in session.scalars(_open_starts()))
            return tuple(
                one for one in events if (writer := Instance.parse(one.instance)) and provably_dead(writer, here)
            )

        return await self._db.read(work)

    async def cut_short(self) -> tuple[tuple[AuditEvent, AuditEvent], ...]:
        """Approved calls that ended while their turn never did, because its process on this host is certainly dead.

        Each is its STARTED event and its end, oldest first; calls without an end are ``unfinished``. What was run at the
        host and has ended waits for whoever serves its session and is none of these. StorageError.
        """
        here = self._db.instance

        def work(session: Session) -> tuple[tuple[AuditEvent, AuditEvent], ...]:
            begun = (
                select(EventRow, ParkedRow.holder)
                .join(ApprovalRow, col(ApprovalRow.used_seq) == col(EventRow.seq))
                .join(ParkedRow, col(ParkedRow.approval) == col(ApprovalRow.id))
                .where(col(ParkedRow.outcome).is_(None))
                .order_by(col(EventRow.seq))
            )
            found = []
            for event, holder in [(event_of(row), holder) for row, holder in session.exec(begun)]:
                writer = Instance.parse(holder or event.instance)
                ends = select(EventRow).where(EventRow.call == event.draft.call, col(EventRow.kind).in_(ENDS))
                end = session.exec(ends.order_by(col(EventRow.seq))).first()
                if writer is not None and provably_dead(writer, here) and end is not None:
                    found.append((event, event_of(end)))
            return tuple(found)

        return await self._db.read(work)

    async def ran_for(self, session: SessionId, message: int) -> tuple[AuditEvent, ...]:
        """STARTED events of the calls that were proposed for that message, oldest first. StorageError."""

        def work(look: Session) -> tuple[AuditEvent, ...]:
            proposed = select(EventRow.call).where(
                EventRow.session == session, EventRow.kind == EventKind.PROPOSED, EventRow.message == message
            )
            begun = select(EventRow).where(EventRow.kind == EventKind.STARTED, col(EventRow.call).in_(proposed))
            return tuple(event_of(row) for row in look.exec(begun.order_by(col(EventRow.seq))))

        return await self._db.read(work)

    async def event(self, seq: int) -> AuditEvent | None:
        """The event of that number; None if there is none. StorageError."""

        def work(session: Session) -> AuditEvent | None:
            row = session.get(EventRow, seq)
            return None if row is None else event_of(row)

        return await self._db.read(work)

    async def head(self) -> Mark:
        """Where the record ends now; what is noted elsewhere to check against later. StorageError."""
        return await self._db.read(_head)

    async def words_since(self, at_ms: int) -> Counter[Word]:
        """How the commands since then were decided in the end, and how many of each. StorageError."""
        decided = (
            select(EventRow.call, EventRow.word)
            .where(col(EventRow.at_ms) >= at_ms, EventRow.tool == "exec", EventRow.word != Word.NONE)
            .order_by(col(EventRow.at_ms), col(EventRow.seq))
        )
        last: dict[str, str] = await self._db.read(lambda session: dict(session.exec(decided).all()))
        known = {word.value for word in Word}
        return Counter(Word(word) for word in last.values() if word in known)

    async def verify(self, against: str = "", *, anchored: bool = True) -> ChainReport:
        """Read the whole record and name the first thing that is wrong; ``against`` is a hash noted elsewhere.

        ``anchored`` False leaves this host's anchor out, for a copy that has none beside it.

        Works in small pieces, so that nobody who writes has to wait for it. StorageError.
        """
        anchor, complaint = await self._db.read(self._anchored) if anchored else (None, "")
        verifier = Verifier(anchor, against)
        after = 0
        while True:
            seen, after, head = await self._db.read(partial(_feed, verifier=verifier, after=after))
            if seen < CHUNK:
                break
        report = verifier.finish(head)
        if report.whole and complaint:
            return ChainReport(report.events, report.first, report.head, ChainFault(report.head.seq, complaint))
        return report

    async def acknowledge(self, reason: str, decider: str, at_ms: int) -> AuditEvent:
        """Put on record that a person knows of the gaps so far, so that verify is green again. RecordUnavailable."""
        draft = EventDraft(
            EventKind.ACKNOWLEDGED,
            at_ms,
            SessionId(""),
            CallId(""),
            tool="",
            command="",
            decider=decider,
            reason=reason,
        )
        return (await self.append(draft))[0]

    async def prune(self, before_ms: int, at_ms: int, decider: str, limit: int = 20_000) -> int:
        """Remove events older than ``before_ms`` from the beginning, at most ``limit``; how many. RecordUnavailable.

        Stops before the first event of a call that still runs or waits, and before a gap nobody has acknowledged.
        A PRUNED event keeps the hash of what was removed, so that verify stays green.
        """

        def work(session: Session, pen: Pen) -> int:
            first: int | None = session.scalar(select(func.min(EventRow.seq)))
            if first is None:
                return 0
            last = session.get(EventRow, min(_prunable(session, before_ms, at_ms) - 1, first + limit - 1))
            if last is None:
                return 0
            pen.append(prune_draft(Mark(last.seq, last.hash), at_ms, decider))
            session.execute(delete(EventRow).where(col(EventRow.seq) <= last.seq))
            return last.seq - first + 1

        return await self._chain.commit(at_ms, work)

    def _anchored(self, session: Session) -> tuple[Mark | None, str]:
        anchor = Anchor(self._db.place.anchor)
        try:
            mark = anchor.read()
        except StorageError as fault:
            return None, fault.message
        if mark is None and session.get(MarkRow, anchor_mark(self._db.instance.host)) is not None:
            return None, f"the audit anchor {anchor.path} of this host is missing"
        return mark, ""


def _rows(session: Session) -> Rows:
    connection = session.connection()
    return lambda statement, values: connection.execute(text(statement), dict(values)).tuples()


def _event(row: EventRow) -> AuditEvent:
    return readable([getattr(row, name) for name in COLUMNS])


def _check_usable(wire: Wire, approval: ApprovalId, draft: EventDraft) -> None:
    row = wire.run(_APPROVAL, {"wanted": approval})
    if row is None or row[0] != ApprovalState.APPROVED:
        raise NotUsable("not_approved", f"#{approval} is not approved")
    _, used_seq, expires_ms, digest, call = row
    if used_seq is not None:
        raise NotUsable("used", f"#{approval} was used before")
    if draft.at_ms >= expires_ms:
        raise NotUsable("expired", f"#{approval} has lapsed")
    if (digest, call) != (draft.digest, draft.call):
        raise NotUsable("changed", f"#{approval} was given for something else")


def _open_starts() -> "Select[tuple[EventRow]]":
    end = aliased(EventRow)
    ended = exists().where(col(end.call) == col(EventRow.call), col(end.kind).in_(ENDS))
    statement = select(EventRow).where(EventRow.kind == EventKind.STARTED, ~ended)
    return statement.order_by(col(EventRow.seq))


def _head(session: Session) -> Mark:
    row = session.exec(select(HeadRow)).one_or_none()
    return Mark(0, "") if row is None else Mark(row.seq, row.hash)


def _feed(session: Session, verifier: Verifier, after: int) -> tuple[int, int, Mark]:
    """Feed the next events; how many, the last of them, and where the record ends on the same view."""
    statement = select(EventRow).where(col(EventRow.seq) > after).order_by(col(EventRow.seq)).limit(CHUNK)
    seen, last = 0, after
    for row in session.exec(statement):
        seen, last = seen + 1, row.seq
        try:
            event = event_of(row)
        except ValueError as fault:
            verifier.unreadable(row.seq, str(fault))
        else:
            verifier.feed(event, row.version)
    return seen, last, _head(session)


def _prunable(session: Session, before_ms: int, now_ms: int) -> int:
    """The first sequence number that has to stay."""
    lowest = select(func.min(EventRow.seq))
    acknowledged = session.scalar(select(func.max(EventRow.seq)).where(EventRow.kind == EventKind.ACKNOWLEDGED)) or 0
    waiting = select(ApprovalRow.call).where(
        col(ApprovalRow.used_seq).is_(None),
        col(ApprovalRow.state).in_((ApprovalState.PENDING, ApprovalState.APPROVED)),
        col(ApprovalRow.expires_ms) > now_ms,
    )
    running = [row.call for row in session.scalars(_open_starts())]
    keep = (
        session.scalar(lowest.where(col(EventRow.at_ms) >= before_ms)),
        session.scalar(lowest.where(EventRow.kind == EventKind.GAP, col(EventRow.seq) > acknowledged)),
        session.scalar(lowest.where(or_(col(EventRow.call).in_(waiting), col(EventRow.call).in_(running)))),
    )
    return min((one for one in keep if one is not None), default=_head(session).seq + 1)

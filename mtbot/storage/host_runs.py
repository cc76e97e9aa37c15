"""Calls that a person runs at the host: ruled on and started in one transaction, and their end laid beside the turn."""

import json
from dataclasses import asdict

from sqlmodel import Session, col, select

from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import NoSuchApproval, NotUsable, SealError
from mtbot.domain.host_run import Beginning, Ran, Running
from mtbot.domain.ids import ApprovalId, TurnId
from mtbot.domain.record import Approval, ApprovalState, AuditEvent, EventDraft, EventKind, OutboxItem
from mtbot.domain.turn import TurnState
from mtbot.storage import kept
from mtbot.storage.chain import Chain, Pen
from mtbot.storage.columns import Mask, queue
from mtbot.storage.consent import ConsentStore, decide, decided, lapse
from mtbot.storage.engine import Database
from mtbot.storage.instance import Instance, provably_dead
from mtbot.storage.tables import ApprovalRow, EventRow, ParkedRow
from mtbot.storage.wire import Wire

_BOX = "parked_turns.outcome"


class HostRunStore:
    """Implements HostRuns. Texts that come out of the database pass ``mask`` once more."""

    def __init__(self, db: Database, chain: Chain, consents: ConsentStore, mask: Mask) -> None:
        self._db = db
        self._chain = chain
        self._consents = consents
        self._mask = mask

    async def begin(self, approval: ApprovalId, begin: Beginning, *items: OutboxItem) -> tuple[Approval, AuditEvent]:
        """PENDING becomes approved and used, with its two events and ``items``; the parked turn stays where it is.

        One compare-and-set, so that whoever denies, approves or begins at the same moment wins or loses against it; after
        ``expires_ms`` the request lapses instead. AlreadyDecided, NoSuchApproval, NotUsable (started before, given for
        something else, or its turn is gone), RecordUnavailable: then nothing may run.
        """

        def work(session: Session, pen: Pen) -> tuple[ApprovalRow, AuditEvent | None]:
            row = session.exec(select(ApprovalRow).where(ApprovalRow.id == approval).with_for_update()).one_or_none()
            if row is None:
                raise NoSuchApproval(f"there is no request #{approval}")
            if row.state != ApprovalState.PENDING:
                return row, None
            if begin.ruling.at_ms >= row.expires_ms:
                lapse(row, begin.ruling, begin.resolved, pen)
                return row, None
            _check(session, row, begin.started)
            decide(row, begin.ruling)
            _resolved, started = pen.append(begin.resolved, begin.started)
            row.used_seq = started.seq
            if begin.keep is not None:
                kept.keep(Wire.below(session.connection()), self._db.seal, started, begin.keep)
            queue(session, self._db.seal, items, begin.ruling.at_ms)
            return row, started

        row, started = await self._chain.commit(begin.started.at_ms, work)
        if started is None:
            raise decided(row)
        return await self._consents.get(approval), started

    async def end(self, approval: ApprovalId, draft: EventDraft, outcome: Outcome, started: int) -> None:
        """Append the end and leave ``outcome``, sealed, for whoever goes on with the turn. RecordUnavailable."""
        text = json.dumps(asdict(outcome), ensure_ascii=True, separators=(",", ":"))

        def work(session: Session, pen: Pen) -> None:
            pen.append(draft)
            kept.over(Wire.below(session.connection()), started)
            row = session.exec(select(ParkedRow).where(ParkedRow.approval == approval)).one_or_none()
            if row is not None and row.sealed:
                row.outcome = self._db.seal.close(text, _BOX, approval)

        await self._chain.commit(draft.at_ms, work)

    async def take(self, approval: ApprovalId) -> Ran | None:
        """The turn and how its call ended; wiped by this, and from here on this process answers for the turn."""

        def work(session: Session) -> tuple[str, bytes, bytes] | None:
            found = select(ParkedRow).where(ParkedRow.approval == approval).with_for_update()
            row = session.exec(found).one_or_none()
            if row is None or not row.sealed or row.outcome is None:
                return None
            boxes = row.turn, row.sealed, row.outcome
            row.sealed, row.outcome, row.holder = b"", None, str(self._db.instance)
            return boxes

        boxes = await self._db.write(work)
        if boxes is None:
            return None
        turn, state, outcome = boxes
        try:
            return Ran(
                TurnState.from_json(self._db.seal.open(state, "parked_turns", TurnId(turn))),
                self._outcome(self._db.seal.open(outcome, _BOX, approval)),
            )
        except (KeyError, TypeError, ValueError) as fault:
            raise SealError(f"the parked turn {turn} cannot be read: {fault!r}") from fault

    async def running(self) -> tuple[Running, ...]:
        """Calls that were begun at the host and whose turn still waits for their end, oldest first. StorageError."""
        here = self._db.instance
        statement = (
            select(ApprovalRow, EventRow.instance)
            .join(ParkedRow, col(ParkedRow.approval) == col(ApprovalRow.id))
            .join(EventRow, col(EventRow.seq) == col(ApprovalRow.used_seq))
            .where(ParkedRow.sealed != b"", col(ParkedRow.outcome).is_(None))
            .order_by(col(EventRow.seq))
        )
        rows = await self._db.read(lambda session: session.exec(statement).all())
        found = []
        for row, instance in rows:
            writer = Instance.parse(instance)
            dead = writer is not None and provably_dead(writer, here)
            found.append(Running(await self._consents.get(ApprovalId(row.id)), dead))
        return tuple(found)

    def _outcome(self, text: str) -> Outcome:
        data = json.loads(text)
        data["survivors"] = tuple(str(self._mask(str(one))) for one in data["survivors"])
        data["held"] = tuple(str(one) for one in data.get("held", ()))
        return Outcome(**{**data, "status": Status(data["status"]), "text": self._mask(data["text"])})


def _check(session: Session, row: ApprovalRow, started: EventDraft) -> None:
    """NotUsable unless this very call may start now."""
    begun = select(EventRow.seq).where(EventRow.call == row.call, EventRow.kind == EventKind.STARTED)
    if row.used_seq is not None or session.exec(begun).first() is not None:
        raise NotUsable("used", f"#{row.id} was used before")
    if (row.digest, row.call) != (started.digest, started.call):
        raise NotUsable("changed", f"#{row.id} was asked for something else")
    parked = session.exec(select(ParkedRow).where(ParkedRow.approval == row.id)).one_or_none()
    if parked is None or not parked.sealed:
        raise NotUsable("gone", f"no turn waits for #{row.id} any more")

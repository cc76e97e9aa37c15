"""Grants as rows: what may run again is read here, used where a start is recorded, and ended by one compare-and-set."""

from sqlalchemy import bindparam, update
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from mtbot.audit import storable
from mtbot.domain.errors import AlreadyDecided, NoSuchApproval, NotUsable
from mtbot.domain.grant import Grant
from mtbot.domain.ids import ApprovalId, CallId, Digest, SessionId
from mtbot.domain.record import ApprovalState, EventDraft, OutboxItem, Ruling, Via
from mtbot.domain.turn import SYSTEM
from mtbot.storage.chain import Chain, Pen
from mtbot.storage.columns import actor, address_of, queue
from mtbot.storage.engine import Database
from mtbot.storage.grant_tables import GrantRow
from mtbot.storage.tables import ApprovalRow
from mtbot.storage.wire import Prepared, Wire

_HELD = Prepared(
    columns(
        col(GrantRow.session),
        col(GrantRow.revoked_ms),
        col(GrantRow.given_ms),
        col(GrantRow.until_ms),
        col(GrantRow.uses),
    )
    .where(col(GrantRow.id) == bindparam("wanted"))
    .with_for_update()
)
_COUNT = Prepared(update(GrantRow).where(col(GrantRow.id) == bindparam("wanted")), "uses")


class GrantStore:
    """Implements Grants. A row is written with the ruling that gives it (``give``) and goes with its request."""

    def __init__(self, db: Database, chain: Chain) -> None:
        self._db = db
        self._chain = chain

    async def live(self, now_ms: int, session: SessionId | None = None) -> tuple[Grant, ...]:
        """Those that hold then, of that session or of all, the oldest first. StorageError."""
        statement = (
            select(GrantRow, ApprovalRow)
            .join(ApprovalRow, col(ApprovalRow.id) == col(GrantRow.id))
            .where(col(GrantRow.revoked_ms).is_(None), col(GrantRow.until_ms) > now_ms)
            .order_by(col(GrantRow.given_ms), col(GrantRow.id))
        )
        if session is not None:
            statement = statement.where(GrantRow.session == session)
        rows = await self._db.read(lambda look: look.exec(statement).all())
        return tuple(one for one in (_grant(row, asked) for row, asked in rows) if one.live(now_ms))

    async def get(self, grant: ApprovalId) -> Grant:
        """The grant of that name. NoSuchApproval, StorageError."""

        def work(look: Session) -> Grant:
            row, asked = look.get(GrantRow, grant), look.get(ApprovalRow, grant)
            if row is None or asked is None:
                raise NoSuchApproval(f"there is no grant #{grant}")
            return _grant(row, asked)

        return await self._db.read(work)

    async def revoke(self, grant: ApprovalId, ruling: Ruling, draft: EventDraft, *items: OutboxItem) -> Grant:
        """Compare-and-set a live grant to revoked, with its event and ``items`` to send; the grant as it is now.

        No use starts after this has returned: a start takes the same lock on the record first.
        AlreadyDecided (revoked or expired) if it was over, NoSuchApproval, RecordUnavailable.
        """

        def work(session: Session, pen: Pen) -> tuple[Grant, bool]:
            row = session.exec(select(GrantRow).where(GrantRow.id == grant).with_for_update()).one_or_none()
            asked = session.get(ApprovalRow, grant)
            if row is None or asked is None:
                raise NoSuchApproval(f"there is no grant #{grant}")
            if not _grant(row, asked).live(ruling.at_ms):
                return _grant(row, asked), False
            end(row, ruling)
            pen.append(draft)
            queue(session, self._db.seal, items, ruling.at_ms)
            return _grant(row, asked), True

        found, won = await self._chain.commit(draft.at_ms, work)
        if not won:
            raise _over(found)
        return found


def give(session: Session, row: ApprovalRow, ruling: Ruling) -> None:
    """Write the grant that ``ruling`` on that request gives; part of the ruling's own transaction."""
    session.add(
        GrantRow(
            id=row.id,
            session=row.session,
            binding=row.offer or "",
            given_ms=ruling.at_ms,
            until_ms=ruling.at_ms + ruling.lasts_ms,
        )
    )
    session.flush()


def end(row: GrantRow, ruling: Ruling) -> None:
    """Note who revoked it."""
    row.revoked_ms, row.revoked_via = ruling.at_ms, ruling.via
    row.revoker_kind, row.revoker_id, row.revoker_name = (
        ruling.decider.kind,
        ruling.decider.id,
        storable(ruling.decider.name),
    )


def use(wire: Wire, grant: ApprovalId, draft: EventDraft) -> None:
    """Count a use in the transaction that records the start. NotUsable if the grant is over or is for another place."""
    row = wire.run(_HELD, {"wanted": grant})
    if row is None or row[1] is not None or row[0] != draft.session:
        raise NotUsable("grant", f"the grant #{grant} was taken back")
    _, _, given_ms, until_ms, uses = row
    if not given_ms <= draft.at_ms < until_ms:
        raise NotUsable("grant", f"the grant #{grant} has lapsed")
    wire.run(_COUNT, {"wanted": grant, "uses": uses + 1})


def _grant(row: GrantRow, asked: ApprovalRow) -> Grant:
    giver = SYSTEM
    if asked.decider_kind is not None and asked.decider_id is not None:
        giver = actor(asked.decider_kind, asked.decider_id, asked.decider_name)
    return Grant(
        id=ApprovalId(row.id),
        call=CallId(asked.call),
        address=address_of(asked),
        requester=actor(asked.requester_kind, asked.requester_id, asked.requester_name),
        giver=giver,
        via=Via(asked.via),
        command=asked.command,
        binding=Digest(row.binding),
        token=asked.token,
        given_ms=row.given_ms,
        until_ms=row.until_ms,
        revoked=_revoked(row),
        uses=row.uses,
    )


def _revoked(row: GrantRow) -> Ruling | None:
    if row.revoked_ms is None or row.revoker_kind is None or row.revoker_id is None:
        return None
    who = actor(row.revoker_kind, row.revoker_id, row.revoker_name)
    return Ruling(ApprovalState.REVOKED, who, Via(row.revoked_via), row.revoked_ms)


def _over(grant: Grant) -> AlreadyDecided:
    if grant.revoked is None:
        return AlreadyDecided(ApprovalState.EXPIRED, SYSTEM.key, grant.until_ms)
    return AlreadyDecided(ApprovalState.REVOKED, grant.revoked.decider.key, grant.revoked.at_ms)

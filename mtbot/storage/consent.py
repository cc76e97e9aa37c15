"""Requests for a yes and the turns that wait for them: one compare-and-set decides, and its event is part of it."""

import json
from dataclasses import replace

from sqlalchemy import or_
from sqlmodel import Session, col, func, select

from mtbot.audit import storable
from mtbot.domain.errors import AlreadyDecided, NameTaken, NoSuchApproval, SealError, StorageError
from mtbot.domain.ids import ApprovalId, CallId, Digest, SessionId, TurnId
from mtbot.domain.record import (
    Approval,
    ApprovalState,
    Card,
    EventDraft,
    EventKind,
    Offer,
    OutboxItem,
    Ruling,
    Via,
    Word,
)
from mtbot.domain.turn import SYSTEM, Address, TurnState
from mtbot.storage.chain import Chain, Pen
from mtbot.storage.columns import Mask, actor, address_columns, address_of, ensure_session, place_of, queue
from mtbot.storage.engine import Database
from mtbot.storage.grant_tables import GrantRow
from mtbot.storage.grants import end, give
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.kept import asks_again
from mtbot.storage.tables import ApprovalRow, EventRow, ParkedRow
from mtbot.storage.wire import Wire


class ConsentStore:
    """Implements Consents. Events go through ``chain``; card texts that come out pass ``mask`` once more."""

    def __init__(self, db: Database, chain: Chain, mask: Mask) -> None:
        self._db = db
        self._chain = chain
        self._mask = mask

    async def open(self, approval: Approval, state: TurnState, draft: EventDraft, item: OutboxItem) -> None:
        """In one transaction: the request, the parked turn (sealed), its audit event and the question's outbox row.

        NameTaken if the id or the token is in use; NotUsable if the call that is asked for again was dealt with otherwise;
        RecordUnavailable. Then nothing was asked.
        """

        def work(session: Session, pen: Pen) -> None:
            ensure_session(session, approval.address, approval.opened_ms)
            if state.repeats is not None:
                wire = Wire.below(session.connection())
                asks_again(wire, state.repeats.start, state.id, state.requester.key, approval.opened_ms)
            if not insert_if_new(session, _row(approval)):
                raise NameTaken(f"there is a request #{approval.id} already")
            self._park(session, approval, state)
            pen.append(draft)
            queue(session, self._db.seal, (item,), approval.opened_ms)

        await self._chain.commit(approval.opened_ms, work)

    async def rule(self, approval: ApprovalId, ruling: Ruling, draft: EventDraft, *items: OutboxItem) -> Approval:
        """Compare-and-set PENDING to ``ruling.state`` with its event and ``items`` to send; the new row.

        REVOKED also takes back a yes whose call has not started, with its grant if it was one that lasts; such a yes is a
        grant from this transaction on.

        AlreadyDecided if somebody was first, NoSuchApproval if there is none, RecordUnavailable. A yes at or after
        ``expires_ms`` becomes EXPIRED, with an event that says so and without ``items``, and is AlreadyDecided.
        """
        if ruling.state is ApprovalState.PENDING:
            raise ValueError("a ruling decides")

        def work(session: Session, pen: Pen) -> tuple[ApprovalRow, bool]:
            row = session.exec(select(ApprovalRow).where(ApprovalRow.id == approval).with_for_update()).one_or_none()
            if row is None:
                raise NoSuchApproval(f"there is no request #{approval}")
            if row.state != ApprovalState.PENDING and not _revocable(session, row, ruling):
                return row, False
            if ruling.state is ApprovalState.APPROVED and ruling.at_ms >= row.expires_ms:
                lapse(row, ruling, draft, pen)
                return row, False
            decide(row, ruling)
            if ruling.state is ApprovalState.APPROVED and ruling.lasts_ms:
                give(session, row, ruling)
            given = session.get(GrantRow, row.id) if ruling.state is ApprovalState.REVOKED else None
            if given is not None and given.revoked_ms is None:
                end(given, ruling)
            pen.append(draft)
            queue(session, self._db.seal, items, ruling.at_ms)
            return row, True

        row, won = await self._chain.commit(draft.at_ms, work)
        if not won:
            raise decided(row)
        return self._approval(row)

    async def get(self, approval: ApprovalId) -> Approval:
        """The request of that id. NoSuchApproval, StorageError."""
        return self._one(await self._db.read(lambda session: session.get(ApprovalRow, approval)), f"#{approval}")

    async def by_token(self, token: str) -> Approval:
        """The request whose buttons carry ``token``. NoSuchApproval, StorageError."""
        statement = select(ApprovalRow).where(ApprovalRow.token == token)
        return self._one(await self._db.read(lambda session: session.exec(statement).one_or_none()), "of that button")

    async def by_message(self, address: Address, message: int) -> Approval | None:
        """The request whose question is that message. StorageError."""
        statement = select(ApprovalRow).where(
            ApprovalRow.place_bot == address.bot,
            ApprovalRow.place_chat == address.chat,
            ApprovalRow.message == message,
        )
        newest = statement.order_by(col(ApprovalRow.opened_ms).desc()).limit(1)
        row = await self._db.read(lambda session: session.exec(newest).one_or_none())
        return None if row is None else self._approval(row)

    async def pending(self, session: SessionId | None = None) -> tuple[Approval, ...]:
        """Requests that wait, oldest first. StorageError."""
        statement = select(ApprovalRow).where(ApprovalRow.state == ApprovalState.PENDING)
        if session is not None:
            statement = statement.where(ApprovalRow.session == session)
        ordered = statement.order_by(col(ApprovalRow.opened_ms), col(ApprovalRow.id))
        rows = await self._db.read(lambda look: look.exec(ordered).all())
        return tuple(self._approval(row) for row in rows)

    async def due(self, now_ms: int) -> tuple[Approval, ...]:
        """Requests that wait although their time is over, oldest first. StorageError."""
        statement = select(ApprovalRow).where(
            ApprovalRow.state == ApprovalState.PENDING, col(ApprovalRow.expires_ms) <= now_ms
        )
        ordered = statement.order_by(col(ApprovalRow.opened_ms), col(ApprovalRow.id))
        rows = await self._db.read(lambda look: look.exec(ordered).all())
        return tuple(self._approval(row) for row in rows)

    async def next_due(self) -> int | None:
        """When the time of the next request is over; None while none waits. StorageError."""
        statement = select(func.min(ApprovalRow.expires_ms)).where(ApprovalRow.state == ApprovalState.PENDING)
        return await self._db.read(lambda look: look.exec(statement).one())

    async def resumable(self) -> tuple[Approval, ...]:
        """Requests that are decided while their turn still waits for them, the earliest ruling first. StorageError.

        A yes that was used is not among them: its turn goes on, or was cut short. But for one that was run at the host and
        has ended: its turn goes on from there.
        """
        statement = (
            select(ApprovalRow)
            .join(ParkedRow, col(ParkedRow.approval) == col(ApprovalRow.id))
            .where(
                ApprovalRow.state != ApprovalState.PENDING,
                or_(col(ApprovalRow.used_seq).is_(None), col(ParkedRow.outcome).is_not(None)),
            )
            .order_by(col(ApprovalRow.decided_ms), col(ApprovalRow.id))
        )
        rows = await self._db.read(lambda session: session.exec(statement).all())
        return tuple(self._approval(row) for row in rows)

    async def parked(self, turn: TurnId) -> TurnState | None:
        """The parked turn, unsealed; None if it is gone. SealError, StorageError."""
        row = await self._db.read(lambda session: session.get(ParkedRow, turn))
        if row is None or not row.sealed:
            return None
        text = self._db.seal.open(row.sealed, "parked_turns", turn)
        try:
            return TurnState.from_json(text)
        except (KeyError, TypeError, ValueError) as fault:
            raise SealError(f"the parked turn {turn} cannot be read: {fault!r}") from fault

    async def shown(self, approval: ApprovalId, message: int) -> None:
        """Note the channel's id of the question's message. NoSuchApproval, StorageError."""

        def work(session: Session) -> None:
            row = session.get(ApprovalRow, approval)
            if row is None:
                raise NoSuchApproval(f"there is no request #{approval}")
            row.message = message

        await self._db.write(work)

    def _park(self, session: Session, approval: Approval, state: TurnState) -> None:
        box = self._db.seal.close(state.to_json(), "parked_turns", state.id)
        row = session.get(ParkedRow, state.id)
        if row is None:
            row = ParkedRow(
                turn=state.id, session=state.session, approval=approval.id, sealed=box, parked_ms=approval.opened_ms
            )
            session.add(row)
        else:
            row.approval, row.sealed, row.parked_ms = approval.id, box, approval.opened_ms
        session.flush()

    def _one(self, row: ApprovalRow | None, which: str) -> Approval:
        if row is None:
            raise NoSuchApproval(f"there is no request {which}")
        return self._approval(row)

    def _approval(self, row: ApprovalRow) -> Approval:
        try:
            card = Card.from_dict(json.loads(row.card), self._mask)
        except (KeyError, TypeError, ValueError) as fault:
            raise StorageError(f"the card of #{row.id} cannot be read: {fault!r}") from fault
        address, place = address_of(row), place_of(row)
        return Approval(
            id=ApprovalId(row.id),
            call=CallId(row.call),
            turn=TurnId(row.turn),
            address=address,
            requester=actor(row.requester_kind, row.requester_id, row.requester_name),
            tool=row.tool,
            command=row.command,
            digest=Digest(row.digest),
            card=card,
            token=row.token,
            opened_ms=row.opened_ms,
            expires_ms=row.expires_ms,
            elevates=row.elevates,
            owner_only=row.owner_only,
            state=ApprovalState(row.state),
            ruling=_ruling(row),
            message=row.message,
            asked_at=None if place == address else place,
            offer=None if row.offer is None else Offer(Digest(row.offer), row.offer_ms or 0),
        )


def _row(approval: Approval) -> ApprovalRow:
    return ApprovalRow(
        id=approval.id,
        call=approval.call,
        turn=approval.turn,
        session=approval.address.session,
        place_surface=approval.place.surface,
        place_bot=approval.place.bot,
        place_chat=approval.place.chat,
        place_thread=approval.place.thread,
        place_label=approval.place.label,
        requester_kind=approval.requester.kind,
        requester_id=approval.requester.id,
        requester_name=storable(approval.requester.name),
        tool=approval.tool,
        command=storable(approval.command),
        digest=approval.digest,
        card=json.dumps(approval.card.to_dict(), ensure_ascii=True, separators=(",", ":")),
        token=approval.token,
        opened_ms=approval.opened_ms,
        expires_ms=approval.expires_ms,
        elevates=approval.elevates,
        owner_only=approval.owner_only,
        state=ApprovalState.PENDING,
        offer=approval.offer.binding if approval.offer else None,
        offer_ms=approval.offer.ms if approval.offer else None,
        **address_columns(approval.address),
    )


def lapse(row: ApprovalRow, late: Ruling, draft: EventDraft, pen: Pen) -> None:
    """Let the request of ``row`` expire, because ``late`` came too late; ``draft`` is the event that it would have been."""
    decide(row, Ruling(ApprovalState.EXPIRED, SYSTEM, Via.EXPIRY, late.at_ms, "timeout"))
    pen.append(
        replace(
            draft,
            word=Word.EXPIRED,
            via=Via.EXPIRY,
            decider=SYSTEM.key,
            reason="timeout",
            detail=f"{late.decider.key} approved too late",
        )
    )


def decide(row: ApprovalRow, ruling: Ruling) -> None:
    """Write ``ruling`` into the row."""
    row.state = ruling.state
    row.decider_kind, row.decider_id = ruling.decider.kind, ruling.decider.id
    row.decider_name = storable(ruling.decider.name)
    row.via, row.decided_ms, row.reason = ruling.via, ruling.at_ms, storable(ruling.reason)
    row.lasts_ms = ruling.lasts_ms or None


def _ruling(row: ApprovalRow) -> Ruling | None:
    if row.decider_kind is None or row.decider_id is None or row.decided_ms is None:
        return None
    decider = actor(row.decider_kind, row.decider_id, row.decider_name)
    return Ruling(ApprovalState(row.state), decider, Via(row.via), row.decided_ms, row.reason, row.lasts_ms or 0)


def _revocable(session: Session, row: ApprovalRow, ruling: Ruling) -> bool:
    """Whether ``ruling`` takes back a yes that was not used; the lock on the record keeps a start from slipping in."""
    if ruling.state is not ApprovalState.REVOKED or row.state != ApprovalState.APPROVED:
        return False
    used = select(EventRow.seq).where(EventRow.call == row.call, EventRow.kind == EventKind.STARTED).limit(1)
    return session.exec(used).first() is None


def decided(row: ApprovalRow) -> AlreadyDecided:
    """Who was first."""
    decider = "" if row.decider_kind is None else f"{row.decider_kind}:{row.decider_id}"
    return AlreadyDecided(row.state, decider, row.decided_ms or 0)

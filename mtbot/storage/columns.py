"""Addresses and people as columns, and the outbox rows that several stores write; one place knows their spelling."""

import json
from collections.abc import Callable, Iterable
from typing import TypedDict

from sqlmodel import Session

from mtbot.domain.errors import SealError
from mtbot.domain.ids import ApprovalId, BotName, ChatId, SafeText, ThreadId
from mtbot.domain.record import Attachment, Card, OutboxItem, OutboxRow, OutKind
from mtbot.domain.turn import Actor, ActorKind, Address, SurfaceName
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.seal import Seal
from mtbot.storage.status_tables import StatusRow
from mtbot.storage.tables import ApprovalRow, EditRow, OutboxState, OutboxTable, SessionRow

Mask = Callable[[str], SafeText]
"""The redactor, which alone makes SafeText: what comes out of the database passes it once more."""


class AddressColumns(TypedDict):
    """The columns of an address."""

    surface: str
    bot: str
    chat: int
    thread: int | None
    label: str


def address_columns(address: Address) -> AddressColumns:
    """The columns of ``address``."""
    return AddressColumns(
        surface=address.surface, bot=address.bot, chat=address.chat, thread=address.thread, label=address.label
    )


def address_of(row: SessionRow | ApprovalRow | OutboxTable | EditRow | StatusRow) -> Address:
    """The address in ``row``."""
    return Address(
        SurfaceName(row.surface),
        BotName(row.bot),
        ChatId(row.chat),
        None if row.thread is None else ThreadId(row.thread),
        row.label,
    )


def place_of(row: ApprovalRow) -> Address:
    """Where the question of ``row`` was asked."""
    return Address(
        SurfaceName(row.place_surface),
        BotName(row.place_bot),
        ChatId(row.place_chat),
        None if row.place_thread is None else ThreadId(row.place_thread),
        row.place_label,
    )


def actor(kind: str, id_: int, name: str) -> Actor:
    """The person in those columns."""
    return Actor(ActorKind(kind), id_, name)


def ensure_session(session: Session, address: Address, now_ms: int) -> SessionRow:
    """The session's row, made if it is the first that is heard of it."""
    row = session.get(SessionRow, address.session)
    if row is None:
        fresh = SessionRow(id=address.session, created_ms=now_ms, updated_ms=now_ms, **address_columns(address))
        insert_if_new(session, fresh)
        row = session.get_one(SessionRow, address.session)
    return row


def queue(session: Session, seal: Seal, items: Iterable[OutboxItem], now_ms: int) -> None:
    """Put ``items`` into the outbox, in order, sealed."""
    for item in items:
        row = OutboxTable(
            kind=item.kind,
            approval=item.approval,
            # the box is bound to the number that the database is about to give, so it follows in a second step
            sealed=b"",
            state=OutboxState.QUEUED,
            due_ms=now_ms,
            created_ms=now_ms,
            **address_columns(item.address),
        )
        session.add(row)
        session.flush()
        assert row.id is not None
        row.sealed = sealed(seal, item, row.id)


def sealed(seal: Seal, item: OutboxItem, row: int) -> bytes:
    """What an outbox row of that number holds of an item."""
    return seal.close(_payload(item), "outbox", row)


def unqueue(row: OutboxTable, seal: Seal, mask: Mask) -> OutboxRow:
    """The item of a row whose payload is still there. SealError if the box holds something else."""
    if row.id is None or row.sealed is None:
        raise SealError(f"row {row.id} of outbox has no payload")
    try:
        data = json.loads(seal.open(row.sealed, "outbox", row.id))
        text, card, file = data["text"], data["card"], data.get("file")
        item = OutboxItem(
            kind=OutKind(row.kind),
            address=address_of(row),
            text=None if text is None else mask(text),
            card=None if card is None else Card.from_dict(card, mask),
            quote=data["quote"],
            silent=data["silent"],
            approval=None if row.approval is None else ApprovalId(row.approval),
            file=None if file is None else Attachment.from_dict(file, mask),
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise SealError(f"row {row.id} of outbox holds no item: {fault!r}") from fault
    return OutboxRow(row.id, item, row.attempts, row.due_ms)


def _payload(item: OutboxItem) -> str:
    data = {
        "text": None if item.text is None else str(item.text),
        "card": None if item.card is None else item.card.to_dict(),
        "quote": item.quote,
        "silent": item.silent,
        "file": None if item.file is None else item.file.to_dict(),
    }
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))

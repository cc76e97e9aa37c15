"""The tables as SQLModel classes, equal to what the migrations build; their rows never leave this package.

Times are Unix milliseconds, ids are 64 bits wide, closed sets of words are check constraints. ``sealed`` columns hold
AEAD boxes (storage/seal) and are NULL once they are consumed; every other text is masked before it comes here.
"""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    false,
)
from sqlmodel import Field

from mtbot.domain.record import ApprovalState, CronStatus, EventKind, OutKind, Via, Word
from mtbot.domain.turn import ActorKind, Role, SurfaceName
from mtbot.storage import account_tables, grant_tables, kept_tables, memory_tables, status_tables
from mtbot.storage.table_base import ROW_ID, Base, added, one_of, some_rows

# Whoever compares or builds the whole schema takes it from here, so every table must have been imported.
__all__ = ["Base", "account_tables", "grant_tables", "kept_tables", "memory_tables", "status_tables"]


class OutboxState(StrEnum):
    """Where an outbox row stands."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    AMBIGUOUS = "ambiguous"
    DROPPED = "dropped"


OPEN_OUTBOX = (OutboxState.QUEUED, OutboxState.SENDING)
"""States in which a row holds up the rows behind it."""


class MarkRow(Base, table=True):
    """Small facts about this database: the seal's fingerprint, the hosts that keep an anchor."""

    __tablename__ = "marks"

    name: str = Field(primary_key=True, sa_type=Text)
    value: str = Field(sa_type=Text)


class SessionRow(Base, table=True):
    """A conversation; ``turn_*`` is what its last finished turn took, ``cost`` is in millionths of a currency."""

    __tablename__ = "sessions"
    __table_args__ = (
        CheckConstraint(one_of("surface", SurfaceName), name="ck_sessions_surface"),
        Index("ix_sessions_updated", "updated_ms", "id"),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    surface: str = Field(sa_type=Text)
    bot: str = Field(sa_type=Text)
    chat: int = Field(sa_type=BigInteger)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    label: str = Field(default="", sa_type=Text)
    prompt_tokens: int = Field(default=0, sa_type=BigInteger)
    completion_tokens: int = Field(default=0, sa_type=BigInteger)
    created_ms: int = Field(sa_type=BigInteger)
    updated_ms: int = Field(sa_type=BigInteger)
    cost: int = added(BigInteger)
    turn_prompt: int = added(BigInteger)
    turn_completion: int = added(BigInteger)
    turn_cost: int = added(BigInteger)


class MessageRow(Base, table=True):
    """An entry of a conversation; ``calls`` is a JSON list of [id, name, arguments]."""

    __tablename__ = "messages"
    __table_args__ = (
        CheckConstraint(one_of("role", Role), name="ck_messages_role"),
        UniqueConstraint("session", "seq", name="uq_messages_session_seq"),
        ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_messages_session", ondelete="CASCADE"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    session: str = Field(sa_type=Text)
    seq: int = Field(sa_type=BigInteger)
    turn: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    content: str = Field(sa_type=Text)
    calls: str = Field(default="[]", sa_type=Text)
    call_id: str | None = Field(default=None, sa_type=Text)
    tool_name: str = Field(default="", sa_type=Text)
    created_ms: int = Field(sa_type=BigInteger)


class LeaseRow(Base, table=True):
    """Which process runs a session's turn; lapses by itself."""

    __tablename__ = "leases"

    session: str = Field(primary_key=True, sa_type=Text)
    holder: str = Field(sa_type=Text)
    until_ms: int = Field(sa_type=BigInteger)


class ApprovalRow(Base, table=True):
    """A request for a person's yes. ``place_*`` is where it was asked; ``used_seq`` the STARTED event that consumed it.

    ``offer`` and ``offer_ms`` are what a yes that lasts would be for and how long, ``lasts_ms`` how long it was given.
    """

    __tablename__ = "approvals"
    __table_args__ = (
        CheckConstraint(one_of("surface", SurfaceName), name="ck_approvals_surface"),
        CheckConstraint(one_of("place_surface", SurfaceName), name="ck_approvals_place_surface"),
        CheckConstraint(one_of("state", ApprovalState), name="ck_approvals_state"),
        CheckConstraint(one_of("requester_kind", ActorKind), name="ck_approvals_requester_kind"),
        CheckConstraint(
            f"decider_kind IS NULL OR {one_of('decider_kind', ActorKind)}", name="ck_approvals_decider_kind"
        ),
        CheckConstraint(one_of("via", Via), name="ck_approvals_via"),
        CheckConstraint("(state = 'pending') = (decided_ms IS NULL)", name="ck_approvals_decided"),
        UniqueConstraint("token", name="uq_approvals_token"),
        ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_approvals_session", ondelete="CASCADE"),
        Index("ix_approvals_state", "state", "opened_ms"),
        Index("ix_approvals_session", "session", "state"),
        Index("ix_approvals_message", "place_bot", "place_chat", "message"),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    call: str = Field(sa_type=Text)
    turn: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    surface: str = Field(sa_type=Text)
    bot: str = Field(sa_type=Text)
    chat: int = Field(sa_type=BigInteger)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    label: str = Field(default="", sa_type=Text)
    place_surface: str = Field(sa_type=Text)
    place_bot: str = Field(sa_type=Text)
    place_chat: int = Field(sa_type=BigInteger)
    place_thread: int | None = Field(default=None, sa_type=BigInteger)
    place_label: str = Field(default="", sa_type=Text)
    requester_kind: str = Field(sa_type=Text)
    requester_id: int = Field(sa_type=BigInteger)
    requester_name: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    command: str = Field(sa_type=Text)
    digest: str = Field(sa_type=Text)
    card: str = Field(sa_type=Text)
    token: str = Field(sa_type=Text)
    opened_ms: int = Field(sa_type=BigInteger)
    expires_ms: int = Field(sa_type=BigInteger)
    elevates: bool
    state: str = Field(sa_type=Text)
    decider_kind: str | None = Field(default=None, sa_type=Text)
    decider_id: int | None = Field(default=None, sa_type=BigInteger)
    decider_name: str = Field(default="", sa_type=Text)
    via: str = Field(default="", sa_type=Text)
    decided_ms: int | None = Field(default=None, sa_type=BigInteger)
    reason: str = Field(default="", sa_type=Text)
    message: int | None = Field(default=None, sa_type=BigInteger)
    used_seq: int | None = Field(default=None, sa_type=BigInteger)
    owner_only: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    offer: str | None = Field(default=None, sa_type=Text)
    offer_ms: int | None = Field(default=None, sa_type=BigInteger)
    lasts_ms: int | None = Field(default=None, sa_type=BigInteger)


class ParkedRow(Base, table=True):
    """A turn that waits for ``approval``, or (``sealed`` empty) goes on after it; gone once the turn is flushed.

    ``outcome`` (sealed) is how its call ended that a person ran at the host; ``holder`` is the process that took it from
    there and goes on with the turn.
    """

    __tablename__ = "parked_turns"
    __table_args__ = (
        ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_parked_turns_session", ondelete="CASCADE"),
        Index("ix_parked_turns_approval", "approval", unique=True),
        Index("ix_parked_turns_session", "session"),
    )

    turn: str = Field(primary_key=True, sa_type=Text)
    session: str = Field(sa_type=Text)
    approval: str = Field(sa_type=Text)
    sealed: bytes = Field(sa_type=LargeBinary)
    parked_ms: int = Field(sa_type=BigInteger)
    outcome: bytes | None = Field(default=None, sa_type=LargeBinary)
    holder: str | None = Field(default=None, sa_type=Text)


class EventRow(Base, table=True):
    """An audit event in its place; it belongs to no session and outlives them all."""

    __tablename__ = "exec_audit"
    __table_args__ = (
        CheckConstraint("seq > 0", name="ck_exec_audit_seq"),
        CheckConstraint(one_of("kind", EventKind), name="ck_exec_audit_kind"),
        CheckConstraint(one_of("word", Word), name="ck_exec_audit_word"),
        CheckConstraint(one_of("via", Via), name="ck_exec_audit_via"),
        CheckConstraint("length(previous) = 64 AND length(hash) = 64", name="ck_exec_audit_hash"),
        UniqueConstraint("previous", name="uq_exec_audit_previous"),
        UniqueConstraint("hash", name="uq_exec_audit_hash"),
        some_rows(
            "uq_exec_audit_started",
            "call",
            unique=True,
            where="kind = 'started'",
        ),
        Index("ix_exec_audit_call", "call", "seq"),
        Index("ix_exec_audit_kind", "kind", "seq"),
        Index("ix_exec_audit_session_kind", "session", "kind", "seq"),
        some_rows(
            # the kind is in it although it is always the same: two columns that fit are what SQLite prefers to one
            "ix_exec_audit_chat_proposed",
            "chat",
            "kind",
            "seq",
            where="kind = 'proposed'",
        ),
        Index("ix_exec_audit_at", "at_ms", "seq"),
    )

    seq: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    version: int = Field(sa_type=Integer)
    instance: str = Field(sa_type=Text)
    kind: str = Field(sa_type=Text)
    at_ms: int = Field(sa_type=BigInteger)
    session: str = Field(sa_type=Text)
    call: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    command: str = Field(sa_type=Text)
    cwd: str = Field(sa_type=Text)
    bot: str = Field(sa_type=Text)
    chat: int = Field(sa_type=BigInteger)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    message: int | None = Field(default=None, sa_type=BigInteger)
    requester: str = Field(sa_type=Text)
    decider: str = Field(sa_type=Text)
    via: str = Field(sa_type=Text)
    digest: str = Field(sa_type=Text)
    word: str = Field(sa_type=Text)
    stage: str = Field(sa_type=Text)
    rule: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    approval: str | None = Field(default=None, sa_type=Text)
    profile: str = Field(sa_type=Text)
    exit_code: int | None = Field(default=None, sa_type=BigInteger)
    duration_ms: int | None = Field(default=None, sa_type=BigInteger)
    dropped: int | None = Field(default=None, sa_type=BigInteger)
    detail: str = Field(sa_type=Text)
    previous: str = Field(sa_type=Text)
    hash: str = Field(sa_type=Text)


class HeadRow(Base, table=True):
    """The one row that says where the record ends; whoever appends locks it first."""

    __tablename__ = "exec_audit_head"
    __table_args__ = (CheckConstraint("id = 1", name="ck_exec_audit_head_one"),)

    id: int = Field(primary_key=True, sa_type=Integer, sa_column_kwargs={"autoincrement": False})
    seq: int = Field(sa_type=BigInteger)
    hash: str = Field(sa_type=Text)


class InboxTable(Base, table=True):
    """An update as it came; ``id`` is the order of arrival. The identity stays when the payload is wiped.

    ``person`` is whose turn began with it; of an album its first update has that.
    """

    __tablename__ = "inbox"
    __table_args__ = (
        UniqueConstraint("bot", "update_id", "digest", name="uq_inbox_update"),
        CheckConstraint("(sealed IS NULL) = done", name="ck_inbox_wiped"),
        some_rows(
            "ix_inbox_waiting",
            "bot",
            "id",
            where="NOT done",
        ),
        Index("ix_inbox_arrival", "bot", "id"),
        some_rows("ix_inbox_turns", "received_ms", where="person IS NOT NULL"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    bot: str = Field(sa_type=Text)
    update_id: int = Field(sa_type=BigInteger)
    digest: str = Field(sa_type=Text)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    received_ms: int = Field(sa_type=BigInteger)
    taken: bool = False
    done: bool = False
    person: int | None = Field(default=None, sa_type=BigInteger)


class OutboxTable(Base, table=True):
    """Something to be said; ``id`` is the order within a chat. ``sender`` is the instance that is sending it."""

    __tablename__ = "outbox"
    __table_args__ = (
        CheckConstraint(one_of("surface", SurfaceName), name="ck_outbox_surface"),
        CheckConstraint(one_of("kind", OutKind), name="ck_outbox_kind"),
        CheckConstraint(one_of("state", OutboxState), name="ck_outbox_state"),
        CheckConstraint("state NOT IN ('queued', 'sending') OR sealed IS NOT NULL", name="ck_outbox_payload"),
        some_rows(
            "ix_outbox_open",
            "surface",
            "bot",
            "chat",
            "label",
            "id",
            where="state IN ('queued', 'sending')",
        ),
        some_rows(
            "ix_outbox_ambiguous",
            "id",
            where="state = 'ambiguous'",
        ),
        Index("ix_outbox_approval", "approval"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    surface: str = Field(sa_type=Text)
    bot: str = Field(sa_type=Text)
    chat: int = Field(sa_type=BigInteger)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    label: str = Field(default="", sa_type=Text)
    kind: str = Field(sa_type=Text)
    approval: str | None = Field(default=None, sa_type=Text)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    state: str = Field(sa_type=Text)
    sender: str = Field(default="", sa_type=Text)
    attempts: int = Field(default=0, sa_type=Integer)
    due_ms: int = Field(sa_type=BigInteger)
    created_ms: int = Field(sa_type=BigInteger)
    message: int | None = Field(default=None, sa_type=BigInteger)
    why: str = Field(default="", sa_type=Text)


class EditRow(Base, table=True):
    """An edited text that was offered to be used; ``used`` is the update of the press that used it."""

    __tablename__ = "edits"
    __table_args__ = (
        CheckConstraint(one_of("surface", SurfaceName), name="ck_edits_surface"),
        Index("ix_edits_message", "bot", "chat", "message"),
    )

    token: str = Field(primary_key=True, sa_type=Text)
    surface: str = Field(sa_type=Text)
    bot: str = Field(sa_type=Text)
    chat: int = Field(sa_type=BigInteger)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    label: str = Field(default="", sa_type=Text)
    message: int = Field(sa_type=BigInteger)
    author: int = Field(sa_type=BigInteger)
    sealed: bytes = Field(sa_type=LargeBinary)
    used: int | None = Field(default=None, sa_type=BigInteger)
    offered_ms: int = Field(sa_type=BigInteger)


class CronRow(Base, table=True):
    """One occurrence of a job; (job, due) happens once."""

    __tablename__ = "cron_runs"
    __table_args__ = (
        CheckConstraint(one_of("status", CronStatus), name="ck_cron_runs_status"),
        CheckConstraint("(status = 'started') = (finished_ms IS NULL)", name="ck_cron_runs_finished"),
        UniqueConstraint("job", "due_ms", name="uq_cron_runs_job_due"),
        Index("ix_cron_runs_last", "job", "started_ms", "id"),
        some_rows(
            "ix_cron_runs_open",
            "id",
            where="status = 'started'",
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    job: str = Field(sa_type=Text)
    due_ms: int = Field(sa_type=BigInteger)
    session: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    instance: str = Field(sa_type=Text)
    started_ms: int = Field(sa_type=BigInteger)
    finished_ms: int | None = Field(default=None, sa_type=BigInteger)
    error: str = Field(default="", sa_type=Text)

"""The first schema: conversations, consent, the record, the queues."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Build everything in an empty database."""
    _sessions()
    _messages()
    _leases()
    _approvals()
    _parked_turns()
    _exec_audit()
    _exec_audit_indices()
    _exec_audit_head()
    _marks()
    _inbox()
    _outbox()
    _cron_runs()
    op.execute("INSERT INTO exec_audit_head (id, seq, hash) VALUES (1, 0, '" + "0" * 64 + "')")


def _row_id() -> sa.BigInteger:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("surface IN ('private', 'group', 'terminal', 'cron')", name="ck_sessions_surface"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_updated", "sessions", ["updated_ms", "id"], unique=False)


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("id", _row_id(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("calls", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("tool_name", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role IN ('system', 'user', 'assistant', 'tool')", name="ck_messages_role"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_messages_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("session", "seq", name="uq_messages_session_seq"),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session", name="pk_leases"),
    )


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("place_surface", sa.Text(), nullable=False),
        sa.Column("place_bot", sa.Text(), nullable=False),
        sa.Column("place_chat", sa.BigInteger(), nullable=False),
        sa.Column("place_thread", sa.BigInteger(), nullable=True),
        sa.Column("place_label", sa.Text(), nullable=False),
        sa.Column("requester_kind", sa.Text(), nullable=False),
        sa.Column("requester_id", sa.BigInteger(), nullable=False),
        sa.Column("requester_name", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("opened_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.Column("elevates", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decider_kind", sa.Text(), nullable=True),
        sa.Column("decider_id", sa.BigInteger(), nullable=True),
        sa.Column("decider_name", sa.Text(), nullable=False),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("decided_ms", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.BigInteger(), nullable=True),
        sa.Column("used_seq", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(state = 'pending') = (decided_ms IS NULL)", name="ck_approvals_decided"),
        sa.CheckConstraint(
            "decider_kind IS NULL OR decider_kind IN ('telegram', 'local', 'system')", name="ck_approvals_decider_kind"
        ),
        sa.CheckConstraint(
            "place_surface IN ('private', 'group', 'terminal', 'cron')", name="ck_approvals_place_surface"
        ),
        sa.CheckConstraint("requester_kind IN ('telegram', 'local', 'system')", name="ck_approvals_requester_kind"),
        sa.CheckConstraint(
            "state IN ('pending', 'approved', 'denied', 'expired', 'revoked')", name="ck_approvals_state"
        ),
        sa.CheckConstraint("surface IN ('private', 'group', 'terminal', 'cron')", name="ck_approvals_surface"),
        sa.CheckConstraint(
            "via IN ('', 'button', 'command', 'reply', 'cli', 'terminal', 'expiry', 'stop', 'policy', 'classifier')",
            name="ck_approvals_via",
        ),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_approvals_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_approvals"),
        sa.UniqueConstraint("token", name="uq_approvals_token"),
    )
    op.create_index("ix_approvals_message", "approvals", ["place_bot", "place_chat", "message"], unique=False)
    op.create_index("ix_approvals_session", "approvals", ["session", "state"], unique=False)
    op.create_index("ix_approvals_state", "approvals", ["state", "opened_ms"], unique=False)


def _parked_turns() -> None:
    op.create_table(
        "parked_turns",
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("approval", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("parked_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_parked_turns_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", name="pk_parked_turns"),
    )
    op.create_index("ix_parked_turns_approval", "parked_turns", ["approval"], unique=True)
    op.create_index("ix_parked_turns_session", "parked_turns", ["session"], unique=False)


def _exec_audit() -> None:
    op.create_table(
        "exec_audit",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("cwd", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("message", sa.BigInteger(), nullable=True),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("decider", sa.Text(), nullable=False),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("approval", sa.Text(), nullable=True),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.BigInteger(), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("dropped", sa.BigInteger(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('proposed', 'decided', 'approval_requested', 'approval_resolved', 'started', 'finished', 'failed', 'interrupted', 'gap', 'pruned', 'acknowledged')",
            name="ck_exec_audit_kind",
        ),
        sa.CheckConstraint(
            "via IN ('', 'button', 'command', 'reply', 'cli', 'terminal', 'expiry', 'stop', 'policy', 'classifier')",
            name="ck_exec_audit_via",
        ),
        sa.CheckConstraint(
            "word IN ('', 'denied_rule', 'allowed_rule', 'auto_allowed', 'approved', 'denied_user', 'expired', 'refused_too_long')",
            name="ck_exec_audit_word",
        ),
        sa.CheckConstraint("length(previous) = 64 AND length(hash) = 64", name="ck_exec_audit_hash"),
        sa.CheckConstraint("seq > 0", name="ck_exec_audit_seq"),
        sa.PrimaryKeyConstraint("seq", name="pk_exec_audit"),
        sa.UniqueConstraint("hash", name="uq_exec_audit_hash"),
        sa.UniqueConstraint("previous", name="uq_exec_audit_previous"),
    )


def _exec_audit_indices() -> None:
    op.create_index("ix_exec_audit_at", "exec_audit", ["at_ms", "seq"], unique=False)
    op.create_index("ix_exec_audit_call", "exec_audit", ["call", "seq"], unique=False)
    op.create_index("ix_exec_audit_chat", "exec_audit", ["chat", "seq"], unique=False)
    op.create_index("ix_exec_audit_kind", "exec_audit", ["kind", "seq"], unique=False)
    op.create_index("ix_exec_audit_session", "exec_audit", ["session", "seq"], unique=False)
    op.create_index("ix_exec_audit_session_kind", "exec_audit", ["session", "kind", "seq"], unique=False)
    op.create_index("ix_exec_audit_word", "exec_audit", ["word", "seq"], unique=False)
    op.create_index("ix_exec_audit_word_kind", "exec_audit", ["word", "kind", "seq"], unique=False)
    op.create_index(
        "uq_exec_audit_started",
        "exec_audit",
        ["call"],
        unique=True,
        sqlite_where=sa.text("kind = 'started'"),
        postgresql_where=sa.text("kind = 'started'"),
    )


def _exec_audit_head() -> None:
    op.create_table(
        "exec_audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name="ck_exec_audit_head_one"),
        sa.PrimaryKeyConstraint("id", name="pk_exec_audit_head"),
    )


def _marks() -> None:
    op.create_table(
        "marks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_marks"),
    )


def _inbox() -> None:
    op.create_table(
        "inbox",
        sa.Column("id", _row_id(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("update_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("received_ms", sa.BigInteger(), nullable=False),
        sa.Column("taken", sa.Boolean(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.CheckConstraint("(sealed IS NULL) = done", name="ck_inbox_wiped"),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.UniqueConstraint("bot", "update_id", "digest", name="uq_inbox_update"),
    )
    op.create_index("ix_inbox_arrival", "inbox", ["bot", "id"], unique=False)
    op.create_index(
        "ix_inbox_waiting",
        "inbox",
        ["bot", "id"],
        unique=False,
        sqlite_where=sa.text("NOT done"),
        postgresql_where=sa.text("NOT done"),
    )


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", _row_id(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("approval", sa.Text(), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.BigInteger(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('reply', 'notice', 'card', 'edit')", name="ck_outbox_kind"),
        sa.CheckConstraint("state IN ('queued', 'sending', 'sent', 'ambiguous', 'dropped')", name="ck_outbox_state"),
        sa.CheckConstraint("state NOT IN ('queued', 'sending') OR sealed IS NOT NULL", name="ck_outbox_payload"),
        sa.CheckConstraint("surface IN ('private', 'group', 'terminal', 'cron')", name="ck_outbox_surface"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
    )
    op.create_index(
        "ix_outbox_ambiguous",
        "outbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'ambiguous'"),
        postgresql_where=sa.text("state = 'ambiguous'"),
    )
    op.create_index("ix_outbox_approval", "outbox", ["approval"], unique=False)
    op.create_index(
        "ix_outbox_open",
        "outbox",
        ["surface", "bot", "chat", "label", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('queued', 'sending')"),
        postgresql_where=sa.text("state IN ('queued', 'sending')"),
    )


def _cron_runs() -> None:
    op.create_table(
        "cron_runs",
        sa.Column("id", _row_id(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.CheckConstraint("(status = 'started') = (finished_ms IS NULL)", name="ck_cron_runs_finished"),
        sa.CheckConstraint(
            "status IN ('started', 'ok', 'error', 'skipped', 'interrupted')", name="ck_cron_runs_status"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_cron_runs"),
        sa.UniqueConstraint("job", "due_ms", name="uq_cron_runs_job_due"),
    )
    op.create_index("ix_cron_runs_last", "cron_runs", ["job", "started_ms", "id"], unique=False)
    op.create_index(
        "ix_cron_runs_open",
        "cron_runs",
        ["id"],
        unique=False,
        sqlite_where=sa.text("status = 'started'"),
        postgresql_where=sa.text("status = 'started'"),
    )

"""Indices of the record that no question of ours uses go, and one that --chat needs comes: every event is written faster."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

UNUSED = ("ix_exec_audit_word", "ix_exec_audit_word_kind", "ix_exec_audit_session", "ix_exec_audit_chat")


def upgrade() -> None:
    """SQLite never took the index of chats for the proposals of one chat; this one it does."""
    for name in UNUSED:
        op.drop_index(name, table_name="exec_audit")
    op.create_index(
        "ix_exec_audit_chat_proposed",
        "exec_audit",
        ["chat", "kind", "seq"],
        unique=False,
        sqlite_where=sa.text("kind = 'proposed'"),
        postgresql_where=sa.text("kind = 'proposed'"),
    )

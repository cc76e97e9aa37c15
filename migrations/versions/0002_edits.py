"""Edited messages that wait for their author to have them used."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; nothing that is there changes."""
    op.create_table(
        "edits",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("message", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.Column("offered_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("surface IN ('private', 'group', 'terminal', 'cron')", name="ck_edits_surface"),
        sa.PrimaryKeyConstraint("token", name="pk_edits"),
    )
    op.create_index("ix_edits_message", "edits", ["bot", "chat", "message"], unique=False)

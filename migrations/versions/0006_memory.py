"""What a conversation keeps beside its entries: a summary of what is not shown any more, and pinned notes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Older conversations have neither."""
    op.create_table(
        "summaries",
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("through", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.Column("tainted", sa.Boolean(), nullable=False),
        sa.Column("made_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("through > 0", name="ck_summaries_through"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_summaries_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", name="pk_summaries"),
    )
    op.create_table(
        "pins",
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("by_kind", sa.Text(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("by_name", sa.Text(), nullable=False),
        sa.Column("made_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("number > 0", name="ck_pins_number"),
        sa.CheckConstraint("by_kind IN ('telegram', 'local', 'system')", name="ck_pins_by_kind"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_pins_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "number", name="pk_pins"),
    )

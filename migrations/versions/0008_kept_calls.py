"""The exact call of what runs, kept until it ends, so that one that a crash cut off can be asked for again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing is known of what was started before; a button for it asks in words."""
    op.create_table(
        "kept_calls",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('kept', 'asked', 'dismissed', 'cleared')", name="ck_kept_calls_state"),
        sa.CheckConstraint("(state = 'kept') = (sealed IS NOT NULL)", name="ck_kept_calls_wiped"),
        sa.PrimaryKeyConstraint("seq", name="pk_kept_calls"),
    )

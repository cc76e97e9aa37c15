"""Status messages that stand in chats, so that the next start can take away what a killed gateway left."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nobody knows of older ones."""
    op.create_table(
        "statuses",
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("message", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.CheckConstraint("surface IN ('private', 'group', 'terminal', 'cron')", name="ck_statuses_surface"),
        sa.PrimaryKeyConstraint("bot", "chat", "message", name="pk_statuses"),
    )

"""What models cost: a line per person and day, and what the last turn of a conversation took."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Conversations that are there have cost nothing as far as anybody knows."""
    for name in ("cost", "turn_prompt", "turn_completion", "turn_cost"):
        op.add_column("sessions", sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "spending",
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("answers", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "person", name="pk_spending"),
    )

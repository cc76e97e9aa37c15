"""Calls that a person runs at the host, and those that only the owner may approve in a chat."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what is remembered of them."""
    op.add_column("approvals", sa.Column("owner_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("parked_turns", sa.Column("outcome", sa.LargeBinary(), nullable=True))
    op.add_column("parked_turns", sa.Column("holder", sa.Text(), nullable=True))

"""An update with which a turn began says whose turn that was, so that the limit of an hour holds across a restart."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nobody's turns are known of the hour before; the index holds only rows of turns."""
    op.add_column("inbox", sa.Column("person", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_inbox_turns",
        "inbox",
        ["received_ms"],
        unique=False,
        sqlite_where=sa.text("person IS NOT NULL"),
        postgresql_where=sa.text("person IS NOT NULL"),
    )

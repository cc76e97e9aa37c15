"""A yes that lasts: what a question offers, how long it was given, and the grants themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Older requests offer nothing and were approved once."""
    op.add_column("approvals", sa.Column("offer", sa.Text(), nullable=True))
    op.add_column("approvals", sa.Column("offer_ms", sa.BigInteger(), nullable=True))
    op.add_column("approvals", sa.Column("lasts_ms", sa.BigInteger(), nullable=True))
    op.create_table(
        "grants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("binding", sa.Text(), nullable=False),
        sa.Column("given_ms", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.Column("revoked_ms", sa.BigInteger(), nullable=True),
        sa.Column("revoked_via", sa.Text(), nullable=False),
        sa.Column("revoker_kind", sa.Text(), nullable=True),
        sa.Column("revoker_id", sa.BigInteger(), nullable=True),
        sa.Column("revoker_name", sa.Text(), nullable=False),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(revoked_ms IS NULL) = (revoker_kind IS NULL)", name="ck_grants_revoked"),
        sa.CheckConstraint("until_ms > given_ms", name="ck_grants_until"),
        sa.CheckConstraint("length(binding) = 64", name="ck_grants_binding"),
        sa.CheckConstraint(
            "revoker_kind IS NULL OR revoker_kind IN ('telegram', 'local', 'system')", name="ck_grants_revoker_kind"
        ),
        sa.CheckConstraint(
            "revoked_via IN ('', 'button', 'command', 'reply', 'cli', 'terminal', 'expiry', 'stop', 'policy', "
            "'classifier')",
            name="ck_grants_revoked_via",
        ),
        sa.ForeignKeyConstraint(["id"], ["approvals.id"], name="fk_grants_approval", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
    )
    op.create_index("ix_grants_session", "grants", ["session", "until_ms"], unique=False)

"""The table of grants, which are yeses that last; beside the others only because those fill a file."""

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, Text
from sqlmodel import Field

from mtbot.domain.record import Via
from mtbot.domain.turn import ActorKind
from mtbot.storage.table_base import Base, one_of


class GrantRow(Base, table=True):
    """A yes that lasts, of the request with that id; ``binding`` identifies what may run. It is gone with its request."""

    __tablename__ = "grants"
    __table_args__ = (
        CheckConstraint("(revoked_ms IS NULL) = (revoker_kind IS NULL)", name="ck_grants_revoked"),
        CheckConstraint("until_ms > given_ms", name="ck_grants_until"),
        CheckConstraint("length(binding) = 64", name="ck_grants_binding"),
        CheckConstraint(f"revoker_kind IS NULL OR {one_of('revoker_kind', ActorKind)}", name="ck_grants_revoker_kind"),
        CheckConstraint(one_of("revoked_via", Via), name="ck_grants_revoked_via"),
        ForeignKeyConstraint(["id"], ["approvals.id"], name="fk_grants_approval", ondelete="CASCADE"),
        Index("ix_grants_session", "session", "until_ms"),
    )

    id: str = Field(primary_key=True, sa_type=Text)
    session: str = Field(sa_type=Text)
    binding: str = Field(sa_type=Text)
    given_ms: int = Field(sa_type=BigInteger)
    until_ms: int = Field(sa_type=BigInteger)
    revoked_ms: int | None = Field(default=None, sa_type=BigInteger)
    revoked_via: str = Field(default="", sa_type=Text)
    revoker_kind: str | None = Field(default=None, sa_type=Text)
    revoker_id: int | None = Field(default=None, sa_type=BigInteger)
    revoker_name: str = Field(default="", sa_type=Text)
    uses: int = Field(default=0, sa_type=BigInteger)

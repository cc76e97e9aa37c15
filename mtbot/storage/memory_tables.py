"""The tables of what a conversation keeps beside its entries: its summary and its pinned notes."""

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Integer, Text
from sqlmodel import Field

from mtbot.domain.turn import ActorKind
from mtbot.storage.table_base import Base, one_of


class SummaryRow(Base, table=True):
    """What stands for a conversation's entries up to number ``through``; ``content`` is masked."""

    __tablename__ = "summaries"
    __table_args__ = (
        CheckConstraint("through > 0", name="ck_summaries_through"),
        ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_summaries_session", ondelete="CASCADE"),
    )

    session: str = Field(primary_key=True, sa_type=Text)
    content: str = Field(sa_type=Text)
    through: int = Field(sa_type=BigInteger)
    turns: int = Field(sa_type=BigInteger)
    tainted: bool
    made_ms: int = Field(sa_type=BigInteger)


class PinRow(Base, table=True):
    """A note that somebody wants kept; ``content`` is masked."""

    __tablename__ = "pins"
    __table_args__ = (
        CheckConstraint("number > 0", name="ck_pins_number"),
        CheckConstraint(one_of("by_kind", ActorKind), name="ck_pins_by_kind"),
        ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_pins_session", ondelete="CASCADE"),
    )

    session: str = Field(primary_key=True, sa_type=Text)
    number: int = Field(primary_key=True, sa_type=Integer, sa_column_kwargs={"autoincrement": False})
    content: str = Field(sa_type=Text)
    by_kind: str = Field(sa_type=Text)
    by_id: int = Field(sa_type=BigInteger)
    by_name: str = Field(sa_type=Text)
    made_ms: int = Field(sa_type=BigInteger)

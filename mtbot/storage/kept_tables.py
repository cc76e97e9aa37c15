"""The table of kept calls; beside the others only because those fill a file."""

from sqlalchemy import BigInteger, CheckConstraint, LargeBinary, Text
from sqlmodel import Field

from mtbot.domain.again import KeptState
from mtbot.storage.table_base import ROW_ID, Base, one_of


class KeptRow(Base, table=True):
    """The exact call of the STARTED event of that number, sealed; gone when the call has ended.

    ``turn`` is the turn that asked for it again, ``actor`` and ``at_ms`` say who changed the state last, and when.
    """

    __tablename__ = "kept_calls"
    __table_args__ = (
        CheckConstraint(one_of("state", KeptState), name="ck_kept_calls_state"),
        CheckConstraint("(state = 'kept') = (sealed IS NOT NULL)", name="ck_kept_calls_wiped"),
    )

    seq: int = Field(primary_key=True, sa_type=ROW_ID, sa_column_kwargs={"autoincrement": False})
    session: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary)
    turn: str = Field(default="", sa_type=Text)
    actor: str = Field(default="", sa_type=Text)
    at_ms: int = Field(sa_type=BigInteger)

"""The table of status messages that stand in chats, so that the next start can take away what a killed gateway left."""

from sqlalchemy import BigInteger, CheckConstraint, Text
from sqlmodel import Field

from mtbot.domain.turn import SurfaceName
from mtbot.storage.table_base import Base, one_of


class StatusRow(Base, table=True):
    """A status message that was sent and not taken away yet."""

    __tablename__ = "statuses"
    __table_args__ = (CheckConstraint(one_of("surface", SurfaceName), name="ck_statuses_surface"),)

    bot: str = Field(primary_key=True, sa_type=Text)
    chat: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    message: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    surface: str = Field(sa_type=Text)
    thread: int | None = Field(default=None, sa_type=BigInteger)
    label: str = Field(default="", sa_type=Text)

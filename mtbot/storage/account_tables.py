"""The tables of what models took."""

from sqlalchemy import BigInteger, Text
from sqlmodel import Field

from mtbot.storage.table_base import Base


class SpendingRow(Base, table=True):
    """What models took on one day for one person; ``day`` is an ISO date of the owner's zone."""

    __tablename__ = "spending"

    day: str = Field(primary_key=True, sa_type=Text)
    person: str = Field(primary_key=True, sa_type=Text)
    prompt_tokens: int = Field(default=0, sa_type=BigInteger)
    completion_tokens: int = Field(default=0, sa_type=BigInteger)
    cost: int = Field(default=0, sa_type=BigInteger)
    answers: int = Field(default=0, sa_type=BigInteger)

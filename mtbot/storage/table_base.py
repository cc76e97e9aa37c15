"""What all tables share: their root, numbered rows, closed sets of words and columns that came later."""

from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Integer, MetaData, text
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel

# SQLite numbers rows by itself only for a column that is declared INTEGER, which there is 64 bits wide anyway
ROW_ID = BigInteger().with_variant(Integer(), "sqlite")


def one_of(column: str, words: type[StrEnum]) -> str:
    """The SQL condition that ``column`` holds one of ``words``."""
    return f"{column} IN ({', '.join(repr(word.value) for word in words)})"


class Base(SQLModel):
    """Root of the tables, with metadata of their own and constraints that carry names."""

    metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s"})


def added(sa_type: type[TypeEngine[int]]) -> Any:
    """A number that a migration added to a table with rows: they have 0."""
    return Field(default=0, sa_type=sa_type, sa_column_kwargs={"server_default": text("0")})

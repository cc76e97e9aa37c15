"""What all tables share: their root, numbered rows, closed sets of words and columns that came later."""

from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, MetaData, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.sql.compiler import DDLCompiler
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel

# SQLite numbers rows by itself only for a column that is declared INTEGER, which there is 64 bits wide anyway
ROW_ID = BigInteger().with_variant(Integer(), "sqlite")

_WHERE = "where"


def one_of(column: str, words: type[StrEnum]) -> str:
    """The SQL condition that ``column`` holds one of ``words``."""
    return f"{column} IN ({', '.join(repr(word.value) for word in words)})"


def some_rows(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index over the rows that meet the SQL condition ``where``, on both servers.

    SQLAlchemy's own keyword for PostgreSQL would import its whole dialect, four megabytes, beside every SQLite database.
    """
    return Index(name, *columns, unique=unique, sqlite_where=text(where), info={_WHERE: where})


@compiles(CreateIndex, "postgresql")
def _create_index(create: CreateIndex, compiler: DDLCompiler, **given: Any) -> str:
    made = compiler.visit_create_index(create, **given)  # type: ignore[no-untyped-call]  # SQLAlchemy gives it none
    where = create.element.info.get(_WHERE)
    return made if where is None else f"{made} WHERE {where}"


class Base(SQLModel):
    """Root of the tables, with metadata of their own and constraints that carry names."""

    metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s"})


def added(sa_type: type[TypeEngine[int]]) -> Any:
    """A number that a migration added to a table with rows: they have 0."""
    return Field(default=0, sa_type=sa_type, sa_column_kwargs={"server_default": text("0")})

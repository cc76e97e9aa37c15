"""The road of the record past SQLAlchemy's layers: statements that are compiled once, on the driver's own connection.

What every call writes has to cost little more than the synced commit itself, and building, compiling and unpacking the
same few statements anew cost several times that. Only for columns whose values the drivers take as they are: text,
whole numbers, bytes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ClauseElement, Connection, Dialect, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler


class Prepared:
    """A statement of ours. ``columns``: the names of the values, for an insert or an update."""

    def __init__(self, statement: ClauseElement, *columns: str) -> None:
        self._statement = statement
        self._columns = columns or None
        self._compiled: dict[str, SQLCompiler] = {}

    def compiled(self, dialect: Dialect) -> SQLCompiler:
        """The statement for that kind of database."""
        found = self._compiled.get(dialect.name)
        if found is None:
            made = self._statement.compile(dialect=dialect, column_keys=self._columns)
            assert isinstance(made, SQLCompiler)
            found = self._compiled[dialect.name] = made
        return found


class Wire:
    """A driver's connection within a transaction that somebody else began and will end."""

    def __init__(self, connection: DBAPIConnection | PoolProxiedConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    @classmethod
    def below(cls, connection: Connection) -> "Wire":
        """The wire of an open connection, in the same transaction."""
        return cls(connection.connection, connection.dialect)

    def run(self, prepared: Prepared, values: Mapping[str, object] | None = None) -> tuple[Any, ...] | None:
        """Execute it with ``values``, every one that it names; its first row, if there is one. DBAPIError."""
        compiled = prepared.compiled(self._dialect)
        names, given = compiled.positiontup, values or {}
        with _told(self._dialect):
            cursor = self._connection.cursor()
            cursor.execute(compiled.string, given if names is None else [given[name] for name in names])
            row: tuple[Any, ...] | None = cursor.fetchone() if cursor.description else None
            cursor.close()
        return row


@contextmanager
def transaction(engine: Engine) -> Iterator[Wire]:
    """A transaction that may write, on the engine's connection; undone by any exception. DBAPIError."""
    pooled = engine.raw_connection()
    try:
        with _told(engine.dialect):
            if engine.dialect.name == "sqlite":
                pooled.cursor().execute("BEGIN IMMEDIATE")
        yield Wire(pooled, engine.dialect)
        with _told(engine.dialect):
            pooled.commit()
    finally:
        # what was not committed is undone when the pool takes it back
        pooled.close()


@contextmanager
def _told(dialect: Dialect) -> Iterator[None]:
    """Faults of the driver as SQLAlchemy tells them, and without the values."""
    try:
        yield
    except dialect.loaded_dbapi.Error as fault:
        raise DBAPIError(None, None, fault, hide_parameters=True) from fault

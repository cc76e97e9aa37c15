"""The two connections of a database and how they are set, for SQLite and for PostgreSQL.

Transactions of SQLite begin IMMEDIATE when they may write, so that two processes queue for the lock at the beginning
and never fail in the middle. Faults of the driver become one line without the values that were being written.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from mtbot.domain.errors import StorageError
from mtbot.storage import files
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace

BUSY_S = 5.0
"""How long another process's lock is waited for."""

_READING = "mtclaw_reading"


class Mode(Enum):
    """What a database was opened for."""

    READING = "reading"
    WRITING = "writing"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two engines of one connection each; opened for reading, both are one. ``reading`` never takes a write lock."""

    mode: Mode
    durable: Engine
    swift: Engine
    reading: Engine

    def dispose(self) -> None:
        """Close the connections; call it in the thread that used them."""
        self.durable.dispose()
        self.swift.dispose()


def connect(place: Place, mode: Mode) -> Pair:
    """The engines of ``place``; nothing is opened before they are used."""
    swift = _engine(place, mode, durable=False)
    durable = swift if mode is Mode.READING else _engine(place, mode, durable=True)
    reading = (
        swift.execution_options(**{_READING: True})
        if isinstance(place, SqlitePlace)
        else swift.execution_options(isolation_level="REPEATABLE READ")
    )
    return Pair(mode, durable, swift, reading)


@contextmanager
def explain(place: Place) -> Iterator[None]:
    """Turn what the driver raises inside into StorageError; errors raised on purpose pass."""
    try:
        yield
    except DBAPIError as fault:
        if isinstance(fault.orig, sqlite3.Error) and isinstance(place, SqlitePlace):
            raise _sqlite_error(place.path, fault.orig) from fault
        # not chained: below its first line a server repeats the values that it did not like
        raise StorageError(f"{place.label} refused: {_first_line(fault.orig or fault)}") from None
    except (SQLAlchemyError, OverflowError, UnicodeEncodeError) as fault:
        raise StorageError(f"{place.label} cannot hold that: {_first_line(fault)}") from fault


@contextmanager
def explain_sqlite(path: Path) -> Iterator[None]:
    """The same for work with the driver itself on a file."""
    try:
        yield
    except sqlite3.Error as fault:
        raise _sqlite_error(path, fault) from fault


def _engine(place: Place, mode: Mode, *, durable: bool) -> Engine:
    match place:
        case SqlitePlace(path):
            engine = create_engine(
                "sqlite://",
                creator=lambda: _open_sqlite(path, mode, durable=durable),
                poolclass=QueuePool,
                pool_size=1,
                max_overflow=0,
                hide_parameters=True,
            )
            event.listen(engine, "begin", _begin_immediate if mode is Mode.WRITING else _begin)
            return engine
        case PostgresPlace():
            return _postgres(place, mode, durable=durable)


def _begin_immediate(connection: Connection) -> None:
    reading = connection.get_execution_options().get(_READING, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _open_sqlite(path: Path, mode: Mode, *, durable: bool) -> sqlite3.Connection:
    if mode is Mode.READING:
        return _open_sqlite_reading(path)
    connection = _sqlite_connection(f"{path.as_uri()}?mode=rw")
    try:
        journal = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if journal != "wal":
            raise StorageError(
                f"{path} lies where no write-ahead log can be kept (journal mode {journal})",
                hint="name a local disk for the database",
            )
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_sqlite_reading(path: Path) -> sqlite3.Connection:
    connection = _sqlite_connection(f"{path.as_uri()}?mode=ro")
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # nobody writes (there is no log) and this directory does not let us make one: then the file does not change
        return _sqlite_connection(f"{path.as_uri()}?immutable=1")
    return connection


def _sqlite_connection(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _postgres(place: PostgresPlace, mode: Mode, *, durable: bool) -> Engine:
    import psycopg  # noqa: PLC0415  0.1 s that a SQLite user never pays
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  as above

    try:
        given = conninfo_to_dict(place.dsn.replace("postgresql+psycopg://", "postgresql://", 1))
    except psycopg.ProgrammingError as fault:
        # the parser's own message repeats the text, and with it the password
        raise StorageError("the PostgreSQL connection string cannot be read", hint="see storage.dsn") from fault
    milliseconds = int(BUSY_S * 1000)
    options = [
        str(given.pop("options", None) or ""),
        f"-c lock_timeout={milliseconds}",
        f"-c synchronous_commit={'on' if durable else 'off'}",
        f"-c default_transaction_read_only={'on' if mode is Mode.READING else 'off'}",
    ]
    wait = int(given.pop("connect_timeout", None) or BUSY_S)
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(
            **given,  # type: ignore[arg-type]  # libpq's words; psycopg types only its own
            options=" ".join(options).strip(),
            connect_timeout=wait,
            application_name="mtclaw",
        ),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
    )


def _sqlite_error(path: Path, fault: sqlite3.Error) -> StorageError:
    # the low byte is the kind, the rest says more about it; errors of the module itself carry no code
    code = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageError(
                f"{path} has been locked by another process for more than {BUSY_S:g} s",
                hint=f"see who holds it: fuser {path}",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return files.damaged(path, _first_line(fault))
        case sqlite3.SQLITE_FULL:
            return files.disk_full(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return files.cannot_write(path)
        case sqlite3.SQLITE_CANTOPEN:
            return files.cannot_write(path.parent)
        case _:
            return StorageError(f"{path} refused: {_first_line(fault)}")


def _first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]

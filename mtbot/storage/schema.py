"""Which schema a database has, seen by one SELECT, and the road from an older one to ours.

Alembic costs a quarter of a second to import and eight megabytes to keep, so it is imported only when there is something
to migrate: a new database is built from the models, which a test keeps equal to what the migrations make, on both
servers. The order of the revisions is repeated here as a tuple, which a test keeps equal too. SQLAlchemy is imported where it is used,
because a glance at the record needs the tuple alone.
"""

import threading
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from mtbot.audit import START
from mtbot.domain.errors import SchemaError

if TYPE_CHECKING:
    from sqlalchemy import Connection

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010")
"""Every revision of the schema, oldest first; the last is the one that this program reads and writes."""

VERSION_TABLE = "mtclaw_schema"
"""Where Alembic notes the revision."""

_ADVISORY_LOCK = 0x6D74636C6177  # "mtclaw": migrations of one PostgreSQL database happen one after the other


_ALEMBIC = threading.Lock()
"""Alembic keeps the context of a migration in module globals, so one process runs one at a time."""


class Standing(StrEnum):
    """How a database compares to this program."""

    EMPTY = "empty"
    BEHIND = "behind"
    CURRENT = "current"
    NEWER = "newer"
    FOREIGN = "foreign"


def standing(connection: "Connection") -> Standing:
    """Compare the schema; reads only. SQLAlchemyError if the database cannot be read."""
    from sqlalchemy import inspect, text  # noqa: PLC0415  see the module's docstring
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415  as above

    from mtbot.storage.tables import Base  # noqa: PLC0415  as above

    try:
        with connection.begin():
            found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()  # noqa: S608 - a constant of this module
    except DBAPIError:
        with connection.begin():
            names = set(inspect(connection).get_table_names())
        if VERSION_TABLE in names:
            raise
        ours = names & set(Base.metadata.tables)
        return Standing.FOREIGN if ours or (names and connection.dialect.name == "sqlite") else Standing.EMPTY
    if not found:
        return Standing.EMPTY
    if any(revision not in REVISIONS for revision in found):
        return Standing.NEWER
    return Standing.CURRENT if REVISIONS[-1] in found else Standing.BEHIND


def refuse(state: Standing, label: str) -> None:
    """SchemaError for a database that this program must not touch."""
    if state is Standing.NEWER:
        raise SchemaError(
            f"{label} was written by a newer mtclaw", hint="install that version or a later one; nothing was changed"
        )
    if state is Standing.FOREIGN:
        raise SchemaError(
            f"{label} holds tables that are not mtclaw's", hint="name another database; nothing was changed"
        )


def build(connection: "Connection") -> None:
    """Make the whole schema in an empty database, in one transaction; nothing if another process was faster."""
    from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect  # noqa: PLC0415  as above

    from mtbot.storage.tables import Base, HeadRow  # noqa: PLC0415  as above

    key = PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc")
    version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), nullable=False), key)
    with connection.begin():
        _alone(connection)
        if inspect(connection).has_table(VERSION_TABLE):
            return
        Base.metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(HeadRow).values(id=1, seq=START.seq, hash=START.hash))
        version.create(connection, checkfirst=False)
        connection.execute(version.insert().values(version_num=REVISIONS[-1]))


def _alone(connection: "Connection") -> None:
    """Wait until nobody else changes the schema of this database; on SQLite the transaction is that already."""
    from sqlalchemy import text  # noqa: PLC0415  as above

    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))


def migrate(connection: "Connection") -> None:
    """Bring the schema to ours in one transaction; safe when two processes do it at once."""
    from alembic import command  # noqa: PLC0415  see the module's docstring
    from alembic.config import Config  # noqa: PLC0415  as above

    config = Config()
    config.set_main_option("script_location", str(migrations_directory()).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _ALEMBIC, connection.begin():
        _alone(connection)
        command.upgrade(config, "head")


def migrations_directory() -> Path:
    """Where the revisions lie: inside an installed package, or at the top of the source tree."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_migrations", package.parent / "migrations"):
        if (candidate / "env.py").is_file():
            return candidate
    raise SchemaError("this installation lacks its migrations", hint="install mtclaw again")

"""A look at the record of a SQLite database by the driver alone: loading SQLAlchemy takes longer than the answer.

It looks only at what needs no explanation. A database that is missing, locked, damaged, of another schema, or anywhere
but in a file of this host is left to storage/engine, which knows what to say.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mtbot.domain.errors import StorageError
from mtbot.domain.ids import CallId
from mtbot.domain.record import AuditEvent
from mtbot.storage import events, files
from mtbot.storage.events import EventFilter
from mtbot.storage.place import Place, SqlitePlace
from mtbot.storage.schema import REVISIONS, VERSION_TABLE


class Glance:
    """An open record. Every method may raise sqlite3.Error: then ask the engine."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, place: Place) -> "Glance | None":
        """The record of ``place``; None where only the engine can tell."""
        if not isinstance(place, SqlitePlace):
            return None
        with suppress(sqlite3.Error, StorageError):
            files.check_database_file(place.path, writing=False)
            found = cls(sqlite3.connect(f"{place.path.as_uri()}?mode=ro", uri=True, isolation_level=None))
            if found._current():
                return found
            found.close()
        return None

    def page(self, which: EventFilter, *, before: int | None, limit: int) -> tuple[AuditEvent, ...]:
        """As Trail.page."""
        return events.page(self._rows, which, before, limit)

    def trails_of(self, calls: Sequence[CallId]) -> dict[CallId, tuple[AuditEvent, ...]]:
        """As Trail.trails_of."""
        return events.trails(self._rows, calls)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    def _current(self) -> bool:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        found = self._connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()  # noqa: S608  a constant
        return found == [(REVISIONS[-1],)]

    def _rows(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, dict(values)).fetchall()

"""Where a database lies, and with it its lock, its sealing key and its anchor: one accessor for every path of it.

Everything that belongs to a SQLite database lies beside it under its real path, so that two ways of naming one file
meet the same lock. PostgreSQL has no file here; what each host keeps goes to its state directory.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from mtbot.domain.errors import StorageError


@dataclass(frozen=True, slots=True)
class SqlitePlace:
    """A SQLite database. ``path`` is absolute and without links: use ``sqlite_place``."""

    path: Path

    @property
    def label(self) -> str:
        """How people are told of it."""
        return str(self.path)

    @property
    def lock(self) -> Path:
        """The lock file of the one gateway."""
        return self._beside("lock")

    @property
    def key(self) -> Path:
        """The sealing key."""
        return self._beside("key")

    @property
    def anchor(self) -> Path:
        """Where this host remembers the end of the record."""
        return self._beside("anchor")

    @property
    def control(self) -> Path:
        """The directory of the gateway's control socket."""
        return self._beside("control")

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A PostgreSQL database by its connection string (which may hold a password) and this host's state directory."""

    dsn: str = field(repr=False)
    state: Path

    @property
    def label(self) -> str:
        """How people are told of it: never with the connection string, which may hold a password."""
        return "the PostgreSQL database"

    @property
    def lock(self) -> Path:
        """The lock file of the one gateway on this host."""
        return self.state / "mtclaw.lock"

    @property
    def key(self) -> Path:
        """The sealing key; hosts that share the database share a copy of it."""
        return self.state / "mtclaw.key"

    @property
    def anchor(self) -> Path:
        """Where this host remembers the end of the record."""
        return self.state / "mtclaw.anchor"

    @property
    def control(self) -> Path:
        """The directory of the control socket of this host's gateway."""
        return self.state / "mtclaw.control"


Place = SqlitePlace | PostgresPlace


def sqlite_place(path: str | Path) -> SqlitePlace:
    """The place of that file. StorageError for an empty path, which SQLite would take for a database in memory."""
    if not str(path).strip():
        raise StorageError("the path of the database is empty", hint="set storage.dsn to a file")
    return SqlitePlace(Path(os.path.realpath(path)))

"""How a database is opened, created or refused; everything here runs in the writer thread.

A new SQLite database is built whole under another name and only then published, so that a crash leaves either nothing
or a complete one, and a file that is empty is always an accident. Nothing that exists is overwritten.
"""

from dataclasses import dataclass

from sqlalchemy import Engine, func
from sqlmodel import Session, col, select

from mtbot.domain.errors import SealError, StorageError
from mtbot.storage import files, schema
from mtbot.storage.connections import Mode, Pair, connect, explain
from mtbot.storage.inserting import insert_if_new
from mtbot.storage.place import Place, PostgresPlace, SqlitePlace
from mtbot.storage.seal import Seal, create_key, read_key
from mtbot.storage.tables import InboxTable, MarkRow, OutboxTable, ParkedRow

_SEAL_MARK = "seal"


@dataclass(frozen=True, slots=True)
class Opened:
    """The connections of an open database, and its seal (None: opened for reading, which seldom needs one).

    ``current``: its schema is this program's own.
    """

    pair: Pair
    seal: Seal | None
    current: bool = True


def open_writing(place: Place, *, create: bool) -> Opened:
    """Create or check, migrate, unlock. StorageError, SchemaError, SealError."""
    match place:
        case SqlitePlace():
            _prepare_sqlite(place, create=create)
        case PostgresPlace():
            files.make_private_directory(place.state)
    pair = connect(place, Mode.WRITING)
    try:
        with explain(place):
            _bring_up(place, pair, create=create)
            return Opened(pair, _unlock(place, pair.durable))
    except BaseException:
        pair.dispose()
        raise


def open_reading(place: Place) -> Opened:
    """Look only. StorageError when there is no database, SchemaError when it is newer than this program."""
    if isinstance(place, SqlitePlace):
        if not files.exists(place.path):
            raise _no_database(place)
        files.check_database_file(place.path, writing=False)
    pair = connect(place, Mode.READING)
    try:
        with explain(place), pair.reading.connect() as connection:
            state = schema.standing(connection)
        schema.refuse(state, place.label)
        if state is schema.Standing.EMPTY:
            raise _no_database(place)
        return Opened(pair, None, current=state is schema.Standing.CURRENT)
    except BaseException:
        pair.dispose()
        raise


def _no_database(place: Place) -> StorageError:
    return StorageError(f"no database yet at {place.label}; run gateway or prompt first")


def _prepare_sqlite(place: SqlitePlace, *, create: bool) -> None:
    if not files.exists(place.path):
        if not create:
            raise _no_database(place)
        _create_sqlite(place)
    files.check_database_file(place.path, writing=True)
    _inspect(place)
    files.narrow(place.path)


def _create_sqlite(place: SqlitePlace) -> None:
    files.make_private_directory(place.path.parent)
    seal = read_key(place.key) or create_key(place.key)
    try:
        draft = files.draft_beside(place.path)
    except OSError as fault:
        raise files.cannot_write(place.path.parent, fault) from fault
    try:
        pair = connect(SqlitePlace(draft), Mode.WRITING)
        try:
            with explain(place), pair.durable.connect() as connection:
                schema.build(connection)
                with Session(connection) as session, session.begin():
                    session.add(MarkRow(name=_SEAL_MARK, value=seal.fingerprint))
        finally:
            pair.dispose()
        files.publish(draft, place.path)
    except FileExistsError:
        pass  # another process was faster; theirs is opened
    except OSError as fault:
        raise files.cannot_write(place.path.parent, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


def _inspect(place: SqlitePlace) -> None:
    """Look for damage and for somebody else's tables before anything, even the journal mode, is changed."""
    pair = connect(place, Mode.READING)
    try:
        with explain(place), pair.reading.connect() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
            connection.rollback()
            if found != "ok":
                raise files.damaged(place.path, " ".join(str(found).split()))
            schema.refuse(schema.standing(connection), place.label)
    finally:
        pair.dispose()


def _bring_up(place: Place, pair: Pair, *, create: bool) -> None:
    with pair.reading.connect() as connection:
        state = schema.standing(connection)
    schema.refuse(state, place.label)
    if state is schema.Standing.EMPTY and not create:
        raise _no_database(place)
    if state is schema.Standing.CURRENT:
        return
    with pair.durable.connect() as connection:
        if state is schema.Standing.EMPTY:
            schema.build(connection)
        else:
            schema.migrate(connection)


def _unlock(place: Place, engine: Engine) -> Seal:
    """The seal of this database; made for a new one, and anew only where that can lose nothing."""
    with Session(engine) as session, session.begin():
        if session.get(MarkRow, _SEAL_MARK) is None:
            made = read_key(place.key) or create_key(place.key)
            insert_if_new(session, MarkRow(name=_SEAL_MARK, value=made.fingerprint))
        mark = session.get_one(MarkRow, _SEAL_MARK)
        seal = read_key(place.key)  # behind the mark: whoever wrote that had made the key before
        if seal is not None and seal.fingerprint == mark.value:
            return seal
        sealed = _sealed_rows(session)
        # another host may be the one that has the key of a shared database, so there it is never replaced
        if sealed or isinstance(place, PostgresPlace):
            what = f"the key file {place.key} is {'missing' if seal is None else 'not the one that sealed the data'}"
            raise SealError(
                f"{what}; {sealed} rows of {place.label} wait to be opened with it",
                hint=f"put the right key back from a backup (or from the other host) to {place.key}",
            )
        seal = seal or create_key(place.key)
        mark.value = seal.fingerprint
        return seal


def _sealed_rows(session: Session) -> int:
    return (
        session.exec(select(func.count()).select_from(ParkedRow).where(col(ParkedRow.sealed) != b"")).one()
        + session.exec(select(func.count()).select_from(InboxTable).where(col(InboxTable.sealed).is_not(None))).one()
        + session.exec(select(func.count()).select_from(OutboxTable).where(col(OutboxTable.sealed).is_not(None))).one()
    )

"""Inserting a row that somebody else may insert at the same moment, which is an answer and not a fault."""

import sqlite3

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel


def insert_if_new(session: Session, row: SQLModel) -> bool:
    """Insert ``row`` unless one of its unique keys is taken, also by a faster process; whether it was inserted."""
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError as fault:
        if _taken(fault):
            return False
        raise
    return True


def _taken(fault: IntegrityError) -> bool:
    if isinstance(fault.orig, sqlite3.Error):
        return fault.orig.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    return getattr(fault.orig, "sqlstate", None) == "23505"

"""Events as rows, and what lists ask of them, in words that every driver takes.

Imports no database library: a command that only lists the record has its answer before SQLAlchemy is loaded.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mtbot.audit import VERSION
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import CallId, ChatId
from mtbot.domain.record import AuditEvent, EventDraft, EventKind, Via, Word

Rows = Callable[[str, Mapping[str, object]], Iterable[Sequence[Any]]]
"""What executes a statement with ``:name`` values and gives its rows."""

CHUNK = 500
"""Rows, or values of one statement, that are asked for at once."""

_DRAFT = tuple(field.name for field in fields(EventDraft))
_WORDS = {"kind": EventKind, "via": Via, "word": Word}

COLUMNS = ("seq", "instance", *_DRAFT, "previous", "hash")
"""The columns of an event, in the order of ``event_from``."""

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM exec_audit"  # noqa: S608  names of fields; every value is bound


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events a page shows; None means any. ``since_ms`` is inclusive, ``until_ms`` is not.

    What can be asked here has an index, so that a long record answers as fast as a short one: the kind, and of proposals
    the chat too.
    """

    chat: ChatId | None = None
    kind: EventKind | None = None
    since_ms: int | None = None
    until_ms: int | None = None


EVERY = EventFilter()
"""Any event."""


def event_columns(event: AuditEvent) -> dict[str, object]:
    """The row of a new event, as the drivers take it."""
    row: dict[str, object] = {name: getattr(event.draft, name) for name in _DRAFT}
    row |= {name: str(row[name]) for name in _WORDS}
    row |= {"seq": event.seq, "version": VERSION, "instance": event.instance}
    return row | {"previous": event.previous, "hash": event.hash}


def event_from(row: Sequence[Any]) -> AuditEvent:
    """The event in the ``COLUMNS`` of a row. ValueError if somebody wrote words into it that are none of ours."""
    seq, instance, *drafted, previous, hash_ = row
    draft = dict(zip(_DRAFT, drafted, strict=True))
    draft |= {name: words(draft[name]) for name, words in _WORDS.items()}
    return AuditEvent(seq, instance, EventDraft(**draft), previous, hash_)


def readable(row: Sequence[Any]) -> AuditEvent:
    """The same for a reader of the record. StorageError."""
    try:
        return event_from(row)
    except ValueError as fault:
        raise StorageError(f"event {row[0]} cannot be read: {fault}", hint="see mtclaw audit verify") from fault


def page(rows: Rows, which: EventFilter, before: int | None, limit: int) -> tuple[AuditEvent, ...]:
    """At most ``limit`` events with a sequence number below ``before``, newest first. StorageError."""
    values: dict[str, object] = {}
    terms = []
    if which.kind is not None:
        # written out, so that an index of this kind alone can answer
        terms.append(f"kind = '{which.kind.value}'")
    if which.chat is not None:
        terms.append("chat = :chat")
        values["chat"] = which.chat
    upper = [one for one in (before, _first_at(rows, which.until_ms)) if one is not None]
    if upper:
        terms.append("seq < :below")
        values["below"] = min(upper)
    if which.since_ms is not None:
        since = _first_at(rows, which.since_ms)
        if since is None:
            return ()
        terms.append("seq >= :since")
        values["since"] = since
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    found = rows(f"{_SELECT}{where} ORDER BY seq DESC LIMIT :rows", {**values, "rows": limit})
    return tuple(readable(row) for row in found)


def trails(rows: Rows, calls: Sequence[CallId]) -> dict[CallId, tuple[AuditEvent, ...]]:
    """Everything on record about each of ``calls``, oldest first; a call without any event has an empty trail."""
    found: dict[CallId, list[AuditEvent]] = {call: [] for call in calls}
    # in pieces, because a statement holds only so many values
    for at in range(0, len(calls), CHUNK):
        some = {f"c{number}": call for number, call in enumerate(calls[at : at + CHUNK])}
        names = ", ".join(f":{name}" for name in some)
        for row in rows(f"{_SELECT} WHERE call IN ({names}) ORDER BY seq", some):
            event = readable(row)
            found[event.draft.call].append(event)
    return {call: tuple(events) for call, events in found.items()}


def _first_at(rows: Rows, at_ms: int | None) -> int | None:
    """The first event, by time, at or after that moment."""
    if at_ms is None:
        return None
    asked = "SELECT seq FROM exec_audit WHERE at_ms >= :at ORDER BY at_ms, seq LIMIT 1"
    return next((int(row[0]) for row in rows(asked, {"at": at_ms})), None)

"""Which calls ``approvals list`` shows, and finding them page by page, so that a long record costs no more than a short one."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol, Self

import click

from mtbot.bootstrap.offline import Loaded, Office, glance, look
from mtbot.cli.trails import Line, line_of
from mtbot.domain.ids import CallId, ChatId, UserId
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.policy.people import People
from mtbot.storage.events import EventFilter

PAGE = 500
_AGO = re.compile(r"(\d{1,5})([mhdw])").fullmatch
_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


@dataclass(frozen=True, slots=True)
class Query:
    """``filter`` is asked of the database; ``person`` (an actor's key), ``decision`` and ``found`` of each call."""

    filter: EventFilter
    limit: int
    person: str = ""
    decision: str = ""
    found: Callable[[str], bool] | None = None

    @property
    def picky(self) -> bool:
        """Whether more than the database's own filter decides."""
        return bool(self.person or self.decision or self.found)

    def takes(self, line: Line, events: tuple[AuditEvent, ...]) -> bool:
        """Whether that call is wanted."""
        people = {event.draft.requester for event in events} | {event.draft.decider for event in events}
        if self.person and self.person not in people:
            return False
        if self.decision and line.decision != self.decision:
            return False
        return self.found is None or self.found(line.command)


def query_of(loaded: Loaded, wanted: Mapping[str, object]) -> Query:
    """The options as a query. UsageError names the one that makes no sense."""
    zone, now = loaded.settings.zone, loaded.clock.now_ms()
    since, until = (_when(str(wanted[name]), zone, now) if wanted[name] else None for name in ("since", "until"))
    chat = wanted["chat"]
    return Query(
        EventFilter(
            kind=EventKind.PROPOSED,
            chat=ChatId(chat) if isinstance(chat, int) else None,
            since_ms=since,
            until_ms=until,
        ),
        limit=int(str(wanted["limit"])),
        person=_person(loaded, str(wanted["user"])) if wanted["user"] else "",
        decision=str(wanted["decision"] or ""),
        found=_finder(str(wanted["pattern"])) if wanted["pattern"] else None,
    )


def _when(text: str, zone: tzinfo, now: int) -> int:
    ago = _AGO(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(
            f"{text}: is no moment; write 2026-11-30, 2026-11-30T19:36, or 2h, 3d for that long ago"
        ) from None
    return round((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000)


def _person(loaded: Loaded, text: str) -> str:
    user = loaded.settings.people.get(text.lower())
    if user is None and text.isdecimal():
        user = UserId(int(text))
    if user is None:
        known = ", ".join(loaded.settings.people) or "nobody"
        raise click.UsageError(f"--user: {text} is neither a numeric id nor one of people ({known})")
    return f"telegram:{user}"


def _finder(pattern: str) -> Callable[[str], bool]:
    from mtbot.policy.rule import Patterns, PatternsError

    try:
        compiled = Patterns((pattern,))
    except PatternsError as error:
        raise click.UsageError(f"--command: {error.errors[0].message}: {pattern}") from None
    return lambda command: compiled.first_match(command) is not None


class Record(Protocol):
    """Where the pages come from."""

    def page(self, which: EventFilter, *, before: int | None, limit: int) -> tuple[AuditEvent, ...]:
        """Events below a sequence number, newest first."""

    def trails_of(self, calls: Sequence[CallId]) -> dict[CallId, tuple[AuditEvent, ...]]:
        """Everything about each of those calls."""


def find(loaded: Loaded, query: Query) -> list[Line]:
    """The calls, newest first. StorageError."""
    swift = glance(loaded)
    if swift is not None:
        with closing(swift), suppress(sqlite3.Error):
            return _collect(swift, loaded.people, query)
    with _Opened(loaded) as record:
        return _collect(record, loaded.people, query)


def _collect(record: Record, people: People, query: Query) -> list[Line]:
    lines: list[Line] = []
    before: int | None = None
    while len(lines) < query.limit:
        size = PAGE if query.picky else min(PAGE, query.limit - len(lines))
        page = record.page(query.filter, before=before, limit=size)
        if not page:
            break
        trails = record.trails_of([event.draft.call for event in page])
        for event in page:
            events = trails[event.draft.call]
            line = line_of(events, people)
            if query.takes(line, events):
                lines.append(line)
        before = page[-1].seq
    return lines[: query.limit]


class _Opened:
    """The record of any database, opened as everything else opens it; owns an event loop."""

    def __init__(self, loaded: Loaded) -> None:
        import asyncio

        self._loaded = loaded
        self._runner = asyncio.Runner()
        self._office: Office | None = None

    def __enter__(self) -> Self:
        try:
            self._office = self._runner.run(look(self._loaded))
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._runner.run(self._open.close())
        self._runner.close()

    @property
    def _open(self) -> Office:
        assert self._office is not None
        return self._office

    def page(self, which: EventFilter, *, before: int | None, limit: int) -> tuple[AuditEvent, ...]:
        """As the record gives it."""
        return self._runner.run(self._open.stores.trail.page(which, before=before, limit=limit))

    def trails_of(self, calls: Sequence[CallId]) -> dict[CallId, tuple[AuditEvent, ...]]:
        """As the record gives them."""
        return self._runner.run(self._open.stores.trail.trails_of(calls))

"""When a job is due: the meaning of a crontab line in one time zone, told as instants and in words.

The fields are read here, strictly, and cronsim walks the calendar. Reading them here gives a refusal that names the
field, weekday ranges over the week's end, and one rule for the change of clocks: a job with fixed hours runs once for
each wall-clock time of the day (a time that is skipped runs at the first valid minute, one that comes twice runs once),
a job with ``*`` in its hours keeps its cadence in real time.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_WEEK = 7 * 24 * 3600
_LONGEST_MONTH = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class ScheduleError(ValueError):
    """A text that is no schedule: ``field`` names the part at fault, ``message`` says what is wrong with it."""

    def __init__(self, field_: str, message: str) -> None:
        super().__init__(f"{field_}: {message}")
        self.field = field_
        self.message = message


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five: its bounds, its names in order from ``low``, and whether a range may run over the end."""

    title: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    wraps: bool = False


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day-of-month", 1, 31),
    _Field(
        "month",
        1,
        12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        wraps=True,
    ),
    _Field("day-of-week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"), wraps=True),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A crontab line in a zone. Instants are milliseconds since 1970 in UTC and fall on whole minutes."""

    text: str
    zone: ZoneInfo
    _line: str = field(repr=False)

    @classmethod
    def parse(cls, text: str, zone: ZoneInfo) -> "Schedule":
        """Read exactly five fields or a macro such as ``@daily``. ScheduleError names the field at fault."""
        line = " ".join(_read(text))
        return cls(" ".join(text.split()), zone, line)

    def next_after(self, at_ms: int) -> int:
        """The first instant after ``at_ms`` at which the job is due."""
        return self.next_runs(at_ms, 1)[0]

    def next_runs(self, at_ms: int, count: int) -> tuple[int, ...]:
        """The next ``count`` instants after ``at_ms``, in order, none twice."""
        found: list[int] = []
        for due in self._walk(at_ms // 1000):
            if len(found) == count:
                break
            # asked within the second pass of a repeated hour, cronsim names the first pass, which is over
            if due * 1000 > (found[-1] if found else at_ms):
                found.append(due * 1000)
        return tuple(found)

    def _walk(self, at: int) -> Iterator[int]:
        """The instants (seconds) at which the line matches. With fixed hours cronsim knows what to do on odd days."""
        if self._line.split()[1].startswith("*"):
            yield from self._cadence(at)
        else:
            for moment in CronSim(self._line, self._local(at)):
                yield int(moment.timestamp())

    def _cadence(self, at: int) -> Iterator[int]:
        """Every match in real time, walked from one change of clocks to the next, so that no shift hides a match."""
        while True:
            offset = self._offset(at + 1)
            wall = datetime.fromtimestamp(at + offset, UTC)
            due = int(next(CronSim(self._line, wall)).timestamp()) - offset
            change = self._change(at + 1, due, offset)
            if change is None:
                at = due
                yield due
            else:
                at = change - 1

    def _offset(self, at: int) -> int:
        return round((self._local(at).utcoffset() or timedelta()).total_seconds())

    def _change(self, start: int, end: int, offset: int) -> int | None:
        """The first second after ``start``, up to ``end``, at which the offset is another one."""
        for late in (*range(start + _WEEK, end, _WEEK), end):
            if self._offset(late) != offset:
                week = range(max(start, late - _WEEK), late)
                return week[0] + bisect_left(week, 1, key=lambda at: int(self._offset(at) != offset))
        return None

    def describe(self, at_ms: int, now_ms: int | None = None) -> str:
        """An instant as it reads in this schedule's zone: ``Wed 2026-12-02 07:00 (+01:00)``.

        With ``now_ms``, the date is left out where the weekday alone says which day is meant.
        """
        moment = self._local(at_ms // 1000)
        near = now_ms is not None and 0 <= (moment.date() - self._local(now_ms // 1000).date()).days < 7
        offset = moment.strftime("%z")
        return f"{moment.strftime('%a %H:%M' if near else '%a %Y-%m-%d %H:%M')} ({offset[:3]}:{offset[3:5]})"

    def _local(self, at: int) -> datetime:
        return datetime.fromtimestamp(at, UTC).astimezone(self.zone)


def schedule_problem(text: str, zone: ZoneInfo) -> str | None:
    """Why the text is no schedule, in one sentence that names the field, or None if it is one."""
    try:
        Schedule.parse(text, zone)
    except ScheduleError as error:
        return str(error)
    return None


def _read(text: str) -> list[str]:
    """The five fields as cronsim is given them: ``*`` or ``*/n`` where a job runs by cadence, else plain numbers.

    A field that begins with ``*`` keeps it, because crontab gives it a meaning of its own: with it in either day
    field both must match, without it one of them is enough.
    """
    words = text.split()
    if len(words) == 1 and words[0].startswith("@"):
        line = MACROS.get(words[0].lower())
        if line is None:
            raise ScheduleError("schedule", f"unknown macro; known are {', '.join(MACROS)}")
        words = line.split()
    if len(words) != 5:
        titles = " ".join(one.title for one in _FIELDS)
        raise ScheduleError("schedule", f"must have exactly 5 fields ({titles}) and has {len(words)}")
    values = [_values(word, one) for word, one in zip(words, _FIELDS, strict=True)]
    free = [word.startswith("*") for word in words]
    minute, hour, day, month, weekday = range(5)
    if free[weekday] and min(values[day]) > max(_LONGEST_MONTH[one] for one in values[month]):
        raise ScheduleError(_FIELDS[day].title, "never comes: the months given have no such day")
    if len(values[hour]) == 24:
        words[hour], free[hour] = "*", True
    free[minute] = free[minute] and free[hour]
    values[weekday] = {one % 7 for one in values[weekday]}
    return [word if star else _numbers(some) for word, star, some in zip(words, free, values, strict=True)]


def _numbers(values: set[int]) -> str:
    return ",".join(str(one) for one in sorted(values))


def _values(word: str, of: _Field) -> set[int]:
    """Every number that a field names; ScheduleError for whatever crontab itself does not know."""
    if word.startswith("*") and not re.fullmatch(r"\*(/[0-9]+)?", word):
        raise ScheduleError(of.title, "* must stand alone, or with a step as in */5")
    found: set[int] = set()
    for part in word.split(","):
        found |= _part(part, of)
    return found


def _part(part: str, of: _Field) -> set[int]:
    span, slash, step_text = part.partition("/")
    if span == "*":
        values = list(range(of.low, of.high + 1))
    else:
        start, dash, end = span.partition("-")
        values = _range(_number(start, of), _number(end, of), of) if dash else [_number(start, of)]
        if slash and not dash:
            raise ScheduleError(of.title, f"a step needs a range: write {start}-{of.high}/{step_text} or */{step_text}")
    if not slash:
        return set(values)
    if not re.fullmatch(r"[0-9]{1,3}", step_text) or int(step_text) == 0:
        raise ScheduleError(of.title, "a step must be a number above 0")
    if int(step_text) > len(values):
        raise ScheduleError(of.title, f"a step of {step_text} is longer than the range that it steps through")
    return set(values[:: int(step_text)])


def _range(start: int, end: int, of: _Field) -> list[int]:
    """A range, over the end of the week or year too; 7 at its start is Sunday, as 0 is."""
    if start <= end:
        return list(range(start, end + 1))
    if not of.wraps:
        raise ScheduleError(of.title, f"runs backwards; write {start}-{of.high},{of.low}-{end}")
    last = 6 if of.high == 7 else of.high
    return [*range(start, last + 1), *range(of.low, end + 1)]


def _number(text: str, of: _Field) -> int:
    folded = text.lower()
    if folded in of.names:
        return of.names.index(folded) + of.low
    if re.fullmatch(r"[0-9]{1,4}", text):
        value = int(text)
        if of.low <= value <= of.high:
            return value
        raise ScheduleError(of.title, f"{value} is not from {of.low} to {of.high}")
    if any(mark in text for mark in "?#") or folded.endswith(("l", "w")):
        raise ScheduleError(of.title, "?, L, W and # are not crontab's; name the days, or use *")
    names = f" or {of.names[0]} to {of.names[-1]}" if of.names else ""
    raise ScheduleError(of.title, f"must be a number from {of.low} to {of.high}{names}")

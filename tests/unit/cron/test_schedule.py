"""What a crontab line means: weekdays, day rules, refusals, and the two days a year on which clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.cron.schedule import MACROS, Schedule, ScheduleError, schedule_problem

NEW_YORK = ZoneInfo("America/New_York")
BERLIN = ZoneInfo("Europe/Berlin")
SAIGON = ZoneInfo("Asia/Ho_Chi_Minh")
SANTIAGO = ZoneInfo("America/Santiago")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")

WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]


def ms(text: str, zone: ZoneInfo = NEW_YORK, fold: int = 0) -> int:
    """The instant of a wall-clock time."""
    return int(datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()) * 1000


def runs(line: str, start: str, count: int, zone: ZoneInfo = NEW_YORK) -> list[str]:
    """The next runs in words, without the weekday."""
    schedule = Schedule.parse(line, zone)
    return [schedule.describe(at)[4:] for at in schedule.next_runs(ms(start, zone), count)]


def weekdays(field: str) -> list[str]:
    """On which weekdays of one week a job with that last field runs."""
    schedule = Schedule.parse(f"0 9 * * {field}", UTC_ZONE)
    found = schedule.next_runs(ms("2026-11-28T23:00", UTC_ZONE), 7)
    week = [at for at in found if at < ms("2026-12-06T00:00", UTC_ZONE)]
    return [schedule.describe(at)[:3] for at in week]


UTC_ZONE = ZoneInfo("UTC")


@pytest.mark.parametrize("number", range(8))
def test_every_weekday_number_means_what_crontab_says(number: int) -> None:
    """0 and 7 are Sunday, 1 is Monday, and so on (APScheduler counts Monday as 0)."""
    assert weekdays(str(number)) == [WEEKDAYS[number % 7]]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("1,7", ["Sun", "Mon"]),
        ("5-7", ["Sun", "Fri", "Sat"]),
        ("sat-sun", ["Sun", "Sat"]),
        ("sun-mon", ["Sun", "Mon"]),
        ("FRI-mon", ["Sun", "Mon", "Fri", "Sat"]),
        ("7-2", ["Sun", "Mon", "Tue"]),
        ("7-7", ["Sun"]),
        ("7-0", ["Sun"]),
        ("0-0/1", ["Sun"]),
        ("3-0", ["Sun", "Wed", "Thu", "Fri", "Sat"]),
        ("1-5/2", ["Mon", "Wed", "Fri"]),
        ("5-7/2", ["Sun", "Fri"]),
        ("mon,WED", ["Mon", "Wed"]),
        ("*/2", ["Sun", "Tue", "Thu", "Sat"]),
        ("0-7", WEEKDAYS),
        ("1-7", WEEKDAYS),
    ],
)
def test_weekday_lists_ranges_and_steps(field: str, expected: list[str]) -> None:
    """Ranges may run over the end of the week, names and numbers are equal."""
    assert weekdays(field) == expected


def test_months_may_run_over_the_end_of_the_year() -> None:
    """nov-feb is November to February."""
    assert runs("0 0 1 nov-feb *", "2026-10-15T00:00", 5, UTC_ZONE) == [
        "2026-11-01 00:00 (+00:00)",
        "2026-12-01 00:00 (+00:00)",
        "2027-01-01 00:00 (+00:00)",
        "2027-02-01 00:00 (+00:00)",
        "2027-11-01 00:00 (+00:00)",
    ]


def test_day_of_month_or_weekday_is_enough() -> None:
    """With both day fields given, either makes a day count, as in cron."""
    assert runs("0 9 1 * 1", "2026-11-25T00:00", 4, UTC_ZONE) == [
        "2026-11-30 09:00 (+00:00)",
        "2026-12-01 09:00 (+00:00)",
        "2026-12-07 09:00 (+00:00)",
        "2026-12-14 09:00 (+00:00)",
    ]


def test_a_starred_day_field_narrows_the_other() -> None:
    """A day field that begins with a star must match as well, which is crontab's own rule."""
    assert runs("0 9 */2 * 1", "2026-11-30T10:00", 2, UTC_ZONE) == [
        "2026-12-07 09:00 (+00:00)",
        "2026-12-21 09:00 (+00:00)",
    ]


@pytest.mark.parametrize(
    ("macro", "first"),
    [
        ("@hourly", "Wed 2026-12-02 11:00"),
        ("@daily", "Thu 2026-12-03 00:00"),
        ("@midnight", "Thu 2026-12-03 00:00"),
        ("@weekly", "Sun 2026-12-06 00:00"),
        ("@monthly", "Fri 2027-01-01 00:00"),
        ("@yearly", "Fri 2027-01-01 00:00"),
        ("@ANNUALLY", "Fri 2027-01-01 00:00"),
    ],
)
def test_macros(macro: str, first: str) -> None:
    """Each macro has its first run where it should; the table holds no further ones."""
    schedule = Schedule.parse(macro, UTC_ZONE)
    due = schedule.next_after(ms("2026-12-02T10:30", UTC_ZONE))
    assert (schedule.describe(due), len(MACROS)) == (f"{first} (+00:00)", 7)


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("every 5 minutess", "schedule", "has 3"),
        ("30 0 9 * * *", "schedule", "has 6"),
        ("0 0 9 * * * *", "schedule", "has 7"),
        ("", "schedule", "has 0"),
        ("@reboot", "schedule", "unknown macro"),
        ("@every 5m", "schedule", "has 2"),
        ("0 9 31 2 *", "day-of-month", "never comes"),
        ("0 9 30 2 */2", "day-of-month", "never comes"),
        ("0 0 31 apr,jun,9,11 *", "day-of-month", "never comes"),
        ("0 9 * * 1#2", "day-of-week", "not crontab's"),
        ("0 9 * * 5L", "day-of-week", "not crontab's"),
        ("0 9 ? * *", "day-of-month", "not crontab's"),
        ("0 9 L * *", "day-of-month", "not crontab's"),
        ("0 9 15W * *", "day-of-month", "not crontab's"),
        ("*/0 * * * *", "minute", "above 0"),
        ("0 */-1 * * *", "hour", "stand alone"),
        ("0-30/x * * * *", "minute", "above 0"),
        ("*/90 * * * *", "minute", "longer than the range"),
        ("5/15 * * * *", "minute", "write 5-59/15 or */15"),
        ("0 22-2 * * *", "hour", "write 22-23,0-2"),
        ("0 0 25-5 * *", "day-of-month", "write 25-31,1-5"),
        ("60 * * * *", "minute", "60 is not from 0 to 59"),
        ("0 24 * * *", "hour", "24 is not from 0 to 23"),
        ("0 0 0 * *", "day-of-month", "0 is not from 1 to 31"),
        ("0 0 * 13 *", "month", "13 is not from 1 to 12"),
        ("0 0 * * 8", "day-of-week", "8 is not from 0 to 7"),
        ("0 0 * * monday", "day-of-week", "number from 0 to 7 or sun to sat"),
        ("0 0 1, * *", "day-of-month", "number from 1 to 31"),
        ("*,5 * * * *", "minute", "stand alone"),
        ("٣ * * * *", "minute", "number from 0 to 59"),
    ],
)
def test_what_is_no_crontab_line_is_refused_with_its_field(line: str, field: str, message: str) -> None:
    """A line that would never fire, or fire at another time than it seems to say, names the field at fault."""
    with pytest.raises(ScheduleError) as caught:
        Schedule.parse(line, NEW_YORK)
    assert caught.value.field == field
    assert message in caught.value.message
    assert schedule_problem(line, NEW_YORK) == f"{field}: {caught.value.message}"


def test_a_good_line_has_no_problem() -> None:
    """Rare days are not impossible ones: 29 February comes."""
    assert schedule_problem("0 0 29 2 *", NEW_YORK) is None
    assert runs("0 0 29 2 *", "2026-11-01T00:00", 2, UTC_ZONE) == [
        "2028-02-29 00:00 (+00:00)",
        "2032-02-29 00:00 (+00:00)",
    ]


@pytest.mark.parametrize(
    ("line", "start", "zone", "expected"),
    [
        ("30 1 * * *", "2026-10-31T12:00", NEW_YORK, ["11-01 01:30 (-04:00)", "11-02 01:30 (-05:00)"]),
        ("30 2 * * *", "2026-03-07T12:00", NEW_YORK, ["03-08 03:00 (-04:00)", "03-09 02:30 (-04:00)"]),
        ("0,30 2 * * *", "2026-03-07T12:00", NEW_YORK, ["03-08 03:00 (-04:00)", "03-09 02:00 (-04:00)"]),
        ("*/30 2 * * *", "2026-03-07T12:00", NEW_YORK, ["03-08 03:00 (-04:00)", "03-09 02:00 (-04:00)"]),
        ("*/30 1 * * *", "2026-11-01T01:15", NEW_YORK, ["11-01 01:30 (-04:00)", "11-02 01:00 (-05:00)"]),
        ("0 2,3 * * *", "2026-03-07T12:00", NEW_YORK, ["03-08 03:00 (-04:00)", "03-09 02:00 (-04:00)"]),
        ("0 3 * * *", "2026-03-28T12:00", BERLIN, ["03-29 03:00 (+02:00)", "03-30 03:00 (+02:00)"]),
        ("30 2 * * *", "2026-10-24T12:00", BERLIN, ["10-25 02:30 (+02:00)", "10-26 02:30 (+01:00)"]),
        ("0 0 * * *", "2026-09-05T12:00", SANTIAGO, ["09-06 01:00 (-03:00)", "09-07 00:00 (-03:00)"]),
        ("15 2 * * *", "2026-10-03T12:00", LORD_HOWE, ["10-04 02:30 (+11:00)", "10-05 02:15 (+11:00)"]),
    ],
)
def test_fixed_hours_run_once_on_days_with_a_change_of_clocks(
    line: str, start: str, zone: ZoneInfo, expected: list[str]
) -> None:
    """A repeated time runs the first time only; a skipped one at the first valid minute."""
    assert [text[5:] for text in runs(line, start, 2, zone)] == expected


def test_a_start_in_the_second_pass_of_an_hour_does_not_run_it_again() -> None:
    """After 01:45 the second time, the job of 01:50 is over for that day."""
    schedule = Schedule.parse("50 1 * * *", NEW_YORK)
    second = ms("2026-11-01T01:45", fold=1)
    assert schedule.describe(schedule.next_after(second)) == "Mon 2026-11-02 01:50 (-05:00)"


@pytest.mark.parametrize("line", ["*/15 * * * *", "0 * * * *", "0 0-23 * * *"])
@pytest.mark.parametrize("start", ["2026-10-31T23:00", "2026-03-07T23:00"])
def test_wildcard_hours_keep_their_cadence_over_a_change_of_clocks(line: str, start: str) -> None:
    """No run is doubled and none is left out in real time."""
    found = Schedule.parse(line, NEW_YORK).next_runs(ms(start), 40)
    step = 15 if line.startswith("*/15") else 60
    assert {(later - earlier) // 60_000 for earlier, later in pairwise(found)} == {step}


@pytest.mark.parametrize("day", ["2026-10-04", "2026-04-05"])
def test_a_change_by_half_an_hour_hides_no_match(day: str) -> None:
    """On Lord Howe the clocks move by 30 minutes; a walk in whole hours would miss 03:00 to 03:30."""
    schedule = Schedule.parse("*/15 */3 * * *", LORD_HOWE)
    found = [schedule.describe(at)[15:20] for at in schedule.next_runs(ms(f"{day}T00:50", LORD_HOWE), 5)]
    assert found == ["03:00", "03:15", "03:30", "03:45", "06:00"]


def test_the_zone_of_the_job_counts_and_is_shown() -> None:
    """19:30 in Ho Chi Minh City is 12:30 in UTC, and the offset is printed."""
    schedule = Schedule.parse("30 19 * * *", SAIGON)
    due = schedule.next_after(ms("2026-12-02T00:00", UTC_ZONE))
    assert due == ms("2026-12-02T12:30", UTC_ZONE)
    assert schedule.describe(due) == "Wed 2026-12-02 19:30 (+07:00)"


def test_a_near_day_is_described_without_its_date() -> None:
    """Within a week the weekday says enough; a week on, and in the past, it does not."""
    schedule = Schedule.parse("0 7 * * *", BERLIN)
    now = ms("2026-12-01T07:00", BERLIN)
    texts = [schedule.describe(now + days * 86_400_000, now) for days in (-1, 0, 1, 6, 7)]
    assert texts == [
        "Mon 2026-11-30 07:00 (+01:00)",
        "Tue 07:00 (+01:00)",
        "Wed 07:00 (+01:00)",
        "Mon 07:00 (+01:00)",
        "Tue 2026-12-08 07:00 (+01:00)",
    ]


def test_a_due_instant_is_strictly_after_and_on_a_whole_minute() -> None:
    """Asked at the due instant itself, the answer is the next one; milliseconds before it, that one."""
    schedule = Schedule.parse("* * * * *", UTC_ZONE)
    due = ms("2026-12-02T10:30", UTC_ZONE)
    assert [schedule.next_after(at) - due for at in (due - 1, due, due + 1, due + 59_999)] == [
        0,
        60_000,
        60_000,
        60_000,
    ]


# --- against cronsim itself

_NUMBER = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@st.composite
def fields(draw: st.DrawFn, kind: str) -> str:
    """A field that both this module and cronsim read."""
    low, high = _NUMBER[kind]
    shape = draw(st.sampled_from(["*", "*/n", "a", "a-b", "a-b/n", "list"]))
    first, second = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.integers(1, max(1, second - first)))
    return {
        "*": "*",
        "*/n": f"*/{draw(st.integers(1, 5))}",
        "a": str(first),
        "a-b": f"{first}-{second}",
        "a-b/n": f"{first}-{second}/{step}" if first < second else str(first),
        "list": f"{first},{second}",
    }[shape]


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line whose days exist."""
    minute, hour, month, weekday = (draw(fields(kind)) for kind in ("minute", "hour", "month", "weekday"))
    day = draw(st.one_of(st.just("*"), st.integers(1, 28).map(str), st.just("1-15/3")))
    return f"{minute} {hour} {day} {month} {weekday}"


@settings(max_examples=150, deadline=None)
@given(line=lines(), offset=st.integers(0, 366 * 24 * 60))
def test_without_a_change_of_clocks_it_is_cronsim(line: str, offset: int) -> None:
    """In a zone with one offset every line has exactly the runs that cronsim gives it."""
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=offset)
    walk = CronSim(line, start)
    expected = tuple(int(next(walk).timestamp()) * 1000 for _ in range(4))
    assert Schedule.parse(line, UTC_ZONE).next_runs(int(start.timestamp()) * 1000, 4) == expected


@settings(max_examples=60, deadline=None)
@given(
    line=lines(),
    zone=st.sampled_from([NEW_YORK, BERLIN, SANTIAGO, LORD_HOWE]),
    day=st.sampled_from(["2026-03-07", "2026-03-28", "2026-04-04", "2026-09-05", "2026-10-03", "2026-10-31"]),
    minutes=st.integers(0, 60 * 72),
)
def test_any_start_gives_the_same_series(line: str, zone: ZoneInfo, day: str, minutes: int) -> None:
    """Asking from the middle, also around a change of clocks, gives the rest of the whole series and nothing else."""
    schedule = Schedule.parse(line, zone)
    begin = ms(f"{day}T00:00", zone)
    middle = begin + minutes * 60_000
    whole = schedule.next_runs(begin, 3)
    later = schedule.next_runs(middle, 3)
    assert list(whole) == sorted(set(whole))
    assert all(at > middle for at in later)
    assert [at for at in whole if middle < at <= later[-1]] == [at for at in later if at <= whole[-1]]
    assert schedule.next_after(later[0]) == later[1]


@pytest.mark.parametrize("zone", [NEW_YORK, BERLIN, SANTIAGO, LORD_HOWE])
@pytest.mark.parametrize("hour", range(4))
def test_a_daily_job_runs_once_on_every_local_day_of_a_year(zone: ZoneInfo, hour: int) -> None:
    """365 runs on 365 days, whatever the clocks do."""
    found = Schedule.parse(f"30 {hour} * * *", zone).next_runs(ms("2026-01-01T00:00", zone), 365)
    days = [datetime.fromtimestamp(at / 1000, zone).date() for at in found]
    assert days == [datetime(2026, 1, 1, tzinfo=UTC).date() + timedelta(days=one) for one in range(365)]

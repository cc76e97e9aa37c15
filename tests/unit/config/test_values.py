"""The kinds of value: what is read, what is refused, and that what is read needs no second look."""

from pathlib import Path

import pytest

from mtbot.config.values import (
    Frame,
    duration,
    number,
    parse_duration,
    person_id,
    resolve_path,
    secret_name,
    size,
    spell_duration,
    valid_name,
    whole,
)

PEOPLE = {"chief": 1001, "deploy": 1002}
FRAME = Frame(Path("/etc/mtclaw"), Path("/home/chief"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1.5m", 90),
        ("500ms", 0.5),
        ("1d", 86400),
        (60, 60),
        (0.5, 0.5),
    ],
)
def test_durations(text: object, seconds: float) -> None:
    """5m is five minutes and not five seconds; a bare number is seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value", ["60", "5 m", "m", "", "-5s", "5M", "1h-1m", "five", True, None, [], float("nan"), float("inf")]
)
def test_what_is_no_duration(value: object) -> None:
    """Among them a digit string, whose unit nobody knows, and true, which Python counts as 1."""
    with pytest.raises(ValueError, match="must be a duration such as 30s"):
        parse_duration(value)


@pytest.mark.parametrize("value", [0, "0s", -1, 1e9, "25h"])
def test_durations_have_bounds(value: object) -> None:
    """Zero would kill every command at once, and a second mistyped as a nanosecond would never end."""
    with pytest.raises(ValueError, match=r"more than 0 and at most 24h"):
        duration("24h").read(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(30, "30s"), (90, "90s"), (120, "2m"), (43200, "12h"), (172800, "2d"), (0.5, "500ms"), (1.5, "1.5s")],
)
def test_a_duration_is_spelled_as_it_can_be_read(seconds: float, text: str) -> None:
    """Spelling and reading are each other's reverse."""
    assert spell_duration(seconds) == text
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("value", [True, 1.0, "5", None, 1e9])
def test_a_whole_number_is_only_that(value: object) -> None:
    """Neither true nor 1.0 nor a digit string counts."""
    with pytest.raises(ValueError, match="must be a whole number"):
        whole(1, 100).read(value)


@pytest.mark.parametrize("value", [0, 101, -5])
def test_whole_numbers_have_bounds(value: int) -> None:
    """The bounds themselves are good."""
    assert [whole(1, 100).read(1), whole(1, 100).read(100)] == [1, 100]
    with pytest.raises(ValueError, match="must be from 1 to 100"):
        whole(1, 100).read(value)


def test_sizes_start_at_one_byte() -> None:
    """Zero bytes of output would be no output."""
    with pytest.raises(ValueError, match="must be from 1 to 10"):
        size(10).read(0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1"])
def test_nan_is_no_number(value: object) -> None:
    """A NaN once switched a check off, because nothing is greater than it."""
    assert number(0, 2).read(1) == 1.0
    with pytest.raises(ValueError, match="must be a number"):
        number(0, 2).read(value)


@pytest.mark.parametrize("value", [-0.1, 2.1])
def test_numbers_have_bounds(value: float) -> None:
    """Outside of them the rule is told."""
    with pytest.raises(ValueError, match="must be from 0 to 2"):
        number(0, 2).read(value)


@pytest.mark.parametrize("value", [1001, "1001", "chief"])
def test_a_person_by_number_digits_or_name(value: object) -> None:
    """All three are the same person."""
    assert person_id(value, PEOPLE) == 1001


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("@alice", r"usernames can be released and claimed by strangers; write the numeric id .*/whoami"),
        ("alice", r'no one under people is called "alice"; name them under people, or write the numeric id'),
        ("cheif", r'no one under people is called "cheif" \(did you mean "chief"\?\)'),
        (-1001112223334, "this is the id of a group, not of a person"),
        ("-100", "this is the id of a group, not of a person"),
        (1087968824, "1087968824 stands for every anonymous admin or channel"),
        ("136817688", "136817688 stands for every anonymous admin or channel"),
        (777000, "777000 stands for every anonymous admin or channel"),
        (0, "must be a numeric Telegram user id"),
        (2**60, "must be a numeric Telegram user id"),
        ("9" * 400, "must be a numeric Telegram user id"),
        ("007", "a user id has no leading zero"),
        ("-", 'no one under people is called "-"'),
        (True, "must be a numeric Telegram user id or a name"),
        (1001.0, "must be a numeric Telegram user id or a name"),
        (None, "must be a numeric Telegram user id or a name"),
        (["chief"], "must be a numeric Telegram user id or a name"),
    ],
)
def test_who_is_no_person(value: object, message: str) -> None:
    """Each refusal says how to mend it."""
    with pytest.raises(ValueError, match=message):
        person_id(value, PEOPLE)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~", "/home/chief"),
        ("~/x", "/home/chief/x"),
        ("/srv/./a/../b", "/srv/b"),
        ("secrets/token", "/etc/mtclaw/secrets/token"),
        ("../x", "/etc/x"),
        ("../../../../x", "/x"),
        ("a#b?c%d", "/etc/mtclaw/a#b?c%d"),
    ],
)
def test_paths_are_absolute_from_the_file_on(text: str, path: str) -> None:
    """Relative ones start beside the configuration, and no character has a meaning of its own."""
    assert resolve_path(text, FRAME) == Path(path)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\0b", "~root/x", "~x"])
def test_what_is_no_path(text: str) -> None:
    """Among them the home of somebody else."""
    with pytest.raises(ValueError, match=r"must|only"):
        resolve_path(text, FRAME)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("PASSWORD", True),
        ("db_secret", True),
        ("KEYBOARD", False),
        ("MONKEY", False),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    """The last word of a name tells."""
    assert secret_name(name) is secret


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "ä", "x" * 33, "a/b"])
def test_what_is_no_name(name: str) -> None:
    """Names stand in dotted keys, in commands and in session names."""
    with pytest.raises(ValueError, match="a name has letters"):
        valid_name(name)

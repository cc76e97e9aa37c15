"""A line that ends in the midst of a configured value is told from one that does not."""

import pytest

from mtbot.redaction.unfinished import Unfinished

VALUES = ("hunter2hunter2", "first line\nsecond & last")


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("", False),
        ("It runs", False),
        ("- the list of it", False),
        ("here: first line", True),
        ("second &amp; last", True),
        ("first line.", False),
        ("aHVudGVy", True),
        ("it is 68 75", True),
        ("0x68, 0x75,", True),
        ("6875", True),
        ("B5XG", False),
        ("be ad", False),
        ("abc", False),
    ],
)
def test_a_line_is_told_by_its_end(line: str, goes_on: bool) -> None:
    """A line of a value, in any form; the last digits of its encoding."""
    assert Unfinished(VALUES).ends(line) is goes_on


def test_a_blank_line_is_one_of_a_value_that_has_one() -> None:
    """Whoever has no such value has no such line."""
    assert Unfinished(["one\n\ntwo"]).ends("")
    assert not Unfinished([]).ends("")


def test_without_values_nothing_goes_on() -> None:
    """There is nothing to look for."""
    assert not Unfinished([]).ends("aHVudGVy")

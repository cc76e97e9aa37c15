"""Every spelling in which an option gets its value."""

import pytest

from mtbot.policy.option_values import abbreviates, placed_values, values_of
from mtbot.policy.reading_values import Word

NAMES = frozenset({"-I", "--use", "--use-program"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-I b", ["b"]),
        ("-Ib", ["b"]),
        ("-xI b", ["b"]),
        ("-xIb", ["b"]),
        ("--use b", ["b"]),
        ("--use=b", ["b"]),
        ("--use=", [""]),
        ("--us b", ["b"]),
        ("--use-pro=b", ["b"]),
        ("--u b", []),
        ("--user b", []),
        ("-I a -I b --use=c", ["a", "b", "c"]),
        ("-I", []),
        ("--use", []),
        ("-fIb c", []),
        ("- b -- -", []),
        ("I b", []),
    ],
)
def test_a_value_is_found_in_every_spelling(text: str, expected: list[str]) -> None:
    """As the next word, behind a `=`, joined to its letter or behind a cluster; `-f` takes the rest of its word."""
    words = tuple(Word(word) for word in text.split())
    assert [word.text for word in values_of(words, NAMES, "f")] == expected


def test_a_long_name_with_one_dash_is_no_cluster() -> None:
    """gdb spells its long options so; what is joined to them stands behind a `=`."""
    words = tuple(Word(word) for word in ("-ex", "a", "-eval-command=b", "-exx", "-other=c"))
    assert [word.text for word in values_of(words, frozenset({"-ex", "-eval-command"}))] == ["a", "b"]


def test_a_value_says_where_it_ends() -> None:
    """env reads on behind it."""
    words = tuple(Word(word) for word in ("-v", "-S", "a", "b", "-Sc", "--split=d"))
    found = [(word.text, end) for word, end in placed_values(words, frozenset({"-S", "--split-string"}))]
    assert found == [("a", 3), ("c", 5), ("d", 6)]


@pytest.mark.parametrize(("name", "expected"), [("--use", True), ("--us", True), ("--u", False), ("--used", False)])
def test_a_beginning_of_four_characters_stands_for_an_option(name: str, expected: bool) -> None:
    """A shorter one is mostly ambiguous, and getopt takes only what is not."""
    assert abbreviates(name, NAMES) is expected

"""The owner's patterns."""

import pytest

from mtbot.policy import rule
from mtbot.policy.rule import PatternError, Patterns, PatternsError


def test_the_first_pattern_in_the_owners_order_is_told() -> None:
    """The reason names one pattern, and always the same."""
    patterns = Patterns(["nothing", "b.c", "c"])
    assert patterns.first_match("a b c") == 1
    assert patterns.first_match("cc") == 2
    assert patterns.first_match("a") is None


def test_a_pattern_is_searched_anywhere_and_over_lines() -> None:
    """A dot matches a newline, as in the original's deny list."""
    assert Patterns(["curl.*sh"]).first_match("x; curl y |\nsh") == 0


def test_no_patterns_match_nothing() -> None:
    """The empty list is a valid setting."""
    assert Patterns([]).first_match("rm -rf /") is None


def test_every_wrong_pattern_is_told_with_its_place() -> None:
    """A pattern that does not compile is a load error, never skipped."""
    with pytest.raises(PatternsError) as caught:
        Patterns(["ok", "a(b", "x**", "[a", "(?=a)"])
    assert [(error.index, error.pattern, error.position) for error in caught.value.errors] == [
        (1, "a(b", 1),
        (2, "x**", 1),
        (3, "[a", 0),
        (4, "(?=a)", 0),
    ]
    assert str(caught.value.errors[0]) == "deny[1]: missing ) at character 2: a(b"


def test_an_escaped_parenthesis_is_not_the_missing_one() -> None:
    """The place is that of the one that stays open."""
    with pytest.raises(PatternsError) as caught:
        Patterns([r"\((a[(]b"])
    assert caught.value.errors[0].position == 2


def test_a_lone_surrogate_in_a_pattern_is_an_error() -> None:
    """RE2 takes UTF-8 only."""
    with pytest.raises(PatternsError) as caught:
        Patterns(["\ud800"])
    assert caught.value.errors == (PatternError(0, "'\\ud800'", "not valid Unicode", None),)


def test_a_set_that_runs_out_of_memory_does_not_pass_for_no_match() -> None:
    """RE2 answers "nothing" then; each pattern is searched alone instead."""
    patterns = Patterns(["needle"])
    object.__setattr__(patterns, "_set", None)
    assert patterns.first_match("hay needle hay") == 0


def test_two_hundred_patterns_are_one_search() -> None:
    """Their number hardly matters for the text that matches none."""
    patterns = Patterns([rf"\bfoo{number}\s+.*bar" for number in range(200)])
    assert patterns.first_match("ls -la") is None
    assert patterns.first_match("foo7 x bar") == 7


def test_patterns_that_are_too_large_for_one_search_are_searched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is dropped."""
    monkeypatch.setattr(rule, "_SET_MEMORY", 100_000)
    patterns = Patterns([f"needle{number}[a-z]{{100}}" for number in range(200)])
    assert patterns._set is None
    assert patterns.first_match("hay needle199" + "a" * 100) == 199
    assert patterns.first_match("hay needle199") is None


@pytest.mark.parametrize(("pattern", "position"), [("(a(b)", 0), ("(a)(b", 3), ("[(](a", 3), ("(a[)](b)", 0)])
def test_the_parenthesis_that_stays_open_is_named(pattern: str, position: int | None) -> None:
    """Closed ones and those in a class are none; a wrong closing one has a message of its own."""
    with pytest.raises(PatternsError) as caught:
        Patterns([pattern])
    assert caught.value.errors[0].position == position

"""Faults as lines of text: sorted, told once, with hints, and harmless on a terminal."""

import pytest

from mtbot.config.problems import Place, Problem, dotted, nearest, printable, render_all


def test_a_fault_is_told_with_file_line_column_and_key() -> None:
    """The form that editors and CI know."""
    assert Problem(Place(3, 7), ("a", "b", 0, "c"), "is wrong").render("x.yaml") == "x.yaml:3:7: a.b[0].c: is wrong"
    assert Problem(Place(1, 1), (), "the file is empty").render("x.yaml") == "x.yaml:1:1: the file is empty"


def test_faults_come_in_the_order_of_the_file_and_once() -> None:
    """The same fault seen through two profiles is one fault."""
    late, early = Problem(Place(10, 1), ("b",), "x"), Problem(Place(9, 5), ("a",), "x")
    assert render_all("f", [late, early, late]) == ("f:9:5: a: x", "f:10:1: b: x")


def test_keys_cannot_move_the_cursor() -> None:
    """A key is text of the file, which may hold escape sequences or be very long."""
    assert dotted(("a\x1b[2J", "b")) == "a\\x1b[2J.b"
    assert printable("x" * 100) == "x" * 79 + "…"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("alow_from", ' (did you mean "allow_from"?)'), ("ALLOW_FROM", ' (did you mean "allow_from"?)'), ("zzz", "")],
)
def test_the_nearest_name(word: str, expected: str) -> None:
    """A typing error gets its hint, a foreign word none."""
    assert nearest(word, ["allow_from", "groups"]) == expected

"""What is printed for people lines up, and nothing in it can drive the terminal."""

import json
from datetime import UTC, timedelta, timezone

import pytest

from mtbot.cli.output import json_out, moment, table, text_out


def test_columns_are_as_wide_as_their_widest_cell(capsys: pytest.CaptureFixture[str]) -> None:
    """Headings count, the last column is not padded, and None is an empty cell."""
    table(("ID", "COMMAND", "AT"), [("3fa9", "ls", 12), (7, None, "now"), ("", "", None)])
    assert capsys.readouterr().out == "ID    COMMAND  AT\n3fa9  ls       12\n7              now\n\n"


def test_a_table_without_rows_is_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody wonders whether anything was printed."""
    table(("ID", "COMMAND"), [])
    assert capsys.readouterr().out == "ID  COMMAND\n"


def test_a_cell_stays_on_its_line_and_in_its_colour(capsys: pytest.CaptureFixture[str]) -> None:
    """Newlines, escapes and reordering characters are shown and not obeyed."""
    table(("A", "B"), [("x\ny\t", "\x1b[31mred\u202e")])
    out = capsys.readouterr().out
    assert (out.count("\n"), "x\\ny\\t  " in out, "\x1b" in out, "\u202e" in out) == (2, True, False, False)


def test_running_text_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Newlines and tabs stay, what drives a terminal does not."""
    text_out("one\n\ttwo\x07")
    out = capsys.readouterr().out
    assert (out.startswith("one\n\ttwo"), "\x07" in out, out[-1]) == (True, False, "\n")


def test_json_is_ascii_and_reads_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A program reads the very value, and a terminal sees no character that means anything to it."""
    value = {"command": "echo \x1b[2J \u202e é", "exit": None, "at": [1, 2.5, True]}
    json_out(value)
    out = capsys.readouterr().out
    assert (json.loads(out), out.isascii(), "\x1b" in out, out[-1]) == (value, True, False, "\n")


@pytest.mark.parametrize(
    ("at_ms", "hours", "told"),
    [(None, 0, "-"), (0, 0, "1970-01-01 00:00:00"), (1_796_066_761_999, 2, "2026-11-30 21:26:01")],
)
def test_a_moment_is_told_in_the_zone_to_the_second(at_ms: int | None, hours: int, told: str) -> None:
    """Milliseconds are cut, never rounded into the next second."""
    assert moment(at_ms, timezone(timedelta(hours=hours)) if hours else UTC) == told

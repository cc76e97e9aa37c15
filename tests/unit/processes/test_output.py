"""What a command wrote becomes text that is safe to store, to show and to send to a model."""

import json
import sqlite3
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbot.processes.output import Output, harmless


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        ("Zürich ✓ 👩‍🚀\n".encode(), "Zürich ✓ 👩‍🚀\n"),
        (b"\xff\xf0", "\ufffd\ufffd"),
        (b"a\0b", "a␀b"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b[2J\x1b[1;1Hhome", "home"),
        (b"\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
        (b"\x1b]0;title\x1b\\", "␛]0;title␛\\"),
        (b"one\r\ntwo\r\r\n", "one\ntwo\n"),
        (b"10%\r20%\r", "10%\n20%\n"),
        (b"N\bNAME", "N␈NAME"),
        (b"del\x7f", "del␡"),
        ("\x9b31m".encode(), "<U+009B>31m"),
        ("abc\u202edcba".encode(), "abc<U+202E>dcba"),
        ("\U000e0041hidden".encode(), "<U+E0041>hidden"),
        ("\ufeffbom\ufffe\uffff".encode(), "<U+FEFF>bom<U+FFFE><U+FFFF>"),
        ("a\u2028b".encode(), "a<U+2028>b"),
        (b"\x1b[31", "␛[31"),
    ],
)
def test_what_acts_is_shown_and_what_colours_is_removed(written: bytes, shown: str) -> None:
    """Invalid UTF-8, NUL, controls, bidi and tags become visible; colours and cursor moves vanish; text stays."""
    assert harmless(written) == shown


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_bytes_become_text_that_every_sink_accepts(written: bytes) -> None:
    """No input raises, nothing but newline and tab acts, and JSON and SQLite give back what they were given."""
    text = harmless(written)
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert json.loads(json.dumps(text)) == text
    with sqlite3.connect(":memory:") as database:
        assert database.execute("select ?", (text,)).fetchone() == (text,)
    database.close()


@given(st.text(max_size=100).map(lambda text: text.replace("\ufffd", "").encode()), st.integers(1, 40))
@settings(max_examples=300, deadline=None)
def test_a_cut_never_splits_a_character(written: bytes, at: int) -> None:
    """Wherever the middle is taken out, no replacement character appears."""
    cut = Output(written[:at], written[-at:], dropped=1)
    head, tail, dropped = cut.pieces()
    assert "\ufffd" not in head + tail
    assert dropped >= 1


def test_a_command_that_wrote_nothing_says_so() -> None:
    """An empty result is a statement, so that no one repeats the command to see its output."""
    assert Output().text() == "(no output)"
    assert Output().empty


def test_output_that_fits_is_whole() -> None:
    """Head and tail without a gap are one text, also where a character lies across the two."""
    whole = "über".encode()
    assert Output(whole[:1], whole[1:]).text() == "über"
    assert Output(whole[:1], whole[1:]).size == len(whole)


def test_the_gap_counts_every_byte_that_is_not_shown() -> None:
    """At the cut half lines go, and the count includes them: shown plus counted is what was written."""
    cut = Output(b"first\nsecond\nhalf a li", b"ne of it\nlast\n", dropped=1000)
    assert cut.text() == "first\nsecond\n[… 1018 bytes left out …]\nlast\n"
    assert cut.size == len(b"first\nsecond\n") + 1018 + len(b"last\n")


def test_half_a_secret_at_the_cut_is_not_shown() -> None:
    """A word that the cut tears apart is dropped with its line, for no redactor knows half a secret."""
    cut = Output(b"ok\nTOKEN=abcdef", b"ghijkl\nend\n", dropped=5)
    assert cut.pieces() == ("ok\n", "end\n", 5 + len(b"TOKEN=abcdef") + len(b"ghijkl\n"))


def test_half_a_word_of_a_long_line_is_not_shown() -> None:
    """In a line that is long on both sides of the cut, the torn word is dropped, and what stands apart stays."""
    head, tail = b'{"a": 1, ' * 300 + b'"token": "abcdef', b'ghijkl", ' + b'"b": 2, ' * 300
    shown = '"b": 2, ' * 300
    assert Output(head, tail, dropped=5).pieces() == (
        '{"a": 1, ' * 300 + '"token": "',
        f'", {shown}',
        5 + len(b"abcdef") + len(b"ghijkl"),
    )


def test_a_single_long_word_is_cut_between_characters() -> None:
    """Without anything near the cut where a word could end it stays, up to its last whole character."""
    cut = Output(b"x" * 2000 + "é".encode()[:1], "é".encode()[1:] + b"y" * 2000, dropped=7)
    assert cut.text() == "x" * 2000 + "\n[… 9 bytes left out …]\n" + "y" * 2000

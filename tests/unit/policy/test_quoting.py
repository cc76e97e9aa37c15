"""Where constructs end, and what `$'..'` and brace lists mean."""

import pytest

from mtbot.policy import quoting
from mtbot.policy.reading_values import UNKNOWN


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (r"\x72\x6d", "rm"),
        (r"\162\155", "rm"),
        (r"\u0072\U0000006d", "rm"),
        (r"a\tb\nc\\d\'e", "a\tb\nc\\d'e"),
        (r"\cA\e", "\x01\x1b"),
        (r"\q", r"\q"),
        (r"\ud800", "\ufffd"),
        ("plain", "plain"),
    ],
)
def test_ansi_escapes_become_their_characters(inside: str, expected: str) -> None:
    """As bash decodes them; a lone surrogate is no character."""
    assert quoting.ansi_text(inside) == expected


def test_an_ansi_string_ends_at_an_unescaped_quote() -> None:
    """A missing end is the end of the source."""
    assert quoting.ansi_c(r"$'a\'b'c", 2) == ("a'b", 7)
    assert quoting.ansi_c("$'ab", 2) == ("ab", 5)


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("a)b", 1),
        ("(a)b)", 4),
        ("')')", 3),
        ('")")', 3),
        ("\\))", 2),
        ("$(a))", 4),
        ("${a)})", 5),
        ("`)`)", 3),
        ("a # )\nb)", 7),
        ("a#)", 2),
        ("$')\\')')", 7),
        ('"$(")")")', 8),
        ("open", 4),
    ],
)
def test_the_parenthesis_that_closes_is_found(source: str, end: int) -> None:
    """Quotes, escapes, comments and nested constructs hide a parenthesis."""
    assert quoting.closing_paren(source, 0) == end


@pytest.mark.parametrize(("source", "end"), [("a}b", 1), ("a:-'}'}", 6), ("a:-${b}}", 7), ("a", 1)])
def test_the_brace_that_closes_is_found(source: str, end: int) -> None:
    """As for parentheses."""
    assert quoting.closing_brace(source, 0) == end


def test_an_escaped_backtick_does_not_close() -> None:
    """An even number of backslashes escapes only itself."""
    assert quoting.closing_backtick(r"a\`b`c", 0) == 4
    assert quoting.closing_backtick(r"a\\`b", 0) == 3
    assert quoting.closing_backtick("a", 0) == 1


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{rm,-rf,/}", ["rm", "-rf", "/"]),
        ("a{b,c{d,e}}f", ["abf", "acdf", "acef"]),
        ("{1..3}x", ["1x", "2x", "3x"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{1..c}", ["1", "c"]),
        ("{c..a}", ["c", "b", "a"]),
        ("{,x}", ["", "x"]),
        ("E{V,}IL", ["EVIL", "EIL"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("'{a,b}'", ["'{a,b}'"]),
        ('"{a,b}"', ['"{a,b}"']),
        ("\\{a,b}", ["\\{a,b}"]),
        ("${a,b}", ["${a,b}"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
        ("x,y", ["x,y"]),
    ],
)
def test_a_brace_list_is_every_word_it_stands_for(source: str, expected: list[str]) -> None:
    """Only unquoted lists and ranges count."""
    assert quoting.brace_words(source) == expected


def test_brace_lists_are_bounded() -> None:
    """Ten lists of ten are ten thousand million words."""
    words = quoting.brace_words("{0..9}" * 10)
    assert (len(words), words[-1]) == (quoting.MAX_BRACE_WORDS + 1, UNKNOWN)


@pytest.mark.parametrize(
    ("source", "whole"),
    [
        ("{" + "a," * quoting.MAX_BRACE_WORDS + "rm}", False),
        ("{a}" * quoting.MAX_BRACE_TRIES + "{rm,-rf}", False),
        ("{rm," + "a" * quoting.MAX_BRACE_SOURCE + "}", False),
        ("'{rm," + "a" * quoting.MAX_BRACE_SOURCE + "}'", True),
    ],
)
def test_what_is_left_out_of_a_brace_list_is_unknown(source: str, whole: bool) -> None:
    """A program may stand there, and an unknown word asks."""
    assert (quoting.brace_words(source)[-1] != UNKNOWN) is whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab c", (2, None)),
        ("a'b c'd e", (7, None)),
        ('a"$(b ")")"c d', (12, None)),
        ("a\\ b c", (4, None)),
        ("a'b", (3, 2)),
        ('"a', (2, 1)),
        ("<(a b)c d", (7, None)),
        ("a;b", (1, None)),
    ],
)
def test_a_word_ends_at_the_first_character_that_nothing_protects(text: str, expected: tuple[int, int | None]) -> None:
    """Where a quote stays open, its place is told."""
    assert quoting.word_end(text, 0) == expected

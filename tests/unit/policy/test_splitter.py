"""Our own reader for broken text."""

import pytest

from mtbot.policy import splitter
from mtbot.policy.reading_values import Span


def _words(text: str) -> list[list[str]]:
    return [[text[span.start : span.end] for span in raw.words] for raw in splitter.read(text).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b; c && d || e | f & g\nh", [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"], ["h"]]),
        ("(a) { b; }", [["a"], ["b"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("! time a", [["a"]]),
        ("coproc a", [["a"]]),
        ("case x in p) a;; q) b;; esac", [["p"], ["a"], ["q"], ["b"]]),
        ("for i in p; do a; done", [["a"]]),
        ("f() { a; }; function g { b; }", [["a"], ["b"]]),
        (
            "a 'b c' \"d e\" f\\ g $(h i) `j k` ${l m} $'n o'",
            [["a", "'b c'", '"d e"', "f\\ g", "$(h i)", "`j k`", "${l m}", "$'n o'"]],
        ),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a#b", [["a#b"]]),
        ("x=1 y+=2 a", [["a"]]),
        ("x=(p q) a", [["a"]]),
        ("a > f b 2>&1 c", [["a", "b", "c"]]),
        ("{fd}>f a", [["a"]]),
        ("a <<< b c", [["a", "c"]]),
        ("cat <<E; a\nb; c\nE\nd", [["cat"], ["a"], ["d"]]),
        ("cat <<-E\n\tb\n\tE\nd", [["cat"], ["d"]]),
        ("cat <<A <<B\n1\nA\n2\nB\nd", [["cat"], ["d"]]),
        ("# <<E\na", [["a"]]),
        ("echo '<<E'\na", [["echo", "'<<E'"], ["a"]]),
        ("((1<<E))\na\nE", [["a"], ["E"]]),
        ("a\\\n b", [["a\\\n", "b"]]),
        ("; a", [["a"]]),
        (")) a", [["a"]]),
    ],
)
def test_every_separator_begins_a_command(text: str, expected: list[list[str]]) -> None:
    """Quotes, comments and here-documents separate nothing; everything else does, sound or not."""
    assert _words(text) == expected


def test_lines_behind_an_open_quote_are_read_as_code_once_more() -> None:
    """What looked like an open quote may not be one for bash; the same line is data for certain."""
    reading = splitter.read("echo 'a; b\nc d")
    assert reading.broken == "a quote stays open"
    assert _words("echo 'a; b\nc d") == [["echo", "'a; b\nc d"], ["c", "d"]]
    assert _words("echo 'a; b") == [["echo", "'a; b"]]


@pytest.mark.parametrize("text", ["(a", "{ a", "if a", "cat <<E"])
def test_an_open_end_is_broken(text: str) -> None:
    """Whoever asks is told that the text is not whole."""
    assert splitter.read(text).broken == "something stays open"


def test_a_whole_text_is_not_broken() -> None:
    """The splitter is no parser, but it knows what is closed."""
    assert splitter.read("if a; then (b) | c; fi").broken is None


def test_stages_are_fed_from_the_beginning_of_their_pipeline() -> None:
    """Groups and keywords are stages as well."""
    text = "a; if b; then c; fi | (d | e) | f"
    fed = {
        text[raw.start]: raw.fed and text[raw.fed.start : raw.fed.end].strip() for raw in splitter.read(text).commands
    }
    assert (fed["a"], fed["b"]) == (None, None)
    assert fed["d"] == "if b; then c; fi"
    assert fed["e"] == "if b; then c; fi | (d"
    assert fed["f"] == "if b; then c; fi | (d | e)"


def test_too_many_words_end_the_reading() -> None:
    """The work is bounded, and the bound is told."""
    reading = splitter.read("a " * 10_000)
    assert reading.broken == splitter.TOO_LONG


def test_quoted_here_documents_are_masked_in_place() -> None:
    """The text keeps its length, so offsets stay; an unquoted one expands and stays as it is."""
    text = "cat <<'E' > f\nrm -rf x\ny\nE\ncat <<F\nb\nF\n"
    assert splitter.masked(text) == ("cat <<'E' > f\nxxxxxxxxxx\nE\ncat <<F\nb\nF\n", (Span(14, 25),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<E\nrm x", [["cat"]]),
        ("cat <<E\nrm x\nE", [["cat"]]),
        ("((a <<E) )\nrm x\nE\nb", [["a"], ["b"]]),
        ("((a); b) <<E\nrm x\nE\nc", [["a"], ["b"], ["c"]]),
    ],
)
def test_a_here_document_ends_at_its_mark_or_with_the_text(text: str, expected: list[list[str]]) -> None:
    """Two parentheses alone make no shift of what begins a here-document."""
    assert _words(text) == expected

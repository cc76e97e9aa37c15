"""Positive grammars: what is listed matches, everything else does not."""

import pytest

from mtbot.policy.allow_rule import Match, Operand, Role
from mtbot.policy.grammar import any_of, grammar

TOOL = grammar("-abc -n:num -o:path --all --lines:num --color?(auto|never) --file:path", "text path*")


@pytest.mark.parametrize(
    ("words", "operands"),
    [
        ("x", ()),
        ("-a x", ()),
        ("-abc x f", ("f",)),
        ("-n5 x", ()),
        ("-n 5 x", ()),
        ("-abn5 x", ()),
        ("-abn 5 x", ()),
        ("--all x f g", ("f", "g")),
        ("--lines 5 x", ()),
        ("--lines=5 x", ()),
        ("--color x", ()),
        ("--color=auto x", ()),
        ("x -a f", ("f",)),
        ("-- x f", ("f",)),
        ("-o out x f", ("out", "f")),
        ("--file=in x", ("in",)),
        ("x -", ()),
    ],
)
def test_takes_what_is_listed(words: str, operands: tuple[str, ...]) -> None:
    """Letters join, values stand apart or joined, and every path is named."""
    assert TOOL.match(tuple(words.split())) == Match(tuple(Operand(word) for word in operands))


@pytest.mark.parametrize(
    "words",
    [
        "",
        "-x y",
        "-ax y",
        "-n x",
        "-n",
        "-nx y",
        "-n -5 x",
        "--al x",
        "--all=1 x",
        "--line 5 x",
        "--lines x",
        "--lines=x y",
        "--lines",
        "--color=always x",
        "--color=  x",
        "--unknown x",
        "---all x",
        "-- x -f",
        "x --file",
        "x --file -f",
        "-o -x y",
    ],
)
def test_refuses_what_is_not(words: str) -> None:
    """Unknown options, abbreviations, wrong or missing values and options behind -- do not match."""
    assert TOOL.match(tuple(words.split())) is None


def test_counts_operands() -> None:
    """A grammar has as many operands as it says."""
    one = grammar("", "path?")
    two = grammar("", "path path")
    many = grammar("", "path+")
    assert one.match(()) == Match()
    assert one.match(("a", "b")) is None
    assert two.match(("a",)) is None
    assert two.match(("a", "b")) == Match((Operand("a"), Operand("b")))
    assert many.match(()) is None
    assert grammar().match(("a",)) is None


def test_deepens_paths_with_a_recursive_option() -> None:
    """With the option, paths are read below, and without one the directory itself is."""
    deep = grammar("-r", "text path*", deepens="-r", deep=Role.CONTENT_BELOW)
    assert deep.match(("x", "f")) == Match((Operand("f", Role.PATH),))
    assert deep.match(("-r", "x", "f")) == Match((Operand("f", Role.CONTENT_BELOW),))
    assert deep.match(("-r", "x")) == Match((Operand(".", Role.CONTENT_BELOW),))
    assert deep.match(("x",)) == Match()


def test_adds_the_directory_that_is_meant_without_an_operand() -> None:
    """A reader that goes below the current directory by itself says so."""
    walker = grammar("", "names*", implicit=Role.NAMES_BELOW)
    assert walker.match(()) == Match((Operand(".", Role.NAMES_BELOW),))
    assert walker.match(("src",)) == Match((Operand("src", Role.NAMES_BELOW),))


def test_reads_single_dash_words_whole() -> None:
    """Where options are words, letters do not join."""
    words = grammar("-noout -in:path", "", whole_words=True)
    assert words.match(("-noout", "-in", "a")) == Match((Operand("a"),))
    assert words.match(("-n",)) is None
    assert words.match(("-nooutx",)) is None


def test_requires_and_conditions() -> None:
    """A required option must occur, and a further condition may refuse."""
    assert grammar("-b -n:num", requires="-b -n").match(("-bn1",)) == Match()
    assert grammar("-b -n:num", requires="-b -n").match(("-b",)) is None
    either = grammar("-a -b -c", also=any_of("-a", "-b"))
    assert either.match(("-b",)) == Match()
    assert either.match(("-c",)) is None


def test_unknown_kind_is_an_error() -> None:
    """A misspelt kind fails when the table is built, not when a command comes."""
    with pytest.raises(KeyError):
        grammar("--x:numbr")

"""The shape of what could be granted, and every path that its words may lead to."""

import pytest

from mtbot.policy.grant_words import MAX_PATHS, paths_in, single, why_never
from mtbot.policy.lexer import LexedCommand, lex


@pytest.mark.parametrize("text", ["touch a", "touch 'a b' 2>&1", "/srv/x a"])
def test_one_plain_command_has_the_shape(text: str) -> None:
    """With its redirects that touch no file."""
    found = single(lex(text))
    assert isinstance(found, LexedCommand)
    assert found.canonical() == text.removesuffix(" 2>&1")


@pytest.mark.parametrize(
    "text",
    ["", "touch $a", "touch a; touch b", "touch a | cat", "cd x && touch a", "bash x", "make", "/bin/sh x", "kill 1"],
)
def test_nothing_else_has(text: str) -> None:
    """Not plain, several, in another directory, or of a program that runs whatever it is given."""
    assert single(lex(text)) is None


def test_nothing_was_read() -> None:
    """A call without a text."""
    assert single(None) is None


def test_why_a_program_is_never_granted() -> None:
    """In words for a person."""
    assert why_never("python3") == "python runs code that it is given"
    assert why_never("git") == "git runs files of the directory it works in, whose content cannot be fixed"
    assert why_never("touch") is None


@pytest.mark.parametrize(
    ("argv", "paths"),
    [
        (("touch",), ()),
        (("touch", "a", "b/c"), ("a", "b/c")),
        (("/srv/x", "a"), ("a", "/srv/x")),
        (("dd", "of=/etc/x"), ("of=/etc/x", "/etc/x")),
        (("p", "host:/etc,b@c"), ("host:/etc,b@c", "/etc,b@c", "b@c", "c")),
        (("p", "--out=/etc/x"), ("/etc/x",)),
        (("p", "--out"), ()),
        (("p", "-o/etc/x"), ("/etc/x",)),
        (("p", "-olink"), ("link", "ink", "nk", "k")),
        (("p", "-C.."), ("..",)),
        (("p", "-"), ()),
        (("p", "-o=x"), ("=x", "x")),
        (("p", ""), ()),
        (("cp", "x/a", "b"), ("x/a", "b", "x/a/a", "x/a/b", "b/a", "b/b")),
    ],
)
def test_every_path_that_a_word_may_hold(argv: tuple[str, ...], paths: tuple[str, ...]) -> None:
    """Wherever a program may cut it out, and where it would put what it is given."""
    assert paths_in(argv) == paths


def test_what_cannot_be_said() -> None:
    """Too much of it, or a home that one reader expands and another does not."""
    assert paths_in(("p", *map(str, range(MAX_PATHS)))) is not None
    assert paths_in(("p", *map(str, range(MAX_PATHS + 1)))) is None
    assert paths_in(("p", "a=~/x")) is None

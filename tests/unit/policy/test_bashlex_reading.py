"""bashlex as a second opinion: its words, its limits, its failures."""

import bashlex
import bashlex.ast
import pytest

from mtbot.policy import bashlex_reading
from mtbot.policy.reading_values import BashlexReading, RawCommand, Span, Unread


def test_plain_commands_come_with_bashlex_own_words() -> None:
    """Allow compares these words with those of our lexer."""
    assert bashlex_reading.read("ls -la 'a b' && cat f | wc -l 2>&1") == BashlexReading(
        (("ls", "-la", "a b"), ("cat", "f"), ("wc", "-l")),
        plain=True,
        found=(
            RawCommand(0, 12, (Span(0, 2), Span(3, 6), Span(7, 12))),
            RawCommand(16, 21, (Span(16, 19), Span(20, 21))),
            RawCommand(24, 34, (Span(24, 26), Span(27, 29))),
        ),
    )


@pytest.mark.parametrize(
    "text", ["echo $(ls)", "for i in a; do ls; done", "(ls)", "{ ls; }", "f() { ls; }", "A=b ls", "if ls; then ls; fi"]
)
def test_anything_else_is_not_plain(text: str) -> None:
    """Only lists, pipelines, commands, words and redirects can be compared with the literal subset."""
    reading = bashlex_reading.read(text)
    assert isinstance(reading, BashlexReading)
    assert not reading.plain


def test_inner_commands_are_found_with_their_depth() -> None:
    """Deny takes every command that any reader finds."""
    reading = bashlex_reading.read("echo $(ls `id`)")
    assert isinstance(reading, BashlexReading)
    assert reading.argvs == (("echo", "$(ls `id`)"),)
    assert [(raw.words[0], raw.depth) for raw in reading.found] == [(Span(0, 4), 0), (Span(7, 9), 1), (Span(11, 13), 2)]


@pytest.mark.parametrize(
    "text",
    [
        "[[ -f x ]]",
        "echo $((1+1))",
        "case x in x) ls;; esac",
        "a=(b c)",
        "time ls",
        "ls '",
        "# only a comment",
        "((",
        "for ((;;)); do ls; done",
    ],
)
def test_what_bashlex_cannot_read_is_unread(text: str) -> None:
    """It fails on much valid bash, with errors of many kinds; each is an answer, never an exception."""
    assert isinstance(bashlex_reading.read(text), Unread)


def test_nesting_past_the_recursion_limit_is_unread() -> None:
    """400 nested substitutions end in a RecursionError inside bashlex."""
    reading = bashlex_reading.read("$(" * 400 + "ls" + ")" * 400)
    assert isinstance(reading, Unread)


def test_long_and_wordy_texts_are_not_given_to_bashlex() -> None:
    """It takes over a second for 64 KiB."""
    assert bashlex_reading.read("a" * 2049) == Unread("longer than 2048 bytes")
    assert bashlex_reading.read("é" * 1025) == Unread("longer than 2048 bytes")
    assert bashlex_reading.read("a " * 257) == Unread("more than 256 words")
    assert isinstance(bashlex_reading.read("a " * 256), BashlexReading)


@pytest.mark.parametrize("text", ["", " \n\t", "a\0b"])
def test_nothing_and_nul_are_unread(text: str) -> None:
    """bashlex raises AttributeError on nothing; NUL cannot be passed to a program."""
    assert isinstance(bashlex_reading.read(text), Unread)


@pytest.mark.parametrize("text", ["echo a'${'b", "echo \\\"'${' }", "x${ y }"])
def test_a_brace_that_ends_in_another_word_is_not_given_to_bashlex(text: str) -> None:
    """bashlex looks for the end of `${` within the word and starts the word again, for ever, when there is none."""
    assert bashlex_reading.read(text) == Unread("an expansion that bashlex may never finish")


def test_an_ordinary_expansion_is_read() -> None:
    """The guard against that loop leaves everyday expansions alone."""
    assert isinstance(bashlex_reading.read("echo ${HOME}/${x:-y} ${a[0]}"), BashlexReading)


@pytest.mark.parametrize(
    "text", ["ls # a", "ls  ", "ls;", "ls &", "ls | wc", "ls\npwd", "cat <<E\nx\nE", "cat <<E\nx\nE\nls"]
)
def test_asking_for_less_work_gives_the_same_nodes(text: str) -> None:
    """One line that is one node is read by itself; whatever is more is read as bashlex reads a whole text."""
    roots = bashlex.parse(text + "\n")
    found = bashlex_reading.read(text)
    assert isinstance(found, BashlexReading)
    assert [raw.start for raw in found.found] == [node.pos[0] for node in _commands(roots)]


def _commands(roots: list[bashlex.ast.node]) -> list[bashlex.ast.node]:
    found: list[bashlex.ast.node] = []

    class Visitor(bashlex.ast.nodevisitor):  # type: ignore[misc]  # bashlex has no types
        def visitcommand(self, node: bashlex.ast.node, _: object) -> None:
            found.append(node)

    for root in roots:
        Visitor().visit(root)
    return found

"""What a command surely prints."""

import pytest

from mtbot.policy.constant_output import printed, printed_by
from mtbot.policy.reading_values import SimpleCommand, Word


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("echo", ["rm", "-rf"], "rm -rf"),
        ("echo", ["-n", "rm"], "rm"),
        ("echo", ["-e", r"r\x6d"], "rm"),
        ("echo", [r"r\x6d"], r"r\x6d"),
        ("echo", ["-E", "-x"], "-x"),
        ("printf", ["rm"], "rm"),
        ("printf", ["%s%s", "r", "m"], "rm"),
        ("printf", [r"%s\n", "a", "b"], "a\nb\n"),
        ("printf", ["%b", r"\162m"], "rm"),
        ("printf", ["%c", "rm"], "r"),
        ("printf", ["100%%"], "100%"),
        ("printf", ["--", "x"], "x"),
        ("printf", [], None),
        ("which", ["rm"], "rm"),
        ("basename", ["/bin/rm"], "rm"),
        ("command", ["-v", "rm"], "rm"),
        ("command", ["rm"], None),
        ("type", ["-p", "rm"], "rm"),
    ],
)
def test_a_constant_is_printed(program: str, words: list[str], expected: str | None) -> None:
    """`$(echo rm)` is a spelling of rm, and so are these."""
    assert printed(program, words) == expected


def test_a_command_without_constant_output_prints_something_unknown() -> None:
    """cat prints its input when that is known; other programs print what only they know."""

    def told(text: str, stdin: str | None = None) -> str | None:
        return printed_by(SimpleCommand(tuple(Word(word) for word in text.split())), stdin)

    assert told("echo a b") == "a b"
    assert told("cat", "rm -rf x") == "rm -rf x"
    assert told("tee log", "rm -rf x") == "rm -rf x"
    assert told("cat f") is None
    assert told("date") is None


@pytest.mark.parametrize(
    ("command", "stdin", "expected"),
    [
        ("rev", "mr\nx", "rm\nx"),
        ("tr a-z n-za-m", "ez", "rm"),
        ("tr A-Z a-z", "RM -RF", "rm -rf"),
        ("tr [:upper:] [:lower:]", "RM", "rm"),
        ("tr ab c", "ab", "cc"),
        ("tr -d X", "rXm", "rm"),
        ("tr -c a b", "rm", None),
        ("tr -s a", "rm", None),
        ("sort -u", "rm x", "rm x"),
        ("head -1", "rm x", "rm x"),
        ("sed p", "rm x", None),
        ("rev", None, None),
    ],
)
def test_a_filter_of_a_constant_prints_a_constant(command: str, stdin: str | None, expected: str | None) -> None:
    """What passes text on, turns it round or exchanges letters is worked out; any other filter is not."""
    assert printed_by(SimpleCommand(tuple(Word(word) for word in command.split())), stdin) == expected

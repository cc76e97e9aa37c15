"""Commands with their words resolved, and what a text hides in odd places."""

import pytest

from mtbot.policy import readings
from mtbot.policy.reading_values import UNKNOWN, Doubt, SimpleCommand, Word
from mtbot.policy.resolution import without_unknown


def _texts(text: str) -> list[str]:
    return [command.text for command in readings.read(text).commands]


@pytest.mark.parametrize(
    "text",
    [
        "echo 'rm x' > f && sh f",
        "cat > f <<'E'\nrm x\nE\nsh ./f",
        "echo 'rm x' | tee ./f; . f",
        "echo 'rm x' > f; ./f",
        "echo 'rm x' | sh",
        "printf 'rm %s' x | tee log | sh",
        "sh <<< 'rm x'",
        "sh <(echo rm x)",
        "alias a='rm'; a x",
        'f() { rm "$@"; }; f x',
        'set -- rm x; "$@"',
        "PAGER='rm x' man y",
        "PS4='rm x' sh f",
        "test -v 'a[$(rm x)]'",
        "x='a[$(rm x)]'; echo $((x))",
        "echo `echo \\`rm x\\``",
        "a=ls; a=rm; $a x",
        "echo ${y:-`rm x`}",
    ],
)
def test_what_the_text_itself_makes_a_command_is_one(text: str) -> None:
    """Written and run, fed, defined, assigned or hidden in a subscript."""
    assert "rm x" in _texts(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'rm x' > f; cat f",
        "cat > f <<'E'\nrm x\nE\nwc f",
        "echo '`rm x`'",
        'f() { echo "$@"; }; f rm x',
        "X='rm x' ls",
    ],
)
def test_what_only_is_data_is_none(text: str) -> None:
    """A file that nobody runs, quoted text, printed arguments."""
    assert "rm x" not in _texts(text)


def test_unknown_pieces_may_be_empty() -> None:
    """`$SUDO rm` runs rm when the name is not set."""
    command = SimpleCommand((Word(UNKNOWN, dynamic=True), Word("rm"), Word(f"-r{UNKNOWN}", dynamic=True)))
    assert without_unknown(command) == [SimpleCommand((Word("rm"), Word("-r")), depth=1)]
    assert without_unknown(SimpleCommand((Word(UNKNOWN, dynamic=True),))) == []
    assert without_unknown(SimpleCommand((Word("rm"), Word(UNKNOWN, dynamic=True)))) == []


def test_redirects_and_assignments_are_resolved_too() -> None:
    """Where a redirect leads may hang on a name."""
    (command,) = readings.read("D=/dev/sda; A=$D cat x > $D 2>&1").commands
    assert [(redirect.operator, redirect.target.text) for redirect in command.redirects] == [
        (">", "/dev/sda"),
        (">&", "1"),
    ]
    assert command.assignments == (("A", Word("/dev/sda")),)


def test_words_inside_words_are_bounded() -> None:
    """Overlapping redirects and backticks would be resolved again and again."""
    doubts = readings.read("<<<$x`" * 300).doubts
    assert Doubt.TOO_MANY in [doubt for doubt, _ in doubts]


def test_commands_past_the_limit_are_told() -> None:
    """Nothing is left out in silence."""
    found = readings.read("ls\n" * 600)
    assert found.too_many
    assert len(found.commands) == readings.MAX_COMMANDS

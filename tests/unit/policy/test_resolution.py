"""Commands with their words resolved, and what a text hides in odd places."""

import pytest

from mtbot.policy import readings
from mtbot.policy.reading_values import UNKNOWN, Doubt, SimpleCommand, Word
from mtbot.policy.resolution import MAX_SUBSCRIPTS, without_unknown


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


def test_values_that_change_no_word_give_one_command() -> None:
    """A name of several values that is only written, not expanded, multiplies nothing."""
    assert _texts("a=1; a=2; echo $b a") == [f"echo {UNKNOWN} a".replace(UNKNOWN, "…")]


def test_a_moved_file_of_unknown_content_stays_unknown() -> None:
    """Only what the text itself wrote is followed."""
    assert "rm x" not in _texts("echo 'rm x' > f; mv a b; sh b")
    assert "rm x" in _texts("echo 'rm x' > f; mv f b; sh b")


@pytest.mark.parametrize(
    "text",
    [
        "test -v 'a[$(rm x)]'",
        "test -v 'a[`rm x`]'",
        "let 'a[0 + $(rm x)]=1'",
        "x='[$(rm x)]'; test -v \"a$x\"",
    ],
)
def test_a_program_in_a_subscript_is_read(text: str) -> None:
    """bash runs it wherever it calculates, whatever stands before it between the brackets."""
    assert "rm x" in _texts(text)


def test_more_subscripts_than_are_looked_at_are_a_doubt() -> None:
    """Of the rest nobody knows what runs."""
    within = readings.read("echo " + "'a[$(b)]' " * MAX_SUBSCRIPTS)
    past = readings.read("echo " + "'a[$(b)]' " * (MAX_SUBSCRIPTS + 1))
    assert (within.too_many, past.too_many) == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "export PAGER='rm x'; man y",
        "PAGER='rm x'; export PAGER",
        "PAGER=ls; PAGER+='; rm x'; export PAGER",
        "env GIT_PAGER='rm x' git log",
        "export 'EDITOR=rm x'",
    ],
)
def test_a_name_whose_value_is_run_may_be_exported_in_any_way(text: str) -> None:
    """At the latest when some program looks it up the value is a command."""
    assert "rm x" in _texts(text)

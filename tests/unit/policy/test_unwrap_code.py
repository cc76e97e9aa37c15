"""Interpreters: whether they read a program, and what their code asks a shell to run."""

import shlex

import pytest

from mtbot.policy.reading_values import SimpleCommand, Word
from mtbot.policy.unwrap_code import called_in_code, is_interpreter, reads_program_from_stdin


def _command(text: str) -> SimpleCommand:
    return SimpleCommand(tuple(Word(word) for word in shlex.split(text)))


@pytest.mark.parametrize(
    "text",
    [
        "sh",
        "bash -",
        "bash -s -- a",
        "bash -x",
        "zsh /dev/stdin",
        "python3",
        "python3 -",
        "perl",
        "node -",
        "at now",
        "python3 -u",
        "deno run -",
        "python3 -X utf8",
        "python3.11 -W ignore -",
        "python3 -m code",
        "python3 -mpdb",
        "node -r esm",
        "perl -I lib",
        "php -d a=b",
        "ruby -I",
    ],
)
def test_a_program_that_is_named_nowhere_comes_from_standard_input(text: str) -> None:
    """Then whatever feeds it is code."""
    assert reads_program_from_stdin(_command(text))


@pytest.mark.parametrize(
    "text",
    [
        "bash f",
        "bash -c x",
        "python3 f",
        "python3 -c x",
        "python3 -m json.tool",
        "perl -ne x",
        "ruby -rjson -e x",
        "node -e x",
        "cat",
        "deno run f",
        "python3 -I f",
        "python3 -W ignore f",
        "php -r x",
        "php -c d f",
        "ruby -rjson f",
    ],
)
def test_a_named_program_makes_standard_input_data(text: str) -> None:
    """A download piped to it is only read."""
    assert not reads_program_from_stdin(_command(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bash", True), ("python3.11", True), ("perl5", True), ("node", True), ("cat", False), ("pythonx", False)],
)
def test_interpreters_are_known_with_their_versions(name: str, expected: bool) -> None:
    """A version in the name changes nothing."""
    assert is_interpreter(name) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os; os.system('rm x')", ["rm x"]),
        ('subprocess.run("rm x", shell=True)', ["rm x"]),
        ("subprocess.check_output(['rm', '-rf', 'x'])", ["rm -rf x"]),
        ('system("rm x")', ["rm x"]),
        ("require('child_process').execSync('rm x')", ["rm x"]),
        ("%x(rm x)", ["rm x"]),
        ("puts `rm x`", ["rm x"]),
        ("print('rm x')", []),
        ("msg = 'rm x'", []),
    ],
)
def test_constant_commands_in_code_are_found(code: str, expected: list[str]) -> None:
    """Only the argument of a call that starts a process; any other string is data."""
    assert called_in_code(code) == expected


def test_blanks_without_end_cost_no_time() -> None:
    """The search must not try every way to share them out."""
    assert called_in_code("run" + " " * 4000 + "x") == []

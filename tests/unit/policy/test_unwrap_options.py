"""From an option, a script or an input to the text that a program runs."""

import shlex

import pytest

from mtbot.policy.reading_values import UNKNOWN, SimpleCommand, Word
from mtbot.policy.unwrap_code import InnerText
from mtbot.policy.unwrap_options import BY_OPTION


def _inside(text: str, stdin: str | None = None) -> list[str]:
    """Inner commands as words joined by blanks; inner texts with a `>` in front."""
    command = SimpleCommand(tuple(Word(word, UNKNOWN in word) for word in shlex.split(text)))
    return [
        f"> {inner.text.text}" if isinstance(inner, InnerText) else " ".join(word.text for word in inner.argv)
        for inner in BY_OPTION[command.program](command, stdin)
    ]


@pytest.mark.parametrize(
    ("text", "stdin", "expected"),
    [
        ("tar cf a --checkpoint-action=exec='rm x' b", None, ["> rm x"]),
        ("tar cf a --checkpoint-action=dot b", None, []),
        ("tar cf a -I 'rm x' b", None, ["> rm x"]),
        ("tar cf a '-Irm x' b", None, ["> rm x"]),
        ("tar xf a --to-command 'rm x'", None, ["> rm x"]),
        ("tar cfI a 'rm x' b", None, ["> rm x"]),
        ("tar -C /I -xf a", None, []),
        ("tar -C/I -xf a", None, []),
        ("tar", None, []),
        ("sed '1e rm x' f", None, ["> rm x"]),
        ("sed '/a/e rm x' f", None, ["> rm x"]),
        ("sed 's/.*/rm x/ge' f", None, ["> rm x"]),
        ("sed 's|a|rm x|e' f", None, ["> rm x"]),
        ("sed 's/a/rm x/g' f", None, []),
        ("sed -f - f", "1e rm x", ["> rm x"]),
        ("sed -f s f", "1e rm x", []),
        ("crontab -", "# note\nA=b\n0 5 * * 1 rm x\n@daily rm y\n", ["> rm x", "> rm y"]),
        ("crontab -l", None, []),
        ("vim -c ':!rm x' f", None, ["> rm x"]),
        ("vim '+!rm x' f", None, ["> rm x"]),
        ("vim +10 f", None, []),
        ("ed f", "1p\n!rm x\nq", ["> rm x"]),
        ("ssh -o 'ProxyCommand=rm x' host", None, ["> rm x"]),
        ("ssh '-oproxycommand rm x' host", None, ["> rm x"]),
        ("ssh -o User=rm host", None, []),
        ("rsync -e 'rm x' a b", None, ["> rm x"]),
        ("scp -e x a b", None, []),
        ("make -f -", "a:\n\trm x", ["> a:\n\trm x"]),
        ("make -f Makefile", "a:\n\trm x", []),
        ("make", "rm x", []),
        ("mapfile -C 'rm x' -c 1", None, ["> rm x"]),
        ("compgen -W '$(rm x)'", None, ["> $(rm x)"]),
        ("split --filter='rm x' f", None, ["> rm x"]),
        ("gdb -ex 'shell rm x'", None, ["> rm x"]),
        ("capsh -- -c 'rm x'", None, ["> rm x"]),
        ("capsh -- script", None, ["bash script"]),
        ("capsh --print", None, []),
        ("capsh -- -c", None, []),
    ],
)
def test_what_an_option_runs_is_found(text: str, stdin: str | None, expected: list[str]) -> None:
    """Only the option that runs something, in each of its spellings."""
    assert _inside(text, stdin) == expected

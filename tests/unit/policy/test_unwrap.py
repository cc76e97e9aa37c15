"""From a wrapper to what it runs."""

import shlex

import pytest

from mtbot.policy.reading_values import UNKNOWN, SimpleCommand, Word
from mtbot.policy.unwrap import MAX_FED, git_subcommand, unwrap
from mtbot.policy.unwrap_code import InnerText, InnerWords


def _inside(text: str, stdin: str | None = None) -> list[str]:
    """Inner commands as words joined by blanks; inner texts with a `>` in front."""
    command = SimpleCommand(tuple(Word(word, UNKNOWN in word) for word in shlex.split(text)))
    return [
        f"> {inner.text.text}" if isinstance(inner, InnerText) else " ".join(word.text for word in inner.argv)
        for inner in unwrap(command, stdin)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sudo rm x", ["rm x"]),
        ("sudo -u root -n -E A=b -- rm x", ["rm x"]),
        ("sudo -uroot rm x", ["rm x"]),
        ("sudo --user root rm x", ["rm x"]),
        ("sudo --user=root rm x", ["rm x"]),
        ("sudo --new-option v rm x", ["v rm x", "rm x"]),
        ("sudo -nu root rm x", ["rm x"]),
        ("doas -u root rm x", ["rm x"]),
        ("pkexec rm x", ["rm x"]),
        ("su - root -c 'rm x'", ["> rm x"]),
        ("su -c 'rm x' root", ["> rm x"]),
        ("runuser -u deploy rm x", ["rm x"]),
        ("env A=b -u C -i rm x", ["rm x"]),
        ("env -S 'rm x' y", ["> rm x y"]),
        ("nohup rm x", ["rm x"]),
        ("setsid -w rm x", ["rm x"]),
        ("timeout -s KILL 5 rm x", ["rm x"]),
        ("timeout --signal=KILL 5 rm x", ["rm x"]),
        ("nice -n 5 rm x", ["rm x"]),
        ("nice -5 rm x", ["rm x"]),
        ("ionice -c 3 rm x", ["rm x"]),
        ("stdbuf -oL rm x", ["rm x"]),
        ("time -p rm x", ["rm x"]),
        ("coproc rm x", ["rm x"]),
        ("coproc NAME { rm x", ["rm x"]),
        ("exec -a ls rm x", ["rm x"]),
        ("command rm x", ["rm x"]),
        ("command -p rm x", ["rm x"]),
        ("command -v rm", []),
        ("builtin command rm x", ["command rm x"]),
        ("busybox rm x", ["rm x"]),
        ("chroot /mnt rm x", ["rm x"]),
        ("flock -n /l rm x", ["rm x"]),
        ("flock /l -c 'rm x'", ["> rm x"]),
        ("script -qc 'rm x' /dev/null", ["> rm x"]),
        ("watch -n 1 rm x", ["> rm x"]),
        ("ssh -p 22 host rm x", ["> rm x"]),
        ("ssh host -p 22 rm x", ["> rm x"]),
        ("ssh host", []),
        ("uv run --with y rm x", ["rm x"]),
        ("sh -c 'rm x' a b", ["> rm x"]),
        ("bash -lc 'rm x'", ["> rm x"]),
        ("bash -o pipefail -c 'rm x'", ["> rm x"]),
        ("bash --rcfile f -c -- 'rm x'", ["> rm x"]),
        ("bash script.sh -c x", []),
        ("eval rm x", ["> rm x"]),
        ("eval -- 'rm' x", ["> rm x"]),
        ("trap 'rm x' EXIT INT", ["> rm x"]),
        ("trap - EXIT", []),
        ("xargs -0 -n 1 rm", [f"rm {UNKNOWN}"]),
        ("xargs -I{} rm {}", [f"rm {UNKNOWN}"]),
        ("xargs -a f rm", [f"rm {UNKNOWN}"]),
        ("parallel rm ::: a b", ["> rm a b"]),
        ("parallel ::: 'rm x' 'rm y'", ["> rm x", "> rm y"]),
        ("find . -exec rm {} \\;", ["rm {}"]),
        ("find . -exec a \\; -o -execdir b + -ok c \\;", ["a", "b", "c"]),
        ("fd -e x -x rm", ["rm"]),
        ("tmux new -d 'rm x'", ["> rm x"]),
        ("git -c alias.x='!rm y' x", ["> rm y"]),
        ("git -c core.pager='rm y' log", ["> rm y"]),
        ("git -c user.name='rm y' log", []),
        ("git bisect run rm x", ["rm x"]),
        ("git submodule foreach --recursive rm x", ["> rm x"]),
        ("git rebase -x 'rm x' main", ["> rm x"]),
        ("git filter-branch --tree-filter 'rm x' HEAD", ["> rm x"]),
        ("git rebase -x 'rm x' -i --exec='rm y' main", ["> rm x", "> rm y"]),
        ("git config core.pager 'rm x'", ["> rm x"]),
        ("git config user.name 'rm x'", []),
        ("su -s/bin/csh -c 'rm x'", ["> rm x"]),
        ("su -c a -lc 'rm x' --comm='rm y'", ["> a", "> rm x", "> rm y"]),
        ("su root", []),
        ("sh -c", []),
        ("find . -exec", []),
        ("find . -exec \\;", []),
        ("bwrap --ro-bind / / --dev /dev rm x", ["rm x"]),
        ("env PAGER='rm x' man y", ["man y", "> rm x"]),
        ("export A=b PAGER='rm x'", ["> rm x"]),
        ("export A=b", []),
        ("ls sudo rm x", []),
        ("echo sh -c rm", []),
    ],
)
def test_a_wrapper_gives_what_it_runs(text: str, expected: list[str]) -> None:
    """Its options and their values are stepped over; what only names a program runs nothing."""
    assert _inside(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bash", ["> rm x"]),
        ("bash -s a", ["> rm x"]),
        ("sh -", ["> rm x"]),
        ("bash /dev/stdin", ["> rm x"]),
        ("bash -c ls", ["> ls"]),
        ("bash f", []),
        ("at now", ["> rm x"]),
        ("source /dev/stdin", ["> rm x"]),
        (". f", []),
        ("xargs", []),
        ("xargs sudo", ["sudo rm x"]),
        ("xargs -I% sh -c %", ["sh -c rm x"]),
        ("xargs sh -c", ["sh -c rm x"]),
        ("parallel", ["> rm x"]),
        ("cat", []),
    ],
)
def test_a_known_input_is_read_by_those_that_run_it(text: str, expected: list[str]) -> None:
    """Here-documents, here-strings and echoes into a shell are program texts."""
    assert _inside(text, "rm x") == expected


def test_words_past_the_bound_of_a_known_input_are_unknown() -> None:
    """`xargs env` may find its program there."""
    (inner,) = unwrap(SimpleCommand((Word("xargs"), Word("env"))), "A=1 " * MAX_FED + "rm -rf /")
    assert isinstance(inner, InnerWords)
    assert (len(inner.argv), inner.argv[-1]) == (MAX_FED + 2, Word(UNKNOWN, dynamic=True))


def test_env_hands_its_names_on() -> None:
    """`env A=rm sh -c '$A x'` runs rm."""
    (inner,) = unwrap(SimpleCommand(tuple(Word(word) for word in ["env", "A=rm", "sh", "-c", "$A x"])))
    assert not isinstance(inner, InnerText)
    assert inner.assignments == (("A", Word("rm")),)


def test_a_shell_text_gets_its_positional_parameters() -> None:
    """The word after the text is `$0`."""
    (inner,) = unwrap(SimpleCommand(tuple(Word(word) for word in ["sh", "-c", "x", "zero", "one"])))
    assert inner == InnerText(Word("x"), "sh -c", ("zero", "one"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git push", 1),
        ("git -C d -c a=b --git-dir x --no-pager push", 8),
        ("git --git-dir=x push", 2),
        ("git", 1),
        ("git -C", 2),
    ],
)
def test_git_options_before_the_subcommand_are_stepped_over(text: str, expected: int) -> None:
    """Those that take the next word take it."""
    assert git_subcommand(SimpleCommand(tuple(Word(word) for word in text.split()))) == expected


def test_endless_find_execs_are_opened_once() -> None:
    """An -exec without an end takes the rest; what lies in it is opened in its turn."""
    assert len(_inside("find . -exec " * 1000)) == 1

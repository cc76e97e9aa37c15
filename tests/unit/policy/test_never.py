"""What no pattern may allow, and what runs files of the workspace."""

import pytest

from mtbot.policy.never import base_name, never_by_pattern, runs_workspace_files


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("eval", "acts on the shell itself"),
        ("exec", "acts on the shell itself"),
        ("source", "acts on the shell itself"),
        (".", "acts on the shell itself"),
        ("trap", "acts on the shell itself"),
        ("command", "acts on the shell itself"),
        ("builtin", "acts on the shell itself"),
        ("alias", "acts on the shell itself"),
        ("unalias", "acts on the shell itself"),
        ("shopt", "acts on the shell itself"),
        ("set", "acts on the shell itself"),
        ("enable", "acts on the shell itself"),
        ("hash", "acts on the shell itself"),
        ("declare", "acts on the shell itself"),
        ("typeset", "acts on the shell itself"),
        ("local", "acts on the shell itself"),
        ("export", "acts on the shell itself"),
        ("readonly", "acts on the shell itself"),
        ("let", "acts on the shell itself"),
        ("test", "acts on the shell itself"),
        ("[", "acts on the shell itself"),
        ("printf", "acts on the shell itself"),
        ("read", "acts on the shell itself"),
        ("mapfile", "acts on the shell itself"),
        ("readarray", "acts on the shell itself"),
        ("unset", "acts on the shell itself"),
        ("compgen", "acts on the shell itself"),
        ("complete", "acts on the shell itself"),
        ("bind", "acts on the shell itself"),
        ("getopts", "acts on the shell itself"),
        ("wait", "acts on the shell itself"),
        ("coproc", "acts on the shell itself"),
        ("time", "acts on the shell itself"),
        ("history", "acts on the shell itself"),
        ("fc", "acts on the shell itself"),
        ("kill", "acts on the shell itself"),
        ("sh", "is a shell"),
        ("/bin/bash", "is a shell"),
        ("zsh", "is a shell"),
        ("busybox", "is a shell"),
        ("python3", "runs code that it is given"),
        ("/usr/bin/python3.11", "runs code that it is given"),
        ("perl5.36.0", "runs code that it is given"),
        ("node", "runs code that it is given"),
        ("awk", "runs code that it is given"),
        ("/usr/bin/sed", "runs code that it is given"),
        ("env", "runs another command"),
        ("sudo", "runs another command"),
        ("/usr/bin/SUDO", "runs another command"),
        ("xargs", "runs another command"),
        ("timeout", "runs another command"),
        ("nohup", "runs another command"),
        ("ssh", "runs another command"),
        ("cd", "changes the directory"),
        ("pushd", "changes the directory"),
    ],
)
def test_names_the_closed_list(program: str, why: str) -> None:
    """Shells, interpreters, wrappers and builtins that act are on the list, by base name and without a version."""
    found = never_by_pattern(program)
    assert found is not None
    assert why in found


@pytest.mark.parametrize("program", ["ls", "git", "restic", "echo", "pythonic", "shred", "environment", "./deploy"])
def test_leaves_other_programs_to_rules(program: str) -> None:
    """A program that is merely named alike is not on the list."""
    assert never_by_pattern(program) is None


def test_takes_only_versions_off_a_name() -> None:
    """A digit that belongs to the name stays."""
    assert [base_name(name) for name in ("/usr/bin/python3.11", "7z", "base64", "md5sum", "bash-5.2")] == [
        "python",
        "7z",
        "base64",
        "md5sum",
        "bash",
    ]


@pytest.mark.parametrize("program", ["make", "npm", "/usr/bin/npm", "pytest", "git", "cargo", "pip3", "python3.11-x"])
def test_knows_programs_that_run_workspace_files(program: str) -> None:
    """Build tools, test runners and programs with hooks or plug-ins execute what they find."""
    assert runs_workspace_files(program) is (program != "python3.11-x")

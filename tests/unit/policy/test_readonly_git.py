"""Git of the read-only pack, with real git: a repository that was made to run programs runs none."""

import os
import subprocess
from pathlib import Path

import pytest

from mtbot.policy.allow import repository_trouble
from mtbot.policy.readonly_git import GIT_ENVIRONMENT

READERS = (
    "git status",
    "git status --porcelain=v2 --branch",
    "git diff",
    "git diff --stat",
    "git log -p -2",
    "git show",
    "git blame f",
    "git grep a",
    "git branch -avv",
    "git stash list",
    "git describe --always --dirty",
    "git ls-files -o --exclude-standard",
    "git rev-parse HEAD",
    "git remote -v",
    "git for-each-ref",
    "git shortlog -sn HEAD",
    "git config user.name",
    "git add -n .",
    "git fsck",
    "git check-ref-format --branch main",
)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A program that leaves a mark when it runs."""
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\necho ran >>'{tmp_path}/mark'\ncat\n")
    program.chmod(0o755)
    return program


def git(directory: Path, command: str, *, forced: bool = True) -> subprocess.CompletedProcess[str]:
    """Run git as the pack would: nothing in the environment but the path, an empty home, and what is forced (an empty
    value is one to leave out).
    """
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    kept = {name: value for name, value in GIT_ENVIRONMENT if value}
    words = command.split()
    return subprocess.run(
        words,
        cwd=directory,
        env={**environment, **(kept if forced else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, one changed file and one untracked file."""
    home = tmp_path / "work"
    home.mkdir()
    for command in ("git init -q", "git config user.name n", "git config user.email n@example.com"):
        assert git(home, command, forced=False).returncode == 0
    (home / "f").write_text("a\n")
    assert git(home, "git add f", forced=False).returncode == 0
    assert git(home, "git commit -q -m x", forced=False).returncode == 0
    (home / "f").write_text("b\n")
    (home / "new").write_text("n\n")
    return home


@pytest.mark.parametrize("command", READERS)
def test_reads_a_plain_repository(repository: Path, command: str) -> None:
    """The forced environment takes nothing away from ordinary reading."""
    done = git(repository, command)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")


def test_shows_the_change_as_git_does(repository: Path) -> None:
    """What is shown is what plain git shows."""
    assert git(repository, "git diff").stdout == git(repository, "git diff", forced=False).stdout
    assert " M f" in git(repository, "git status -s").stdout.splitlines()


@pytest.mark.parametrize("command", READERS)
def test_programs_that_a_repository_names_do_not_run(repository: Path, evil: Path, command: str) -> None:
    """Monitor, pager, hooks, transport, signature checker: each is named, none runs."""
    settings = {
        "core.fsmonitor": str(evil),
        "core.pager": str(evil),
        "core.hooksPath": str(evil.parent),
        "core.sshCommand": str(evil),
        "core.askPass": str(evil),
        "core.editor": str(evil),
        "credential.helper": str(evil),
        "log.showSignature": "true",
        "gpg.program": str(evil),
    }
    with (repository / ".git/config").open("a") as file:
        for key, value in settings.items():
            section, name = key.split(".")
            file.write(f"[{section}]\n\t{name} = {value}\n")
    for hook in ("post-index-change", "pre-auto-gc", "fsmonitor-watchman"):
        (repository / ".git/hooks").mkdir(exist_ok=True)
        (repository / ".git/hooks" / hook).symlink_to(evil)
    git(repository, command)
    assert not (evil.parent / "mark").exists()


def test_a_cloned_directory_that_looks_like_a_bare_repository_runs_nothing(repository: Path, evil: Path) -> None:
    """A directory with HEAD, objects, refs and config comes with a clone and would be taken for a repository."""
    bare = repository / "vendor"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {bare}\n\tfsmonitor = {evil}\n"
    )
    git(bare, "git status", forced=False)
    assert (evil.parent / "mark").exists(), "the trap works without the forced environment"
    (evil.parent / "mark").unlink()
    for command in READERS:
        assert git(bare, command).returncode in (0, 1, 128, 129)
    assert not (evil.parent / "mark").exists()


@pytest.mark.parametrize(
    ("keys", "attributes", "command"),
    [
        ("filter.evil.clean", "* filter=evil", "git status"),
        ("diff.evil.textconv", "* diff=evil", "git diff"),
        ("diff.evil.command", "* diff=evil", "git diff"),
        ("diff.external", "", "git diff"),
    ],
)
def test_what_the_environment_cannot_stop_is_a_need(
    repository: Path, evil: Path, keys: str, attributes: str, command: str
) -> None:
    """A driver has a free name and really runs, so a repository that names one keeps the pack from matching."""
    parts = keys.split(".")
    section = f'[{parts[0]} "{parts[1]}"]' if len(parts) == 3 else f"[{parts[0]}]"
    with (repository / ".git/config").open("a") as file:
        file.write(f"{section}\n\t{parts[-1]} = {evil}\n")
    (repository / ".gitattributes").write_text(attributes + "\n")
    os.utime(repository / "f", (1, 1))
    git(repository, command)
    assert (evil.parent / "mark").exists(), "otherwise the need could go"
    assert repository_trouble(frozenset({f"{parts[0]}.{parts[-1]}"})) is not None


def test_a_repository_within_the_repository_really_runs_its_own_programs(repository: Path, evil: Path) -> None:
    """So its presence alone keeps the pack from matching."""
    sub = repository / "sub"
    sub.mkdir()
    for command in ("git init -q", "git config user.name n", "git config user.email n@example.com"):
        assert git(sub, command, forced=False).returncode == 0
    (sub / "g").write_text("a\n")
    (sub / ".gitattributes").write_text("* filter=x\n")
    for command in ("git add .", "git commit -q -m x"):
        assert git(sub, command, forced=False).returncode == 0
    assert git(repository, "git add sub", forced=False).returncode == 0
    with (sub / ".git/config").open("a") as file:
        file.write(f'[filter "x"]\n\tclean = {evil}\n')
    os.utime(sub / "g", (1, 1))
    git(repository, "git status")
    assert (evil.parent / "mark").exists(), "otherwise the need could go"
    assert repository_trouble(frozenset({"submodule.gitlink"})) is not None


def test_reading_does_not_write_the_index(repository: Path) -> None:
    """A look leaves the repository as it was."""
    os.utime(repository / "f", (1, 1))
    before = (repository / ".git/index").stat()
    git(repository, "git status")
    after = (repository / ".git/index").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)

"""Which keys a repository configures is read as git would read it, or not at all."""

import os
import subprocess
from pathlib import Path

import pytest

from mtbot.tools import repository
from mtbot.tools.repository import Unreadable, keys_around, parse_keys

SAMPLES = [
    ("", set()),
    ("[core]\n\tbare = false\n", {"core.bare"}),
    ("[CORE]\nFSMonitor=x\n", {"core.fsmonitor"}),
    ("[core] editor = vi\n[user] name=a\n", {"core.editor", "user.name"}),
    ('[filter "lfs"]\n clean = git-lfs clean -- %f\n required\n', {"filter.clean", "filter.required"}),
    ('[diff "a \\" ] b"]\ntextconv = x\n', {"diff.textconv"}),
    ("[branch.main]\nremote=o\n", {"branch.remote"}),
    ("# [a]\n; b = c\n[core] # note\n x = 1 ; note\n", {"core.x"}),
    ("[core]\na = one \\\n  b = two\nc = 3\n", {"core.a", "core.c"}),
    ('[core]\na = "x # y\\" ; z = 1"\nb\n', {"core.a", "core.b"}),
    ('[core]\na = "one\\n\\t\\b\\\\"\n', {"core.a"}),
    ("[core]\r\na = 1\r\nb = 2\r\n", {"core.a", "core.b"}),
    ("[core]\na = 1 # \\\nb = 2\n", {"core.a", "core.b"}),
    ("\ufeff[core]\na=1", {"core.a"}),
    ("[core]\na-1 = x\n", {"core.a-1"}),
    ("[a][b]\nc=1\n", {"b.c"}),
]
FAULTS = [
    "[core\na=1\n",
    "[core]\n= 1\n",
    "[core]\n1a = 1\n",
    "[core]\na_b = 1\n",
    '[core "x]\na=1\n',
    '[core "x\n"]\na=1\n',
    "[]\na=1\n",
    '[core]\na = "x\nb = 1\n',
    "[core]\na = \\q\n",
    "[core]\na b\n",
    "[core] ]\n",
]


def _git_keys(path: Path) -> set[str] | None:
    """What git itself lists, without the part between section and key."""
    done = subprocess.run(
        ["git", "config", "--file", str(path), "--list", "--name-only", "--no-includes"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(path.parent)},
        check=False,
    )
    if done.returncode:
        return None
    names = (line for line in done.stdout.splitlines() if "." in line)
    return {f"{name.partition('.')[0]}.{name.rpartition('.')[2]}".lower() for name in names}


@pytest.mark.parametrize(("text", "expected"), SAMPLES)
def test_keys_are_found_as_git_finds_them(tmp_path: Path, text: str, expected: set[str]) -> None:
    """The expectation is our own; git is asked whether it is right."""
    path = tmp_path / "config"
    path.write_bytes(text.encode())
    assert parse_keys(text.removeprefix("\ufeff")) == expected == _git_keys(path)


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_makes_the_whole_unreadable(tmp_path: Path, text: str) -> None:
    """What git refuses is never half read."""
    path = tmp_path / "config"
    path.write_text(text)
    assert _git_keys(path) is None
    with pytest.raises(Unreadable):
        parse_keys(text)


def test_a_key_without_a_section_is_unreadable() -> None:
    """Git passes over it, and nobody writes it by accident."""
    with pytest.raises(Unreadable):
        parse_keys("a = 1\n")


def _repository(place: Path, config: str) -> Path:
    (place / ".git/objects").mkdir(parents=True)
    (place / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (place / ".git/config").write_text(config)
    return place


def test_the_repository_around_a_directory_is_found(workspace: Path) -> None:
    """From any depth; where there is none the answer is empty."""
    assert keys_around(str(workspace)) == frozenset()
    _repository(workspace, "[core]\nbare=false\n")
    (workspace / "a/b").mkdir(parents=True)
    assert keys_around(f"{workspace}/a/b") == {"core.bare"}
    assert keys_around(f"{workspace}/none/yet") == {"core.bare"}


def test_what_only_looks_like_a_repository_hides_no_other(workspace: Path) -> None:
    """Git passes by a .git without content, so the one above counts."""
    _repository(workspace, '[filter "x"]\nclean=evil\n')
    (workspace / "sub/.git").mkdir(parents=True)
    assert keys_around(f"{workspace}/sub") == {"filter.clean"}


def test_a_work_tree_has_the_keys_of_both_places(workspace: Path) -> None:
    """The shared configuration and that of the work tree."""
    main = _repository(workspace / "main", "[core]\na=1\n")
    own = main / ".git/worktrees/other"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "config.worktree").write_text("[core]\nb=1\n")
    other = workspace / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {own}\n")
    assert keys_around(str(other)) == {"core.a", "core.b"}
    (other / ".git").write_text("gitdir: ../main/.git\n")
    assert keys_around(str(other)) == {"core.a"}


def test_a_bare_repository_is_one(workspace: Path) -> None:
    """Its files lie in the directory itself."""
    _repository(workspace, "[core]\nx=1\n")
    (workspace / ".git").rename(workspace / "bare.git")
    assert keys_around(f"{workspace}/bare.git/objects") == {"core.x"}


@pytest.mark.parametrize(
    "config", ["[include]\npath=x\n", '[includeIf "gitdir:/"]\npath=x\n', "[core\n", "[a]\nb=\0\n"]
)
def test_what_only_git_could_follow_is_unreadable(workspace: Path, config: str) -> None:
    """An include may set anything."""
    _repository(workspace, config)
    with pytest.raises(Unreadable):
        keys_around(str(workspace))


def test_what_cannot_be_read_whole_is_unreadable(workspace: Path) -> None:
    """A pipe does not hang, a directory is no configuration, and neither is a giant."""
    config = _repository(workspace, "") / ".git/config"
    config.unlink()
    os.mkfifo(config)
    with pytest.raises(Unreadable):
        keys_around(str(workspace))
    config.unlink()
    config.mkdir()
    with pytest.raises(Unreadable):
        keys_around(str(workspace))
    config.rmdir()
    config.write_text("#" * (repository.MAX_CONFIG + 1))
    with pytest.raises(Unreadable):
        keys_around(str(workspace))


@pytest.mark.parametrize("pointer", ["", "elsewhere\n"])
def test_a_pointer_to_nowhere_is_unreadable(workspace: Path, pointer: str) -> None:
    """A .git file has one form."""
    (workspace / ".git").write_text(pointer)
    with pytest.raises(Unreadable):
        keys_around(str(workspace))


def test_a_loop_of_links_is_unreadable(workspace: Path) -> None:
    """An error is not taken for the absence of a repository."""
    (workspace / ".git").symlink_to(".git")
    with pytest.raises(Unreadable):
        keys_around(str(workspace))


def _git(directory: Path, *words: str) -> None:
    """Run git with nothing but the path in the environment."""
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "protocol.file.allow=always", *words],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory.parent)},
        check=True,
        capture_output=True,
    )


def test_a_repository_within_the_repository_is_told(workspace: Path) -> None:
    """Git enters it and obeys a configuration that nobody looked at, also where the index is split."""
    _git(workspace, "init", "-q")
    (workspace / "f").write_text("x")
    _git(workspace, "add", "f")
    assert repository.NESTED not in keys_around(str(workspace))
    sub = workspace / "sub"
    sub.mkdir()
    _git(sub, "init", "-q")
    (sub / "g").write_text("x")
    _git(sub, "add", "g")
    _git(sub, "commit", "-q", "-m", "x")
    _git(workspace, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    assert repository.NESTED in keys_around(str(workspace))
    _git(workspace, "update-index", "--split-index")
    assert repository.NESTED in keys_around(str(workspace))


def test_an_index_that_cannot_be_looked_through_is_unreadable(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too large, or no file."""
    _git(workspace, "init", "-q")
    (workspace / "f").write_text("x")
    _git(workspace, "add", "f")
    monkeypatch.setattr(repository, "MAX_INDEX", 10)
    with pytest.raises(Unreadable, match="too large"):
        keys_around(str(workspace))
    monkeypatch.setattr(repository, "MAX_INDEX", 1000)
    (workspace / ".git" / "index").unlink()
    (workspace / ".git" / "index").mkdir()
    with pytest.raises(Unreadable):
        keys_around(str(workspace))

"""Which bubblewrap is trusted, and what is planned to be closed."""

import os
from pathlib import Path

import pytest

from mtbot.processes import bubblewrap
from mtbot.processes.bubblewrap import box, find, look_through
from mtbot.processes.request import Box

TRUSTED = os.path.realpath("/bin/sh")


def made(place: Path, *files: str) -> str:
    """A directory with these files in it; its path."""
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x")
    return str(place)


def plan(root: str, *, readable: str = "", writable: str = "", git: bool = False) -> dict[str, str]:
    """Kinds by path below ``root``, in order."""
    named = [[f"{root}/{name}" for name in names.split()] for names in (readable, writable)]
    pairs = look_through([root], *named, git=git).curtains()
    return {os.path.relpath(path, root): kind for kind, path in pairs}


def test_only_what_root_alone_can_change_is_trusted(tmp_path: Path) -> None:
    """No file of somebody else, none in a directory of somebody else, none that is no program; links are followed."""
    mine = tmp_path / "bwrap"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(TRUSTED)
    assert find(["/nowhere/bwrap", "/etc/passwd", "/etc", "/dev/null", str(mine)]) == ""
    assert find(["/nowhere/bwrap", TRUSTED]) == TRUSTED
    assert find([str(link)]) == TRUSTED
    assert find([]) == ""


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_what_others_may_write_is_not_trusted(tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the file nor a directory above it."""
    monkeypatch.setattr(bubblewrap, "_OWNER", os.geteuid())
    place = tmp_path / "sbin"
    place.mkdir(mode=0o755)
    program = place / "bwrap"
    program.write_text("")
    program.chmod(mode)
    assert not bubblewrap.trusted(program, top=tmp_path)
    program.chmod(0o755)
    assert bubblewrap.trusted(program, top=tmp_path)
    place.chmod(mode)
    assert not bubblewrap.trusted(program, top=tmp_path)
    place.chmod(0o755)
    program.chmod(0o644)
    assert not bubblewrap.trusted(program, top=tmp_path)


def test_secrets_are_hidden_and_what_leads_to_them_stays(tmp_path: Path) -> None:
    """At any depth; what only looks like it, and what packages bring, stays as it is."""
    root = made(
        tmp_path,
        *(".env", "a/.env.production", ".env.example", "a/settings.env", "a/key.pem", ".npmrc"),
        *("b/.ssh/config", "node_modules/x/.env", "venv/lib/site-packages/y/.env"),
    )
    (tmp_path / "c" / ".env").mkdir(parents=True)
    os.mkfifo(tmp_path / "a" / "pipe.env")
    assert plan(root) == {
        ".env": "hidden",
        "a": "kept",
        "a/.env.production": "hidden",
        "a/settings.env": "hidden",
        "b": "kept",
        "b/.ssh": "hidden",
    }
    assert plan(root, readable=".env a b/.ssh", writable="a/settings.env") == {
        "a": "kept",
        "a/.env.production": "hidden",
    }


def test_a_link_leads_to_what_is_hidden(tmp_path: Path) -> None:
    """Where that lies in the workspace; elsewhere nothing is to be read anyway."""
    outside = made(tmp_path / "outside", "secret")
    root = made(tmp_path / "work", "real", "keys/id", "other")
    links = {".env": "real", "x.env": f"{outside}/secret", ".ssh": "keys", "y.env": "gone", "plain": "other"}
    for name, target in links.items():
        (tmp_path / "work" / name).symlink_to(target)
    assert plan(root) == {"keys": "hidden", "real": "hidden"}


def test_repositories_are_fixed_and_for_git_what_it_obeys(tmp_path: Path) -> None:
    """Also bare ones, the files that point to one, and directories of hooks."""
    files = [f"{place}/{name}" for place in (".git", "n/bare") for name in ("HEAD", "config", "objects/x", "refs/x")]
    root = made(tmp_path, *files, ".git/hooks/h", ".git/modules/m/HEAD", ".git/modules/m/config", "tree/.git")
    made(tmp_path, ".git/worktrees/tree/HEAD", ".git/worktrees/tree/commondir", ".husky/h", "p/.githooks/h")
    (tmp_path / "n" / "bare" / "hooks").symlink_to(tmp_path)
    fixed = {".git": "fixed", ".husky": "fixed", "n": "kept", "n/bare": "fixed", "p": "kept", "p/.githooks": "fixed"}
    assert plan(root) == {**fixed, "tree": "kept", "tree/.git": "fixed"}
    assert plan(root, git=True) == {
        ".git": "kept",
        ".git/config": "fixed",
        ".git/hooks": "fixed",
        ".git/modules": "kept",
        ".git/modules/m": "kept",
        ".git/modules/m/config": "fixed",
        ".git/worktrees": "kept",
        ".git/worktrees/tree": "kept",
        ".git/worktrees/tree/commondir": "fixed",
        ".husky": "fixed",
        "n": "kept",
        "n/bare": "kept",
        "n/bare/config": "fixed",
        "p": "kept",
        "p/.githooks": "fixed",
        "tree": "kept",
        "tree/.git": "fixed",
    }
    assert plan(root, readable=".git .husky", writable="n/bare p/.githooks tree/.git p") == {
        ".git": "fixed",
        ".husky": "fixed",
    }
    assert ".git/config" not in plan(root, writable=".git/config", git=True)


def test_a_look_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much is said; what cannot be listed cannot be read by the command either."""
    root = made(tmp_path, *(f"{number}/.env" for number in range(9)), ".git/modules/m/HEAD")
    assert look_through([root, f"{root}/", f"{root}/1", "/", "/nowhere"]).whole
    for limit in ("MOST_ENTRIES", "MOST_CURTAINS"):
        with monkeypatch.context() as patched:
            patched.setattr(bubblewrap, limit, 4)
            assert not look_through([root]).whole
    with monkeypatch.context() as patched:
        patched.setattr(bubblewrap, "MOST_ENTRIES", 11)
        assert not look_through([root], git=True).whole


def test_a_box_binds_what_may_be_written(tmp_path: Path) -> None:
    """Parents first, devices not again, and nothing else is writable."""
    made_box = box("/usr/bin/bwrap", ["/w/b", "/dev/null", "/w"], look_through([made(tmp_path, ".env")]))
    assert made_box == Box("/usr/bin/bwrap", made_box.args, (("hidden", f"{tmp_path}/.env"),), 5_000)
    words = " ".join(made_box.args)
    assert words.startswith("--ro-bind / / --tmpfs /dev --dev-bind /dev/null /dev/null ")
    assert words.endswith(
        "--bind-try /w /w --bind-try /w/b /w/b --remount-ro /dev --unshare-pid --proc /proc --cap-drop ALL"
    )

"""Which bubblewrap is trusted, and what is planned to be closed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtbot.processes import bubblewrap
from mtbot.processes.bubblewrap import TooMuch, box, find, look_through
from mtbot.processes.request import Box

TRUSTED = os.path.realpath("/bin/sh")


def made(place: Path, *files: str) -> str:
    """A directory with these files in it; its path."""
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x")
    return str(place)


def plan(root: str, *named: str, git: bool = False) -> dict[str, str]:
    """Kinds by path below ``root``, in order."""
    pairs = look_through(root, [f"{root}/{name}" for name in named], git=git).curtains()
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
    assert plan(root, ".env", "a", "b/.ssh", "a/settings.env") == {"a": "kept", "a/.env.production": "hidden"}


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
    assert plan(root, "n/bare", "p/.githooks", "tree/.git", "p") == {".git": "fixed", ".husky": "fixed"}
    assert ".git/config" not in plan(root, ".git/config", git=True)


def test_links_are_closed_where_they_lead(tmp_path: Path) -> None:
    """A repository and hooks that lie elsewhere in the workspace; for git and for all others."""
    root = made(tmp_path, "store/HEAD", "store/config", "shared/pre-commit", "husky/h", "r/x", "own/HEAD", "real")
    for name, target in {
        "r/.git": "../store",
        "store/hooks": "../shared",
        ".husky": "husky",
        ".githooks": "/usr",
        "own/modules": "/",
        "own/.git": ".",
    }.items():
        (tmp_path / name).symlink_to(target)
    assert plan(root) == {"husky": "fixed", "own": "fixed", "shared": "fixed", "store": "fixed"}
    assert plan(root, git=True) == {
        "husky": "fixed",
        "own": "kept",
        "shared": "fixed",
        "store": "kept",
        "store/config": "fixed",
    }


def test_nothing_is_overlooked_because_somebody_prepared_it(tmp_path: Path) -> None:
    """What was made to look like a repository is entered, and so are directories of hooks, and names of any bytes."""
    root = made(
        tmp_path, "a/.env", "a/HEAD", "a/objects/x", "a/refs/x", ".husky/.env", "HEAD", "objects/x", "refs/x", ".env"
    )
    odd = os.fsencode(root) + b"/\xff\n"
    os.mkdir(odd)  # noqa: PTH102 - a name of bytes
    Path(os.fsdecode(odd), ".env").touch()
    assert plan(root) == {
        ".env": "hidden",
        ".husky": "fixed",
        ".husky/.env": "hidden",
        "a": "fixed",
        "a/.env": "hidden",
        "\udcff\n": "kept",
        "\udcff\n/.env": "hidden",
    }


def test_what_cannot_be_entered_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of the same user could open it again; a workspace that cannot be entered is closed to nobody."""
    root = made(tmp_path, "a/b/.env", "c/x")
    scandir = os.scandir
    faults: dict[str, OSError] = {f"{root}/a/b": PermissionError(13, "no"), f"{root}/c": FileNotFoundError(2, "gone")}

    def guarded(path: str) -> Iterator[os.DirEntry[str]]:
        if path in faults:
            raise faults[path]
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert plan(root) == {"a": "kept", "a/b": "hidden"}
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, _how: path != f"{root}/a")
        assert plan(root) == {"a": "hidden"}
    faults[root] = PermissionError(13, "Permission denied")
    with pytest.raises(TooMuch, match=r"what cannot be entered \(Permission denied\)"):
        plan(root)


def test_a_look_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a part is never taken for the whole."""
    root = made(tmp_path, *(f"{number}/.env" for number in range(9)), ".git/modules/m/HEAD")
    assert plan(f"{root}/") == plan(root)
    assert look_through("/nowhere").curtains() == ()
    for limit, number, git in (("MOST_ENTRIES", 4, False), ("MOST_CURTAINS", 4, False), ("MOST_ENTRIES", 20, True)):
        with monkeypatch.context() as patched:
            patched.setattr(bubblewrap, limit, number)
            with pytest.raises(TooMuch, match=f"more than {number} files"):
                look_through(root, git=git)


def test_a_box_binds_what_may_be_written(tmp_path: Path) -> None:
    """Parents first, devices not again, and nothing else is writable."""
    made_box = box("/usr/bin/bwrap", ["/w/b", "/dev/null", "/w"], look_through(made(tmp_path, ".env")))
    assert made_box == Box("/usr/bin/bwrap", made_box.args, (("hidden", f"{tmp_path}/.env"),), 5_000)
    words = " ".join(made_box.args)
    assert words.startswith("--ro-bind / / --tmpfs /dev --dev-bind /dev/null /dev/null ")
    assert words.endswith(
        "--bind-try /w /w --bind-try /w/b /w/b --remount-ro /dev --unshare-pid --proc /proc --cap-drop ALL"
    )

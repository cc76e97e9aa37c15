"""Attempts on what bubblewrap closes: secrets and repositories in the workspace, files outside, other processes.

Each is first made on the host, where it succeeds; in the box it has to fail wherever the probe says that there is one.
"""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .captive import ROOT, Confined, python

SECRET = "SECRET=swordfish"
CONFIG = "[core]\n\tbare = false\n"


def repository(place: Path) -> None:
    """A git directory with a hook and a submodule."""
    for below in ("hooks", "objects", "refs", "modules/sub/hooks", "modules/sub/objects", "info"):
        (place / below).mkdir(parents=True)
    for head in (place, place / "modules" / "sub"):
        (head / "HEAD").write_text("ref: refs/heads/main\n")
        (head / "config").write_text(CONFIG)
    (place / "hooks" / "pre-commit").write_text("true")
    (place / "info" / "attributes").write_text("")


def lay_out(confined: Confined) -> dict[str, str]:
    """A workspace with secrets and repositories at several depths; what stands in it."""
    confined.lay_out()
    work = confined.workspace
    for path in (".env", "a/b/.env.local", "a/b/.aws/credentials", "real"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(SECRET)
    (work / "a" / "linked.env").symlink_to(work / "real")
    (work / ".env.example").write_text("SECRET=")
    repository(work / ".git")
    repository(work / "a" / "inner" / ".git")
    repository(work / "bare.git")
    (work / "tree").mkdir()
    (work / "tree" / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    for place in (work, *work.rglob("*")):
        os.chown(place, confined.uid, -1, follow_symlinks=False)
    return state(work)


def state(work: Path) -> dict[str, str]:
    """Everything below, by name."""
    return {
        str(path.relative_to(work)): "" if path.is_dir() else path.read_text()
        for path in sorted(work.rglob("*"))
        if not path.is_symlink()
    }


READS = {
    "it": "cat .env",
    "deeper": "cat a/b/.env.local",
    "a directory": "cat a/b/.aws/credentials",
    "where a link of such a name leads": "cat real",
    "through that link": "cat a/linked.env",
    "through another link": "ln -s .env x; cat x",
    "a hard link": "ln .env x && cat x",
    "a copy": "cp .env x && cat x",
    "a move": "mv .env x && cat x",
    "after its directory was moved": "mv a c && cat c/b/.env.local",
    "through the root of a process": "cat /proc/self/root$PWD/.env",
    "through the directory of a process": "cat /proc/self/cwd/.env",
    "through the processes around it": "cat /proc/[0-9]*/cwd/.env /proc/[0-9]*/root$PWD/.env",
    "by an archive": "tar -cf - . | tar -xO ./.env",
}
CHANGES = {
    "a hook": "echo evil > .git/hooks/pre-commit",
    "a new hook": "echo evil > .git/hooks/post-commit",
    "by its removal": "rm .git/hooks/pre-commit",
    "hooks moved": "mv .git/hooks .git/old",
    "the configuration": "echo evil >> .git/config",
    "the configuration replaced": "echo evil > x && mv x .git/config",
    "another directory for all": "echo ../evil > .git/commondir",
    "the repository moved": "mv .git old && mkdir .git",
    "the repository removed": "rm -r .git",
    "a deeper one": "echo evil > a/inner/.git/hooks/pre-commit",
    "a deeper one moved": "mv a/inner x",
    "what it lies in moved": "mv a x",
    "a bare one": "echo evil > bare.git/hooks/pre-commit",
    "a bare one moved": "mv bare.git x",
    "of a submodule": "echo evil > .git/modules/sub/hooks/pre-commit",
    "where the files of another tree point": "echo gitdir: evil > tree/.git",
    "that pointer replaced": "echo gitdir: evil > x && mv x tree/.git",
    "a secret overwritten": "rm .env && echo x > .env",
}
OUTSIDE = {
    "mode": "chmod 777 $OUT/token",
    "mode through a descriptor": python('os.fchmod(os.open(O + "/file", os.O_RDONLY), 0o600)'),
    "time": python('os.utime(O + "/file", (1, 1))'),
    "owner": "chown $(id -u) $OUT/file",
    "attribute": python('os.setxattr(O + "/file", "user.x", b"x")'),
}


@pytest.fixture(autouse=True)
def there(confined: Confined) -> None:
    """A machine without bubblewrap has nothing to be tried."""
    if not confined.holds("bubblewrap"):
        pytest.skip("needs: bubblewrap")


def boxed(confined: Confined, script: str, **grants: Any) -> tuple[int | None, str]:
    """Run it as a build by a rule is run."""
    readable = [str(confined.outside)] if "$OUT" in script or "OUT" in script else []
    return confined.run(script, guarded=str(confined.workspace), attributes=True, read=readable, **grants)


@pytest.mark.parametrize("name", READS)
def test_no_secret_of_the_workspace_is_read(confined: Confined, name: str) -> None:
    """Whatever way is taken to it; and the workspace is as it was, but for what the attempt itself made."""
    lay_out(confined)
    assert "swordfish" in confined.run(READS[name], "host")[1]
    before = lay_out(confined)
    assert "swordfish" not in boxed(confined, READS[name])[1]
    after = state(confined.workspace)
    assert {path: after.get(path) for path in before} == before
    assert set(after) - set(before) <= {"x"}


PREPARED = {
    "a directory closed to the look": "chmod 0 a/b",
    "a directory that may be listed and not entered": "chmod 444 a/b",
    "the looks of a repository": "touch a/b/HEAD && mkdir a/b/objects a/b/refs",
    "a place that is not looked into": "mkdir node_modules && mv a/b/.env.local node_modules; mv a node_modules",
    "another name": "mv a/b/.env.local a/b/x; ln a/b/.env.local a/b/x; cp a/b/.env.local a/b/x",
    "depth": "for i in $(seq 20); do n=$(printf '%0200d' 1); mkdir $n && cd $n; done; mv $OLDPWD/a .",
    "a link in its place": "mv a x && ln -s x a",
    "a mount over it": "mkdir c && mount --bind a c",
}


@pytest.mark.parametrize("name", PREPARED)
def test_no_command_prepares_that_another_one_overlooks(confined: Confined, name: str) -> None:
    """What one does to the workspace, as far as it can, does not make the next one see more."""
    lay_out(confined)
    boxed(confined, PREPARED[name])
    script = "chmod -R u+rwX . 2>/dev/null; grep -rs swordfish .; cat a/b/.env.local a/b/x node_modules/.env.local x/b/.env.local"
    assert "swordfish" not in boxed(confined, script)[1]
    assert (confined.workspace / "a" / "b" / ".env.local").read_text() == SECRET


@pytest.mark.parametrize("name", CHANGES)
def test_no_repository_is_changed(confined: Confined, name: str) -> None:
    """Neither what git would run next time, nor where it is looked for."""
    before = lay_out(confined)
    assert confined.run(CHANGES[name], "host")[0] == 0
    assert state(confined.workspace) != before
    before = lay_out(confined)
    assert boxed(confined, CHANGES[name])[0] != 0
    after = state(confined.workspace)
    assert {path: after.get(path) for path in before} == before


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_attribute_outside_is_changed(confined: Confined, name: str) -> None:
    """Though a build may change those of its own files, and this one may even read there."""
    lay_out(confined)
    assert boxed(confined, "chmod 700 a && touch -d 2001-01-01 a/b && stat -c %a a")[1].strip() == "700"
    if name != "attribute":  # not every file system has them
        assert confined.run(OUTSIDE[name], "host")[0] == 0
    lay_out(confined)
    stats = {path.name: path.stat() for path in confined.outside.iterdir()}
    assert boxed(confined, OUTSIDE[name])[0] != 0
    assert {path.name: path.stat() for path in confined.outside.iterdir()} == stats


def test_devices_stay_as_they_are(confined: Confined) -> None:
    """They can be written to, and nothing else is there."""
    before = Path("/dev/null").stat()
    script = "echo x > /dev/null && head -c 4 /dev/zero | wc -c; chmod 600 /dev/null 2>/dev/null || echo refused; [ -e /dev/shm ] || echo no"
    code, output = boxed(confined, script)
    assert (code, output.split()) == (
        0,
        ["4", "refused", "no"],
    )
    assert Path("/dev/null").stat().st_mode == before.st_mode


def test_no_other_process_is_seen(confined: Confined) -> None:
    """Its own are: with pids of their own, beside the two that keep the box, which it cannot look into."""
    code, output = boxed(confined, "echo $$ /proc/[0-9]*; cat /proc/1/environ /proc/2/maps /proc/1/root/etc/passwd")
    pids, *refused = output.splitlines()
    assert pids == "3 /proc/1 /proc/2 /proc/3"
    assert (code, len(refused)) == (1, 3)


def test_git_writes_where_it_alone_runs(confined: Confined) -> None:
    """All but what decides which programs it runs next time."""
    lay_out(confined)
    script = "echo x > .git/index.lock && mv .git/index.lock .git/index && mkdir .git/logs && cat .git/index"
    assert boxed(confined, script, git=True) == (0, "x\n")
    left: set[str] = set()
    for name, change in CHANGES.items():
        lay_out(confined)
        left |= {name} if boxed(confined, change, git=True)[0] == 0 else set()
    assert left == {"another directory for all"}  # said in docs/security.md


def test_what_a_rule_names_stays_open(confined: Confined) -> None:
    """The owner's word is above."""
    lay_out(confined)
    work = confined.workspace
    grants: dict[str, Any] = {"write": [str(work), str(work / ".env"), str(work / ".git")], "guarded": str(work)}
    code, output = confined.run("cat .env && echo x > .git/hooks/pre-commit; cat a/b/.env.local", **grants)
    assert (code, output) == (0, SECRET)
    assert (work / ".git" / "hooks" / "pre-commit").read_text() == "x\n"


def test_a_link_that_was_put_there_meanwhile_starts_nothing(confined: Confined) -> None:
    """Nothing is mounted or made anywhere else."""
    lay_out(confined)
    work, outside = confined.workspace, confined.outside
    (outside / ".env").write_text("outside")
    (work / "real").unlink()
    (work / "real").symlink_to(outside)
    plan = {f"{work}/real/.env": "hidden"}
    end = confined.ask("echo ran", guarded=str(work), plan=plan)
    assert end["exit"] is None
    assert str(end["message"]).startswith(f"a link stands in the way of {work}/real/.env")
    assert (outside / ".env").read_text() == "outside"


def test_a_plan_for_what_is_gone_makes_nothing(confined: Confined) -> None:
    """No mount point is made in the workspace."""
    before = lay_out(confined)
    plan = {f"{confined.workspace}/gone/.env": "hidden", f"{confined.workspace}/.gone": "fixed"}
    assert confined.ask("echo ran", guarded=str(confined.workspace), plan=plan)["output"] == "ran\n"
    assert state(confined.workspace) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1])
def test_its_end_is_told_as_it_was(confined: Confined, number: signal.Signals) -> None:
    """By exit code or by signal; input, umask, directory and environment are those of any command."""
    lay_out(confined)
    end = confined.ask(
        f"umask; pwd; env -i /usr/bin/env; ulimit -c; kill -{number.value} $$", guarded=str(confined.workspace)
    )
    assert (end["exit"], end["status"]) == (None, "signaled")
    assert str(end["output"]).splitlines()[1:] == [str(confined.workspace), "0"]
    assert confined.ask("exit 143", guarded=str(confined.workspace))["exit"] == 143


def test_namespaces_are_not_to_be_had_again(confined: Confined) -> None:
    """Not even inside the box."""
    for script in (
        "unshare -U true",
        "unshare -m true",
        "umount .env",
        "mount -t tmpfs none a",
        "nsenter -t 1 -m true",
    ):
        lay_out(confined)
        assert boxed(confined, script)[0] != 0


def test_the_record_names_the_parts(confined: Confined) -> None:
    """With bubblewrap only where it was used."""
    lay_out(confined)
    with_it = confined.ask("true", guarded=str(confined.workspace))["held"]
    without = confined.ask("true")["held"]
    assert (with_it, without) == (["files", "network", "signals", "bubblewrap"], ["files", "network", "signals"])


@pytest.mark.parametrize("name", ["exits", "hangs", "starts it as it is"])
def test_without_a_bubblewrap_that_works_all_is_as_before(confined: Confined, name: str) -> None:
    """What it would add is said not to hold, and the rest goes on holding."""
    scripts = {
        "exits": "echo no room >&2; exit 1",
        "hangs": "exec sleep 600",
        "starts it as it is": 'shift 3; exec "$@"',
    }
    fake = confined.folder / f"bwrap-{name.replace(' ', '-')}"
    fake.write_text(f"#!/bin/sh\n{scripts[name]}\n")
    fake.chmod(0o755)
    whys = {
        "exits": "bubblewrap failed: no room",
        "hangs": f"bubblewrap does not answer ({fake})",
        "starts it as it is": "bubblewrap does not say what it started",
    }
    with confined.another(bubblewrap=str(fake), wait_ms=300) as other:
        assert (other.about["files"], other.about["network"], other.about["bubblewrap"]) == (True, True, False)
        assert other.about["no_bubblewrap"] == [whys[name]]
        lay_out(other)
        assert boxed(other, "cat .env; cat $OUT/nothing")[1].startswith(SECRET)
        assert other.run("cat $OUT/token")[0] != 0
    left = subprocess.run(["pgrep", "-f", str(fake)], capture_output=True, check=False).stdout
    assert left == b""


if ROOT:

    def test_a_setuid_bubblewrap_gets_no_rights(confined: Confined) -> None:
        """It is started without the way to new privileges, and by an ordinary user has to do without."""
        copied = confined.folder / "bwrap-setuid"
        copied.write_bytes(Path("/usr/bin/bwrap").read_bytes())
        copied.chmod(0o4755)
        with confined.another(bubblewrap=str(copied)) as other:
            lay_out(other)
            assert "swordfish" not in boxed(other, "cat .env")[1]
            assert boxed(other, "id -u")[1].strip() == str(other.uid)

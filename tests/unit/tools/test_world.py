"""The World port over the real file system: what gate/facts gets to know."""

import hashlib
import os
from pathlib import Path

import pytest

from mtbot.domain.call import Below, Target, TargetKind
from mtbot.domain.ports import World
from mtbot.policy.sensitive import Places
from mtbot.tools import world as world_module
from mtbot.tools.world import HostWorld


@pytest.fixture
def world(workspace: Path) -> World:
    """A world whose home is beside the workspace and whose PATH has two directories."""
    home = workspace.with_name("home")
    for place in (home, workspace.with_name("bin"), workspace.with_name("bin2")):
        place.mkdir()
    path = (str(workspace.with_name("bin")), str(workspace.with_name("bin2")))
    return HostWorld(home=str(home), path=path, places=Places(home=str(home)))


def _program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


async def test_a_target_keeps_how_it_was_written(world: World, workspace: Path) -> None:
    """Beside where it leads and what lies there."""
    (workspace / "a.txt").write_text("x")
    base = workspace.parent
    assert await world.resolve("a.txt", str(workspace)) == Target("a.txt", f"{workspace}/a.txt", TargetKind.FILE)
    assert await world.resolve("~/x", str(workspace)) == Target("~/x", f"{base}/home/x", TargetKind.MISSING)
    assert (await world.resolve("a\0", str(workspace))).kind is TargetKind.OTHER


async def test_a_digest_is_that_of_the_whole_content(world: World, workspace: Path) -> None:
    """SHA-256, in hexadecimal."""
    data = os.urandom(3_000_000)
    (workspace / "a").write_bytes(data)
    assert await world.digest(f"{workspace}/a") == hashlib.sha256(data).hexdigest()


async def test_what_cannot_be_bound_has_no_digest(
    world: World, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links, pipes, directories, kernel files, what is missing and what is too large."""
    (workspace / "a").write_text("four")
    (workspace / "link").symlink_to("a")
    os.mkfifo(workspace / "pipe")
    for name in ("link", "pipe", ".", "none"):
        assert await world.digest(f"{workspace}/{name}") is None
    assert await world.digest("/proc/self/status") is None
    monkeypatch.setattr(world_module, "MAX_DIGESTED", 4)
    assert await world.digest(f"{workspace}/a") is not None
    (workspace / "a").write_text("fives")
    assert await world.digest(f"{workspace}/a") is None


async def test_a_file_that_changes_while_it_is_read_has_no_digest(
    world: World, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the old and half of the new content is no content."""
    path = workspace / "a"
    path.write_text("four")
    really = os.read

    def busy(descriptor: int, count: int) -> bytes:
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            os.utime(path, ns=(1, 1))
        return really(descriptor, count)

    monkeypatch.setattr(os, "read", busy)
    assert await world.digest(str(path)) is None


async def test_a_program_is_the_first_on_the_path(world: World, workspace: Path) -> None:
    """As execvp finds it: regular and executable, with its links resolved."""
    base = workspace.parent
    real = _program(base / "bin2/tool-1.2")
    (base / "bin2/tool").symlink_to(real)
    (base / "bin/tool").mkdir()
    assert await world.program("tool", str(workspace)) == str(real)
    _program(base / "bin/tool2", 0o644)
    _program(base / "bin2/tool2")
    assert await world.program("tool2", str(workspace)) == f"{base}/bin2/tool2"
    assert await world.program("none", str(workspace)) is None
    assert await world.program("", str(workspace)) is None


async def test_a_program_with_a_slash_is_a_path(world: World, workspace: Path) -> None:
    """From the working directory, and never looked for elsewhere."""
    _program(workspace / "run.sh")
    _program(workspace.parent / "bin/only-there")
    assert await world.program("./run.sh", str(workspace)) == f"{workspace}/run.sh"
    assert await world.program("./only-there", str(workspace)) is None
    assert await world.program("run.sh", str(workspace)) is None


async def test_what_lies_below_and_what_git_is_told_come_through(world: World, workspace: Path) -> None:
    """Faults of the look are None or UNKNOWN, never an exception."""
    assert await world.below(str(workspace)) is Below.NOTHING
    assert await world.repository_keys(str(workspace)) == frozenset()
    (workspace / ".git").mkdir()
    (workspace / ".git/config").write_text("[core]\nx = 1\n")
    assert await world.below(str(workspace)) is Below.REPOSITORY
    assert await world.repository_keys(str(workspace)) == frozenset({"core.x"})
    (workspace / ".git/config").write_text("[core")
    assert await world.repository_keys(str(workspace)) is None


async def test_a_file_system_that_does_not_answer_is_the_worst_case(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known then, and that is what is said."""

    async def hanging(_work: object, _seconds: float) -> object:
        raise TimeoutError

    monkeypatch.setattr(world_module, "off_loop", hanging)
    assert await world.resolve("a/../b", "/ws") == Target("a/../b", "/ws/b", TargetKind.OTHER)
    assert await world.digest("/a") is None
    assert await world.below("/a") is Below.UNKNOWN
    assert await world.repository_keys("/a") is None
    assert await world.program("a", "/") is None


async def test_a_program_is_looked_for_on_the_path_of_the_profile(world: World, workspace: Path) -> None:
    """Two bots may have two PATHs, and a yes binds the file that really runs."""
    (workspace.parent / "other").mkdir()
    mine = _program(workspace.parent / "other/tool")
    assert await world.program("tool", str(workspace), (str(mine.parent),)) == str(mine)

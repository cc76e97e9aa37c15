"""What is known about containment, when it is tried again, and what is left of a call."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from mtbot.domain.process import ChildRequest, ChildStatus, Containment, Grants
from mtbot.processes import probe
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner, sweep_private_directories
from mtbot.processes.containment import Guard, parts_for
from mtbot.processes.request import SpawnRequest
from mtbot.processes.runner import Runner
from mtbot.processes.spawner import parts
from tests.integration.processes.scenes import PATH

NOTHING_GUARDED = Guard(lambda _path: False, lambda _path: False)
GOOD = json.dumps({"allowed": True, "made": []})


async def test_it_is_tried_once(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever asks meanwhile waits for the same answer."""
    tries: list[int] = []

    def command(_interpreter: str, _found: object) -> tuple[str, ...]:
        tries.append(1)
        return ("/bin/echo", GOOD)

    monkeypatch.setattr(probe, "command", command)
    confiner = Confiner(runner, NOTHING_GUARDED, program="")
    before = confiner.known
    why = ("it is not installed where only root can change it",)
    expected = Containment(files=True, network=True, signals=True, no_bubblewrap=why)
    assert tuple(await asyncio.gather(confiner.state(), confiner.state())) == (expected, expected)
    assert before is None
    assert (await confiner.state(), confiner.known, await confiner.ready(), len(tries)) == (expected, expected, True, 1)


async def test_a_busy_host_is_asked_again(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe that was stopped by its time limit has proved nothing for ever."""
    commands = [("/bin/sleep", "60"), ("/bin/echo", GOOD)]
    monkeypatch.setattr(probe, "SECONDS", 0.1)
    monkeypatch.setattr(probe, "command", lambda _interpreter, _found: commands.pop(0))
    confiner = Confiner(runner, NOTHING_GUARDED, program="")
    assert not await confiner.ready()
    monkeypatch.setattr(probe, "SECONDS", 10.0)
    assert await confiner.ready()


async def test_closing_gives_up_a_probe(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for an answer that nobody needs any more."""
    monkeypatch.setattr(probe, "command", lambda _interpreter, _found: ("/bin/sleep", "60"))
    confiner = Confiner(runner, NOTHING_GUARDED)
    task = confiner.begin()
    await confiner.close()
    assert (task.cancelled(), confiner.known) == (True, None)


async def test_a_stopped_call_leaves_no_directory(runner: Runner) -> None:
    """Whatever it had in it."""
    children = RunnerChildren(runner, Confiner(runner, NOTHING_GUARDED))
    told: asyncio.Queue[bytes] = asyncio.Queue()
    request = ChildRequest(
        "c", ("bash", "-c", 'touch "$TMPDIR/x"; echo "$TMPDIR"; sleep 60'), "/", PATH, 30.0, profile="contained"
    )
    running = asyncio.ensure_future(children.run(request, told.put_nowait))
    private = (await told.get()).decode().strip()
    assert await children.stop("c")
    end = await running
    assert end.status is ChildStatus.STOPPED
    assert not await asyncio.to_thread(_exists, private)


async def test_without_a_confiner_nothing_is_contained(runner: Runner) -> None:
    """The profile is refused and never weakened."""
    end = await RunnerChildren(runner).run(
        ChildRequest("c", ("true",), "/", PATH, profile="contained", grants=Grants())
    )
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, "this host has no containment profile contained")


def test_every_part_that_is_asked_for_is_known_to_the_supervisor() -> None:
    """A name that one side mistypes would stop every contained command."""
    assert {part.name for part in parts_for(Grants(), (), "/tmp", NOTHING_GUARDED)} <= set(parts.PARTS)


def _exists(path: str) -> bool:
    return Path(path).exists()


def _mark(parent: Path, name: str) -> Path:
    directory = parent / f"mtclaw-call-{name}"
    (directory / "below").mkdir(parents=True)
    (directory / "below" / "x").write_text("left")
    return directory


async def test_what_a_killed_process_left_is_swept(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What somebody still holds stays, and so does what only looks like it; a dead holder holds nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, foreign, target = _mark(tmp_path, "dead"), _mark(tmp_path, "foreign"), _mark(tmp_path, "target")
    target = target.rename(tmp_path / "elsewhere")
    (tmp_path / "mtclaw-call-link").symlink_to(target)
    (tmp_path / "mtclaw-call-file").write_text("a file")
    (dead / "below").chmod(0o500)
    if os.geteuid() == 0:
        os.chown(foreign, 65534, 65534)
    else:
        foreign = foreign.rename(tmp_path / "not-ours")
    source = (
        "import fcntl, os, sys, time\n"
        "held = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(held, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    )
    held = _mark(tmp_path, "held")
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", source, str(held), stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    confiner = Confiner(runner, NOTHING_GUARDED)
    wanted = SpawnRequest("c", ("/bin/true",), {}, "/", 5.0, 100)
    async with confiner.around(wanted, Grants()) as request:
        assert sweep_private_directories() == 1
        assert _exists(request.env["TMPDIR"])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"elsewhere", "mtclaw-call-link", "mtclaw-call-file", "mtclaw-call-held", foreign.name}
    assert (target / "below" / "x").read_text() == "left"
    holder.kill()
    await holder.wait()
    assert sweep_private_directories(str(tmp_path)) == 1
    assert not _exists(str(held))


async def test_a_directory_that_is_swept_at_once_is_made_anew(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another process may sweep between its making and its lock; after some tries the call is refused."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answers = iter([False, True, *[False] * 8])
    monkeypatch.setattr("mtbot.processes.confiner._lock", lambda _held: next(answers))
    children = RunnerChildren(runner, Confiner(runner, NOTHING_GUARDED))
    request = ChildRequest("c", ("/bin/true",), "/", PATH, profile="contained")
    ends = [await children.run(request), await children.run(request)]
    assert ends[0].message != ends[1].message
    assert ends[1].status is ChildStatus.NOT_STARTED
    assert ends[1].message.startswith("it could not be given a directory of its own: ")
    assert len(list(tmp_path.iterdir())) == 9

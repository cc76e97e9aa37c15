"""A command in a box of bubblewrap ends like any other: at its time-out, when it is stopped, with all that it started."""

import asyncio
import shlex
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mtbot.domain.process import ChildEnd, ChildRequest, ChildStatus, Grants
from mtbot.processes.children import RunnerChildren
from mtbot.processes.confiner import Confiner
from mtbot.processes.containment import Guard
from mtbot.processes.runner import Runner

from .scenes import PATH, Heard
from .test_endings import CHURN

TREES = {
    "ignores TERM": "trap '' TERM; while :; do sleep 1; done",
    "a session of its own": "setsid sleep 600 & sleep 600",
    "a double fork": "(setsid sh -c 'sleep 600 & sleep 600' &) ; sleep 600",
    "nohup": "nohup sleep 600 >/dev/null 2>&1 & sleep 600",
    "forks without end": f"exec /usr/bin/python3 -I -S -c {shlex.quote(CHURN)}",
    "kills its leader": "(trap '' TERM; sleep 600) & kill -9 $$; sleep 600",
}


class Boxes:
    """Runs scripts in boxes."""

    def __init__(self, runner: Runner, confiner: Confiner, workspace: Path) -> None:
        self.children = RunnerChildren(runner, confiner)
        self.workspace = workspace

    def request(self, script: str, seconds: float = 20.0) -> ChildRequest:
        """One call, whose processes carry a mark that nothing else has."""
        work = str(self.workspace)
        grants = Grants(write=(work,), guarded=work)
        name = f"c-{uuid.uuid4().hex}"
        return ChildRequest(name, ("bash", "-c", script), work, PATH, seconds, profile="contained", grants=grants)

    async def run(self, request: ChildRequest, heard: Heard | None = None) -> ChildEnd:
        """Its end, after which nothing of it is left on this machine."""
        end = await self.children.run(request, heard)
        assert end.held == ("files", "network", "signals", "bubblewrap")
        assert await asyncio.to_thread(_carriers, request.id) == []
        return end


def _carriers(name: str) -> list[str]:
    """Processes that carry the mark of a call."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if name.encode() in (place / "environ").read_bytes():
                found.append(place.name)
        except OSError:
            continue
    return found


@pytest.fixture
async def boxes(runner: Runner, tmp_path: Path) -> AsyncIterator[Boxes]:
    """Boxes around a workspace."""
    confiner = Confiner(runner, Guard(lambda _path: False, lambda _path: False))
    if not (await confiner.state()).bubblewrap:
        pytest.skip("needs: bubblewrap")
    yield Boxes(runner, confiner, tmp_path)
    await confiner.close()


@pytest.mark.parametrize("tree", TREES)
async def test_a_time_out_leaves_nothing(boxes: Boxes, tree: str) -> None:
    """Whatever it forked, and however it tried to get away."""
    end = await boxes.run(boxes.request(TREES[tree], 0.5))
    assert end.survivors == ()
    assert end.status in (ChildStatus.TIMED_OUT, ChildStatus.SIGNALED)


async def test_a_stop_leaves_nothing(boxes: Boxes) -> None:
    """At any moment."""
    heard = Heard()
    request = boxes.request("(setsid sleep 600 &); echo up; sleep 600")
    running = asyncio.ensure_future(boxes.run(request, heard))
    await heard.line()
    assert await boxes.children.stop(request.id)
    assert (await running).status is ChildStatus.STOPPED


async def test_it_may_clean_up_before_it_is_killed(boxes: Boxes) -> None:
    """The house around it stands until it has."""
    script = "trap 'echo cleaned > left; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    end = await boxes.run(boxes.request(script, 0.7))
    assert end.status is ChildStatus.TIMED_OUT
    assert (boxes.workspace / "left").read_text() == "cleaned\n"


async def test_what_it_leaves_in_the_background_is_told_and_ended(boxes: Boxes) -> None:
    """And a call that leaves nothing is not held up."""
    end = await boxes.run(boxes.request("(setsid sleep 600 &) ; exit 3"))
    assert (end.status, end.exit_code, end.background_left) == (ChildStatus.EXITED, 3, True)
    end = await boxes.run(boxes.request("exit 4"))
    assert (end.exit_code, end.background_left) == (4, False)


async def test_one_box_ends_and_another_goes_on(boxes: Boxes) -> None:
    """They share nothing but the workspace."""
    heard = Heard()
    lasting = asyncio.ensure_future(
        boxes.run(boxes.request("echo up; while [ ! -e go ]; do sleep 0.02; done; echo went"), heard)
    )
    await heard.line()
    await boxes.run(boxes.request("(setsid sleep 600 &); kill -9 -1; sleep 600", 0.5))
    (boxes.workspace / "go").touch()
    end = await lasting
    assert (end.status, end.output) == (ChildStatus.EXITED, "up\nwent\n")


async def test_a_program_that_is_not_there_is_said_and_leaves_nothing(boxes: Boxes) -> None:
    """As without a box; the next one is not harmed."""
    request = boxes.request("true")
    end = await boxes.children.run(
        ChildRequest("c", ("nothing-of-that-name",), request.cwd, PATH, profile="contained", grants=request.grants)
    )
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, "program not found: nothing-of-that-name")
    gone = str(boxes.workspace / "gone")
    end = await boxes.children.run(ChildRequest("c", ("true",), gone, PATH, profile="contained", grants=request.grants))
    assert (end.status, end.message) == (ChildStatus.NOT_STARTED, f"working directory does not exist: {gone}")
    assert (await boxes.run(request)).exit_code == 0


async def test_input_and_a_long_output_pass(boxes: Boxes) -> None:
    """Byte for byte, and no descriptor of the house is among those of the command."""
    request = boxes.request("cat; ls /proc/self/fd | tr '\\n' ' '")
    end = await boxes.children.run(
        ChildRequest(
            "c", request.argv, request.cwd, PATH, profile="contained", grants=request.grants, stdin=b"in" * 9000
        )
    )
    assert end.output == "in" * 9000 + "0 1 2 3 "


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "MOST_CURTAINS"])
async def test_a_workspace_that_cannot_be_closed_runs_nothing(
    boxes: Boxes, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """A command could have filled it so that a secret is overlooked."""
    for number in range(9):
        (boxes.workspace / str(number)).mkdir()
        (boxes.workspace / str(number) / ".env").touch()
    assert (await boxes.run(boxes.request("true"))).exit_code == 0
    monkeypatch.setattr(f"mtbot.processes.bubblewrap.{limit}", 5)
    end = await boxes.children.run(boxes.request("touch ran"))
    assert end.status is ChildStatus.NOT_STARTED
    assert end.message.startswith("the workspace holds more than 5 files ")
    assert end.message.endswith("; move some of it out, or have the rule say containment: host")
    assert not (boxes.workspace / "ran").exists()


async def test_a_supervisor_serves_with_and_without_a_box(boxes: Boxes) -> None:
    """It enters none itself."""
    mounts = str(Path("/proc/self/ns/mnt").readlink())
    for _ in range(3):
        inside = await boxes.run(boxes.request("readlink /proc/self/ns/mnt"))
        outside = await boxes.children.run(ChildRequest("c", ("readlink", "/proc/self/ns/mnt"), "/", PATH))
        assert outside.output.strip() == mounts != inside.output.strip()

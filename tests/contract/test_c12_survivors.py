"""C12: however a command or its gateway ends, nothing that the command started is alive five seconds later."""

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import Step, call, say
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import Way, on_every_surface

SECONDS = 5.0
START_SECONDS = 30.0
FAMILY = """\
sleep 600 &
echo $! >> pids
setsid sleep 601 &
echo $! >> pids
nohup sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 602; done' > /dev/null 2>&1 &
bash -c 'setsid bash -c "sleep 603 & echo \\$! >> pids; echo \\$\\$ >> pids; wait" & echo $! >> pids' &
echo $$ >> pids
sleep 604"""
"""A grandchild, one in a session of its own, one that ignores signals, a double fork, and the shell itself."""
MEMBERS = 7
RULE = "[{argv: [bash, family.sh], containment: host, why: test}]"
CHATS = {"private": CHIEF.id, "group": GROUP}
VERBS = {"terminal": ("prompt", "start them", "--new"), "cron": ("cron", "run", "nightly", "--ephemeral")}
STEPS: tuple[Step, ...] = (call("exec", {"command": "bash family.sh"}), say("Through."))


class Watch:
    """Processes held from a moment at which they live, so that their end is an event."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._stack = ExitStack()
        self._held = {}
        for pid in pids:
            try:
                self._held[os.pidfd_open(pid)] = pid
            except ProcessLookupError:  # a shell that only started the next one
                continue
        for held in self._held:
            self._stack.callback(os.close, held)

    @property
    def count(self) -> int:
        """How many were alive."""
        return len(self._held)

    async def left(self) -> list[int]:
        """Those that are still alive after five seconds."""
        loop = asyncio.get_running_loop()
        deadline, alive = loop.time() + SECONDS, set(self._held)
        while alive and (rest := deadline - loop.time()) > 0:
            ready, _, _ = await asyncio.to_thread(select.select, list(alive), [], [], rest)
            alive -= set(ready)
        left = [self._held[held] for held in alive]
        self._stack.close()
        return left


def prepare(directory: Path) -> Path:
    """The script of the family, and the pipe into which each member writes its number."""
    workspace = directory / "workspace"
    workspace.mkdir()
    (workspace / "family.sh").write_text(FAMILY)
    os.mkfifo(workspace / "pids")
    return workspace


async def family(workspace: Path) -> Watch:
    """Wait until every member has said who it is."""
    watch = Watch(await asyncio.to_thread(_numbers, workspace / "pids"))
    assert watch.count >= MEMBERS - 1
    return watch


def _numbers(pipe: Path) -> list[int]:
    data = b""
    # open for writing too, so that a moment without a writer is no end
    held = os.open(pipe, os.O_RDWR)
    try:
        while data.count(b"\n") < MEMBERS:
            if not select.select([held], [], [], START_SECONDS)[0]:
                raise TimeoutError(f"only these have begun: {data!r}")
            data += os.read(held, 4096)
    finally:
        os.close(held)
    return [int(word) for word in data.split()]


async def speak(stage: Stage, chat: int) -> None:
    """Have the family asked for in a chat."""
    mention = "" if chat == CHIEF.id else f"@{stage.telegram.bot().account.person.username} "
    await stage.telegram.say(CHIEF, None if chat == CHIEF.id else chat, f"{mention}start them")


@asynccontextmanager
async def at_work(stage: Stage, workspace: Path, place: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Watch]]:
    """The process that runs the family for ``place``, and the family: a gateway, or a verb of the command line."""
    if place in VERBS:
        process = await stage.spawn(*VERBS[place])
        try:
            yield process, await family(workspace)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
        return
    async with stage.gateway_process() as gateway:
        await speak(stage, CHATS[place])
        yield gateway, await family(workspace)


@pytest.mark.parametrize("place", ["private", "group", "terminal", "cron"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
async def test_nothing_outlives_what_ran_it(tmp_path: Path, number: signal.Signals, place: str) -> None:
    """Ended by a service manager, or killed with nothing left to say; on record is how it ended."""
    workspace = prepare(tmp_path)
    async with open_stage(tmp_path, STEPS, Setting(allow=RULE), start=False) as stage:
        async with at_work(stage, workspace, place) as (process, watch):
            process.send_signal(number)
            assert await watch.left() == []
            async with asyncio.timeout(30):
                assert await process.wait() == (-number if number == signal.SIGKILL else 128 + number)
        await stage.start()
        ends = [e.draft.kind for e in await stage.events() if e.draft.kind in (EventKind.FAILED, EventKind.INTERRUPTED)]
        assert ends == [EventKind.INTERRUPTED if number == signal.SIGKILL else EventKind.FAILED]


async def test_nothing_outlives_the_gateway_after_a_persons_yes(tmp_path: Path) -> None:
    """What a button started is ended like what a rule started."""
    workspace = prepare(tmp_path)
    async with open_stage(tmp_path, STEPS, start=False) as stage, stage.gateway_process() as gateway:
        await speak(stage, CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        watch = await family(workspace)
        gateway.kill()
        assert await watch.left() == []


@pytest.mark.parametrize("place", ["private", "group"])
async def test_nothing_outlives_a_stop(tmp_path: Path, place: str) -> None:
    """/stop ends the whole family."""
    workspace = prepare(tmp_path)
    async with open_stage(tmp_path, STEPS, Setting(allow=RULE)) as stage:
        await speak(stage, CHATS[place])
        watch = await family(workspace)
        await stage.telegram.say(CHIEF, None if place == "private" else GROUP, "/stop")
        assert await watch.left() == []


@on_every_surface
async def test_nothing_outlives_a_time_out(tmp_path: Path, way: Way) -> None:
    """On every way in: the time is over, and so are they."""
    workspace = prepare(tmp_path)
    setting = Setting(allow=RULE)
    async with open_stage(tmp_path, STEPS, setting, start=False) as stage:
        stage.config.write_text(stage.config.read_text().replace("timeout: 20s\n", "timeout: 3s\n"))
        await stage.start()
        turn = asyncio.create_task(way.turn(stage, "Through."))
        watch = await family(workspace)
        await stage.model.wait_for(lambda model: len(model.requests) == 2, 30)
        assert "status: timed out" in stage.model.requests[-1].last_tool_result
        assert await watch.left() == []
        await turn

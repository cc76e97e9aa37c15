"""One exec call against a gateway that may die at any moment, and what must be true afterwards whatever happened."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtbot.bootstrap.offline import load_all, look
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Rule, Rulebook, call, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Message
from mtbot.storage.trail import EventFilter
from tests.contract.stage import CHIEF, Setting, Stage

PROJECT = Path(__file__).parents[2]
COMMAND = "echo ran >> ran.log"
RULES = Rulebook(
    (
        Rule("^do it", (call("exec", {"command": COMMAND}), say("It is done."))),
        Rule("^still there", (say("I am here."),)),
    ),
    say("Hm."),
)


@dataclass(slots=True)
class Scene:
    """The outside world, which survives every crash, and the gateway of the moment."""

    stage: Stage
    process: Process | None = None

    @property
    def telegram(self) -> TelegramSimulator:
        """Telegram."""
        return self.stage.telegram

    async def start(self, point: str = "") -> None:
        """Start a gateway; with a point, one that dies there."""
        polls = len(self.telegram.calls("getUpdates"))
        program = ["-m", "tests.crash.gateway", str(self.stage.config), point]
        if not point:
            program = ["-m", "mtbot.cli.main", "--config", str(self.stage.config), "gateway"]
        environment = {"HOME": str(self.stage.directory), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(PROJECT)}
        environment |= {name: os.environ[name] for name in ("COVERAGE_PROCESS_START",) if name in os.environ}
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, *program, cwd=PROJECT, env=environment, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
        process = self.process
        await self._until(lambda: len(self.telegram.calls("getUpdates")) > polls or process.returncode is not None)

    async def kill(self) -> None:
        """SIGKILL, unless it is dead already."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def died(self, seconds: float) -> bool:
        """Whether the gateway dies within that time."""
        assert self.process is not None
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            return False
        return True

    async def stop(self) -> int:
        """End it as a service manager would."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        return await self.process.wait()

    async def _until(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait for that, or for the end of the gateway."""
        async with asyncio.timeout(seconds):
            while not done():
                assert self.process is not None
                waiting = asyncio.ensure_future(self.process.wait())
                changed = asyncio.ensure_future(self.telegram.wait_for(lambda _: done(), seconds))
                await asyncio.wait([waiting, changed], return_when=asyncio.FIRST_COMPLETED)
                for one in (waiting, changed):
                    one.cancel()
                await asyncio.gather(waiting, changed, return_exceptions=True)
                if self.process.returncode is not None:
                    return

    def texts(self) -> list[str]:
        """What the bot shows in the chat."""
        return [message.text for message in self.telegram.chat(CHIEF.id) if message.sender.is_bot]

    def question(self) -> Message | None:
        """A question with live buttons."""
        asked = [m for m in self.telegram.chat(CHIEF.id) if m.sender.is_bot and "✅ Approve once" in m.labels]
        return asked[-1] if asked else None

    async def press_if_asked(self) -> None:
        """Approve, as a person would who sees the question; a press that nobody answers is let go."""
        asked = self.question()
        if asked is not None:
            with contextlib.suppress(TimeoutError):
                query = await self.telegram.tap(CHIEF, "✅ Approve once", CHIEF.id)
                await self.telegram.answer(query, 2)

    async def play(self) -> None:
        """Say it, approve it, wait for the end; ends early when the gateway dies."""
        await self.telegram.say(CHIEF, None, "do it")
        await self._until(lambda: self.question() is not None)
        await self.press_if_asked()
        await self._until(lambda: "It is done." in self.texts())

    async def settle(self) -> None:
        """With a sound gateway: a person presses what is still open; then the session must answer."""
        await self._until(lambda: self._told() or self.question() is not None, 15)
        if not self._told():
            await self.press_if_asked()
            await self._until(self._told, 15)
        await self.telegram.say(CHIEF, None, "still there?")
        await self._until(lambda: "I am here." in self.texts(), 20)

    def _told(self) -> bool:
        """Whether the chat has heard how the call came out."""
        ends = ("It is done.", "Cut off", "I was cut off", "I was shut down")
        return any(end in text for text in self.texts() for end in ends)

    async def events(self) -> Sequence[AuditEvent]:
        """The record, oldest first."""
        office = await look(load_all(str(self.stage.config), environ={"HOME": str(self.stage.directory)}))
        try:
            report = await office.stores.trail.verify()
            assert report.whole, f"the chain is broken: {report.fault}"
            return tuple(reversed(await office.stores.trail.page(EventFilter(), limit=1000)))
        finally:
            await office.close()

    async def check(self) -> None:
        """At most one run, no run without its record, every start with an end, a whole chain."""
        log = self.stage.workspace / "ran.log"
        runs = len(log.read_text().splitlines()) if log.exists() else 0
        events = await self.events()
        started = [event for event in events if event.draft.kind is EventKind.STARTED]
        ended = {
            event.draft.call
            for event in events
            if event.draft.kind in (EventKind.FINISHED, EventKind.FAILED, EventKind.INTERRUPTED)
        }
        assert runs <= 1, f"it ran {runs} times"
        assert runs <= len(started), "it ran and the record does not say so"
        assert len(started) <= 1, "it was started twice"
        assert all(event.draft.call in ended for event in started), "a start has no end on record"


@contextlib.asynccontextmanager
async def open_scene(directory: Path) -> AsyncIterator[Scene]:
    """A scene; its gateway is gone at the end."""
    async with TelegramSimulator() as telegram, ModelSimulator(RULES) as model:
        stage = Stage(directory, telegram, model, Setting())
        stage.prepare()
        telegram.open(CHIEF)
        scene = Scene(stage)
        try:
            yield scene
        finally:
            if scene.process is not None and scene.process.returncode is None:
                await scene.kill()

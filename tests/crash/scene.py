"""One exec call against a gateway that may die at any moment, and what must be true afterwards whatever happened."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtbot.bootstrap.offline import load_all, look
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Rule, Rulebook, call, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Message
from mtbot.storage.events import EventFilter
from tests.contract.stage import CHIEF, Setting, Stage

PROJECT = Path(__file__).parents[2]
COMMAND = "echo ran >> ran.log"
SECONDS = 120.0
"""Longer than anything here takes; only a fault meets it."""

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
    wrapper: tuple[str, ...] = ()

    @property
    def telegram(self) -> TelegramSimulator:
        """Telegram."""
        return self.stage.telegram

    async def start(self, point: str = "") -> None:
        """Start a gateway and wait until it polls; with a point, one that dies there, perhaps before it polls."""
        program = ["-m", "tests.crash.gateway", str(self.stage.config), point]
        if not point:
            program = ["-m", "mtbot.cli.main", "--config", str(self.stage.config), "gateway"]
        environment = {"HOME": str(self.stage.directory), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(PROJECT)}
        environment |= {name: os.environ[name] for name in ("COVERAGE_PROCESS_START",) if name in os.environ}
        with (self.stage.directory / "gateway.err").open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *self.wrapper,
                sys.executable,
                *program,
                cwd=PROJECT,
                env=environment,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=errors,
            )
        polled = await self.until(lambda: self.telegram.bot().queue.is_polled)
        assert polled or point, self.end()

    def end(self) -> str:
        """How the gateway ended that should not have, in its own words."""
        assert self.process is not None
        said = (self.stage.directory / "gateway.err").read_text(errors="replace")[-2000:]
        return f"the gateway ended with status {self.process.returncode}: {said or 'it said nothing'}"

    async def kill(self) -> None:
        """SIGKILL, unless it is dead already."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(self._pid(), signal.SIGKILL)
        await self.gone()

    async def gone(self) -> int:
        """Wait for the end of the gateway, also of its last poll; its exit status."""
        assert self.process is not None
        async with asyncio.timeout(SECONDS):
            status = await self.process.wait()
        await self.telegram.wait_for(lambda sim: not sim.bot().queue.is_polled, SECONDS)
        return status

    async def stop(self) -> int:
        """End it as a service manager would."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid(), signal.SIGTERM)
        return await self.gone()

    def _pid(self) -> int:
        """The gateway itself, also under a tracer, which keeps such signals to itself."""
        assert self.process is not None
        own = self.process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split() if self.wrapper else []
        return int(children[0]) if children else own

    async def until(self, done: Callable[[], bool]) -> bool:
        """Wait for that; False if the gateway ended first."""
        await self._unless_it_ends(self.telegram.wait_for(lambda _: done(), SECONDS))
        return done()

    async def _unless_it_ends(self, work: Coroutine[None, None, object]) -> None:
        """Await ``work``, or let it go when the gateway ends."""
        assert self.process is not None
        ended, working = asyncio.create_task(self.process.wait()), asyncio.create_task(work)
        try:
            await asyncio.wait([ended, working], return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            ended.cancel()
            working.cancel()
            await asyncio.gather(ended, working, return_exceptions=True)

    def texts(self) -> list[str]:
        """What the bot shows in the chat."""
        return [message.text for message in self.telegram.chat(CHIEF.id) if message.sender.is_bot]

    def question(self) -> Message | None:
        """A question with live buttons."""
        asked = [m for m in self.telegram.chat(CHIEF.id) if m.sender.is_bot and "✅ Approve once" in m.labels]
        return asked[-1] if asked else None

    def asked_in_words(self) -> str:
        """The command that answers a question of which nobody knows whether its buttons arrived; empty for none."""
        found = [match[0] for text in self.texts() if (match := re.search("/approve [A-Z0-9]+", text))]
        return found[-1] if found else ""

    def asked(self) -> bool:
        """Whether a person can see a question."""
        return self.question() is not None or bool(self.asked_in_words())

    async def answer(self) -> None:
        """Approve, as a person would who sees the question; a press that nobody answers is let go."""
        if self.question() is not None:
            query = await self.telegram.tap(CHIEF, "✅ Approve once", CHIEF.id)
            await self._unless_it_ends(self.telegram.answer(query, SECONDS))
        else:
            await self.telegram.say(CHIEF, None, self.asked_in_words())

    async def play(self) -> None:
        """Say it, approve it, wait for the end; ends early when the gateway dies."""
        await self.telegram.say(CHIEF, None, "do it")
        if await self.until(lambda: self.question() is not None):
            await self.answer()
            await self.until(lambda: "It is done." in self.texts())

    async def settle(self) -> None:
        """With a sound gateway: a person presses what is still open; then the session must answer."""
        assert await self.until(lambda: self._told() or self.asked()), self.end()
        if not self._told():
            await self.answer()
            assert await self.until(self._told), self.end()
        await self.telegram.say(CHIEF, None, "still there?")
        assert await self.until(lambda: "I am here." in self.texts()), self.end()

    def _told(self) -> bool:
        """Whether the chat has heard how the call came out."""
        ends = ("It is done.", "Cut off", "I was cut off", "I was shut down", "I can't tell whether my last answer")
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

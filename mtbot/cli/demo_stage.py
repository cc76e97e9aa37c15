"""The demo's stage: a real gateway over a temporary directory, wired to the simulators."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mtbot.bootstrap.engine import Engine, build_engine
from mtbot.bootstrap.offline import load_all, work
from mtbot.bootstrap.online import Running, build_gateway
from mtbot.bootstrap.system import SystemClock
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import SpawnerProcess
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Rule, Rulebook, call, say
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Person

CHIEF = Person(1001, "Chief")

_CONFIG = """\
version: 1
people: {{chief: 1001}}
owner: chief
agent: {{model: demo-model, workspace: {workspace}}}
openai: {{base_url: "{model}", api_key_env: ""}}
channels:
  telegram:
    token_file: token
    api_base_url: "{telegram}"
    allow_from: [chief]
tools:
  web_fetch: {{enabled: false}}
  exec:
    allow_packs: [readonly]
    allow:
      - {{argv: [touch, "*"], why: the demo makes a file}}
cron:
  enabled: true
  timezone: UTC
  jobs:
    - name: nightly-check
      schedule: "0 7 * * *"
      prompt: nightly check
      enabled: true
      deliver_to: {{channel: telegram, chat_id: chief}}
storage: {{dsn: state/mtclaw.db}}
log: {{level: error, file: log.txt}}
"""

RULES = (
    Rule("^please clean up", (call("exec", {"command": "rm -rf old-reports"}), say("I did not delete it: {output}"))),
    Rule("^what is here", (call("exec", {"command": "ls -l"}), say("This is in the workspace:\n\n```\n{output}\n```"))),
    Rule(
        "^write a note",
        (call("exec", {"command": "printf 'remember the milk\\n' > note.txt && cat note.txt"}), say("Done. {output}")),
    ),
    Rule("^remove the note", (call("exec", {"command": "rm note.txt"}), say("I left it. {output}"))),
    Rule("^send the report", (call("exec", {"command": "mail -s report boss@example.org"}), say("Not sent. {output}"))),
    Rule(
        "^nightly check", (call("exec", {"command": "certbot renew --dry-run"}), say("The nightly check is through."))
    ),
    Rule("^run (.+)$", (call("exec", {"command": "{1}"}), say("```\n{output}\n```"))),
)

FALLBACK = say(
    "I am a script, not a model. Try: what is here · please clean up · write a note · remove the note · run uname -a"
)


class DemoClock(SystemClock):
    """The real time, plus what the demo has skipped."""

    skipped_ms = 0

    def now_ms(self) -> int:
        """Unix time in milliseconds, moved on."""
        return super().now_ms() + self.skipped_ms


@dataclass(frozen=True, slots=True)
class Scene:
    """The running demo."""

    engine: Engine
    running: Running
    telegram: TelegramSimulator
    clock: DemoClock
    workspace: Path


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo plays: an empty directory, and the spawner for its commands."""

    directory: Path
    spawner: SpawnerProcess

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Scene]:
        """Start everything; stop it again at the end."""
        async with TelegramSimulator() as telegram, ModelSimulator(Rulebook(RULES, FALLBACK)) as model:
            engine, clock = await self._engine(telegram, model)
            running = build_gateway(engine)
            serving = asyncio.create_task(running.run())
            telegram.open(CHIEF)
            try:
                await telegram.wait_for(lambda sim: bool(sim.calls("getUpdates")) or sim.bot().queue.is_polled, 20)
                yield Scene(engine, running, telegram, clock, self._workspace)
            finally:
                running.stop()
                await serving

    @property
    def _workspace(self) -> Path:
        return self.directory / "workspace"

    async def _engine(self, telegram: TelegramSimulator, model: ModelSimulator) -> tuple[Engine, DemoClock]:
        self._workspace.mkdir()
        (self._workspace / "old-reports").mkdir()
        (self._workspace / "old-reports" / "2019.txt").write_text("old\n")
        (self.directory / "state").mkdir(mode=0o700)
        token = self.directory / "token"
        token.touch(mode=0o600)
        token.write_text(telegram.token())
        file = self.directory / "config.yaml"
        file.write_text(_CONFIG.format(workspace=self._workspace, telegram=telegram.base_url, model=model.base_url))
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MTCLAW")}
        loaded = load_all(str(file), environ=environ)
        clock = DemoClock(loaded.settings.zone)
        loaded = replace(loaded, clock=clock)
        return build_engine(await work(loaded), Runner(self.spawner)), clock

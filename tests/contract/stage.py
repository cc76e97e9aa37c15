"""A whole mtclaw over loopback: real gateway, database, shell and HTTP; Telegram and the model are played.

A test writes what the model does as steps, says things as people, and looks at the chat, the record and the disk.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtbot.bootstrap.engine import Engine, build_engine
from mtbot.bootstrap.offline import load_all, work
from mtbot.bootstrap.online import Running, build_gateway
from mtbot.bootstrap.system import SystemClock
from mtbot.cli.trails import Line, line_of
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Step
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Person
from mtbot.storage.trail import EventFilter

CHIEF = Person(1001, "Chief")
DEPLOY = Person(1002, "Deploy")
REVIEW = Person(1003, "Review")
STRANGER = Person(6666, "Stranger")
GROUP = -1001112223334

CONFIG = """\
version: 1
people: {{chief: 1001, deploy: 1002, review: 1003}}
owner: chief
agent: {{model: test-model, workspace: {workspace}}}
openai: {{base_url: "{model}", api_key_file: secrets/model, timeout: 10s, max_retries: 1}}
channels:
  telegram:
    token_file: secrets/telegram
    api_base_url: "{telegram}"
    allow_from: [chief, deploy, review]
    approvers: {approvers}
    groups: {{{group}: {{require_mention: true}}}}
tools:
  exec:
    mode: {mode}
    timeout: 20s
    allow: {allow}
    {exec_extra}
  filesystem: {{roots: [{workspace}]}}
  {tools_extra}
cron:
  enabled: true
  timezone: UTC
  jobs:
    - {{name: nightly, schedule: "0 7 * * *", prompt: nightly check, enabled: true,
       deliver_to: {{channel: telegram, chat_id: chief}}}}
storage: {{dsn: state/mtclaw.db}}
log: {{level: error, file: state/log.txt}}
{extra}
"""


class StageClock(SystemClock):
    """The real time plus what a test skipped."""

    skipped_ms = 0

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return super().now_ms() + self.skipped_ms


@dataclass(frozen=True, slots=True)
class Setting:
    """What differs between tests' configurations; every text is YAML."""

    mode: str = "approval"
    allow: str = "[]"
    approvers: str = "any"
    exec_extra: str = ""
    tools_extra: str = ""
    extra: str = ""


@dataclass(slots=True)
class Stage:
    """A running mtclaw and everything around it."""

    directory: Path
    telegram: TelegramSimulator
    model: ModelSimulator
    setting: Setting
    clock: StageClock = field(init=False)
    engine: Engine = field(init=False)
    running: Running = field(init=False)
    serving: "asyncio.Task[int] | None" = None

    @property
    def workspace(self) -> Path:
        """Where commands run."""
        return self.directory / "workspace"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.directory / "config.yaml"

    def prepare(self) -> None:
        """Write configuration and secrets; what is there already stays."""
        self.workspace.mkdir(exist_ok=True)
        for name in ("state", "secrets"):
            (self.directory / name).mkdir(mode=0o700, exist_ok=True)
        for name, value in (("telegram", self.telegram.token()), ("model", "sk-test-0123456789abcdef0123456789")):
            path = self.directory / "secrets" / name
            path.write_text(value)
            path.chmod(0o600)
        self.write_config()

    def write_config(self) -> None:
        """Write the configuration as ``setting`` says."""
        setting = self.setting
        self.config.write_text(
            CONFIG.format(
                workspace=self.workspace,
                model=self.model.base_url,
                telegram=self.telegram.base_url,
                group=GROUP,
                mode=setting.mode,
                allow=setting.allow,
                approvers=setting.approvers,
                exec_extra=setting.exec_extra,
                tools_extra=setting.tools_extra,
                extra=setting.extra,
            )
        )
        self.config.chmod(0o600)

    async def start(self) -> None:
        """Start the gateway and wait until it polls."""
        polls = len(self.telegram.calls("getUpdates"))
        loaded = load_all(str(self.config), environ={"HOME": str(self.directory), "PATH": "/usr/bin:/bin"})
        skipped = self.clock.skipped_ms if hasattr(self, "clock") else 0
        self.clock = StageClock(loaded.settings.zone)
        self.clock.skipped_ms = skipped
        loaded = replace(loaded, clock=self.clock)
        self.engine = build_engine(await work(loaded), Runner(start_spawner()))
        self.running = build_gateway(self.engine)
        self.serving = asyncio.create_task(self.running.run())
        serving = self.serving
        await self.telegram.wait_for(
            lambda sim: serving.done() or sim.bot().queue.is_polled or len(sim.calls("getUpdates")) > polls, 20
        )
        if serving.done():
            serving.result()

    async def stop(self) -> int:
        """Stop it as SIGTERM would; its exit status."""
        assert self.serving is not None
        self.running.stop()
        status = await self.serving
        self.serving = None
        return status

    async def restart(self) -> None:
        """Stop and start on the same state."""
        await self.stop()
        await self.start()

    async def events(self) -> tuple[AuditEvent, ...]:
        """The whole record, oldest first."""
        return tuple(reversed(await self.engine.office.stores.trail.page(EventFilter(), limit=10_000)))

    async def lines(self) -> list[Line]:
        """The record as ``approvals list`` shows it, oldest call first."""
        trail = self.engine.office.stores.trail
        proposed = list(reversed(await trail.page(EventFilter(kind=EventKind.PROPOSED), limit=1000)))
        trails = await trail.trails_of([event.draft.call for event in proposed])
        return [line_of(trails[event.draft.call], self.engine.loaded.people) for event in proposed]

    async def run_job(self, name: str = "nightly") -> None:
        """Run a job now, as by night."""
        from mtbot.bootstrap.online import jobs_of

        job = next(job for job in jobs_of(self.engine.loaded) if job.name == name)
        assert self.running.scheduler is not None
        await self.running.scheduler.run_now(job, self.clock.now_ms(), deliver=True)

    def bot_texts(self, chat: int = CHIEF.id) -> list[str]:
        """What the bot shows in a chat, oldest first."""
        return [message.text for message in self.telegram.chat(chat) if message.sender.is_bot]


@asynccontextmanager
async def open_stage(
    directory: Path, steps: Sequence[Step] = (), setting: Setting | None = None, *, start: bool = True
) -> AsyncIterator[Stage]:
    """A stage in ``directory`` whose model plays ``steps``; stopped at the end whatever happened."""
    async with TelegramSimulator() as telegram, ModelSimulator(list(steps)) as model:
        stage = Stage(directory, telegram, model, setting or Setting())
        stage.prepare()
        telegram.open(CHIEF)
        telegram.group(GROUP, "ops", members=(CHIEF, DEPLOY, REVIEW, STRANGER))
        if start:
            await stage.start()
        try:
            yield stage
        finally:
            if stage.serving is not None:
                await stage.stop()

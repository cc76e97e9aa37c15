"""A whole mtclaw over loopback: real gateway, database, shell and HTTP; Telegram and the model are played.

A test writes what the model does as steps, says things as people, and looks at the chat, the record and the disk.
"""

import asyncio
import fcntl
import os
import sys
import termios
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtbot.bootstrap.engine import Engine, build_engine
from mtbot.bootstrap.offline import load_all, work
from mtbot.bootstrap.online import Running, build_gateway, jobs_of
from mtbot.bootstrap.system import SystemClock
from mtbot.cli.trails import Line, line_of
from mtbot.domain.record import AuditEvent, EventKind
from mtbot.processes.runner import Runner
from mtbot.processes.spawning import start_spawner
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Script, Step
from mtbot.simulator.telegram import TelegramSimulator
from mtbot.simulator.values import Person
from mtbot.storage.events import EventFilter

CHIEF = Person(1001, "Chief")
DEPLOY = Person(1002, "Deploy")
REVIEW = Person(1003, "Review")
STRANGER = Person(6666, "Stranger")
GROUP = -1001112223334

HERE = Path(__file__).parents[2]

MTCLAW = (sys.executable, "-m", "mtbot.cli.main")
"""The command, as it is installed."""

CONFIG = """\
version: 1
people: {{chief: 1001, deploy: 1002, review: 1003}}
owner: chief
agent: {{model: test-model, workspace: {workspace}{agent_extra}}}
openai: {{base_url: "{model}", api_key_file: secrets/model, timeout: 10s, max_retries: 1{provider_extra}}}
channels:
  telegram:
    token_file: secrets/telegram
    api_base_url: "{telegram}"
    allow_from: [chief, deploy, review]
    approvers: {approvers}
    {telegram_extra}
    groups: {{{group}: {{require_mention: true}}}}
tools:
  exec:
    mode: {mode}
    timeout: 20s
    allow: {allow}
    {exec_extra}
  filesystem: {{roots: [{workspace}{more_roots}]{files_extra}}}
  {tools_extra}
cron:
  enabled: true
  timezone: UTC
  jobs:
    - {{name: nightly, schedule: "0 7 * * *", prompt: nightly check, enabled: true,
       deliver_to: {{channel: telegram, chat_id: {job_chat}}}{job_extra}}}
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
class Said:
    """What a command line answered."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What differs between tests' configurations; every text is YAML."""

    mode: str = "approval"
    allow: str = "[]"
    approvers: str = "any"
    exec_extra: str = ""
    tools_extra: str = ""
    agent_extra: str = ""
    telegram_extra: str = ""
    provider_extra: str = ""
    more_roots: str = ""
    files_extra: str = ""
    job_chat: str = "chief"
    job_extra: str = ""
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

    @property
    def control(self) -> Path:
        """The gateway's control socket."""
        return self.directory / "state" / "mtclaw.db.control" / "socket"

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
                agent_extra=setting.agent_extra,
                telegram_extra=setting.telegram_extra,
                provider_extra=setting.provider_extra,
                more_roots=setting.more_roots,
                files_extra=setting.files_extra,
                job_chat=setting.job_chat,
                job_extra=setting.job_extra,
                extra=setting.extra,
            )
        )
        self.config.chmod(0o600)

    async def start(self) -> None:
        """Start the gateway and wait until it polls."""
        polls = len(self.telegram.calls("getUpdates"))
        loaded = load_all(str(self.config))
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
        job = next(job for job in jobs_of(self.engine.loaded) if job.name == name)
        await self.running.scheduler.run_now(job, self.clock.now_ms(), deliver=True)

    async def prompt(self, text: str, *options: str, answers: str | None = None) -> Said:
        """Say something in a terminal of its own: the installed command as another process on the same state."""
        if answers is not None:
            options = (*options, "--answers-from-stdin")
        return await self.cli("prompt", text, *options, answers=answers)

    async def cli(self, *arguments: str, answers: str | None = None) -> Said:
        """Run a verb of the command line on the same state."""
        process = await self.spawn(*arguments)
        assert process.stdin is not None
        out, err = await process.communicate(None if answers is None else answers.encode())
        assert process.returncode is not None
        return Said(process.returncode, out.decode(), err.decode())

    async def typed(self, *arguments: str) -> Said:
        """Run a verb as somebody who sits at a terminal; its output is still read through pipes."""
        return await self.at_terminal(*MTCLAW[1:], "--config", str(self.config), *arguments)

    async def at_terminal(self, *arguments: str) -> Said:
        """Run Python with a controlling terminal."""
        ours, theirs = os.openpty()
        try:
            process = await self._start(sys.executable, *arguments, terminal=theirs)
            out, err = await process.communicate()
        finally:
            os.close(ours)
            os.close(theirs)
        assert process.returncode is not None
        return Said(process.returncode, out.decode(), err.decode())

    async def spawn(
        self, *arguments: str, umask: int = -1, program: Sequence[str] = MTCLAW
    ) -> asyncio.subprocess.Process:
        """The command as a process of its own; nobody is at its input."""
        return await self._start(*program, "--config", str(self.config), *arguments, umask=umask)

    async def _start(self, *command: str, terminal: int | None = None, umask: int = -1) -> asyncio.subprocess.Process:
        """A program in the stage's surroundings."""
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=self.directory,
            # the same variables as here, so that what was approved in one process is what another one would run
            env={**os.environ, "HOME": str(self.directory), "PYTHONPATH": str(HERE)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            umask=umask,
            start_new_session=terminal is not None,
            # nothing else can give a child a terminal that controls it
            preexec_fn=None if terminal is None else lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
        )

    @asynccontextmanager
    async def gateway_process(
        self, program: Sequence[str] = MTCLAW, *, umask: int = -1
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """A gateway as a process of its own, which polls; killed at the end if it still lives."""
        process = await self.spawn("gateway", program=program, umask=umask)
        try:
            await self.telegram.wait_for(lambda sim: sim.bot().queue.is_polled, 30)
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
            await self.telegram.wait_for(lambda sim: not sim.bot().queue.is_polled, 10)

    def bot_texts(self, chat: int = CHIEF.id) -> list[str]:
        """What the bot shows in a chat, oldest first."""
        return [message.text for message in self.telegram.chat(chat) if message.sender.is_bot]


@asynccontextmanager
async def open_stage(
    directory: Path, steps: Sequence[Step] | Script = (), setting: Setting | None = None, *, start: bool = True
) -> AsyncIterator[Stage]:
    """A stage in ``directory`` whose model plays ``steps``; stopped at the end whatever happened."""
    async with TelegramSimulator() as telegram, ModelSimulator(steps) as model:
        stage = Stage(directory, telegram, model, setting or Setting())
        stage.prepare()
        telegram.open(CHIEF)
        telegram.group(GROUP, "ops", members=(CHIEF, DEPLOY, REVIEW, STRANGER))
        # an administrator reads every message of a group, also those that are not for it
        telegram.set_member(GROUP, telegram.bot().id, "administrator")
        if start:
            await stage.start()
        try:
            yield stage
        finally:
            if stage.serving is not None:
                await stage.stop()

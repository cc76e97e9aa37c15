"""Bots that are measured beside one another: how each is set up against the simulators, and what it costs the host.

A contender is a program of its own; nothing is imported from it. The others are taken from where the caller has them
installed, each in an environment of its own.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MTCLAW = """\
version: 1
people: {{chief: {owner}}}
owner: chief
agent: {{model: test-model, workspace: {home}/workspace}}
openai: {{base_url: "{model}", api_key_file: {home}/key, max_retries: 0}}
channels: {{telegram: {{token_file: {home}/token, api_base_url: "{telegram}", allow_from: {people}}}}}
limits: {{turns_per_hour: 0, questions_per_hour: 0}}
storage: {{dsn: {home}/state/mtclaw.db}}
log: {{level: error, file: {home}/log.txt}}
"""

PATCH = """\
import telegram.ext as _ext
_init = _ext.ApplicationBuilder.__init__
def _patched(self):
    _init(self)
    self.base_url({base!r})
_ext.ApplicationBuilder.__init__ = _patched
"""
"""For a program whose configuration has no place for another Bot API server (python-telegram-bot is what it uses)."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a contender runs: its home, the simulators' addresses, the bot's token, and who may speak."""

    home: Path
    telegram: str
    model: str
    token: str
    people: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A bot: its name, and what makes its command line after writing its files."""

    name: str
    prepare: Callable[[Ground], tuple[str, ...]]
    environment: Mapping[str, str] = field(default_factory=dict)


def mtclaw(command: tuple[str, ...]) -> Contender:
    """Ours, run by ``command``."""

    def prepare(ground: Ground) -> tuple[str, ...]:
        for name, content in (
            ("token", ground.token),
            ("key", "sk-0123456789abcdef0123456789abcdef"),
            (
                "config.yaml",
                MTCLAW.format(
                    owner=ground.people[0],
                    home=ground.home,
                    model=ground.model,
                    telegram=ground.telegram,
                    people=list(ground.people),
                ),
            ),
        ):
            path = ground.home / name
            path.write_text(content)
            path.chmod(0o600)
        (ground.home / "workspace").mkdir()
        (ground.home / "state").mkdir(mode=0o700)
        return (*command, "--config", str(ground.home / "config.yaml"), "gateway")

    return Contender("mtclaw", prepare)


def nanobot(environment: Path) -> Contender:
    """nanobot-ai in that virtual environment; its configuration names no Bot API server, so it is patched in."""

    def prepare(ground: Ground) -> tuple[str, ...]:
        own = ground.home / ".nanobot"
        own.mkdir()
        people = [str(one) for one in ground.people]
        telegram = {"enabled": True, "token": ground.token, "allowFrom": people, "streaming": False}
        own.joinpath("config.json").write_text(
            json.dumps(
                {
                    "agents": {"defaults": {"model": "test-model", "provider": "custom"}},
                    "providers": {"custom": {"apiKey": "sk-test", "apiBase": ground.model}},
                    "channels": {"telegram": telegram},
                }
            )
        )
        ground.home.joinpath("sitecustomize.py").write_text(PATCH.format(base=f"{ground.telegram}/bot"))
        return (str(environment / "bin" / "nanobot"), "gateway")

    return Contender("nanobot", prepare, {"PYTHONPATH": "{home}"})


def hermes(environment: Path) -> Contender:
    """hermes-agent in that virtual environment."""

    def prepare(ground: Ground) -> tuple[str, ...]:
        own = ground.home / ".hermes"
        own.mkdir()
        own.joinpath("config.yaml").write_text(
            json.dumps(
                {
                    "model": {
                        "provider": "custom",
                        "default": "test-model",
                        "base_url": ground.model,
                        "api_key": "sk-t",
                    },
                    "platforms": {"telegram": {"enabled": True, "extra": {"base_url": f"{ground.telegram}/bot"}}},
                }
            )
        )
        people = ",".join(str(one) for one in ground.people)
        own.joinpath(".env").write_text(
            f"TELEGRAM_BOT_TOKEN={ground.token}\nTELEGRAM_ALLOWED_USERS={people}\nOPENAI_API_KEY=sk-test\n"
        )
        return (str(environment / "bin" / "hermes"), "gateway", "run")

    return Contender("hermes", prepare)


def tree_of(pid: int) -> tuple[int, ...]:
    """The process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, wave = [pid], [pid]
    while wave:
        wave = [child for one in wave for child in children.get(one, ())]
        found += wave
    return tuple(found)


def rss_mb(pid: int, *, alone: bool = False) -> float:
    """Megabytes of memory that the process has resident, and unless ``alone`` everything below it."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for one in (pid,) if alone else tree_of(pid):
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * page
        except OSError:
            continue
    return total / 1e6

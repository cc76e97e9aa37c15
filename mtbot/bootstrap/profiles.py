"""What serves an address: the compiled profile of its bot, with tools, rules, prompt and model."""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mtbot.agent.budget import Purse
from mtbot.agent.context import Persona, system_prompt
from mtbot.agent.loop import Mind
from mtbot.bootstrap.account import home_of
from mtbot.bootstrap.confinement import readable, trouble_with
from mtbot.bootstrap.offline import Loaded
from mtbot.bootstrap.outputs import outputs_of
from mtbot.bootstrap.sending import Put, post_of
from mtbot.bootstrap.system import short_host, system_name, user_name
from mtbot.bootstrap.trash import bin_of
from mtbot.config.compile import compile_rules
from mtbot.config.regular_file import NotReadable, read_regular
from mtbot.config.service import AgentSettings
from mtbot.config.settings import ModelRef, Profile
from mtbot.config.tools import JobsSettings
from mtbot.domain.errors import StorageError
from mtbot.domain.job import JobLimits
from mtbot.domain.ports import Provider, Tool, World
from mtbot.domain.process import Account, Children
from mtbot.domain.record import OutboxItem
from mtbot.domain.spending import CHARACTERS_PER_TOKEN, Ledger
from mtbot.domain.turn import Address, SurfaceName, surface
from mtbot.gate.facts import Surroundings
from mtbot.gate.gate import GateProfile
from mtbot.gateway.memory import HISTORY_BYTES
from mtbot.policy.ruleset import Mode, RuleSet
from mtbot.policy.sensitive import is_sensitive
from mtbot.processes.containment import Guard
from mtbot.tools.edit import EditFileTool
from mtbot.tools.exec import ExecSettings, ExecTool
from mtbot.tools.file_access import FileSettings
from mtbot.tools.files import ReadFileTool, WriteFileTool
from mtbot.tools.listing import ListDirTool
from mtbot.tools.search import SearchTool
from mtbot.tools.send import SendFileTool
from mtbot.tools.trash import TrashTool
from mtbot.tools.world import HostWorld

MAX_PROMPT_FILE = 262_144
_PASSED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_OF_THE_USER = ("TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "EDITOR": "false",
}


@dataclass(frozen=True, slots=True)
class Kit:
    """What profiles are built from."""

    loaded: Loaded
    children: Children
    guard: Guard
    provider: Callable[[tuple[ModelRef, ...]], Provider]
    ledger: Ledger
    contains: Callable[[], Awaitable[bool]] | None = None
    account: Account | None = None
    """Who commands run as."""


@dataclass(frozen=True, slots=True)
class BuiltProfile:
    """A profile, ready to serve."""

    settings: Profile
    rules: RuleSet
    tools: Mapping[str, Tool]
    environment: Mapping[str, str]
    prompt_files: tuple[str, ...]
    not_contained: str = ""
    """Why nothing can be contained in its workspace, whatever the host can do."""


def child_environment(
    profile: Profile, environ: Mapping[str, str], forbidden: frozenset[str], account: Account | None = None
) -> dict[str, str]:
    """The whole environment of a command: the fixed set, what the owner passes and sets; never a configured secret.

    What tells of the gateway's own user is told of ``account`` instead.
    """
    exec_settings = profile.tools.exec
    names = {*_PASSED, *exec_settings.env.passed, *(name for name in environ if name.startswith("LC_"))}
    passed = {name: environ[name] for name in sorted(names - forbidden) if name in environ}
    if account is not None:
        own = {"HOME": account.home, "USER": account.name, "LOGNAME": account.name, "SHELL": account.shell}
        runtime = f"/run/user/{account.uid}"
        own |= {"XDG_RUNTIME_DIR": runtime} if Path(runtime).is_dir() else {}
        passed = {name: value for name, value in passed.items() if name not in _OF_THE_USER} | own
    return {**passed, **_QUIET, **exec_settings.env.set, "PATH": ":".join(exec_settings.path)}


def read_prompt_files(paths: tuple[Path, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The contents of the owner's prompt files, and a warning for each that cannot be used."""
    texts, warnings = [], []
    for path in paths:
        try:
            texts.append(read_regular(path, MAX_PROMPT_FILE).content.decode("utf-8", "replace"))
        except NotReadable as error:
            warnings.append(f"agent.system_prompt_files: {path}: {error}; it is left out")
    return tuple(texts), tuple(warnings)


def _jobs_at(address: Address, settings: JobsSettings) -> JobLimits | None:
    """Jobs belong to chats of a gateway: a terminal's process ends with its turn, and nobody watches over cron's."""
    if address.surface not in (SurfaceName.PRIVATE, SurfaceName.GROUP):
        return None
    return JobLimits(settings.at_once, settings.timeout)


def _purse_of(kit: Kit) -> Purse:
    clock = kit.loaded.clock
    return Purse(kit.loaded.settings.budgets.caps, kit.ledger, lambda: clock.date(clock.now_ms()))


def _sums_at(agent: AgentSettings) -> int:
    """Bytes of a conversation from which on older turns are summed up; what is shown is bounded in any case."""
    return min(int(agent.context_tokens * agent.sum_up_at) * CHARACTERS_PER_TOKEN, HISTORY_BYTES)


async def _nowhere(_item: OutboxItem) -> None:
    raise StorageError("there is no way into a chat here")


class Profiles:
    """Every profile of the configuration, by bot. ``attended`` says whether somebody can be asked at a place now.

    ``put`` queues what tools send into chats.
    """

    def __init__(self, kit: Kit) -> None:
        self._purse = _purse_of(kit)
        self.attended: Callable[[Address], bool] = lambda address: surface(address.surface).attended
        self.put: Put = _nowhere
        self._kit = kit
        self._built, self.warnings = self._build_all(kit)
        base = self._built[None]
        self._world = HostWorld(
            home=home_of(kit.loaded.settings), path=base.settings.tools.exec.path, places=base.rules.places
        )

    def adopt(self, loaded: Loaded, guard: Guard) -> None:
        """Serve by another configuration from the next call on. ConfigError: it cannot be used, and the old one stays."""
        kit = replace(self._kit, loaded=loaded, guard=guard)
        built, warnings = self._build_all(kit)
        self._kit, self._built, self.warnings, self._purse = kit, built, warnings, _purse_of(kit)
        self._world.adopt(built[None].settings.tools.exec.path, built[None].rules.places)

    def of(self, address: Address) -> BuiltProfile:
        """The profile that serves ``address``."""
        return self._built.get(str(address.bot)) or self._built[None]

    def world(self) -> World:
        """The eyes of gate/facts. Words resolve alike in every profile; only PATH differs, and the base's is used."""
        return self._world

    def gate(self, address: Address) -> GateProfile:
        """What the gate needs of the profile."""
        built = self.of(address)
        settings = built.settings.tools.exec
        return GateProfile(
            tools=built.tools,
            rules=built.rules,
            cwd=str(settings.cwd),
            shell=settings.shell,
            timeout=settings.timeout,
            jobs=_jobs_at(address, settings.jobs),
            around=Surroundings(
                home_of(self._kit.loaded.settings),
                tuple(sorted(built.environment)),
                profile=settings.containment.profile.value,
                containment_ready=not built.not_contained,
                attended=self.attended(address),
                path=settings.path,
                account=settings.user,
            ),
        )

    def mind(self, address: Address) -> Mind:
        """What the agent loop needs of the profile."""
        built = self.of(address)
        agent = built.settings.agent
        refs = self._kit.loaded.settings.model_refs(agent)
        persona = Persona(
            name=agent.name,
            host=short_host(),
            system=system_name(),
            user=self._kit.loaded.settings.base.tools.exec.user or user_name(),
            workspace=str(agent.workspace),
            mode=built.rules.mode.value,
            zone=str(self._kit.loaded.settings.zone),
            attended=self.attended(address),
            asks_later=self._kit.loaded.people.asks_later(address),
            files=built.prompt_files,
        )
        clock = self._kit.loaded.clock
        return Mind(
            provider=self._kit.provider(refs),
            model=refs[0].model,
            temperature=agent.temperature,
            tools=tuple(tool.spec for tool in built.tools.values()),
            system=system_prompt(persona, tuple(built.tools), clock.clock_text(clock.now_ms())),
            max_steps=agent.max_iterations,
            turns=agent.max_history_turns,
            purse=self._purse,
            sums_at=_sums_at(agent),
        )

    def _build_all(self, kit: Kit) -> tuple[dict[str | None, BuiltProfile], tuple[str, ...]]:
        """Every profile, by bot, and what a person should hear of them."""
        settings, warnings = kit.loaded.settings, list[str]()
        bots = (None, *settings.channels.telegram.bots)
        return {bot: self._build(kit, settings.profile_for(bot), warnings) for bot in bots}, tuple(warnings)

    def _build(self, kit: Kit, profile: Profile, warnings: list[str]) -> BuiltProfile:
        loaded = kit.loaded
        rules = compile_rules(profile, loaded.settings)
        environment = child_environment(profile, os.environ, loaded.settings.secret_names(), kit.account)
        texts, unread = read_prompt_files(tuple(Path(path) for path in profile.agent.system_prompt_files))
        warnings += unread
        trouble = trouble_with(profile, kit.guard)
        return BuiltProfile(profile, rules, self._tools(kit, profile, rules, environment), environment, texts, trouble)

    def _tools(self, kit: Kit, profile: Profile, rules: RuleSet, environment: Mapping[str, str]) -> dict[str, Tool]:
        """The tools of a profile, in the order in which the model sees them."""
        masker = kit.loaded.redactor
        tools: list[Tool] = []
        settings = profile.tools
        if rules.mode is not Mode.OFF:
            tools.append(
                ExecTool(
                    kit.children,
                    ExecSettings(
                        os.path.realpath(profile.agent.workspace),
                        environment,
                        settings.exec.max_output_bytes,
                        readable(profile, kit.guard),
                        settings.exec.path,
                        kit.account,
                    ),
                    masker,
                    outputs_of(self._kit.loaded),
                )
            )
        if settings.filesystem.enabled:
            bin_ = bin_of(kit.loaded, settings.trash)
            files = FileSettings(
                rules.roots,
                settings.filesystem.max_read_bytes,
                settings.filesystem.max_write_bytes,
                closed=lambda path: rules.denied_path(path) is not None or is_sensitive(path, rules.places),
                bin=bin_,
            )
            tools += [ReadFileTool(files, masker), WriteFileTool(files, masker), ListDirTool(files, masker)]
            tools += [EditFileTool(files, masker), SearchTool(files, masker), TrashTool(files, bin_, masker)]
            post = post_of(kit.loaded, lambda item: self.put(item))  # noqa: PLW0108 - it is set later
            tools.append(SendFileTool(files, settings.filesystem.max_send_bytes, post, masker))
        if settings.web_fetch.enabled:
            from mtbot.tools.web import WebFetchTool, WebSettings

            web = WebSettings(
                settings.web_fetch.timeout,
                settings.web_fetch.max_bytes,
                tuple(settings.web_fetch.hosts),
                contains=kit.contains,
            )
            tools.append(WebFetchTool(web, kit.children, masker))
        return {tool.spec.name: tool for tool in tools}

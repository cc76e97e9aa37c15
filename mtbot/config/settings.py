"""The whole configuration as one frozen value, resolved: nothing in it needs the file, a name or a default any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from mtbot.config.budgets import BudgetSettings
from mtbot.config.channels import ChannelsSettings
from mtbot.config.limits import LimitSettings
from mtbot.config.service import (
    AgentSettings,
    AuditSettings,
    CronSettings,
    ElevationSettings,
    LogSettings,
    ProviderSettings,
    StorageSettings,
)
from mtbot.config.tools import ToolsSettings
from mtbot.config.values import Name, Person, Rule, SecretRef, Section, key
from mtbot.domain.errors import ConfigError
from mtbot.domain.ids import UserId


class Profile(Section):
    """The rights and habits of an assistant: ``agent`` and ``tools`` with an overlay of ``profiles`` laid on them."""

    agent: AgentSettings = key(says="")
    tools: ToolsSettings = key(says="")


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Which provider is asked for which model."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What the owner decided, checked as a whole.

    ``base`` is ``agent`` and ``tools`` as they stand at the top of the file; ``profiles`` are the named overlays, each
    already merged with them. ``file`` is where it came from; ``warnings`` are for a person and stop nothing.
    """

    file: Path
    people: Mapping[str, UserId]
    owner: UserId | None
    base: Profile
    profiles: Mapping[str, Profile]
    providers: Mapping[str, ProviderSettings]
    channels: ChannelsSettings
    cron: CronSettings
    storage: StorageSettings
    log: LogSettings
    audit: AuditSettings
    elevation: ElevationSettings
    budgets: BudgetSettings
    limits: LimitSettings
    zone: ZoneInfo
    version: int = 1
    warnings: tuple[str, ...] = ()

    def profile_for(self, bot: str | None) -> Profile:
        """The effective agent and tools of that bot; None (terminal, jobs without a bot): the base. KeyError."""
        name = None if bot is None else self.channels.telegram.bots[bot].profile
        return self.base if name is None else self.profiles[name]

    def model_ref(self, text: str) -> ModelRef:
        """The provider and model that ``agent.model`` or ``tools.exec.auto.model`` mean. ConfigError if unclear."""
        found = find_model(text, tuple(self.providers))
        if found is None:
            raise ConfigError((f'"{text}" names no provider; write one of {", ".join(self.providers)} and a slash',))
        return found

    def model_refs(self, agent: AgentSettings) -> tuple[ModelRef, ...]:
        """The model of an agent and those that stand in for it, in order. ConfigError if one is unclear."""
        return tuple(self.model_ref(text) for text in (agent.model, *agent.fallback_models))

    def secret_refs(self) -> tuple[SecretRef, ...]:
        """Every secret that the configuration names a place for: tokens, model keys, proxies, the database."""
        telegram = self.channels.telegram
        refs = [telegram.token_ref(bot) for bot in telegram.bots]
        refs += [provider.key_ref(name) for name, provider in self.providers.items()]
        refs += [provider.proxy_ref(name) for name, provider in self.providers.items()]
        refs += [telegram.proxy_ref, self.storage.dsn_ref]
        return tuple(ref for ref in refs if ref.named)

    def secret_names(self) -> frozenset[str]:
        """The environment variables that hold this configuration's secrets; no child may inherit one."""
        return frozenset(ref.env for ref in self.secret_refs() if ref.env)


def find_model(text: str, providers: tuple[str, ...]) -> ModelRef | None:
    """``PROVIDER/MODEL``, or ``MODEL`` (which may itself hold slashes) where there is just one provider."""
    head, slash, rest = text.partition("/")
    if slash and rest and head in providers:
        return ModelRef(head, rest)
    return ModelRef(providers[0], text) if len(providers) == 1 else None


class Top(Section):
    """The keys at the top of the file as they are written; only the reference page and the loader read this shape."""

    short_form = ("openai",)

    version: Annotated[int, Rule("1")] = key(1, says="Version of this file's format.")
    people: Annotated[Mapping[Name, Person], Rule("mapping: name → numeric Telegram user id")] = key(
        {}, says="Names for Telegram user ids; lists may use either."
    )
    owner: Person | None = key(None, says="The person who is told of trouble; one of people.")
    agent: AgentSettings = key(says="")
    providers: Mapping[Name, ProviderSettings] = key({}, says="Model servers by name.")
    profiles: Mapping[Name, Profile] = key({}, says="Overlays of agent and tools that bots can work under.")
    channels: ChannelsSettings = key({}, says="")
    tools: ToolsSettings = key({}, says="")
    cron: CronSettings = key({}, says="")
    storage: StorageSettings = key({}, says="")
    log: LogSettings = key({}, says="")
    audit: AuditSettings = key({}, says="")
    elevation: ElevationSettings = key({}, says="")
    budgets: BudgetSettings = key({}, says="")
    limits: LimitSettings = key({}, says="")

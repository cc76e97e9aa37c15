"""Faults that no single key shows: what sections say about one another.

Each check looks at the sections that could be read, so one bad section does not hide what is wrong between the others.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from zoneinfo import ZoneInfo

from mtbot.config.channels import BotSettings, ChannelsSettings
from mtbot.config.problems import Path as KeyPath
from mtbot.config.problems import Problem, nearest
from mtbot.config.service import (
    Anchor,
    AuditSettings,
    CronSettings,
    DeliverTo,
    Driver,
    ElevationSettings,
    LogSettings,
    OnAsk,
    ProviderSettings,
    StorageSettings,
)
from mtbot.config.settings import Profile, find_model
from mtbot.config.yaml_marks import Leaf, Listing, Node, Table, find
from mtbot.domain.ids import UserId

ScheduleProblem = Callable[[str, ZoneInfo], str | None]


@dataclass(slots=True)
class Parts:
    """The sections as far as they could be read; None or a missing entry: it has faults of its own.

    ``profiles`` holds the base under None, each with the tree that it was read from.
    """

    root: Table
    people: dict[str, UserId] = field(default_factory=dict)
    owner: UserId | None = None
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    channels: ChannelsSettings | None = None
    cron: CronSettings | None = None
    storage: StorageSettings | None = None
    log: LogSettings | None = None
    audit: AuditSettings | None = None
    elevation: ElevationSettings | None = None
    profiles: dict[str | None, tuple[Profile, Table]] = field(default_factory=dict)
    zone: ZoneInfo | None = None
    schedule_problem: ScheduleProblem | None = None

    def fault(self, message: str, *path: str | int, tree: Node | None = None, at_key: bool = False) -> Problem:
        """A fault of that key, placed where it or the nearest thing above it was written."""
        place, name = find(self.root if tree is None else tree, path, at_key=at_key)
        return Problem(place, name, message)


def check(parts: Parts) -> Iterator[Problem]:
    """Every fault between sections."""
    for one in (
        _owner,
        _models,
        _providers,
        _bots,
        _accepts_someone,
        _proxy,
        _jobs,
        _storage,
        _log,
        _paths,
        _child_env,
        _exec_user,
    ):
        yield from one(parts)


def _owner(parts: Parts) -> Iterator[Problem]:
    people_read = len(parts.people) == len(_keys(parts.root.get("people")))
    if parts.owner is not None and people_read and parts.owner not in parts.people.values():
        yield parts.fault("must be one of people", "owner")
    if parts.audit and parts.audit.anchor is Anchor.OWNER and parts.root.get("owner") is None:
        yield parts.fault("is owner, but no owner is named", "audit", "anchor")
    if parts.elevation and parts.elevation.chat and parts.root.get("owner") is None:
        yield parts.fault("lists what only the owner may approve, but no owner is named", "elevation", "chat")


def _models(parts: Parts) -> Iterator[Problem]:
    names = _keys(parts.root.get("providers"))
    for profile, tree in parts.profiles.values():
        fallbacks = ((text, ("agent", "fallback_models")) for text in profile.agent.fallback_models)
        for text, path in (
            (profile.agent.model, ("agent", "model")),
            *fallbacks,
            (profile.tools.exec.auto.model, ("tools", "exec", "auto", "model")),
        ):
            if names and find_model(text, names) is None:
                head = text.partition("/")[0]
                message = f"must begin with a provider and a slash ({', '.join(names)}){nearest(head, names)}"
                yield parts.fault(message, *path, tree=tree)


def _providers(parts: Parts) -> Iterator[Problem]:
    node = parts.root.get("providers")
    if isinstance(node, Table) and not node.entries:
        yield parts.fault("must not be empty", "providers")
    for name, provider in parts.providers.items():
        if provider.api_key_env is None and provider.api_key_file is None:
            message = 'names no key: give api_key_env or api_key_file (api_key_env: "" for a server without key)'
            yield parts.fault(message, "providers", name)
        if provider.proxy and provider.proxy_ref(name).named:
            yield parts.fault(_TWO_PROXIES, "providers", name, "proxy")


def _bots(parts: Parts) -> Iterator[Problem]:
    if parts.channels is None:
        return
    telegram = parts.channels.telegram
    base = ("channels", "telegram", "bots")
    seen: dict[str, str] = {}
    profiles = _keys(parts.root.get("profiles"))
    if telegram.enabled and not telegram.bots:
        yield parts.fault("must not be empty", *base)
    for name, bot in telegram.bots.items():
        if not bot.token_env and bot.token_file is None and telegram.enabled:
            yield parts.fault("names no token: give token_env or token_file", *base, name)
        for source in (f"${bot.token_env}" if bot.token_env else "", str(bot.token_file or "")):
            if source and source in seen:
                yield parts.fault(f"has the same token as bot {seen[source]}", *base, name, at_key=True)
            elif source:
                seen[source] = name
        if bot.profile is not None and bot.profile not in profiles:
            message = f'no profile is called "{bot.profile}"{nearest(bot.profile, profiles)}'
            yield parts.fault(message, *base, name, "profile")


def _accepts_someone(parts: Parts) -> Iterator[Problem]:
    """Read from the tree, so that an unrelated fault in a bot cannot hide that nobody is let in."""
    telegram = parts.root.get("channels", "telegram")
    bots = telegram.get("bots") if isinstance(telegram, Table) else None
    if not isinstance(telegram, Table) or not isinstance(bots, Table):
        return
    enabled = telegram.get("enabled")
    if isinstance(enabled, Leaf) and enabled.value is False:
        return
    for name, entry in bots.entries.items():
        bot = entry.node
        if not isinstance(bot, Table):
            continue
        groups = bot.get("groups")
        lists = [bot.get("allow_from")]
        if isinstance(groups, Table):
            lists += [groups.get(key, "allow_from") for key in groups.entries]
        if not any(one is not None and not (isinstance(one, Listing) and not one.items) for one in lists):
            message = f"bot {name} would accept no one: list people under allow_from, or set enabled: false"
            yield parts.fault(message, "channels", "telegram", "bots", name, "allow_from")


def _jobs(parts: Parts) -> Iterator[Problem]:
    if parts.cron is None:
        return
    seen: set[str] = set()
    for index, job in enumerate(parts.cron.jobs):
        path: KeyPath = ("cron", "jobs", index)
        if job.name in seen:
            yield parts.fault(f"a job called {job.name} exists already", *path, "name")
        seen.add(job.name)
        if parts.zone and parts.schedule_problem:
            problem = parts.schedule_problem(job.schedule, parts.zone)
            if problem:
                yield parts.fault(problem, *path, "schedule")
        if job.on_ask is OnAsk.PARK and job.deliver_to is None:
            yield parts.fault("park needs deliver_to: the question goes where the result goes", *path, "on_ask")
        if job.deliver_to and job.enabled and parts.cron.enabled and parts.channels:
            yield from _delivery(parts, job.deliver_to, (*path, "deliver_to"))


def _delivery(parts: Parts, to: DeliverTo, path: KeyPath) -> Iterator[Problem]:
    assert parts.channels is not None
    telegram = parts.channels.telegram
    if not telegram.enabled:
        yield parts.fault("telegram is not enabled", *path, "channel")
        return
    if to.bot is not None and to.bot not in telegram.bots:
        message = f'no bot is called "{to.bot}"{nearest(to.bot, telegram.bots)}'
        yield parts.fault(message, *path, "bot")
        return
    if to.bot is None and len(telegram.bots) > 1:
        yield parts.fault(f"must name the bot that speaks: {', '.join(telegram.bots)}", *path, "bot")
        return
    bot = telegram.bots.get(to.bot) if to.bot else next(iter(telegram.bots.values()), None)
    if bot and not _reaches(bot, to.chat_id):
        message = "must be a person of allow_from" if to.chat_id > 0 else "must be a group with its own entry in groups"
        yield parts.fault(message, *path, "chat_id")


_TWO_PROXIES = "stands beside proxy_env or proxy_file; give one of them"


def _proxy(parts: Parts) -> Iterator[Problem]:
    telegram = parts.channels.telegram if parts.channels else None
    if telegram and telegram.proxy and telegram.proxy_ref.named:
        yield parts.fault(_TWO_PROXIES, "channels", "telegram", "proxy")


def _reaches(bot: BotSettings, chat: int) -> bool:
    return chat in bot.allow_from if chat > 0 else chat in bot.groups


def _storage(parts: Parts) -> Iterator[Problem]:
    storage = parts.storage
    if storage is None:
        return
    if storage.driver is Driver.SQLITE:
        if storage.dsn_ref.named:
            key = "dsn_env" if storage.dsn_env else "dsn_file"
            yield parts.fault("is for postgres; a sqlite file has no secret in its name", "storage", key)
        path = Path(storage.dsn)
        if _type(path) is _FileType.DIRECTORY:
            yield parts.fault("is a directory", "storage", "dsn")
        blocking = next((p for p in path.parents if _type(p) is _FileType.OTHER), None)
        if blocking is not None:
            yield parts.fault(f"cannot be made: {blocking} is no directory", "storage", "dsn")
    elif parts.root.get("storage", "dsn") is None and not storage.dsn_ref.named:
        yield parts.fault("is missing: postgres needs dsn, dsn_env or dsn_file", "storage", "dsn")


def _log(parts: Parts) -> Iterator[Problem]:
    if parts.log and parts.log.file and _type(parts.log.file) is _FileType.DIRECTORY:
        yield parts.fault("is a directory", "log", "file")


def _paths(parts: Parts) -> Iterator[Problem]:
    """A program directory that a file tool can write to would let the model replace what an allow rule names."""
    for profile, tree in parts.profiles.values():
        roots = [root.path for root in profile.tools.filesystem.roots]
        for text in profile.tools.exec.path:
            directory = Path(text)
            inside = next((root for root in roots if _below(directory, root)), None)
            if inside is not None:
                message = f"{directory} lies inside the root {inside}, where a file tool could plant a program"
                yield parts.fault(message, "tools", "exec", "path", tree=tree)


def _below(path: Path, root: Path) -> bool:
    # realpath and not resolve: it answers for loops and for what may not be looked at, too
    return path.is_relative_to(root) or Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


class _FileType(Enum):
    """What lies at a path; UNKNOWN where nothing does or where it may not be looked at."""

    DIRECTORY = auto()
    OTHER = auto()
    UNKNOWN = auto()


def _type(path: Path) -> _FileType:
    try:
        return _FileType.DIRECTORY if stat.S_ISDIR(path.stat().st_mode) else _FileType.OTHER
    except OSError:
        return _FileType.UNKNOWN


def _child_env(parts: Parts) -> Iterator[Problem]:
    """The child must never get a secret of the gateway, under its own name or by a rule to pass it on."""
    secret = {name for one in parts.providers.values() for name in (one.api_key_env, one.proxy_env)}
    secret |= {parts.storage.dsn_env} if parts.storage else set()
    if parts.channels:
        telegram = parts.channels.telegram
        secret |= {telegram.proxy_env, *(bot.token_env for bot in telegram.bots.values())}
    for profile, tree in parts.profiles.values():
        env = profile.tools.exec.env
        path: KeyPath = ("tools", "exec", "env")
        for index, name in enumerate(env.passed):
            if name in secret:
                yield parts.fault(f"{name} holds a secret of the gateway", *path, "pass", index, tree=tree)
        for name in env.set:
            if name in secret:
                yield parts.fault(f"{name} holds a secret of the gateway", *path, "set", name, tree=tree, at_key=True)


def _keys(node: Node | None) -> tuple[str, ...]:
    return tuple(node.entries) if isinstance(node, Table) else ()


def _exec_user(parts: Parts) -> Iterator[Problem]:
    """One process becomes one user: a profile may not name another one."""
    if None not in parts.profiles:
        return
    base = parts.profiles[None][0].tools.exec.user
    for name, (profile, _tree) in parts.profiles.items():
        if name is not None and profile.tools.exec.user != base:
            message = "is the same for all profiles and stands at the top"
            yield parts.fault(message, "profiles", name, "tools", "exec", "user", tree=parts.root)

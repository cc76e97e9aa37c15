"""Read the configuration anew while the gateway runs: all of it or nothing, and what only a start can change stays.

Rules, people and tools are swapped between two calls, never within one; a question that is open is judged again by the
new ones when it is answered. Connections, the database, the log, model servers and the schedule are made at the start,
so a change of theirs is named and waits.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

import structlog

from mtbot.bootstrap.account import find_account, unreachable
from mtbot.bootstrap.confinement import guard_of
from mtbot.bootstrap.engine import Engine
from mtbot.bootstrap.offline import Loaded, following, load_all
from mtbot.config.channels import TelegramSettings
from mtbot.config.people import compile_people
from mtbot.config.settings import Profile, Settings
from mtbot.domain.errors import ConfigError
from mtbot.domain.turn import Address, SurfaceName
from mtbot.policy.people import People

_AT_START = {
    "providers": "providers",
    "storage": "storage",
    "log": "log",
    "audit": "audit",
    "cron": "cron",
    "limits": "limits",
    "zone": "cron.timezone",
}
"""Fields of Settings that only a start reads, and the keys of theirs that a person knows."""

_log = structlog.get_logger()


class Reloader:
    """Swaps the configuration of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._one = asyncio.Lock()

    async def reload(self) -> Mapping[str, object]:
        """Swap it; what changed, what waits for a restart, and what a person should hear. ConfigError: nothing changed."""
        async with self._one:
            old = self._engine.loaded
            new = await asyncio.to_thread(load_all, str(old.located.path))
            # a value that only a restart brings in lies in its file already, and a command may print it
            old.redactor.learn({key: secret.value for key, secret in new.secrets.items() if secret.value})
            settings = _merged(old.settings, new.settings)
            merged = replace(old, settings=settings, people=compile_people(settings))
            problems = tuple(_misfits(merged, new.settings))
            if new.settings.base.tools.exec.user != old.settings.base.tools.exec.user:
                problems = (*problems, "tools.exec.user: who commands run as is settled at the start")
            elif (account := find_account(settings)) is not None:
                problems = (*problems, *unreachable(settings, account))
            if problems:
                raise ConfigError(problems, hint="nothing was changed; restart the gateway to use it")
            self._swap(await following(merged, self._engine.office.db))
        changed, waits = _changed(old.settings, merged.settings), _waiting(old, new)
        warnings = [*new.warnings, *new.missing, *self._engine.profiles.warnings]
        _log.info("config.reloaded", changed=changed, needs_restart=waits)
        return {"changed": changed, "needs_restart": waits, "warnings": warnings}

    def _swap(self, loaded: Loaded) -> None:
        """Everything at once: nothing else runs between these lines. ConfigError before anything is changed."""
        engine, guard = self._engine, guard_of(loaded)
        engine.profiles.adopt(loaded, guard)
        engine.machinery.confiner.adopt(guard)
        engine.office.current.loaded = loaded


def _merged(old: Settings, new: Settings) -> Settings:
    """The new settings with what was made at the start as it was."""
    kept = {field: getattr(old, field) for field in _AT_START}
    before = old.channels.telegram
    telegram = new.channels.telegram.model_copy(
        update={field: getattr(before, field) for field in _of_the_start(before)}
    )
    return replace(new, channels=new.channels.model_copy(update={"telegram": telegram}), **kept)


def _of_the_start(telegram: TelegramSettings) -> list[str]:
    """What belongs to the connections of all bots."""
    return [field for field in type(telegram).model_fields if field not in ("bots", "drafts")]


def _misfits(merged: Loaded, new: Settings) -> Iterator[str]:
    """What of the new configuration cannot go together with what was made at the start."""
    for name, profile in (("", new.base), *((f"profiles.{n}.", p) for n, p in new.profiles.items())):
        for model in dict.fromkeys(_models(profile)):
            if new.model_ref(model) != _model_ref(merged.settings, model):
                yield f"{name}agent: the model {model} needs the changed providers, which only a start reads"
    # jobs go on as they were, so none of them may send to whom the new lists leave out
    for name, job in merged.people.jobs.items() if merged.settings.cron.enabled else ():
        if not _serves(merged.people, job.place):
            yield f"cron.jobs: {name} would go on sending to a chat that is no longer allowed"


def _models(profile: Profile) -> tuple[str, ...]:
    agent, auto = profile.agent, profile.tools.exec.auto
    return (agent.model, *agent.fallback_models, auto.model)


def _model_ref(settings: Settings, model: str) -> object:
    try:
        return settings.model_ref(model)
    except ConfigError:
        return None


def _serves(people: People, place: Address) -> bool:
    bot = people.bots.get(place.bot)
    if bot is None:
        return False
    if place.surface is SurfaceName.PRIVATE:
        return any(int(user) == int(place.chat) for user in bot.allow)
    return place.chat in bot.groups


def _changed(old: Settings, new: Settings) -> list[str]:
    """The keys that another value counts for from now on."""
    found = [name for name in ("people", "owner", "elevation", "budgets") if getattr(old, name) != getattr(new, name)]
    found += _changed_profile("", old.base, new.base)
    names = dict.fromkeys((*old.profiles, *new.profiles))
    found += [f"profiles.{name}" for name in names if old.profiles.get(name) != new.profiles.get(name)]
    if old.channels != new.channels:
        found.append("channels.telegram")
    return found


def _changed_profile(prefix: str, old: Profile, new: Profile) -> list[str]:
    found = [f"{prefix}agent"] if old.agent != new.agent else []
    fields = type(old.tools).model_fields
    return found + [f"{prefix}tools.{name}" for name in fields if getattr(old.tools, name) != getattr(new.tools, name)]


def _waiting(old: Loaded, new: Loaded) -> list[str]:
    """The keys whose new value only a start can bring in."""
    before, after = old.settings, new.settings
    found = [key for field, key in _AT_START.items() if getattr(before, field) != getattr(after, field)]
    ours, theirs = before.channels.telegram, after.channels.telegram
    found += [f"channels.telegram.{key}" for key in _of_the_start(ours) if getattr(ours, key) != getattr(theirs, key)]
    for bot in dict.fromkeys((*ours.bots, *theirs.bots)):
        if bot not in theirs.bots:
            found.append(f"channels.telegram.bots.{bot} (it is served no more, and stays connected)")
        elif bot not in ours.bots:
            found.append(f"channels.telegram.bots.{bot} (it is not connected yet)")
        elif ours.token_ref(bot) != theirs.token_ref(bot):
            found.append(f"channels.telegram.bots.{bot}.token")
    known = {ref.key for ref in before.secret_refs()} & {ref.key for ref in after.secret_refs()}
    found += [key for key in sorted(known) if _value(old, key) != _value(new, key)]
    return found


def _value(loaded: Loaded, key: str) -> str | None:
    secret = loaded.secrets.get(key)
    return None if secret is None else secret.value

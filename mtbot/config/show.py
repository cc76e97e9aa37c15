"""The configuration as it is in effect, for a person to read; it holds no secret and cannot be loaded back.

The marks in place of secrets are not valid values on purpose: a dump that loads again would be taken for a backup, and
somebody would lose the keys that it does not hold.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path

import yaml

from mtbot.config.channels import EVERY_GROUP, Approvers
from mtbot.config.service import ProviderSettings
from mtbot.config.settings import Profile, Settings
from mtbot.config.values import Kind, SecretRef, Section
from mtbot.policy.people import Deciders
from mtbot.redaction.structured import masked_value

HEADER = "# in effect; not loadable: <set:...> and <unset> stand where secrets are named\n"


def show(settings: Settings, environ: Mapping[str, str] | None = None, mask: Callable[[str], str] = str) -> str:
    """YAML text with effective values, paths absolute, names as ids, and places of secrets instead of secrets.

    With ``environ``, a place that holds nothing there is shown as unset. Texts in which somebody wrote a secret all the
    same, such as a job's prompt, pass ``mask``, each by itself and all together.
    """
    names = {one: name for name, one in settings.people.items()}
    data: dict[str, object] = {"version": settings.version}
    data["people"] = dict(settings.people)
    data["owner"] = names.get(settings.owner) if settings.owner else None
    data.update(_profile(settings.base))
    data["providers"] = {name: _provider(name, one, environ) for name, one in settings.providers.items()}
    data["profiles"] = {name: _profile(profile) for name, profile in settings.profiles.items()}
    data["channels"] = {"telegram": _telegram(settings, environ)}
    data["cron"] = {**_plain(settings.cron), "timezone": settings.zone.key or "Local"}
    data["storage"] = _storage(settings, environ)
    data["log"] = _plain(settings.log)
    data["audit"] = _plain(settings.audit)
    data["elevation"] = _plain(settings.elevation)
    plain = masked_value(data, mask)
    return HEADER + str(mask(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)))


def valid(settings: Settings) -> str:
    """What ``config validate`` prints when there is no fault: the file, and the warnings below it."""
    return "\n".join([f"OK: {settings.file}", *(f"warning: {one}" for one in settings.warnings)])


def mark(ref: SecretRef, environ: Mapping[str, str] | None) -> str:
    """``<set:env:NAME>``, ``<set:file:PATH>`` or ``<unset>``; the content of a file is not looked at."""
    if ref.env and (environ is None or environ.get(ref.env, "").strip()):
        return f"<set:env:{ref.env}>"
    return f"<set:file:{ref.file}>" if ref.file is not None else "<unset>"


def _profile(profile: Profile) -> dict[str, object]:
    return {"agent": _plain(profile.agent), "tools": _plain(profile.tools)}


def _provider(name: str, provider: ProviderSettings, environ: Mapping[str, str] | None) -> dict[str, object]:
    rest = _plain(provider, {"api_key_env", "api_key_file", "proxy_env", "proxy_file"})
    proxy = provider.proxy_ref(name)
    return {
        "api_key": mark(provider.key_ref(name), environ),
        **rest,
        "proxy": mark(proxy, environ) if proxy.named else provider.proxy,
    }


def _telegram(settings: Settings, environ: Mapping[str, str] | None) -> dict[str, object]:
    telegram = settings.channels.telegram
    bots: dict[str, object] = {}
    for name, bot in telegram.bots.items():
        groups = {
            "*" if chat == EVERY_GROUP else chat: {
                **_plain(group),
                "allow_from": list(group.allow_from or bot.allow_from),
                "approvers": _value(group.approvers or bot.approvers),
            }
            for chat, group in bot.groups.items()
        }
        rest = _plain(bot, {"token_env", "token_file", "groups"})
        bots[name] = {"token": mark(telegram.token_ref(name), environ), **rest, "groups": groups}
    proxy = mark(telegram.proxy_ref, environ) if telegram.proxy_ref.named else telegram.proxy
    return {**_plain(telegram, {"bots", "proxy_env", "proxy_file"}), "proxy": proxy, "bots": bots}


def _storage(settings: Settings, environ: Mapping[str, str] | None) -> dict[str, object]:
    storage = settings.storage
    dsn = mark(storage.dsn_ref, environ) if storage.dsn_ref.named else storage.dsn
    return {**_plain(storage, {"dsn_env", "dsn_file"}), "dsn": dsn}


def _plain(section: Section, skip: set[str] | None = None) -> dict[str, object]:
    """A section as the file would write it; keys that exist only to refuse a secret are left out."""
    data: dict[str, object] = {}
    for name, info in type(section).model_fields.items():
        if info.exclude or name in (skip or set()):
            continue
        value: object = getattr(section, name)
        spell = next((kind.spell for kind in info.metadata if isinstance(kind, Kind) and kind.spell), None)
        data[info.alias or name] = spell(value) if spell and isinstance(value, float) else _value(value)
    return data


def _value(value: object) -> object:
    if isinstance(value, Approvers):
        return list(value.people) if value.who is Deciders.LISTED else value.who.value
    if isinstance(value, Section):
        return _plain(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return value

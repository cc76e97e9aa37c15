"""Settings to the rules that decide; all or nothing, at start and at reload.

Everything here is pure but for resolving links in the paths that rules compare with.
"""

import os
from pathlib import Path

from mtbot.config.settings import Profile, Settings
from mtbot.config.tools import AllowItem
from mtbot.domain.call import ToolDefault
from mtbot.domain.errors import ConfigError
from mtbot.policy import argv_pattern, deny, owner
from mtbot.policy.allow_rule import AllowRule, AllowRules
from mtbot.policy.rule import PatternsError
from mtbot.policy.ruleset import Mode, Root, RootAccess, RuleSet
from mtbot.policy.sensitive import Places


def compile_rules(profile: Profile, settings: Settings) -> RuleSet:
    """The rules of a profile. ConfigError names every entry that cannot be used."""
    tools = profile.tools
    exec_settings = tools.exec
    try:
        denying = deny.compile_rules(exec_settings.deny, exec_settings.builtin_deny.ask, exec_settings.builtin_deny.off)
    except (PatternsError, deny.UnknownRuleError) as error:
        raise ConfigError((f"tools.exec: {error}",)) from error
    allow = _owner_rules(owner_items(profile))
    packs = tuple(pack.value for pack in exec_settings.allow_packs)
    if packs:
        from mtbot.policy.readonly import PACKS  # noqa: PLC0415  hundreds of grammars, for whoever has chosen them

        allow = (*allow, *(rule for pack in packs for rule in PACKS[pack]))
    return RuleSet(
        mode=Mode(exec_settings.mode.value),
        deny=denying,
        allow=AllowRules(allow),
        packs=packs,
        places=places(profile, settings),
        roots=tuple(
            Root(os.path.realpath(root.path), RootAccess(root.access.value)) for root in tools.filesystem.roots
        ),
        write=ToolDefault(tools.filesystem.write.value),
        hosts=tuple(tools.web_fetch.hosts),
        denied_paths=tuple(os.path.realpath(path) for path in tools.denied_path),
        denied_commands=frozenset(
            name for path in tools.denied_command for name in (str(path), os.path.realpath(path))
        ),
        confirm_on=frozenset(category.value for category in exec_settings.auto.confirm_on),
        require_containment=exec_settings.containment.require,
        elevation=tuple(argv_pattern.parse(words) for words in settings.elevation.chat),
        grant_minutes=exec_settings.grant_minutes,
    )


def owner_items(profile: Profile) -> tuple[owner.Item, ...]:
    """The owner's allow items of a profile, their paths resolved."""
    return tuple(_item(item) for item in profile.tools.exec.allow)


def _owner_rules(items: tuple[owner.Item, ...]) -> tuple[AllowRule, ...]:
    rules, problems = [], []
    for index, item in enumerate(items):
        try:
            rules.append(owner.rule(f"allow[{index}]", item))
        except ValueError as error:
            problems.append(f"tools.exec.allow[{index}]: {error}")
    if problems:
        raise ConfigError(tuple(problems))
    return tuple(rules)


def _item(item: AllowItem) -> owner.Item:
    return owner.Item(
        regex=item.regex,
        argv=item.argv,
        cwd=None if item.cwd is None else os.path.realpath(item.cwd),
        network=item.network,
        # followed now, and no link that a command puts there later
        write=tuple(os.path.realpath(path) for path in item.write),
        on_host=None if item.containment is None else item.containment.value == "host",
        why=item.why,
        permits=item.permits,
        refuses=item.refuses,
    )


def places(profile: Profile, settings: Settings) -> Places:
    """The sensitive places of this host that only the configuration tells."""
    own = {str(settings.file), *_state_files(settings)}
    own |= {str(ref.file) for ref in settings.secret_refs() if ref.file is not None}
    code = {str(path) for path in profile.agent.system_prompt_files}
    return Places(
        home=os.path.realpath(child_home(settings.base.tools.exec.user)),
        own=tuple(sorted(os.path.realpath(path) for path in own if path not in ("/", ""))),
        code=tuple(sorted(os.path.realpath(path) for path in code)),
    )


def _state_files(settings: Settings) -> set[str]:
    """The database with everything beside it, and the log."""
    found = {str(settings.log.file)} if settings.log.file is not None else set()
    if not settings.storage.dsn.startswith(("postgres:", "postgresql:")):
        base = settings.storage.dsn
        found |= {base, *(f"{base}{ending}" for ending in ("-wal", "-shm", ".lock", ".key", ".anchor", ".control"))}
        state = os.path.dirname(os.path.realpath(base))  # noqa: PTH120 - texts, as every path of this module
        found |= {f"{state}/trash", f"{state}/outputs"}
    return found


def child_home(user: str) -> str:
    """The home of whoever commands run as; / where there is none."""
    if user:
        found = os.path.expanduser(f"~{user}")  # noqa: PTH111 - of another user, as a text
        return found if found.startswith("/") else "/"
    return str(Path.home()) if os.environ.get("HOME") else "/"

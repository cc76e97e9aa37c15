"""The owner's rules held against the record: lint, replay, suggest, and the two edits that follow from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtbot.bootstrap.judge import Judge
from mtbot.bootstrap.offline import Loaded, look, read_settings
from mtbot.bootstrap.system import home_directory
from mtbot.config.compile import owner_items
from mtbot.config.edit import add_to_list
from mtbot.config.known import known_rules
from mtbot.domain.call import Verdict
from mtbot.domain.errors import ConfigError, StorageError
from mtbot.domain.record import EventKind, Word
from mtbot.policy import owner, review
from mtbot.policy.allow_rule import AllowRule, Argv

PAGE = 500
_VERDICTS = {
    Word.DENIED_RULE: Verdict.REFUSE,
    Word.ALLOWED_RULE: Verdict.RUN,
    Word.APPROVED: Verdict.ASK,
    Word.DENIED_USER: Verdict.ASK,
    Word.EXPIRED: Verdict.ASK,
}


@dataclass(frozen=True, slots=True)
class Past:
    """A command of the record and how it was decided."""

    at_ms: int
    command: str
    word: Word


async def past(loaded: Loaded, since_ms: int = 0) -> tuple[Past, ...]:
    """Every exec call on record since then, oldest first; nothing where there is no database yet. StorageError."""
    from mtbot.storage.events import EventFilter

    try:
        office = await look(loaded)
    except StorageError as error:
        if error.message.startswith("no database yet"):
            return ()
        raise
    found: list[Past] = []
    try:
        before: int | None = None
        while page := await office.stores.trail.page(
            EventFilter(kind=EventKind.PROPOSED, since_ms=since_ms), before=before, limit=PAGE
        ):
            trails = await office.stores.trail.trails_of([event.draft.call for event in page])
            for event in page:
                words = [one.draft.word for one in trails[event.draft.call] if one.draft.word is not Word.NONE]
                if event.draft.tool == "exec" and words:
                    found.append(Past(event.draft.at_ms, event.draft.command, words[-1]))
            before = page[-1].seq
    finally:
        await office.close()
    return tuple(reversed(found))


def owner_rules(loaded: Loaded) -> tuple[tuple[owner.Item, ...], tuple[AllowRule, ...]]:
    """The owner's allow items of the base profile and their rules."""
    items = owner_items(loaded.settings.base)
    return items, tuple(owner.rule(f"allow[{index}]", item) for index, item in enumerate(items))


def differences(loaded: Loaded, commands: Sequence[Past]) -> tuple[tuple[Past, str, str], ...]:
    """Past commands that the present configuration would decide otherwise: (command, verdict then, verdict now)."""
    found = []
    with Judge(loaded) as judge:
        for one in commands:
            then = _VERDICTS.get(one.word)
            if then is None or "‹secret:" in one.command:
                continue
            now = judge.decide(one.command)[2].verdict
            if now is not then:
                found.append((one, then.value, now.value))
    return tuple(found)


def allow_command(loaded: Loaded, command: str, why: str) -> tuple[Argv, ...]:
    """Add the rules that ``command`` needs to the configuration; the argvs that were added. ConfigError."""
    try:
        argvs = review.argvs_to_allow(command)
    except ValueError as error:
        raise ConfigError((f"{command}: {error}",)) from error
    _, rules = owner_rules(loaded)
    added = tuple(argv for argv in argvs if not any(rule.match(argv) for rule in rules if rule.program == argv[0]))
    for argv in added:
        entry: dict[str, object] = {"argv": list(argv)}
        if why:
            entry["why"] = why
        _edit(loaded.settings.file, ("tools", "exec", "allow"), entry)
    return added


def soften(loaded: Loaded, rule_id: str) -> None:
    """Make a built-in rule ask instead of refusing. ConfigError for a hardline or unknown rule."""
    known = known_rules()
    if rule_id not in known:
        raise ConfigError((f"there is no built-in rule {rule_id}",), hint="`mtclaw policy rules` lists them")
    if known[rule_id]:
        raise ConfigError((f"{rule_id} is a hardline rule and can only refuse",))
    if rule_id in loaded.settings.base.tools.exec.builtin_deny.ask:
        raise ConfigError((f"{rule_id} asks already",))
    _edit(loaded.settings.file, ("tools", "exec", "builtin_deny", "ask"), rule_id)


def _edit(file: Path, keys: tuple[str, ...], entry: str | dict[str, object]) -> None:
    import os

    add_to_list(file, keys, entry, lambda candidate: read_settings(candidate, os.environ, home_directory()))

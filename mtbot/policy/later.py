"""Which questions of an unattended turn may wait for a person who looks hours later, and which are refused at once.

What waits is decided in another hour than it was proposed, perhaps on a phone, in a line among others. So what is
refused wherever nobody looks stays refused: secrets, root, and pages that only a text from outside has named.
"""

from collections.abc import Iterator

from mtbot.domain.call import Below, Decision, Facts
from mtbot.policy import sensitive
from mtbot.policy.effects import Prepared

NEVER = frozenset({"path.sensitive", "elevation", "web.tainted"})
"""Rules whose question never waits."""


def may_wait(prepared: Prepared, facts: Facts, decision: Decision) -> bool:
    """Whether the question of ``decision`` may be put to somebody who is not there now."""
    if decision.rule in NEVER or decision.elevates:
        return False
    if any(sensitive.is_sensitive(path, prepared.rules.places) for path in _touched(prepared, facts)):
        return False
    return Below.SENSITIVE not in facts.below.values()


def _touched(prepared: Prepared, facts: Facts) -> Iterator[str]:
    """Where targets and words lead: as it was looked up, and, of a text that nobody looked into, as it is written.

    A program is no operand: where programs lie is sensitive to change, not to run.
    """
    yield from (target.path for target in facts.targets)
    commands = prepared.readings.commands if prepared.readings else ()
    programs = {command.argv[0].text for command in commands if command.argv}
    yield from (path for word, path in facts.resolved.items() if word not in programs)
    for command in commands:
        for word in (*command.arguments, *(redirect.target.text for redirect in command.redirects)):
            for part in {word, word.rpartition("=")[2]}:
                at_home = f"{facts.home}{part[1:]}" if part == "~" or part.startswith("~/") else part
                yield _written(facts.directory, at_home)


def _written(directory: str, word: str) -> str:
    """Where a word leads from a directory, by its letters alone."""
    parts: list[str] = []
    for part in (word if word.startswith("/") else f"{directory}/{word}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)

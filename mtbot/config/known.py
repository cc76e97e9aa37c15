"""What a configuration is held against that the policy knows, apart from compiling it: that costs a fifth of a second."""

from collections.abc import Mapping

from mtbot.policy.rule import Patterns, PatternsError
from mtbot.policy.rules import RULES


def known_rules() -> Mapping[str, bool]:
    """The ids of the built-in deny rules, and whether each is hardline."""
    return {rule.id: rule.hardline for rule in RULES}


def regex_problem(pattern: str) -> str | None:
    """Why RE2 does not read ``pattern``; None if it does."""
    try:
        Patterns((pattern,))
    except PatternsError as error:
        first = error.errors[0]
        where = "" if first.position is None else f" at character {first.position + 1}"
        return f"{first.message}{where}"
    return None

"""A pytest plugin that takes one built-in deny rule away, named in MTCLAW_WITHOUT_RULE, before anything uses it."""

import dataclasses
import os

from mtbot.policy import rules

_GONE = os.environ["MTCLAW_WITHOUT_RULE"]


def _never(*_: object) -> bool:
    return False


rules.RULES = tuple(dataclasses.replace(rule, matches=_never) if rule.id == _GONE else rule for rule in rules.RULES)
assert any(rule.id == _GONE for rule in rules.RULES), f"there is no rule {_GONE}"

"""The built-in deny rules, in the order in which they are tried: hardline ones first.

A tuple and nothing else: a rule is added to its file's tuple with its examples, and tests, docs and
`mtclaw policy rules` follow.
"""

from mtbot.policy.rule import Rule
from mtbot.policy.rules.disks import DISKS
from mtbot.policy.rules.files import FILES
from mtbot.policy.rules.host import HOST
from mtbot.policy.rules.own import OWN
from mtbot.policy.rules.remote import REMOTE

_ALL: tuple[Rule, ...] = (*FILES, *DISKS, *OWN, *HOST, *REMOTE)

RULES: tuple[Rule, ...] = tuple(sorted(_ALL, key=lambda rule: not rule.hardline))

"""The compiled half of the configuration that decides about calls; swapped whole on reload."""

from dataclasses import dataclass, field
from enum import StrEnum

from mtbot.domain.call import ToolDefault
from mtbot.policy.allow_rule import AllowRule, AllowRules
from mtbot.policy.argv_pattern import ArgvPattern
from mtbot.policy.deny import DenyRules, compile_rules
from mtbot.policy.sensitive import Places


class Mode(StrEnum):
    """What happens to a command that no rule decides."""

    OFF = "off"
    APPROVAL = "approval"
    AUTO = "auto"


class RootAccess(StrEnum):
    """What file tools may do below a root."""

    READ = "read"
    READ_WRITE = "read-write"


@dataclass(frozen=True, slots=True)
class Root:
    """A directory (absolute, links resolved) that file tools may work in."""

    path: str
    access: RootAccess = RootAccess.READ_WRITE


CATEGORIES = ("destructive", "privileged", "network", "secret_access")
"""What a classifier may find in a command."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Every rule that holds in one profile.

    ``write`` is what an ordinary write inside a read-write root gets. ``hosts`` are the web hosts that even a tainted
    turn may read. ``denied_paths`` (absolute, resolved) and ``denied_commands`` are never approvable.
    ``require_containment``: what should run contained is refused where it cannot. ``elevation``: commands that change the
    user and that the owner may approve in a chat. ``grant_minutes``: for so long may a person allow an exact command (0:
    not at all).
    """

    mode: Mode = Mode.APPROVAL
    deny: DenyRules = field(default_factory=compile_rules)
    allow: tuple[AllowRule, ...] = AllowRules()
    packs: tuple[str, ...] = ()
    places: Places = field(default_factory=lambda: Places(home="/"))
    roots: tuple[Root, ...] = ()
    write: ToolDefault = ToolDefault.ALLOW
    hosts: tuple[str, ...] = ()
    denied_paths: tuple[str, ...] = ()
    denied_commands: frozenset[str] = frozenset()
    confirm_on: frozenset[str] = frozenset(CATEGORIES)
    require_containment: bool = False
    elevation: tuple[ArgvPattern, ...] = ()
    grant_minutes: int = 0

    def root_of(self, path: str) -> Root | None:
        """The root with the longest match that holds ``path``."""
        found = [root for root in self.roots if path == root.path or path.startswith(root.path.rstrip("/") + "/")]
        return max(found, key=lambda root: len(root.path), default=None)

    def denied_path(self, path: str) -> str | None:
        """The entry of ``denied_paths`` that holds ``path``."""
        for entry in self.denied_paths:
            if path == entry or path.startswith(entry.rstrip("/") + "/"):
                return entry
        return None

"""Calls, facts and decisions for tests of the policy."""

from collections.abc import Mapping

from mtbot.domain.call import (
    Access,
    Below,
    Call,
    Decision,
    Facts,
    PathArg,
    Risk,
    Target,
    TargetKind,
    ToolDefault,
    ToolSpec,
)
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.policy.effects import Prepared, prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.ruleset import RuleSet

PLACE = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(1001))
EXEC = ToolSpec("exec", "run", {}, Risk.EXEC, ToolDefault.ASK)
READ = ToolSpec("read_file", "read", {}, Risk.READ, ToolDefault.ALLOW, path_args=(PathArg("path", Access.READ),))
WRITE = ToolSpec(
    "write_file", "write", {}, Risk.WRITE_LOCAL, ToolDefault.ALLOW, path_args=(PathArg("path", Access.WRITE),)
)
FETCH = ToolSpec("web_fetch", "fetch", {}, Risk.READ, ToolDefault.ALLOW, target_arg="url")


def call_of(tool: str, arguments: Mapping[str, object]) -> Call:
    """A call in /srv/work from the private chat."""
    return Call(CallId("c1"), TurnId("t1"), tool, arguments, "/srv/work", PLACE, SYSTEM)


def prepared_of(command: str, rules: RuleSet | None = None) -> Prepared:
    """An exec call, read."""
    return prepare(call_of("exec", {"command": command}), EXEC, rules or RuleSet())


def facts_of(prepared: Prepared, **changes: object) -> Facts:
    """Facts in which every word leads to itself below /srv/work, nothing is sensitive and a person is there."""
    resolved = {word: word if word.startswith("/") else f"/srv/work/{word}" for word in prepared.wants.paths}
    values: dict[str, object] = {
        "cwd": "/srv/work",
        "directory": "/srv/work",
        "home": "/home/mtclaw",
        "attended": True,
        "resolved": resolved,
        "below": dict.fromkeys(prepared.wants.trees, Below.NOTHING),
        "repository_keys": frozenset[str](),
    }
    return Facts(**{**values, **changes})  # type: ignore[arg-type] # test values by name


def decide(command: str, rules: RuleSet | None = None, **changes: object) -> Decision:
    """The decision on a command."""
    prepared = prepared_of(command, rules)
    return evaluate(prepared, facts_of(prepared, **changes))


def decide_tool(
    spec: ToolSpec, arguments: Mapping[str, object], rules: RuleSet, *targets: Target, **changes: object
) -> Decision:
    """The decision on another tool's call."""
    prepared = prepare(call_of(spec.name, arguments), spec, rules)
    return evaluate(prepared, facts_of(prepared, targets=targets, **changes))


def file_at(path: str, *, write: bool = False, kind: TargetKind = TargetKind.FILE) -> Target:
    """A target that was written as it resolves."""
    return Target(path, path, kind, write=write)

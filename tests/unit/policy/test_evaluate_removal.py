"""What is taken away: every path of a list is judged, and nothing goes along that is not its own."""

import pytest

from mtbot.domain.call import (
    Access,
    Below,
    Decision,
    Facts,
    PathArg,
    Risk,
    Target,
    TargetKind,
    ToolDefault,
    ToolSpec,
    Verdict,
)
from mtbot.policy.effects import PathWant, prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.ruleset import Root, RootAccess, RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import READ, call_of

TRASH = ToolSpec("trash", "?", {}, Risk.WRITE_LOCAL, ToolDefault.ASK, path_args=(PathArg("paths", Access.REMOVE),))
RULES = RuleSet(
    places=Places(home="/home/mtclaw", own=("/srv/work/state/mtclaw.db",)),
    roots=(Root("/srv/work"), Root("/srv/work/archive", RootAccess.READ), Root("/srv/work/a/inner"), Root("/data")),
    denied_paths=("/srv/work/b/kept",),
)


def judge(*paths: str, kind: TargetKind = TargetKind.DIRECTORY) -> Decision:
    """The decision on taking those paths away."""
    prepared = prepare(call_of("trash", {"paths": list(paths)}), TRASH, RULES)
    assert prepared.wants.targets == tuple(PathWant(path, write=True, remove=True) for path in paths)
    targets = tuple(Target(path, path, kind, write=True, removed=True) for path in paths)
    return evaluate(prepared, Facts(attended=True, targets=targets))


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/srv/work", "denied_path"),
        ("/data", "root.whole"),
        ("/srv/work/a", "root.whole"),
        ("/srv/work/a/inner", "root.whole"),
        ("/srv/work/archive", "workspace-root"),
        ("/srv/work/b", "denied_path"),
        ("/srv/work/b/kept/x", "denied_path"),
        ("/srv/work/state", "path.own"),
        ("/srv/work/state/mtclaw.db", "path.own"),
        ("/srv/other", "root.outside"),
    ],
)
def test_what_may_not_go_along_is_refused(path: str, rule: str) -> None:
    """Roots, denied paths and mtclaw's own files stay, also as one of several paths."""
    for decision in (judge(path), judge("/srv/work/old", path), judge(path, "/srv/work/old")):
        assert (decision.verdict, decision.rule) == (Verdict.REFUSE, rule)


@pytest.mark.parametrize("path", ["/srv/work/old", "/srv/work/archives", "/srv/work/b/kept.txt", "/srv/work/statement"])
def test_everything_else_asks(path: str) -> None:
    """Also what is called nearly so."""
    decision = judge(path)
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "tool.asks")


def test_a_sensitive_path_says_so() -> None:
    """The question names the reason."""
    decision = judge("/srv/work/.env", kind=TargetKind.FILE)
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "path.sensitive")


@pytest.mark.parametrize(
    ("below", "rule", "reason"),
    [
        (Below.SENSITIVE, "path.sensitive", "/srv/work/old holds sensitive files"),
        (Below.REPOSITORY, "tool.asks", "trash asks first"),
        (Below.UNKNOWN, "tool.asks", "trash asks first"),
    ],
)
def test_what_a_directory_holds_is_looked_at_and_said(below: Below, rule: str, reason: str) -> None:
    """A person should know that keys go along."""
    prepared = prepare(call_of("trash", {"paths": ["old"]}), TRASH, RULES)
    assert (prepared.wants.paths, prepared.wants.trees) == (("old",), ("old",))
    target = Target("old", "/srv/work/old", TargetKind.DIRECTORY, write=True, removed=True)
    decision = evaluate(prepared, Facts(attended=True, targets=(target,), below={"old": below}))
    assert (decision.verdict, decision.rule, decision.reason) == (Verdict.ASK, rule, reason)


def test_what_is_not_there_is_refused() -> None:
    """Nobody is asked about nothing."""
    assert judge("/srv/work/old", kind=TargetKind.MISSING).rule == "path.missing"


def test_a_list_of_anything_else_names_no_path() -> None:
    """What the schema did not see is not guessed; a tool that writes nowhere is not trusted."""
    prepared = prepare(call_of("trash", {"paths": [1, None, {"path": "/x"}]}), TRASH, RULES)
    assert prepared.wants.targets == ()
    assert evaluate(prepared, Facts(attended=True)).rule == "tool.metadata"


def test_one_path_stays_one_path() -> None:
    """A single text is a target of its own, and reading takes nothing away."""
    prepared = prepare(call_of("read_file", {"path": "x"}), READ, RULES)
    assert prepared.wants.targets == (PathWant("x", write=False, remove=False),)

"""What users of other guards reported in public, as decisions of this one: nothing passes that a report found open, and
nothing is refused that a report found harmless.

Numbers are those of the collection of reports that the guard was designed from. A floor is the verdict that a report
calls right; ours may be stricter where the report complained that something passed, and never a refusal where it
complained that something was blocked.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from enum import Enum

import pytest

from mtbot.domain.call import Decision, Verdict
from mtbot.policy import owner
from mtbot.policy.evaluate import evaluate
from mtbot.policy.readonly import READONLY
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places
from tests.unit.policy.calls import facts_of, prepared_of


class Right(Enum):
    """What the report calls right."""

    DENY = "deny"
    ASK = "ask"
    """Never without a person."""
    NOT_DENY = "not deny"


@dataclass(frozen=True, slots=True)
class Shape:
    """One command of a report, and what we say of it (`rule` only where one decides)."""

    number: int
    right: Right
    command: str
    verdict: Verdict
    rule: str | None = None
    allow: tuple[owner.Item, ...] = ()
    """The owner's rules of the report; the read-only pack where it names none."""


RUN, ASK, REFUSE = Verdict.RUN, Verdict.ASK, Verdict.REFUSE
RM = "files.rm-recursive"
ROOT = "files.wipe-root"

GIT_AND_ECHO = (owner.Item(argv=("git", "**")), owner.Item(argv=("echo", "**")))
LS = (owner.Item(regex="ls.*"),)
ECHO = (owner.Item(regex="echo.*"),)
CAT_AND_SED = (owner.Item(argv=("cat", "**")), owner.Item(argv=("sed", "-n", "1p", "*")))
ANYTHING_OF = tuple(
    owner.Item(argv=(program, "**")) for program in ("sort", "sed", "find", "tar", "git", "awk", "env", "xargs")
)
RUN_VIEW = (owner.Item(argv=("gh", "run", "view", "*"), network=True),)
INTERPRETERS = (
    owner.Item(argv=("python", "**")),
    owner.Item(argv=("python", "-c", "*")),
    owner.Item(regex="python .*"),
    owner.Item(argv=("npm", "test")),
)


def shapes(
    number: int,
    right: Right,
    verdict: Verdict,
    *commands: str,
    rule: str | None = None,
    allow: tuple[owner.Item, ...] = (),
) -> tuple[Shape, ...]:
    """Several commands of one report with the same answer."""
    return tuple(Shape(number, right, command, verdict, rule, allow) for command in commands)


PASSED = (
    # an allowed first command carried the rest of the list with it
    *shapes(1, Right.ASK, ASK, "git status && mk d", "git status; mk d", "git status || mk d", allow=GIT_AND_ECHO),
    *shapes(1, Right.ASK, ASK, "echo a | mk d", "git status\nmk d", "git status & mk d", allow=GIT_AND_ECHO),
    *shapes(1, Right.ASK, REFUSE, "git status && rm -rf d", "git status | rm -rf d", rule=RM, allow=GIT_AND_ECHO),
    *shapes(3, Right.ASK, ASK, "ls; cat /etc/passwd", "ls;cat /etc/passwd", allow=LS),
    *shapes(4, Right.ASK, ASK, "echo a; touch f", "echo a\ntouch f", "echo a > f", allow=ECHO),
    *shapes(6, Right.ASK, ASK, "echo p > ~/.bashrc", "echo hi & touch f", "git remote set-url origin evil"),
    *shapes(6, Right.ASK, REFUSE, "echo hi\nrm -rf d", "echo hi & rm -rf d", "ls <(rm -rf d)", "env rm -rf d", rule=RM),
    # the check saw the raw spelling of an option
    *shapes(7, Right.ASK, ASK, "git diff --ext\\-diff", "git log --outpu\\t=f", "git log --outpu't'=f"),
    *shapes(7, Right.ASK, ASK, "rg --pr\\e sh x", "rg --pr'e'=sh x", "git diff '--ext''-diff'"),
    # the program was known by the last part of its path
    *shapes(8, Right.ASK, ASK, "./cat f", "/tmp/evil/cat f", "./sed -n 1p f", "../cat f", allow=CAT_AND_SED),
    *shapes(8, Right.ASK, ASK, "./cat f", "/tmp/evil/cat f", "./sed -n 1p f", "/usr/bin/cat f"),
    *shapes(11, Right.ASK, ASK, "RIPGREP_CONFIG_PATH=./rc rg x", "env RIPGREP_CONFIG_PATH=./rc rg x"),
    *shapes(14, Right.DENY, REFUSE, "rm -rf /", "ls & rm -rf /", "(rm -rf /)", "$(rm -rf /)", rule=ROOT),
    *shapes(14, Right.DENY, REFUSE, "ls $(rm -rf /)", "ls `rm -rf /`", "{ rm -rf /; }", rule=ROOT),
    *shapes(16, Right.ASK, ASK, "sudo python3 -c \"open('k','w')\"", rule="elevation"),
    *shapes(17, Right.ASK, REFUSE, "ssh h 'rm -rf p'", "ssh -p 22 u@h rm -rf p", rule=RM),
    *shapes(17, Right.ASK, ASK, "ssh h 'mk p'"),
    *shapes(18, Right.ASK, REFUSE, "rm -r dir", "rm --recursive dir", "rm -R dir", rule=RM),
    *shapes(19, Right.ASK, REFUSE, "rm -f ~/Downloads/*.md", "rm --force a", rule=RM),
    *shapes(31, Right.DENY, REFUSE, "r\\m -rf x", "r''m -rf x", '"rm" -rf x', "$(echo rm) -rf x", rule=RM),
    *shapes(31, Right.DENY, REFUSE, "r\\m -rf /", "r''m -rf /", "$(echo rm) -rf /", rule=ROOT),
    # what becomes of the shell's own name is not known: such a program asks, and nothing but a person lets it run
    *shapes(31, Right.ASK, ASK, "${0/x/r}m -rf x"),
    *shapes(35, Right.ASK, ASK, "sort --compress-program=sh f", "rg --pre sh x", "man -P sh ls", "ag --pager sh x"),
    # a rule for a program by its name covered what its options and its own little language run
    *shapes(
        35,
        Right.ASK,
        ASK,
        "sort --compress-program=sh f",
        "tar xf a --to-command=sh",
        "git grep -Osh x",
        allow=ANYTHING_OF,
    ),
    *shapes(35, Right.ASK, ASK, "sed 's/a/b/e' f", "sed '1e id' f", "sed 'w out' f", "sed -f s f", allow=ANYTHING_OF),
    *shapes(35, Right.ASK, ASK, "find . -exec sh -c x ;", "find . -fls out", "tar xfI a ./x", allow=ANYTHING_OF),
    *shapes(35, Right.ASK, ASK, "git -c core.pager=x log", "env sh", "xargs sh", "awk 'BEGIN{f()}'", allow=ANYTHING_OF),
    *shapes(37, Right.DENY, REFUSE, "echo cm0gLXJmIC8K | base64 -d | bash", rule="remote.decode-to-shell"),
    *shapes(37, Right.DENY, REFUSE, "echo cm0gLXJmIC8K | base64 --decode | sh", rule="remote.decode-to-shell"),
    *shapes(38, Right.ASK, REFUSE, "base64 -d f | sh", "base64 -d f | zsh", rule="remote.decode-to-shell"),
    *shapes(38, Right.ASK, ASK, "base64 -d f > out", "base64 -d f | xargs ls", "base64 -d f | tee out"),
    *shapes(40, Right.DENY, REFUSE, "cat <<EOF; rm -rf ~\nx\nEOF", "cat <<EOF && rm -rf /\nx\nEOF", rule=ROOT),
    *shapes(41, Right.ASK, REFUSE, "ls # <<EOF\nrm -rf x\nEOF", "echo '<<EOF'\nrm -rf x\nEOF", rule=RM),
    *shapes(41, Right.ASK, REFUSE, "cat <<<EOF\nrm -rf x\nEOF", "((1<<EOF))\nrm -rf x\nEOF", rule=RM),
    *shapes(41, Right.ASK, ASK, "ls # <<EOF\nmk x\nEOF", "echo '<<EOF'\nmk x\nEOF", "cat <<<EOF\nmk x\nEOF"),
    *shapes(44, Right.ASK, ASK, "ls && if && mk", "echo $((cmd); ls)", "ls; case", "ls )"),
    *shapes(49, Right.ASK, REFUSE, "rm -r -f .", "R=rm; $R -rf .", rule=RM),
    *shapes(49, Right.ASK, ASK, "git clean -fdx"),
    # added words add authority, so no pattern covers an interpreter
    *shapes(50, Right.ASK, ASK, "python x.py", "python -c 1", "python -m x", "npm test -- x", allow=INTERPRETERS),
    *shapes(50, Right.ASK, ASK, "python x.py", "python -c 1", "npm test", "npm install evil", "python --version x.py"),
)

BLOCKED = (
    *shapes(13, Right.NOT_DENY, RUN, "gh run view 123", "gh run view 123 2>/dev/null", allow=RUN_VIEW),
    *shapes(13, Right.NOT_DENY, ASK, "gh run view 1 > log", "GH_TOKEN=x gh api /user"),
    *shapes(13, Right.NOT_DENY, RUN, "bash -c 'gh run view 1'"),
    *shapes(20, Right.NOT_DENY, ASK, "python3 - <<'PY'\nmsg = \"rm -rf /home/w\"\nPY"),
    *shapes(21, Right.NOT_DENY, ASK, "true <<'EOF'\nrun git clean and git restore to undo\nEOF"),
    *shapes(22, Right.NOT_DENY, ASK, "cat <<'EOF'\n`rm -rf x` removes it\nEOF"),
    *shapes(23, Right.NOT_DENY, ASK, "cat <<'EOF'\nopen <i>/store and wait\nEOF"),
    *shapes(24, Right.NOT_DENY, ASK, "git commit -F - <<'EOF'\nnever run rm -rf / here\nEOF"),
    *shapes(24, Right.NOT_DENY, ASK, "cat > f <<'EOF'\nrm -rf / is refused\nEOF"),
    *shapes(25, Right.NOT_DENY, RUN, "command -v foo"),
    *shapes(26, Right.NOT_DENY, ASK, 'eval "$(ssh-agent -s)"'),
    *shapes(27, Right.NOT_DENY, ASK, 'ssh h "a 2>/dev/null" 2>&1', 'sudo ssh h "a 2>/dev/null"'),
    *shapes(28, Right.NOT_DENY, ASK, 'curl "wttr.in/London?format=3"'),
    *shapes(28, Right.NOT_DENY, RUN, 'echo "the format is wide"', "echo format c:"),
    *shapes(32, Right.NOT_DENY, ASK, "cd ${WORKSPACE}backend", "cd ${WORKSPACE}backend && ls"),
    *shapes(38, Right.NOT_DENY, RUN, "base64 -d f", "base64 --decode f"),
    *shapes(39, Right.NOT_DENY, ASK, 'echo "$(ls | head)"'),
    *shapes(42, Right.NOT_DENY, ASK, "cat > doc.md <<'EOF'\nDROP TABLE users;\nrm -rf build\nEOF"),
    *shapes(43, Right.NOT_DENY, RUN, "command -v git", "command -v git reset"),
    *shapes(43, Right.NOT_DENY, ASK, "command -v git reset --hard"),
    *shapes(
        45, Right.NOT_DENY, ASK, 'for f in a b; do ls "$f"; done', "[[ -f a ]] && ls", "ls $(pwd)", "echo $((1+1))"
    ),
    *shapes(45, Right.NOT_DENY, ASK, 'while read -r l; do echo "$l"; done < f', "if ls; then ls; fi"),
    *shapes(0, Right.NOT_DENY, ASK, "docker rm -f x", "npm rm -f x"),
)


def decide(shape: Shape) -> Decision:
    """The decision where every word leads below /srv/work or to where it says, and nothing sensitive lies below."""
    allow = tuple(owner.rule(f"allow[{at}]", item) for at, item in enumerate(shape.allow)) or READONLY
    prepared = prepared_of(shape.command, RuleSet(allow=allow, places=Places(home="/home/mtclaw")))
    resolved = {word: posixpath.normpath(posixpath.join("/srv/work", word)) for word in prepared.wants.paths}
    return evaluate(prepared, facts_of(prepared, resolved=resolved))


@pytest.mark.parametrize("shape", PASSED, ids=lambda shape: f"{shape.number}: {shape.command}")
def test_what_passed_elsewhere_does_not_pass_here(shape: Shape) -> None:
    """Each shape gets its verdict, by the rule that means it, and never a milder one than the report calls right."""
    decision = decide(shape)
    assert (decision.verdict, decision.rule) == (shape.verdict, shape.rule)
    assert decision.verdict is REFUSE or (decision.verdict is ASK and shape.right is Right.ASK)
    assert decision.runs is None


@pytest.mark.parametrize("shape", BLOCKED, ids=lambda shape: f"{shape.number}: {shape.command}")
def test_what_was_blocked_elsewhere_can_be_had_here(shape: Shape) -> None:
    """Each shape runs or asks, and is not refused."""
    decision = decide(shape)
    assert decision.verdict is shape.verdict
    assert decision.verdict is not REFUSE
    assert (decision.runs is not None) is (shape.verdict is RUN)


def test_every_report_is_here() -> None:
    """No row of the collection is left out (those missing in between are twins of others or no command at all)."""
    assert {shape.number for shape in (*PASSED, *BLOCKED)} == {
        *(0, 1, 3, 4, 6, 7, 8, 11, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28),
        *(31, 32, 35, 37, 38, 39, 40, 41, 42, 43, 44, 45, 49, 50),
    }


def test_a_search_is_run_without_a_configuration_that_the_environment_names() -> None:
    """Report 11: the variable that could name a file with `--pre` is forced to nothing."""
    decision = decide(Shape(11, Right.ASK, "rg x", RUN))
    assert decision.verdict is RUN
    assert decision.environment["RIPGREP_CONFIG_PATH"] == ""


def test_nothing_is_run_where_nobody_can_be_asked() -> None:
    """Report 36: an ask without a person is no yes; the decision stays an ask, which the gate refuses."""
    prepared = prepared_of("touch f", RuleSet(allow=READONLY))
    assert evaluate(prepared, facts_of(prepared, attended=False)).verdict is ASK

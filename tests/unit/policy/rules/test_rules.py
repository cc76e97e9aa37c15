"""Every built-in rule against its own examples, plain and behind everything that could hide a command."""

import re
import shlex
from collections.abc import Callable

import pytest

from mtbot.policy import deny
from mtbot.policy.rule import Rule
from mtbot.policy.rules import RULES

REFUSES = [(rule, text) for rule in RULES for text in rule.refuses]
PERMITS = [(rule, text) for rule in RULES for text in rule.permits]

quote = shlex.quote

DODGES: dict[str, Callable[[str], str]] = {
    "after and": lambda text: f"true && {text}",
    "after or": lambda text: f"false || {text}",
    "after semicolon": lambda text: f"true; {text}",
    "after newline": lambda text: f"true\n{text}",
    "after comment": lambda text: f"ls # x\n{text}",
    "after background": lambda text: f"sleep 1 & {text}",
    "subshell": lambda text: f"( {text}\n)",
    "group": lambda text: f"{{ {text}\n}}",
    "negated": lambda text: f"! {text}",
    "if": lambda text: f"if true; then {text}\nfi",
    "while": lambda text: f"while true; do {text}\ndone",
    "for": lambda text: f"for i in 1; do {text}\ndone",
    "case": lambda text: f"case x in x) {text}\n;; esac",
    "coproc": lambda text: f"coproc {{ {text}\n}}",
    "substitution": lambda text: f'echo "$({text}\n)"',
    "default value": lambda text: f"echo ${{x:-$({text}\n)}}",
    "arithmetic": lambda text: f"echo $(( $({text}\n) ))",
    "test": lambda text: f"[[ -n $({text}\n) ]]",
    "array": lambda text: f"a=($({text}\n))",
    "assignment": lambda text: f"A=$({text}\n) ls",
    "redirect target": lambda text: f"ls > $({text}\n)",
    "process substitution": lambda text: f"cat <({text}\n)",
    "function": lambda text: f"zz() {{ {text}\n}}; zz",
    "alias": lambda text: f"alias a={quote(text)}; a",
    "variable": lambda text: f'x={quote(text)}; eval "$x"',
    "sh -c": lambda text: f"sh -c {quote(text)}",
    "bash -lc": lambda text: f"bash -lc {quote(text)}",
    "eval": lambda text: f"eval {quote(text)}",
    "sudo": lambda text: f"sudo -u root sh -c {quote(text)}",
    "su": lambda text: f"su - root -c {quote(text)}",
    "env nohup timeout nice": lambda text: f"env A=1 nohup timeout -k 1 5 nice -n 5 bash -c {quote(text)}",
    "four levels": lambda text: f"sh -c {quote('bash -c ' + quote('dash -c ' + quote('eval ' + quote(text))))}",
    "echo to a shell": lambda text: f"echo {quote(text)} | bash",
    "here-document": lambda text: f"bash <<'EOF'\n{text}\nEOF",
    "here-string": lambda text: f"bash <<< {quote(text)}",
    "in a here-document": lambda text: f"cat <<E\n$({text}\n)\nE",
    "xargs": lambda text: f"ls | xargs -I{{}} sh -c {quote(text)}",
    "find -exec": lambda text: f"find . -exec sh -c {quote(text)} \\;",
    "ssh": lambda text: f"ssh -p 22 host {quote(text)}",
    "trap": lambda text: f"trap {quote(text)} EXIT",
    "busybox": lambda text: f"busybox sh -c {quote(text)}",
    "watch": lambda text: f"watch -n 1 {quote(text)}",
    "parallel": lambda text: f"parallel ::: {quote(text)}",
    "written and run": lambda text: f"cat > x.sh <<'EOF'\n{text}\nEOF\nsh x.sh",
    "ANSI-C quoting": lambda text: "bash -c $'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'",
    "echoed name of a shell": lambda text: f"$(echo sh) -c {quote(text)}",
    "carriage returns": lambda text: f"true\r\n{text}\r\n",
    "before an open quote": lambda text: f"{text}\necho 'open",
    "before a stray parenthesis": lambda text: f"{text}\n)",
    "in an unfinished if": lambda text: f"if {text}\n",
    "behind 3 KiB": lambda text: f"{'echo a longer word;' * 170}\n{text}",
}


def _refusing(text: str) -> set[str]:
    """The ids of all rules that match anywhere in the text."""
    found, _ = deny.look(text, deny.compile_rules())
    assert found is not None
    return {rule.id for command in found.commands for rule in deny.candidates(command) if rule.matches(command)}


@pytest.mark.parametrize(("rule", "text"), REFUSES, ids=lambda value: value if isinstance(value, str) else value.id)
def test_a_refuse_example_is_refused_by_its_own_rule(rule: Rule, text: str) -> None:
    """Docs and `policy rules` show these lists, so each example must be what it says."""
    assert rule.id in _refusing(text)


@pytest.mark.parametrize(("rule", "text"), PERMITS, ids=lambda value: value if isinstance(value, str) else value.id)
def test_a_permit_example_is_refused_by_no_rule(rule: Rule, text: str) -> None:
    """A permit example shows where the rule ends; no other rule may take it over."""
    assert _refusing(text) == set(), rule.id


@pytest.mark.parametrize("dodge", sorted(DODGES))
def test_no_way_of_writing_it_hides_an_example(dodge: str) -> None:
    """Wrappers, quoting, nesting and broken text change nothing: every refuse example stays refused."""
    hide, rules = DODGES[dodge], deny.compile_rules()
    passed = [text for _, text in REFUSES if not isinstance(deny.look(hide(text), rules)[1], deny.Denial)]
    assert passed == []


def test_ids_are_stable_words_and_unique() -> None:
    """Owners write ids into their configuration, so an id never changes and names one rule."""
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert [rule_id for rule_id in ids if not re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", rule_id)] == []
    assert set(ids) == {
        "disk.blkdiscard", "disk.dd-device", "disk.mkfs", "disk.raw-device", "disk.shred", "disk.volumes", "disk.wipefs",
        "files.chmod-system", "files.chown-system", "files.find-delete", "files.rm-recursive", "files.wipe-root",
        "git.force-push", "host.accounts", "host.fork-bomb", "host.history-clear", "host.kill-all", "host.mtclaw-self",
        "host.power", "host.sudo-password", "remote.decode-to-shell", "remote.download-to-shell",
    }  # fmt: skip


def test_hardline_rules_come_first() -> None:
    """The strictest reason is the one that is told, and hardline rules are those that nothing softens."""
    hardline = [rule.hardline for rule in RULES]
    assert hardline == sorted(hardline, reverse=True)
    assert {rule.id for rule in RULES if rule.hardline} == {
        "disk.blkdiscard", "disk.dd-device", "disk.mkfs", "disk.raw-device", "disk.volumes", "disk.wipefs",
        "files.wipe-root", "host.fork-bomb", "host.kill-all", "host.mtclaw-self",
    }  # fmt: skip


def test_every_rule_says_what_it_refuses_and_what_not() -> None:
    """A rule without examples on both sides is not reviewed."""
    assert [rule.id for rule in RULES if len(rule.refuses) < 2 or len(rule.permits) < 2 or not rule.reason] == []

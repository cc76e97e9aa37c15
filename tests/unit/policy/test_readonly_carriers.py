"""Carriers of the read-only pack: what they carry is held to the pack, and what bash runs is what they were read to carry."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtbot.domain.call import Below
from mtbot.policy import allow, bashlex_reading
from mtbot.policy.allow import AllowContext, Allowed, NotAllowed, PathFact, WhyNot
from mtbot.policy.allow_rule import AllowRule, AllowRules, Argv, Match, Needs, Operand
from mtbot.policy.covering import MAX_CARRIED, all_matching
from mtbot.policy.lexer import LexedCommand, Literal, lex
from mtbot.policy.reading_values import BashlexReading
from mtbot.policy.readonly import READONLY
from mtbot.policy.readonly_carriers import CARRIERS
from mtbot.policy.sensitive import Places

PACK = AllowRules(READONLY)
PUSH = AllowRule(id="allow[0]", match=lambda argv: Match() if argv == ("git", "push") else None, program="git")


def judge(text: str, *owners: AllowRule, **facts: object) -> Allowed | NotAllowed:
    """What the pack and the owner's rules say where every word lies below /srv/app/IN and nothing around it."""
    literal = lex(text)
    assert isinstance(literal, Literal), text
    reading = bashlex_reading.read(text)
    assert isinstance(reading, BashlexReading)
    rules = AllowRules((*owners, *READONLY))
    wanted = allow.wanted(literal, rules)
    directory = "/srv/app" if wanted.directory is None else f"/srv/app/{wanted.directory}"
    paths = {
        word: PathFact(word if word.startswith("/") else f"{directory}/{word}", Below.NOTHING) for word in wanted.paths
    }
    context = AllowContext(directory, Places(home="/home/op"), paths, frozenset(), "/srv/app")
    return allow.judge(literal, reading.argvs, rules, replace(context, **facts))  # type: ignore[arg-type]  # the callers name fields


def runs(text: str, *owners: AllowRule) -> bool:
    """Whether the text runs."""
    return isinstance(judge(text, *owners), Allowed)


RUNS = """
    bash -c ls|bash -c 'git status && git log --oneline -5 | head -3'|sh -c 'cat file.txt'|dash -c 'ls -la'|bash -o pipefail -c 'git log'|bash -euo pipefail -c 'ls; pwd'
    bash -exc pwd|bash -c -e ls|bash -c -- ls|sh -c 'ls 2>/dev/null'|bash -c "grep 'a b' f"|bash -c 'timeout 5 git log'
    timeout 5 ls|timeout -k 1s -s KILL 5m git log|timeout -vk1s 5 bash -c 'git status'|timeout --signal=KILL --kill-after=1s 5 ls|nice ls|nice -n 5 git log
    ionice -c2 -n4 ls|ionice -tc3 ls|chrt -b 0 ls|taskset 0x1 ls|taskset -c 0 ls|setsid --wait ls|stdbuf -oL ls|env ls|env LC_ALL=C ls|env -- ls|command ls -la
    command -v ls|nice timeout 5 ls|ls | timeout 5 head|caffeinate|caffeinate -t 60|caffeinate -i ls|arch|arch -x86_64 ls
    xargs cat|xargs -0 -n 1 -P 4 cat|ls | xargs basename|ls | xargs -n1 dirname|ls | xargs -I % echo %|timeout 5 xargs cat|ls && xargs cat
    git -C repo status|git -C /srv/other log --oneline -5|git --no-pager -C repo log|git -C repo status && git -C repo log | head -5|git -C repo show HEAD:a.py | grep x
    bash -c 'git -C repo log | head'|timeout 5 git -C repo status|git -C repo log | cat /etc/hostname|git -C repo diff -- src|git -C a status && ls|ls | xargs basename -s .py
    """


def _texts(block: str) -> list[str]:
    """The texts of a block: a bar between blanks belongs to a text."""
    marked = block.replace(" | ", "\0").replace("\n", "|")
    return [text.replace("\0", " | ").strip() for text in marked.split("|") if text.strip()]


@pytest.mark.parametrize("text", _texts(RUNS))
def test_what_the_pack_lets_run_it_lets_run_inside(text: str) -> None:
    """A carrier changes nothing of the verdict."""
    assert runs(text)


ASKS = {
    "not in the pack, or something sensitive": """
        bash -c 'rm x'|bash -c 'ls; python3 x'|timeout 5 rm x|nice bash|env bash|env python3 x|command rm x|xargs rm
        xargs sh|xargs bash -c 'rm x'|timeout 5 cat /etc/shadow|bash -c 'cat .env'|nice git push|setsid --wait vi
        stdbuf -oL sort -o x y|taskset 1 sudo ls|timeout 5 cd x|command cd x|bash -c 'cd x'|env LC_ALL=C rm x
        xargs -n1 git push|arch -x86_64 rm x|caffeinate make
        """,
    "a shell that reads start-up files, a script, its input, or text outside the subset": """
        bash|bash x.sh|bash -l|bash -lc ls|bash -ic ls|bash --login -c ls|bash --rcfile x -c ls
        bash --init-file x -c ls|bash -s|ls | bash|bash -c ls arg|bash -c|bash -c 'ls $HOME'|bash -c 'ls *'
        bash -c 'ls > out'|bash -c 'ls &'|bash -c '$(ls)'|bash -c 'A=1 ls'|bash -c '(ls)'|bash -c 'if ls'
        bash -c '"ls"'|bash -c 'ls <<E'|bash -O extglob -c ls|bash -o vi -c ls|bash -opipefail -c ls|bash -c ''
        bash -c '#'|bash +e -c ls|zsh -c ls|ksh -c ls|fish -c ls|/bin/bash -c ls|./bash -c ls|bash -c "ls 'a''b'"
        """,
    "another power of the carrier": """
        timeout ls|timeout 5|timeout -x 5 ls|nice -n -5 ls|ionice -c 1 ls|ionice -p 1|chrt -f 99 ls|chrt -p 1|chrt -b 0
        taskset -p 1|taskset 1|setsid ls|setsid -f ls|setsid -c ls|stdbuf -oX ls|prlimit ls|nohup ls|env|env -0
        env -i ls|env - ls|env -u PATH ls|env -C x ls|env -S ls|env FOO=1 ls|env LD_PRELOAD=x ls|env PATH=. ls
        env BASH_ENV=x bash -c ls|env LC_ALL=../x ls|env TZ=/x ls|env TZ=../x ls|env LC_ALL=C FOO=1 ls|command -p ls
        command|xargs|xargs -a f cat|xargs --arg-file=f cat|xargs -p cat|xargs --process-slot-var=A cat|arch -e A=1 ls
        arch -d PATH ls|watch ls|time ls|parallel ls|find . -exec ls
        """,
    "words of another command become operands": """
        ls | xargs cat|ls | xargs|find . -print0 | xargs -0 grep x|ls | timeout 5 xargs cat|ls | bash -c 'xargs cat'
        ls | bash -c 'pwd; xargs cat'|bash -c 'ls | xargs cat'|ls | xargs -I e echo x|ls | xargs -I base basename x
        ls | xargs timeout 5 echo|ls | xargs xargs basename|ls | xargs --replace=b basename b
        """,
    "more than one directory, or none that a look-up could follow": """
        git -C a status && git -C b status|git -C a status && git status|git -C a status && cat f|git -C a log | cat f
        git -C a -C a status|git -C a -C b status|cd x && git -C a status|git -C a push|git -C a|git -C a/../b status
        git -C ~ status|git -C '' status|git -Ca status|git -c x=y -C a status|git -C a -c core.pager=x log
        git -C a --git-dir=x log|bash -c 'git -C a status; ls f'
        """,
}


@pytest.mark.parametrize("text", [text for block in ASKS.values() for text in _texts(block)])
def test_nothing_else_runs_inside(text: str) -> None:
    """Each of these asks."""
    assert not isinstance(lex(text), Literal) or not runs(text)


def test_a_rule_of_the_owner_means_no_command_around_it() -> None:
    """What the owner permitted stands for itself, with no carrier of a pack in front."""
    assert runs("git push", PUSH)
    for text in ("timeout 5 git push", "bash -c 'git push'", "git -C a push", "nice git push", "xargs git push"):
        assert not runs(text, PUSH), text


def test_the_rules_of_what_is_carried_are_named_with_their_needs() -> None:
    """The record shows every rule; variables and needs of the inside hold for the whole."""
    answer = judge("timeout 5 bash -c 'git status | head -5'")
    assert isinstance(answer, Allowed)
    assert [rule.id for rule in answer.rules] == [
        "readonly:timeout",
        "readonly:bash",
        "readonly:git-status",
        "readonly:head",
    ]
    assert {"GIT_PAGER": "cat", "BASH_ENV": "", "PS4": ""}.items() <= answer.environment.items()
    assert answer.needs == Needs(confinable=True, plain_repository=True)
    assert answer.runs == "timeout 5 bash -c 'git status | head -5'"
    on_host = judge("timeout 5 kubectl get pods")
    assert isinstance(on_host, Allowed)
    assert (on_host.needs.network, on_host.needs.confinable) == (True, False)


def test_a_repository_that_names_a_program_stops_what_is_carried() -> None:
    """As without the carrier."""
    for text in ("nice git status", "git -C a status", "bash -c 'git status'"):
        answer = judge(text, repository_keys=frozenset({"filter.clean"}))
        assert isinstance(answer, NotAllowed)
        assert answer.kind is WhyNot.REPOSITORY


def test_operands_are_looked_up_from_the_directory_that_is_entered() -> None:
    """`git -C DIR` and its operands; what git enters is asked for once."""
    literal = lex("git -C repo log -- a.py | head -5")
    assert isinstance(literal, Literal)
    wanted = allow.wanted(literal, PACK)
    assert (wanted.directory, wanted.paths, wanted.repository) == ("repo", ("a.py",), True)
    answer = judge("git -C repo log -- a.py | head -5")
    assert isinstance(answer, Allowed)
    assert [path for path, _ in answer.operands] == ["/srv/app/repo/a.py"]
    for text in (
        "git -C repo push",
        "git -C repo log | cat a",
        "git -C a log && git -C b log",
        "git -C repo log | ./x",
        "cd x && git -C repo log",
    ):
        other = lex(text)
        assert isinstance(other, Literal)
        assert allow.wanted(other, PACK).directory == ("x" if text.startswith("cd") else None), text


def test_a_program_that_is_a_path_is_looked_up_where_it_runs() -> None:
    """`./x` beside `git -C` runs from the call's own directory, so nothing is looked up from the one that is entered."""
    here = AllowRule(id="allow[0]", match=lambda _: Match(), program="./x")
    literal = lex("git -C repo log && ./x")
    assert isinstance(literal, Literal)
    assert allow.wanted(literal, AllowRules((here, *READONLY))).directory is None


def test_a_sensitive_directory_is_not_entered() -> None:
    """As with cd."""
    answer = judge("git -C repo status", directory="/home/op/.ssh")
    assert isinstance(answer, NotAllowed)
    assert answer.kind is WhyNot.OPERAND


def test_a_rule_for_a_directory_holds_beside_what_is_entered() -> None:
    """A command that does not enter runs in the call's own directory, and a rule for that one still covers it."""
    here, there = (
        AllowRule(id="allow[0]", match=lambda _: Match(), program="deploy", cwd=cwd)
        for cwd in ("/srv/app", "/srv/app/repo")
    )
    assert runs("git -C repo status && deploy", here)
    assert not runs("git -C repo status && deploy", there)
    assert runs("git -C /x status && bin/deploy") is False


def test_beside_what_is_entered_only_a_rule_that_looks_up_nothing_holds() -> None:
    """Of two rules that cover a command, the one whose operand would be looked up from the wrong directory is passed over."""
    looks = AllowRule(id="allow[0]", match=lambda argv: Match((Operand(argv[1]),)), program="deploy")
    knows = AllowRule(id="allow[1]", match=lambda _: Match(), program="deploy")
    answer = judge("git -C repo status && deploy x", looks, knows)
    assert isinstance(answer, Allowed)
    assert answer.rules[-1] == knows


def test_carriers_carry_each_other_so_deep_and_no_deeper() -> None:
    """The end is a question, whatever the length, and never an exception."""
    assert runs("nice " * MAX_CARRIED + "ls")
    assert not runs("nice " * (MAX_CARRIED + 1) + "ls")
    answer = judge("nice " * 200 + "ls")
    assert isinstance(answer, NotAllowed)
    assert answer.kind is WhyNot.NO_RULE
    assert len(list(all_matching(LexedCommand(("nice",) * 2000), PACK))) == MAX_CARRIED + 1


def test_no_rule_forces_a_variable_that_env_may_set() -> None:
    """Else `env` would take back what a rule relies on."""
    forced = {name for rule in READONLY for name, _ in rule.environment}
    assert not {
        name
        for name in forced
        if name in ("LANGUAGE", "TZ", "COLUMNS", "LINES", "NO_COLOR") or name.startswith(("LANG", "LC_"))
    }


_REAL = {
    "bash": (
        "-c 'probe a \"b c\"; probe d'",
        "-euo pipefail -c 'probe a'",
        "-c -e 'probe a' ",
        "-xc 'probe a | probe b'",
    ),
    "sh": ("-c 'probe a && probe b'", "-ec 'probe a || probe b'"),
    "dash": ("-c 'probe a\nprobe b'",),
    "timeout": ("5 probe a -x", "-vk 1s -s KILL 5m probe a", "--kill-after=1 --signal=TERM 5 probe -- a"),
    "nice": ("probe a", "-n 5 probe -n 1", "--adjustment=3 probe"),
    "ionice": ("-c 3 probe a", "-tc2 -n4 probe a"),
    "chrt": ("-b 0 probe a", "--idle 0 probe a"),
    "taskset": ("-c 0 probe -p 1", "1 probe a"),
    "setsid": ("--wait probe a", "-w probe -f"),
    "stdbuf": ("-oL -e0 probe a", "--output=L probe --output=x"),
    "env": ("LC_ALL=C probe A=1", "-- probe -i", "probe - a"),
    "command": ("probe -v a",),
    "xargs": ("-0 -n 1 probe a", "-I % -P 2 -t probe %", "-d , -L 1 probe -d"),
}


@pytest.mark.parametrize(("program", "words"), [(program, words) for program, many in _REAL.items() for words in many])
def test_what_really_runs_is_what_was_read(program: str, words: str, tmp_path: Path) -> None:
    """Each carrier in real bash, with nothing on its input: every program that ran is one that was read, in order."""
    if program != "command" and shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    log, probe = tmp_path / "log", tmp_path / "probe"
    probe.write_text(
        f'#!{sys.executable}\nimport os, sys\nos.write(os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), (repr(tuple(sys.argv[1:])) + "\\n").encode())\n'
    )
    probe.chmod(0o755)
    text = f"{program} {words}"
    literal = lex(text)
    assert isinstance(literal, Literal)
    rule = next(rule for rule in CARRIERS if rule.program == program)
    carried = _innermost(rule, literal.commands[0].argv)
    done = subprocess.run(["bash", "--noprofile", "--norc", "-c", literal.canonical()], stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin:/usr/sbin:/sbin"}, check=False)  # fmt: skip
    if done.returncode in (1, 126) and b"ermitted" in done.stderr:
        pytest.skip(f"{program} is not permitted here")
    ran = log.read_text().splitlines() if log.exists() else []
    # of a list with || or -I with nothing to read not everything runs, but nothing else and in no other order
    assert sorted(ran) == sorted(repr(argv[1:]) for argv in carried[: len(ran)])
    assert bool(ran) == ("-I" not in words)


def _innermost(rule: AllowRule, argv: Argv) -> list[Argv]:
    match = rule.match(argv)
    assert match is not None, argv
    assert all(command.argv[0] == "probe" for command in match.carries)
    return [command.argv for command in match.carries]

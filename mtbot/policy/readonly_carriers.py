"""Read-only carriers: programs that run another command, let through with a command that the pack lets run.

They are on the never-by-rule list, because a pattern over them is a pattern over everything. Here the carried command is
read out of their words, and the judge holds it to the pack as if it stood alone. So a carrier may neither change what
that command finds (its directory, root, user, variables, the resources of others) nor outlive it. What a shell is
given must lie in the literal subset itself.
"""

import re
from collections.abc import Callable

from mtbot.policy import bashlex_reading
from mtbot.policy.allow_rule import AllowRule, Argv, Match, Matcher, Needs
from mtbot.policy.grammar import Grammar, Read, grammar
from mtbot.policy.lexer import LexedCommand, Literal, is_plain_directory, lex
from mtbot.policy.reading_values import BashlexReading
from mtbot.policy.readonly_entry import Environment
from mtbot.policy.readonly_git import GIT_ENVIRONMENT
from mtbot.policy.words import words

_NO_NEEDS = Needs()

_SAYS_ITS_WORDS = words("echo basename dirname")
"""Programs that print whatever words they are given, so that it does not matter whose words these are."""

_A_WORD = "WORD"
"""Stands for the words that are read."""

_NO_START_UP: Environment = (("BASH_ENV", ""), ("ENV", ""), ("PS4", ""))

_SHELL = grammar("-ceux -o:(pipefail|errexit|nounset)")


def _match_shell(argv: Argv) -> Match | None:
    """`bash -c TEXT`, no login shell and no interactive one, where both readers find the same plain commands in TEXT."""
    if any(word.startswith("-") and "o" in word[:-1] for word in argv[1:]):
        # bash takes the name of an option from the next word even where letters follow
        return None
    taken = _SHELL.leading(argv[1:])
    if taken is None or "-c" not in taken[0].options or len(taken[1]) != 1:
        return None
    inside = lex(taken[1][0])
    if not isinstance(inside, Literal) or inside.cd is not None:
        return None
    second = bashlex_reading.read(taken[1][0])
    agreed = isinstance(second, BashlexReading) and second.plain and second.argvs == inside.argvs()
    return Match(carries=inside.commands) if agreed else None


def _carrying(options: Grammar, *operands: str, also: Callable[[Read], bool] = lambda _: True) -> Matcher:
    """A matcher for `PROGRAM OPTIONS OPERANDS COMMAND`, where each operand is a shape."""
    shapes = tuple(re.compile(shape, re.ASCII) for shape in operands)

    def match(argv: Argv) -> Match | None:
        taken = options.leading(argv[1:])
        if taken is None or not also(taken[0]):
            return None
        given, carried = taken[1][: len(shapes)], taken[1][len(shapes) :]
        if not carried or not all(shape.fullmatch(word) for shape, word in zip(shapes, given, strict=True)):
            return None
        return Match(carries=(LexedCommand(carried),))

    return match


_HARMLESS_VARIABLE = re.compile(
    r"(?:LANG|LANGUAGE|LC_[A-Z]+)=(?:[A-Za-z][A-Za-z0-9_.@-]*)?|TZ=[A-Za-z]+(?:/[A-Za-z_+-]+)*|(?:COLUMNS|LINES)=[0-9]{1,4}|NO_COLOR=[0-9]?",
    re.ASCII,
)


_PROGRAM = re.compile(r"[A-Za-z0-9_./][^=]*")


def _match_env(argv: Argv) -> Match | None:
    """`env COMMAND`, with variables that only change how things are shown.

    Without PATH some systems look into the directory first, and without what a rule forces the rule does not hold: so
    nothing is taken away.
    """
    rest = argv[2:] if argv[1:2] == ("--",) else argv[1:]
    while rest and _HARMLESS_VARIABLE.fullmatch(rest[0]):
        rest = rest[1:]
    # whatever else holds a = would be a variable too
    return Match(carries=(LexedCommand(rest),)) if rest and _PROGRAM.fullmatch(rest[0]) else None


_XARGS = grammar(
    """-0rtx -n:num -P:num -L:num -s:num -d:any -E:text -I:([A-Za-z0-9_%{}@]+) --null --no-run-if-empty --verbose --exit --max-args:num
    --max-procs:num --max-lines?num --max-chars:num --delimiter:any --eof?text --replace?([A-Za-z0-9_%{}@]+)"""
)


def _match_xargs(argv: Argv) -> Match | None:
    """`xargs COMMAND` with nothing to read, or before a command that only says its words."""
    taken = _XARGS.leading(argv[1:])
    if taken is None:
        return None
    read, carried = taken
    if not carried:
        return None
    # what is replaced is replaced in the name of the program too
    replaced = [value or "{}" for name, value in read.values if name in ("-I", "--replace")]
    says = carried[0] in _SAYS_ITS_WORDS and not any(mark in carried[0] for mark in replaced)
    given = (*carried, _A_WORD) if says and not replaced else carried
    return Match(carries=(LexedCommand(given),), appends=not says)


_ARCHITECTURE = _carrying(
    grammar("-32 -64 -i386 -x86_64 -x86_64h -arm64 -arm64e --arch:name -arch:name", whole_words=True)
)
_CAFFEINATE = grammar("-dimsu -t:num -w:num")


_GIT_PLAIN = words("-P --no-pager --no-optional-locks")


def _match_git_in(argv: Argv) -> Match | None:
    """`git -C DIR COMMAND`, where the options in front of it go with the command."""
    at = next((at for at, word in enumerate(argv[1:], 1) if word not in _GIT_PLAIN), 1)
    if argv[at : at + 1] != ("-C",) or len(argv) < at + 3 or not is_plain_directory(argv[at + 1]):
        return None
    return Match(carries=(LexedCommand(("git", *argv[1:at], *argv[at + 2 :])),), enters=argv[at + 1])


def _alone_or_carrying(options: Grammar) -> Matcher:
    carrying = _carrying(options)
    return lambda argv: carrying(argv) or options.match(argv[1:])


def _bounded(read: Read) -> bool:
    return not read.options.isdisjoint({"-b", "-i", "--batch", "--idle"})


def _rule(
    program: str,
    match: Matcher,
    permits: tuple[str, ...],
    refuses: tuple[str, ...],
    environment: Environment = (),
    needs: Needs = _NO_NEEDS,
) -> AllowRule:
    return AllowRule(
        id=f"readonly:{program}",
        match=match,
        program=program,
        reads_code=True,
        needs=needs,
        environment=environment,
        why="runs another command of the pack",
        permits=permits,
        refuses=refuses,
    )


def _shell(program: str) -> AllowRule:
    return _rule(
        program,
        _match_shell,
        (f"{program} -c ls", f"{program} -c 'git status | head -5'", f"{program} -euo pipefail -c 'ls && pwd'"),
        (
            f"{program} -lc ls",
            f"{program} -ic ls",
            f"{program} --login -c ls",
            f"{program} --rcfile x -c ls",
            f"{program} -c",
            f"{program} -c ls x",
            f"{program} ls",
            f"{program} -o pipefail ls",
            f"{program} -opipefail -c ls",
            f"{program} -o posix -c ls",
            f"{program} -c 'ls > out'",
            f"{program} -c 'cd x && ls'",
            f"{program} -c 'ls $HOME'",
            f"{program} -c 'ls *'",
            f"{program} -c \"ls 'a''b'\"",
            f"{program} -sc ls",
            f"{program} -O extglob -c ls",
        ),
        _NO_START_UP,
    )


CARRIERS: tuple[AllowRule, ...] = (
    *(_shell(program) for program in ("bash", "sh", "dash")),
    _rule(
        "timeout",
        _carrying(
            grammar("-vfp -s:name -k:([0-9.]+[smhd]?) --verbose --foreground --preserve-status --signal:name --kill-after:([0-9.]+[smhd]?)"),
            r"[0-9.]+[smhd]?",
        ),
        ("timeout 5 ls", "timeout -k 1s -s KILL 5m git log", "timeout --signal=TERM 5 bash -c 'git status'"),
        ("timeout 5", "timeout ls", "timeout -x 5 ls", "timeout --help"),
    ),
    _rule(
        "nice",
        _carrying(grammar("-n:num --adjustment:num")),
        ("nice git log", "nice -n 19 ls", "nice --adjustment=5 ls"),
        ("nice", "nice -n -5 ls", "nice -n", "nice -5 ls"),
    ),
    _rule(
        "ionice",
        _carrying(grammar("-t -c:(2|3|best-effort|idle) -n:([0-7]) --ignore --class:(2|3|best-effort|idle) --classdata:([0-7])")),
        ("ionice -c 3 ls", "ionice -c2 -n4 git log", "ionice --class idle ls"),
        ("ionice -c 1 ls", "ionice -c 3 -p 1", "ionice -p 1", "ionice"),
    ),
    _rule(
        "chrt",
        _carrying(grammar("-biv --batch --idle --verbose"), "0", also=_bounded),
        ("chrt -b 0 ls", "chrt --idle 0 git log"),
        ("chrt -f 99 ls", "chrt -p 1", "chrt -i 5 ls", "chrt 0 ls", "chrt -b 0", "chrt -b -p 0 1"),
    ),
    _rule(
        "taskset",
        _carrying(grammar("-c --cpu-list"), r"(?:0x)?[0-9a-fA-F]+|[0-9]+(?:[-,:][0-9]+)*"),
        ("taskset -c 0 ls", "taskset 0x1 git log", "taskset -c 0-3,5 ls"),
        ("taskset -p 1", "taskset -cp 0 1", "taskset 1", "taskset -a 1 ls"),
    ),
    _rule(
        "setsid",
        _carrying(grammar("-w --wait"), also=lambda read: bool(read.options)),
        ("setsid --wait ls", "setsid -w git log"),
        ("setsid ls", "setsid -f ls", "setsid -wc ls", "setsid --fork --wait ls", "setsid -w"),
    ),
    _rule(
        "stdbuf",
        _carrying(
            grammar("-i:(0|L|[0-9]+[kKMG]?) -o:(0|L|[0-9]+[kKMG]?) -e:(0|L|[0-9]+[kKMG]?) --input:(0|L|[0-9]+[kKMG]?) --output:(0|L|[0-9]+[kKMG]?) --error:(0|L|[0-9]+[kKMG]?)")
        ),
        ("stdbuf -oL grep x f", "stdbuf -o0 -eL ls"),
        ("stdbuf -oX ls", "stdbuf -oL", "stdbuf --output=x ls"),
    ),
    _rule(
        "env",
        _match_env,
        ("env ls", "env LC_ALL=C sort f", "env -- git status", "env TZ=Europe/Berlin NO_COLOR=1 date"),
        (
            "env",
            "env -0",
            "env LC_ALL=C",
            "env LD_PRELOAD=x ls",
            "env PATH=. ls",
            "env FOO=1 ls",
            "env GIT_PAGER=x git log",
            "env LC_ALL=../x ls",
            "env TZ=/etc/x date",
            "env -S ls",
            "env --split-string=ls",
            "env -C /x ls",
            "env --chdir=/x ls",
            "env --debug ls",
            "env -i ls",
            "env - ls",
            "env -u PATH ls",
            "env -u HOME git status",
        ),
    ),
    _rule("command", _carrying(grammar()), ("command ls -la", "command timeout 5 ls"), ("command -p ls", "command")),
    _rule(
        "git",
        _match_git_in,
        ("git -C repo status", "git -C ../repo log --oneline -5"),
        ("git -C repo", "git -C", "git -Crepo status", "git -C a/../b status", "git -C ~ status"),
        GIT_ENVIRONMENT,
        Needs(plain_repository=True),
    ),
    _rule(
        "xargs",
        _match_xargs,
        ("xargs cat", "xargs -0 -n 1 -P 4 grep x", "xargs -I % basename %", "xargs --replace dirname '{}'", "xargs -d '\\n' wc -l"),
        (
            "xargs",
            "xargs -0 --",
            "xargs -a f cat",
            "xargs --arg-file=f cat",
            "xargs -p cat",
            "xargs -o cat",
            "xargs -J % cat %",
            "xargs --process-slot-var=LD_PRELOAD cat",
            "xargs -S 1 cat",
        ),
    ),
)  # fmt: skip
"""Their commands are judged by the judge; the examples here only say which words carry one."""

MAC_CARRIERS: tuple[AllowRule, ...] = (
    _rule(
        "arch",
        lambda argv: _ARCHITECTURE(argv) or (Match() if len(argv) == 1 else None),
        ("arch", "arch -x86_64 ls", "arch -x86_64 -arm64 cat f", "arch --arch x86_64 pwd"),
        ("arch -e X=1 ls", "arch -c ls", "arch -d PATH ls", "arch -x86_64"),
    ),
    _rule(
        "caffeinate",
        _alone_or_carrying(_CAFFEINATE),
        ("caffeinate", "caffeinate -di -t 60", "caffeinate -w 1", "caffeinate -s ls"),
        ("caffeinate -x", "caffeinate -t x"),
    ),
)
"""Of macOS, and so on the host: another architecture of the same program, and no sleep while it runs."""

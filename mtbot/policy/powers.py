"""Programs that a rule may name and that write any file or run any program by one more option, and whether a rule lets them.

An argv rule takes no option that it does not spell out; an expression may take any. So an expression is tried with
commands that have such an option, at each place of a command that it covers. Which options run something is known where
their programs are unwrapped. Shells, interpreters (awk, sed) and wrappers (ssh) are not here: no pattern covers them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mtbot.policy.allow_rule import AllowRule, Argv
from mtbot.policy.reading_values import SimpleCommand, Word
from mtbot.policy.unwrap import unwrap
from mtbot.policy.unwrap_options import RSYNC_SHELLS, TAR_TEXTS, TEXT_OPTIONS
from mtbot.policy.unwrap_tables import FD_EXEC, FIND_EXEC, GIT_PACKS
from mtbot.policy.words import words

_FILLERS = ("x", "x.txt", "x.log", "./x", "src/x", "/srv/x")
"""What stands for an operand; an expression may want one or another."""

_KNOWN = 500
"""Known commands of one program that are tried, too; a long record holds thousands of one shape."""


class Does(StrEnum):
    """What an option makes of a program, in words."""

    RUNS = "runs any program"
    WRITES = "writes any file"


@dataclass(frozen=True, slots=True)
class Power:
    """An option as it is named, the words that give it to a program, and what it does.

    ``only``: it does so behind one of these subcommands. Where an option runs something depends on its place; that is
    found out by unwrapping.
    """

    option: str
    words: Argv
    does: Does
    only: frozenset[str] = frozenset()

    def held_by(self, argv: Argv) -> bool:
        """Whether the option does what it does in that command."""
        if self.does is Does.RUNS:
            return unwrap(SimpleCommand(tuple(map(Word, argv)))) != ()
        return not self.only or not self.only.isdisjoint(argv)


@dataclass(frozen=True, slots=True)
class Powerful:
    """A program with such options. ``bases`` are the words behind it in commands that are harmless, ``x`` an operand.

    ``safer`` is an argv rule that lets the program do what it is mostly wanted for, and none of the powers.
    """

    powers: tuple[Power, ...]
    bases: tuple[Argv, ...]
    safer: Argv


def _with_value(does: Does, names: Iterable[str], only: frozenset[str] = frozenset()) -> tuple[Power, ...]:
    """Options that take a value: joined by ``=`` to two dashes, else as the next word."""
    ordered = sorted(names, key=lambda name: (name.startswith("--"), name))
    return tuple(Power(name, (f"{name}=x",) if name.startswith("--") else (name, "x"), does, only) for name in ordered)


def _bases(*texts: str) -> tuple[Argv, ...]:
    return tuple(tuple(text.split()) for text in texts)


POWERFUL: dict[str, Powerful] = {
    "sort": Powerful(
        _with_value(Does.WRITES, ("-o", "--output")) + _with_value(Does.RUNS, TEXT_OPTIONS["sort"]),
        _bases("x", "-u x", "-n x"),
        ("sort", "**"),
    ),
    "find": Powerful(
        tuple(Power(name, (name, "x", "x", ";"), Does.RUNS) for name in sorted(FIND_EXEC))
        + _with_value(Does.WRITES, ("-fprint", "-fprint0", "-fls")),
        _bases("x", "x -name x", "x -type f"),
        ("find", "*", "-name", "*"),
    ),
    "fd": Powerful(
        tuple(Power(name, (name, "x"), Does.RUNS) for name in sorted(FD_EXEC)), _bases("x", "x x"), ("fd", "**")
    ),
    "git": Powerful(
        (
            Power("-c", ("-c", "core.pager=x"), Does.RUNS),
            *_with_value(Does.RUNS, (name for name in GIT_PACKS if name.startswith("--"))),
            *_with_value(Does.WRITES, ("--output",), words("log diff show")),
        ),
        _bases("log", "log -1", "diff x", "show x", "status", "fetch x", "pull x", "clone x", "push x x"),
        ("git", "log", "**"),
    ),
    "tar": Powerful(
        (
            Power("--checkpoint-action", ("--checkpoint=1", "--checkpoint-action=exec=x"), Does.RUNS),
            *_with_value(Does.RUNS, {*TAR_TEXTS, "-I"}),
        ),
        _bases("-tf x", "tf x", "-xf x", "xf x", "-czf x x", "czf x x"),
        ("tar", "-tf", "*"),
    ),
    "rsync": Powerful(_with_value(Does.RUNS, RSYNC_SHELLS), _bases("x x", "-a x x", "-av x x"), ("rsync", "-a", "**")),
    "zip": Powerful(_with_value(Does.RUNS, TEXT_OPTIONS["zip"]), _bases("x x", "-r x x"), ("zip", "-r", "**")),
    "split": Powerful(_with_value(Does.RUNS, TEXT_OPTIONS["split"]), _bases("x", "-l 9 x"), ("split", "**")),
    "iconv": Powerful(
        _with_value(Does.WRITES, ("-o", "--output")), _bases("x", "-f latin1 x"), ("iconv", "-f", "*", "**")
    ),
    "tree": Powerful(_with_value(Does.WRITES, ("-o",)), _bases("x", "-d x"), ("tree", "**")),
    "curl": Powerful(
        _with_value(Does.WRITES, ("-o", "--output")), _bases("https://x", "-s https://x"), ("curl", "-s", "**")
    ),
}


@dataclass(frozen=True, slots=True)
class Granted:
    """What a rule lets a program do, by which options, and one whole argv that shows it."""

    program: str
    powers: tuple[Power, ...]
    example: Argv


def granted(rule: AllowRule, known: Sequence[Argv] = ()) -> Iterator[Granted]:
    """The powers that a rule gives away, by program. ``known`` are further argvs that it may be about."""
    for program, powerful in POWERFUL.items():
        bases = [(program, *base) for base in _filled(powerful.bases)]
        bases += [argv for argv in known if argv[0] == program][:_KNOWN]
        covered = [base for base in bases if rule.match(base)]
        found = {power: argv for power in powerful.powers if (argv := _reaching(rule, covered, power)) is not None}
        if found:
            yield Granted(program, tuple(found), next(iter(found.values())))


def _reaching(rule: AllowRule, bases: Iterable[Argv], power: Power) -> Argv | None:
    """A command with that option that the rule covers."""
    tried = (base[:at] + power.words + base[at:] for base in bases for at in range(len(base), 0, -1))
    return next((argv for argv in tried if rule.match(argv) and power.held_by(argv)), None)


def _filled(bases: Iterable[Argv]) -> Iterator[Argv]:
    for base in bases:
        for filler in _FILLERS:
            yield tuple(word.replace("x", filler) if word in ("x", "https://x") else word for word in base)

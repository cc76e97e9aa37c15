"""What an allow rule is: a matcher over one exact argv, and what the command needs once the rule lets it run.

The owner's items and the read-only pack become the same value, so that one judge holds both to the same law.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from mtbot.policy.lexer import LexedCommand

Argv = tuple[str, ...]

OF_PACK = "readonly:"
"""How the id of every entry of a pack begins."""


class Role(StrEnum):
    """How an operand that names a path is used, and so what has to be known about it."""

    PATH = "path"
    """This one path; it must not be sensitive."""
    NAMES_BELOW = "names_below"
    """Names of everything below it are shown; nothing sensitive may lie below, a repository's own files excepted."""
    CONTENT_BELOW = "content_below"
    """Contents of everything below it are read; nothing sensitive at all may lie below."""
    OUTSIDE_REPOSITORY = "outside_repository"
    """As CONTENT_BELOW, but the command leaves out `.git`."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A path as it is written in the command, relative to the directory that the command runs in."""

    word: str
    role: Role = Role.PATH


@dataclass(frozen=True, slots=True)
class Needs:
    """What a command needs to run by this rule.

    `write` are path prefixes that it may write; `contained` runs it inside containment, not on the bare host;
    `confinable`: it only looks and can do that contained, so it runs so unless something beside it in the text cannot;
    `plain_repository` demands that the repository around it names no program in its own configuration.
    """

    network: bool = False
    write: tuple[str, ...] = ()
    contained: bool = False
    confinable: bool = False
    plain_repository: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A rule covers a command in full; `operands` is every word of it that may name a path.

    `contained`: this very command runs contained, whatever the rule says of itself. `carries` are the commands that it
    runs in turn, each of which a pack must let run too.
    `appends`: words from the standard input become operands of theirs. `enters`: they run in that directory.
    """

    operands: tuple[Operand, ...] = ()
    contained: bool = False
    carries: tuple[LexedCommand, ...] = ()
    appends: bool = False
    enters: str | None = None


Matcher = Callable[[Argv], Match | None]


@dataclass(frozen=True, slots=True)
class AllowRule:
    """One rule that can let one simple command run without a person.

    `program` is the only first word it is asked about (None: any). `exact` is set when the rule spells out one
    whole argv, which is the owner's way past the never-by-rule list; `reads_code` is the pack's: its matcher reads the
    code that the program is given and knows all of it to be harmless. `environment` is forced on the run; an empty value
    stands for "as if unset". `cwd`, if given, is the one directory in which the rule holds. The examples are
    command texts; `permits` must all match and `refuses` must not.
    """

    id: str
    match: Matcher
    program: str | None = None
    exact: Argv | None = None
    reads_code: bool = False
    needs: Needs = Needs()
    environment: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None
    why: str = ""
    permits: tuple[str, ...] = ()
    refuses: tuple[str, ...] = field(default=())

    @property
    def of_pack(self) -> bool:
        """Whether it is an entry of a pack, which only looks, and no item of the owner's."""
        return self.id.startswith(OF_PACK)


class AllowRules(tuple[AllowRule, ...]):
    """Rules in their order, with an index by program, so that hundreds of them cost no more than a few."""

    def __init__(self, rules: Iterable[AllowRule] = ()) -> None:
        del rules  # the tuple itself was made by __new__
        self._any = tuple(rule for rule in self if rule.program is None)
        found: dict[str, list[AllowRule]] = {rule.program: [] for rule in self if rule.program is not None}
        for rule in self:
            for mine in found.values() if rule.program is None else (found[rule.program],):
                mine.append(rule)
        self._by_program = {program: tuple(mine) for program, mine in found.items()}
        self.memo: dict[Argv, list[tuple[AllowRule, Match]]] = {}
        """What covered the latest commands: they are asked for twice, before and after the look-ups."""

    def for_program(self, program: str) -> tuple[AllowRule, ...]:
        """Those that could cover a command of that first word, in their order."""
        return self._by_program.get(program, self._any)

"""Decide whether rules alone let a command run: every simple command of a literal text must match one in full.

The other half of the policy finds what must not run and may be wrong on the mild side; this half must never be.
So it asks for the literal subset, for a second reader that agrees, for a rule over the whole argv of every
command, and for operands that were looked up and are not sensitive. Anything less is "not allowed", which is
not "refused": the call goes on to the mode and to a person.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mtbot.domain.call import Below
from mtbot.policy import sensitive
from mtbot.policy.allow_rule import AllowRule, Argv, Match, Needs, Operand, Role
from mtbot.policy.covering import MAX_CARRIED, all_matching, depends_on_directory, entering, matching
from mtbot.policy.lexer import LexedCommand, Literal, Separator
from mtbot.policy.never import never_by_pattern
from mtbot.policy.words import words


@dataclass(frozen=True, slots=True)
class PathFact:
    """Where a word leads (absolute, links resolved) and what lies below it."""

    path: str
    below: Below = Below.UNKNOWN


@dataclass(frozen=True, slots=True)
class AllowContext:
    """What was looked up for one call.

    `directory` is where the commands run: the call's cwd, or where a leading `cd DIR` or the `git -C DIR` of every
    command that looks up files leads from there, resolved.
    `paths` maps each word that `wanted` named to what it leads to from `directory`. `repository_keys` are the
    lower-case `section.key` names in the configuration of the repository around `directory` (empty: no
    repository; None: could not be read). `cwd` is the call's own directory, where that may be another.
    """

    directory: str
    places: sensitive.Places
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    repository_keys: frozenset[str] | None = None
    cwd: str = ""


class WhyNot(StrEnum):
    """The kind of reason why rules alone do not let a command run."""

    SECOND_READER = "second_reader"
    NEVER_BY_RULE = "never_by_rule"
    NO_RULE = "no_rule"
    DIRECTORY = "directory"
    OPERAND = "operand"
    REPOSITORY = "repository"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """No rule lets the text run as a whole; `command` is the simple command that failed, `reason` is for people."""

    kind: WhyNot
    reason: str
    command: Argv = ()
    operand: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Every simple command is covered. `runs` is the only text that may be run on the strength of this.

    `rules` holds one rule for each command of the text, in order; `environment` must be set for the run, `needs`
    is the union over the rules; `cwd_word` is the DIR of a leading cd. `operands` are the judged paths, resolved, with
    how each is used.
    """

    runs: str
    rules: tuple[AllowRule, ...]
    environment: Mapping[str, str]
    needs: Needs
    cwd_word: str | None = None
    operands: tuple[tuple[str, Role], ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody has to look up before `judge` can answer.

    `directory` is the DIR of a leading cd or of git (to be resolved from the call's cwd). `paths` are to be resolved from
    where that leads; for those in `trees` it must also be found out what lies below. `repository`: the
    configuration keys of the repository around the directory are needed.
    """

    directory: str | None = None
    paths: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    repository: bool = False


def wanted(literal: Literal, rules: tuple[AllowRule, ...]) -> Wanted:
    """The look-ups that any rule matching any command of the text would need; never raises."""
    paths: dict[str, None] = {}
    trees: dict[str, None] = {}
    repository = False
    for command in literal.commands:
        for rule, match in all_matching(command, rules):
            repository = repository or rule.needs.plain_repository
            for operand in match.operands:
                paths[operand.word] = None
                if operand.role is not Role.PATH:
                    trees[operand.word] = None
    return Wanted(literal.cd or entering(literal, rules), tuple(paths), tuple(trees), repository)


def covers(literal: Literal, rules: tuple[AllowRule, ...]) -> bool:
    """Whether some rule is about one of the commands, be it that it lets it run here or not; never raises."""
    return any(True for command in literal.commands for _ in all_matching(command, rules))


def judge(
    literal: Literal,
    second_reading: tuple[Argv, ...] | None,
    rules: tuple[AllowRule, ...],
    context: AllowContext,
) -> Allowed | NotAllowed:
    """Allowed only if every command is; never raises.

    `second_reading` is every argv of the text as another parser read it, in order, or None where it could not.
    """
    if second_reading != literal.argvs():
        return NotAllowed(WhyNot.SECOND_READER, "a second reader of the text does not find the same words")
    chosen: list[AllowRule] = []
    operands: dict[tuple[str, Role], None] = {}
    if sensitive.is_sensitive(context.directory, context.places):
        return NotAllowed(WhyNot.OPERAND, f"{context.directory} is sensitive", operand=literal.cd or "")
    entered = entering(literal, rules)
    for command in literal.commands:
        place = _Place(entered, inside=entered is None, fed=command.separator_before is Separator.PIPE)
        verdict = _judge_command(command, rules, context, place)
        if isinstance(verdict, NotAllowed):
            return verdict
        for rule, match in verdict:
            chosen.append(rule)
            operands |= dict.fromkeys((context.paths[operand.word].path, operand.role) for operand in match.operands)
    environment: dict[str, str] = {}
    for rule in chosen:
        for name, value in rule.environment:
            if environment.setdefault(name, value) != value:
                return NotAllowed(WhyNot.ENVIRONMENT, f"two of its commands need different values of {name}")
    return Allowed(literal.canonical(), tuple(chosen), environment, _union(chosen), literal.cd, tuple(operands))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a text a command stands.

    `entered` is the directory that git enters in it, `inside` whether this command runs there; where nothing is
    entered, everything is inside, and nothing enters from inside. `fed`: its input comes from another command. `depth`: of commands that carry it.
    """

    entered: str | None
    inside: bool
    fed: bool
    depth: int = 0


_Covered = tuple[tuple[AllowRule, Match], ...]
"""The rule that lets a command run, and those of the commands that it carries."""


def _judge_command(
    command: LexedCommand, rules: tuple[AllowRule, ...], context: AllowContext, place: _Place
) -> _Covered | NotAllowed:
    refusal: NotAllowed | None = None
    for rule, match in matching(command, rules, carried=place.depth > 0):
        found = _obstacle(command.argv, rule, match, context, inside=place.inside)
        carried = found or _judge_carried(command.argv, match, rules, context, place)
        if not isinstance(carried, NotAllowed):
            held = replace(rule, needs=replace(rule.needs, contained=True)) if match.contained else rule
            return ((held, match), *carried)
        refusal = refusal or carried
    if refusal is not None:
        return refusal
    never = never_by_pattern(command.argv[0])
    if never is not None:
        return NotAllowed(WhyNot.NEVER_BY_RULE, never, command.argv)
    return NotAllowed(WhyNot.NO_RULE, f"no rule covers: {command.canonical()}", command.argv)


def _judge_carried(
    argv: Argv, match: Match, rules: tuple[AllowRule, ...], context: AllowContext, place: _Place
) -> _Covered | NotAllowed:
    """What lets every command run that a covered one runs in turn."""
    if match.appends and place.fed:
        return NotAllowed(WhyNot.OPERAND, f"{argv[0]} would make words of what another command prints", argv)
    if match.carries and place.depth >= MAX_CARRIED:
        return NotAllowed(WhyNot.NO_RULE, "too many commands run each other", argv)
    chosen: list[tuple[AllowRule, Match]] = []
    for inner in match.carries:
        fed = place.fed or inner.separator_before is Separator.PIPE
        inside = place.inside or match.enters is not None
        verdict = _judge_command(inner, rules, context, _Place(place.entered, inside, fed, place.depth + 1))
        if isinstance(verdict, NotAllowed):
            return verdict
        chosen += verdict
    if match.enters is not None and (place.inside or match.enters != place.entered):
        return NotAllowed(WhyNot.DIRECTORY, _MORE_THAN_ONE, argv)
    return tuple(chosen)


_MORE_THAN_ONE = "its commands look up files from more than one directory"


def _obstacle(argv: Argv, rule: AllowRule, match: Match, context: AllowContext, *, inside: bool) -> NotAllowed | None:
    """What keeps a rule that covers the words from letting them run here; not `inside`: in the call's own directory."""
    if not inside and match.enters is None and depends_on_directory(rule, match):
        return NotAllowed(WhyNot.DIRECTORY, _MORE_THAN_ONE, argv)
    if rule.cwd is not None and rule.cwd != (context.directory if inside else context.cwd):
        return NotAllowed(WhyNot.DIRECTORY, f"the rule {rule.id} holds only in {rule.cwd}", argv)
    if rule.needs.plain_repository:
        trouble = repository_trouble(context.repository_keys)
        if trouble is not None:
            return NotAllowed(WhyNot.REPOSITORY, trouble, argv)
    for operand in match.operands:
        reason = _operand_trouble(operand, context)
        if reason is not None:
            return NotAllowed(WhyNot.OPERAND, reason, argv, operand.word)
    return None


def _operand_trouble(operand: Operand, context: AllowContext) -> str | None:
    if operand.word.startswith("~"):
        # nothing expands it here: the program would open a file of that very name
        return f"{operand.word} is no path that could be looked up"
    fact = context.paths.get(operand.word)
    if fact is None:
        return f"nobody looked where {operand.word} leads"
    if sensitive.is_sensitive(fact.path, context.places) or sensitive.is_repository_pointer(fact.path):
        return f"{fact.path} is sensitive"
    if any(sensitive.is_sensitive_name(part, context.places) for part in operand.word.split(":")[1:]):
        # a path inside something else: REVISION:PATH, HOST:PATH
        return f"{operand.word} names something sensitive"
    if operand.role is Role.PATH:
        return None
    if sensitive.is_above_sensitive(fact.path, context.places):
        return f"something sensitive lies below {fact.path}"
    tolerated = {Below.NOTHING} if operand.role is Role.CONTENT_BELOW else {Below.NOTHING, Below.REPOSITORY}
    if fact.below in tolerated:
        return None
    if fact.below is Below.UNKNOWN:
        return f"what lies below {fact.path} is not known"
    return f"something sensitive lies below {fact.path}"


_RUNS_A_PROGRAM = words("""filter.clean filter.smudge filter.process diff.command diff.textconv diff.external include.path
includeif.path gpg.program gpg.defaultkeycommand core.worktree core.alternaterefscommand core.gitproxy man.viewer man.cmd man.path
submodule.gitlink""")
"""Keys (section.key, the part between them dropped) that the forced environment cannot override.

`submodule.gitlink` is no key of git: it stands for another repository within this one, whose configuration git obeys.
"""


def repository_trouble(keys: frozenset[str] | None) -> str | None:
    """Why a repository's own configuration keeps git from running by rule, or None.

    Git starts programs that the configuration names (filters, diff drivers, monitors), and a driver's name is free,
    so the environment cannot switch them off one by one.
    """
    if keys is None:
        return "the configuration of the repository could not be read"
    named = sorted(keys & _RUNS_A_PROGRAM) or sorted(key for key in keys if key.startswith("pager."))
    return f"the configuration of the repository sets {named[0]}" if named else None


def _union(rules: list[AllowRule]) -> Needs:
    return Needs(
        network=any(rule.needs.network for rule in rules),
        write=tuple(dict.fromkeys(path for rule in rules for path in rule.needs.write)),
        contained=any(rule.needs.contained for rule in rules),
        confinable=all(rule.needs.confinable for rule in rules),
        plain_repository=any(rule.needs.plain_repository for rule in rules),
    )

"""The owner's allow items as rules, checked against their own examples; a broken item is an error, never a dropped one.

What the owner wrote out is taken at its word; every word that a wildcard or an expression let through is an operand
and is judged by what it leads to.
"""

from dataclasses import dataclass

from mtbot.policy import argv_pattern, never
from mtbot.policy.allow_rule import AllowRule, Argv, Match, Matcher, Needs, Operand
from mtbot.policy.lexer import Literal, lex, quote
from mtbot.policy.rule import compile_whole


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of tools.exec.allow: an expression or an argv pattern, with what the command needs and its examples.

    ``on_host`` None: on the host, except for programs that run files of the workspace.
    """

    regex: str | None = None
    argv: Argv = ()
    cwd: str | None = None
    network: bool = False
    write: tuple[str, ...] = ()
    on_host: bool | None = None
    why: str = ""
    permits: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()


def rule(ident: str, item: Item) -> AllowRule:
    """The rule of one item. ValueError says what is wrong with the expression, the pattern or an example."""
    program: str | None = None
    exact: Argv | None = None
    if item.regex is not None:
        match = _by_regex(item.regex, contained=item.on_host is None)
    else:
        pattern = argv_pattern.parse(item.argv)
        program, exact = pattern.program, pattern.exact
        match = _by_argv(pattern)
    runs_workspace = program is not None and never.runs_workspace_files(program)
    contained = runs_workspace if item.on_host is None else not item.on_host
    made = AllowRule(
        ident,
        match,
        program=program,
        exact=exact,
        needs=Needs(network=item.network, write=item.write, contained=contained),
        cwd=item.cwd,
        why=item.why,
        permits=item.permits,
        refuses=item.refuses,
    )
    _check_examples(made)
    return made


def _by_regex(regex: str, *, contained: bool) -> Matcher:
    """``contained``: a program that runs files of the workspace is contained, though the rule names no program."""
    whole = compile_whole(regex)

    def match(argv: Argv) -> Match | None:
        if not whole(" ".join(map(quote, argv))):
            return None
        return Match(_operands(argv[1:]), contained=contained and never.runs_workspace_files(argv[0]))

    return match


def _by_argv(pattern: argv_pattern.ArgvPattern) -> Matcher:
    def match(argv: Argv) -> Match | None:
        if not pattern.matches(argv):
            return None
        return Match(_operands(pattern.free(argv)))

    return match


def _operands(words: Argv) -> tuple[Operand, ...]:
    """Every word that may name a path, and whatever path may hide in it: behind an =, an @, or a short option."""
    found: dict[str, None] = {}
    for word in words:
        if not word.startswith("-"):
            found[word] = None
        elif not word.startswith("--"):
            found[word[2:]] = None
        if "=" in word:
            found[word.partition("=")[2]] = None
        if word.startswith("@"):
            found[word[1:]] = None
    return tuple(Operand(word) for word in found if word)


def _check_examples(made: AllowRule) -> None:
    for text in made.permits:
        if not covers(made, text):
            raise ValueError(f"permits: the rule does not match {text!r}")
    for text in made.refuses:
        if covers(made, text):
            raise ValueError(f"refuses: the rule matches {text!r}")


def covers(made: AllowRule, text: str) -> bool:
    """Whether the rule alone matches every simple command of ``text``."""
    literal = lex(text)
    return isinstance(literal, Literal) and all(made.match(command.argv) for command in literal.commands)

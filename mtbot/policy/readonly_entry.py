"""How one entry of the read-only pack becomes an allow rule: its leading words, its grammar, its needs, its examples."""

from collections.abc import Iterator

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Matcher, Needs, Operand
from mtbot.policy.grammar import Grammar, Read, grammar

Environment = tuple[tuple[str, str], ...]

NO_PAGER: Environment = (("PAGER", "cat"),)
NO_OPTIONS = grammar()
"""For the words of a program before its subcommand, where none are allowed."""

_EMPTY_NEEDS = Needs()


def entry(
    leads: str,
    rest: Grammar,
    *,
    permits: tuple[str, ...],
    refuses: tuple[str, ...],
    why: str = "",
    needs: Needs = _EMPTY_NEEDS,
    environment: Environment = (),
    before: Grammar = NO_OPTIONS,
) -> tuple[AllowRule, ...]:
    """One rule for each program among the leads.

    `leads` are alternatives separated by `/`, each a program and its subcommand words (`docker ps / docker container
    ls`). `before` are options that may stand in front of each subcommand word.
    """
    by_program: dict[str, list[Argv]] = {}
    for lead in leads.split(" / "):
        words = tuple(lead.split())
        by_program.setdefault(words[0], []).append(words[1:])
    rules = []
    for program, subcommands in by_program.items():
        mine = _examples_of(program, permits)
        against = _examples_of(program, refuses)
        name = "-".join((program, *subcommands[0]))
        matcher = _matcher(tuple(subcommands), before, rest)
        rules.append(
            AllowRule(
                id=f"readonly:{name}",
                match=matcher,
                program=program,
                needs=needs,
                environment=environment,
                why=why,
                permits=mine,
                refuses=against,
            )
        )
    return tuple(rules)


def no_response_file(read: Read) -> bool:
    """For programs that take further options from the lines of a file `@FILE`, among them ones that write or load code."""
    return not any(operand.startswith("@") for operand in read.operands)


def flat(entries: Iterator[tuple[AllowRule, ...]] | tuple[tuple[AllowRule, ...], ...]) -> tuple[AllowRule, ...]:
    """The rules of several entries in one tuple."""
    return tuple(rule for rules in entries for rule in rules)


def _examples_of(program: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The examples of one of several programs with the same grammar; the first program's serve those without any."""
    own = tuple(text for text in texts if text.split(" ", 1)[0] == program)
    return own or tuple(" ".join((program, *text.split(" ")[1:])) for text in texts)


def _matcher(subcommands: tuple[Argv, ...], before: Grammar, rest: Grammar) -> Matcher:
    first_words = frozenset(subcommand[0] for subcommand in subcommands if subcommand)
    alone = () in subcommands

    def match(argv: Argv) -> Match | None:
        if not alone and first_words.isdisjoint(argv):
            return None
        for subcommand in subcommands:
            for end, leading in _splits(argv, 1, subcommand, before):
                following = rest.match(argv[end:])
                if following is not None:
                    return Match((*leading, *following.operands))
        return None

    return match


def _splits(argv: Argv, start: int, subcommand: Argv, before: Grammar) -> Iterator[tuple[int, tuple[Operand, ...]]]:
    """Every way to find the subcommand's words in order, with nothing but known options in front of each."""
    if not subcommand:
        yield start, ()
        return
    for at in range(start, len(argv)):
        if argv[at] != subcommand[0]:
            continue
        options = before.match(argv[start:at])
        if options is not None:
            for end, operands in _splits(argv, at + 1, subcommand[1:], before):
                yield end, (*options.operands, *operands)

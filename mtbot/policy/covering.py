"""Which rules cover a command in full, what it carries, and the one directory that its files are looked up from.

Questions of words alone: whether a covering rule also lets a command run is the judge's.
"""

from collections.abc import Iterator

from mtbot.policy.allow_rule import AllowRule, AllowRules, Argv, Match
from mtbot.policy.lexer import LexedCommand, Literal
from mtbot.policy.never import CHANGES_DIRECTORY, base_name, never_by_pattern

MAX_CARRIED = 4
"""How deep commands may run commands that run commands, where each of them must be covered."""

_REMEMBERED = 64


def matching(
    command: LexedCommand, rules: tuple[AllowRule, ...], *, carried: bool = False
) -> list[tuple[AllowRule, Match]]:
    """Each rule that covers the command in full, in the order of the rules; for a carried one only those of packs.

    The owner's rules mean one whole command as it stands, and no command around it.
    """
    found = _remembered(command.argv, rules)
    return [(rule, match) for rule, match in found if rule.of_pack] if carried else found


def all_matching(
    command: LexedCommand, rules: tuple[AllowRule, ...], depth: int = 0
) -> Iterator[tuple[AllowRule, Match]]:
    """Each rule that covers the command or one that it carries."""
    for rule, match in matching(command, rules, carried=depth > 0):
        yield rule, match
        for inner in match.carries if depth < MAX_CARRIED else ():
            yield from all_matching(inner, rules, depth + 1)


def entering(literal: Literal, rules: tuple[AllowRule, ...]) -> str | None:
    """The one DIR of every `git -C DIR` in a text whose other commands look up no file.

    Look-ups are made from one directory: where the commands do not agree on it, the text is judged in the call's own.
    """
    if literal.cd is not None or not any("-C" in word for command in literal.commands for word in command.argv):
        return None
    entered = {match.enters for command in literal.commands for _, match in all_matching(command, rules)} - {None}
    if len(entered) == 1 and all(_looks_only_inside(command, rules) for command in literal.commands):
        return entered.pop()
    return None


def _looks_only_inside(command: LexedCommand, rules: tuple[AllowRule, ...], depth: int = 0) -> bool:
    """Whether some rule covers it and what it carries, and no word of it is looked up outside what is entered."""
    if "/" in command.argv[0] and not command.argv[0].startswith("/"):
        return False
    for rule, match in matching(command, rules, carried=depth > 0):
        if match.enters is not None:
            held = any(matching(inner, rules, carried=True) for inner in match.carries)
        else:
            deeper = depth < MAX_CARRIED or not match.carries
            held = deeper and not depends_on_directory(rule, match)
            held = held and all(_looks_only_inside(inner, rules, depth + 1) for inner in match.carries)
        if held:
            return True
    return False


def depends_on_directory(rule: AllowRule, match: Match) -> bool:
    """Whether what a covered command reads depends on where it runs."""
    return rule.needs.plain_repository or not all(operand.word.startswith("/") for operand in match.operands)


def _remembered(argv: Argv, rules: tuple[AllowRule, ...]) -> list[tuple[AllowRule, Match]]:
    if not isinstance(rules, AllowRules):
        return _covering(argv, rules)
    found = rules.memo.get(argv)
    if found is None:
        if len(rules.memo) >= _REMEMBERED:
            rules.memo.clear()
        found = rules.memo[argv] = _covering(argv, rules.for_program(argv[0]))
    return found


def _covering(argv: Argv, rules: tuple[AllowRule, ...]) -> list[tuple[AllowRule, Match]]:
    if base_name(argv[0]) in CHANGES_DIRECTORY:
        return []
    by_pattern = never_by_pattern(argv[0]) is None
    found = []
    for rule in rules:
        if rule.program not in (None, argv[0]):
            continue
        if not by_pattern and not rule.reads_code and rule.exact != argv:
            continue
        match = rule.match(argv)
        if match is not None:
            found.append((rule, match))
    return found

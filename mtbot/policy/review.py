"""Look over rules instead of commands: what is too wide, what is never used, what people approve again and again."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mtbot.policy import argv_pattern, never, powers
from mtbot.policy.allow_rule import AllowRule, Argv
from mtbot.policy.lexer import Literal, lex, quote
from mtbot.policy.owner import Item, covers
from mtbot.policy.rule import Patterns

APPROVED_OFTEN = 3
"""How often the same command must have been approved before a rule is proposed for it."""

_EVERYTHING = ("true", "ls -l /srv", "git push origin main", "systemctl restart nginx", "cp a b", "zq7 --x=1 y")
"""Commands that no sensible rule covers all of."""

_ANYTHING = (
    *("sh -c x", "bash -c x", "python3 -c x", "perl -e x", "env x", "xargs x", "sudo x", "node -e x", "eval x"),
    *("awk 1 x", "awk -F: 1 x", "sed p x", "sed -n 1p x", "sed -i p x", "ssh x x", "ssh -p 22 x x", "less x", "vim x"),
)


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about an owner's rule that a person should look at."""

    key: str
    text: str


def lint(
    items: Sequence[Item], rules: Sequence[AllowRule], deny: Sequence[str], seen: Iterable[str]
) -> tuple[Remark, ...]:
    """Remarks on the owner's allow items (with their compiled rules) and deny expressions.

    ``seen`` are the commands of the record; a rule that covers none of them may be a typo.
    """
    commands = tuple(dict.fromkeys(seen))
    known = tuple(dict.fromkeys(_argvs(commands)))
    found: list[Remark] = []
    for index, (item, rule) in enumerate(zip(items, rules, strict=True)):
        key = f"tools.exec.allow[{index}]"
        if item.regex is not None and all(covers(rule, text) for text in _EVERYTHING):
            found.append(Remark(key, "matches everything"))
        elif item.regex is not None:
            found += [Remark(key, text) for text in _power_remarks(rule, (*_argvs(item.permits), *known))]
        runs = [text for text in _ANYTHING if covers(rule, text)]
        if (
            item.argv
            and item.argv[0]
            and never.never_by_pattern(item.argv[0]) is not None
            and "*" in "".join(item.argv)
        ):
            runs.append(" ".join(item.argv))
        if runs:
            found.append(
                Remark(
                    key, f"names a program that can run anything ({runs[0].split()[0]}); it never matches by pattern"
                )
            )
        if item.on_host and item.argv and never.runs_workspace_files(item.argv[0]):
            found.append(Remark(key, f"runs {item.argv[0]}, which executes files of the workspace, on the bare host"))
        if commands and not any(covers(rule, text) for text in commands):
            found.append(Remark(key, "covers no command on record"))
    for index, expression in enumerate(deny):
        found += [Remark(f"tools.exec.deny[{index}]", text) for text in _deny_remarks(expression, commands)]
    return tuple(found)


def _argvs(texts: Iterable[str]) -> Iterator[Argv]:
    """Every command of the texts that an allow rule can be about."""
    for text in texts:
        literal = lex(text)
        if isinstance(literal, Literal):
            yield from (command.argv for command in literal.commands)


def _power_remarks(rule: AllowRule, known: Sequence[Argv]) -> Iterator[str]:
    """What an expression lets a program do by an option that nobody may have thought of."""
    for one in powers.granted(rule, known):
        said = [
            f"{does} ({', '.join(options)})"
            for does in powers.Does
            if (options := [power.option for power in one.powers if power.does is does])
        ]
        safer = json.dumps(list(powers.POWERFUL[one.program].safer))
        yield (
            f"covers `{' '.join(map(quote, one.example))}`: {one.program} {' and '.join(said)}; "
            f"an argv rule such as {safer} takes no option that it does not name"
        )


def _deny_remarks(expression: str, commands: Sequence[str]) -> list[str]:
    pattern = Patterns((expression,))
    if all(pattern.first_match(text) is not None for text in _EVERYTHING):
        return ["refuses everything"]
    if commands and not any(pattern.first_match(text) is not None for text in commands):
        return ["matches no command on record; check its spelling with `mtclaw policy explain`"]
    return []


def example_results(items: Sequence[Item], rules: Sequence[AllowRule]) -> tuple[tuple[str, str, bool, bool], ...]:
    """(key, example, wanted, found) for every example written beside the owner's rules."""
    results = []
    for index, (item, rule) in enumerate(zip(items, rules, strict=True)):
        key = f"tools.exec.allow[{index}]"
        results += [(key, text, True, covers(rule, text)) for text in item.permits]
        results += [(key, text, False, covers(rule, text)) for text in item.refuses]
    return tuple(results)


def argvs_to_allow(command: str) -> tuple[Argv, ...]:
    """The argvs that would have to be allowed for ``command`` to run by rule. ValueError says why it cannot be."""
    literal = lex(command)
    if not isinstance(literal, Literal):
        raise ValueError(f"no rule can allow it: {literal.reason.value}")
    argvs = tuple(dict.fromkeys(lexed.argv for lexed in literal.commands))
    for argv in argvs:
        argv_pattern.parse(argv)
        if argv_pattern.ONE in argv or argv_pattern.REST in argv:
            raise ValueError("it holds a word that a pattern would read as a wildcard")
        if argv[0] in never.CHANGES_DIRECTORY:
            raise ValueError("cd can only lead a list of commands that are joined by &&")
    return argvs


def suggestions(approved: Iterable[str], covered: Iterable[AllowRule]) -> tuple[tuple[Argv, int], ...]:
    """Argvs that people approved at least APPROVED_OFTEN times and no rule covers, the most frequent first.

    Never shells, interpreters or wrappers: a rule for one of them allows whatever it is given.
    """
    rules = tuple(covered)
    counted: Counter[Argv] = Counter()
    for command in approved:
        try:
            argvs = argvs_to_allow(command)
        except ValueError:
            continue
        counted.update(argvs)
    return tuple(
        (argv, count)
        for argv, count in counted.most_common()
        if count >= APPROVED_OFTEN
        and never.never_by_pattern(argv[0]) is None
        and "‹secret:" not in " ".join(argv)
        and not any(rule.match(argv) for rule in rules if rule.program in (None, argv[0]))
    )

"""Hold what bash did with a text against what the decision listed: the same commands, and nothing else.

The decision gives a list of simple commands. From the exit statuses of the stubs it follows exactly which of them run,
in which order, in which directory, and with which status the whole ends. Bash has to do just that, with the text
as it came and with the canonical text.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtbot.policy import allow, bashlex_reading
from mtbot.policy.allow_rule import AllowRule, Argv, Match
from mtbot.policy.lexer import LexedCommand, Literal, NotLiteral, Separator, lex
from mtbot.policy.reading_values import BashlexReading
from mtbot.policy.sensitive import Places
from tests.differential.inside import PROGRAMS
from tests.differential.sandbox import Observation, Ran, observe

Decide = Callable[[str], Literal | None]

_EVERYTHING = (AllowRule(id="everything", match=lambda _: Match()),)
_CONTEXT = allow.AllowContext("/srv", Places(home="/home/op"))
_BUILTINS = {"echo": 0, "true": 0, "false": 1, "pwd": 0}
_FAILS = {"fail": 3, "no": 3}
_OWN_FILES = frozenset({"./run", "d/run", "./d/run"})
_PLACED = frozenset({"/opt/X", "/usr/bin/X"})
_NOT_FOUND = 127


@dataclass(frozen=True, slots=True)
class Difference:
    """A text with which bash did something else than was decided."""

    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """How many texts a rule for everything let run, and every difference."""

    texts: int
    ran: int
    differences: tuple[Difference, ...]


def decide(text: str) -> Literal | None:
    """The product's own decision, with a rule for every program: what runs, or None where rules alone do not let it run."""
    literal = lex(text)
    if isinstance(literal, NotLiteral):
        return None
    reading = bashlex_reading.read(text)
    argvs = reading.argvs if isinstance(reading, BashlexReading) and reading.plain else None
    verdict = allow.judge(literal, argvs, _EVERYTHING, _CONTEXT)
    if not isinstance(verdict, allow.Allowed):
        return None
    assert verdict.runs == literal.canonical()
    return literal


def check(texts: Sequence[str], decision: Decide = decide) -> Report:
    """Run everything that the decision lets run, as it came and in the canonical form, and compare."""
    decided = [(text, literal) for text in texts if (literal := decision(text)) is not None]
    originals = observe([text for text, _ in decided])
    canonicals = observe([literal.canonical() for _, literal in decided])
    differences = []
    for (text, literal), original, canonical in zip(decided, originals, canonicals, strict=True):
        what = _difference(literal, original, canonical)
        if what is not None:
            differences.append(Difference(text, what))
    return Report(len(texts), len(decided), tuple(differences))


def _difference(literal: Literal, original: Observation, canonical: Observation) -> str | None:
    expected = expect(literal)
    for name, seen in (("the original", original), ("the canonical text", canonical)):
        if (told := _against(expected, seen)) is not None:
            return f"{name}: {told}"
    if original.files != canonical.files:
        return f"files: {original.files} and {canonical.files}"
    again = lex(literal.canonical())
    return None if again == literal else "the canonical text is not read back as the same commands"


@dataclass(frozen=True, slots=True)
class Expected:
    """What must happen: the commands of each pipeline that runs, the directory, and the exit status (None: not known)."""

    pipelines: tuple[tuple[Argv, ...], ...]
    directory: str
    status: int | None
    cd: str | None
    commands: frozenset[Argv]


def expect(literal: Literal) -> Expected:
    """Play the list through with the known exit statuses. A status that is not known ends the exact prediction."""
    directory = ""
    commands = frozenset(literal.argvs())
    if literal.cd is not None:
        found = _directory(literal.cd)
        if found is None:
            return Expected((), "", 1, literal.cd, commands)
        directory = found
    status: int | None = 0
    run: list[tuple[Argv, ...]] = []
    for pipeline in _pipelines(literal.commands):
        joint = pipeline[0].separator_before
        unknown = any(_status(command.argv, directory) is None for command in pipeline)
        if unknown or (joint in (Separator.AND, Separator.OR) and status is None):
            return Expected(tuple(run), directory, None, literal.cd, commands)
        if (joint is Separator.AND and status != 0) or (joint is Separator.OR and status == 0):
            continue
        run.append(tuple(command.argv for command in pipeline))
        status = _status(pipeline[-1].argv, directory)
    return Expected(tuple(run), directory, status, literal.cd, commands)


_HERE = "/work/here"
_PLACES = frozenset(
    {
        "/",
        "/work",
        "/home",
        "/home/op",
        "/opt",
        "/usr",
        "/usr/bin",
        "/stub",
        "/dev",
        "/log",
        _HERE,
        f"{_HERE}/d",
        f"{_HERE}/d/e",
    }
)


def _directory(written: str) -> str | None:
    """Where `cd` leads, relative to the fresh directory if inside it; None if some part of the way is no directory."""
    at = "/" if written.startswith("/") else _HERE
    for part in written.split("/"):
        if part == "..":
            at = posixpath.dirname(at)
        elif part not in ("", "."):
            at = posixpath.join(at, part)
        if at not in _PLACES:
            return None
    return at.removeprefix(_HERE).removeprefix("/") if at.startswith(_HERE) else at


def _pipelines(commands: tuple[LexedCommand, ...]) -> list[list[LexedCommand]]:
    found: list[list[LexedCommand]] = []
    for command in commands:
        if command.separator_before is Separator.PIPE:
            found[-1].append(command)
        else:
            found.append([command])
    return found


def _status(argv: Argv, directory: str) -> int | None:
    name = argv[0]
    if name in _BUILTINS:
        return _BUILTINS[name] if name != "pwd" or len(argv) == 1 else None
    if name in PROGRAMS:
        return _FAILS.get(name, 0)
    if name in _PLACED or (name in _OWN_FILES and not directory):
        return 0
    return None if "/" in name or name == "type" else _NOT_FOUND


def _against(expected: Expected, seen: Observation) -> str | None:
    traced = list(seen.traced)
    if expected.cd is not None:
        if traced[:1] != [("cd", expected.cd)]:
            return f"cd was not the first: {seen.traced}"
        traced = traced[1:]
    ran = list(seen.ran)
    for pipeline in expected.pipelines:
        now, traced = traced[: len(pipeline)], traced[len(pipeline) :]
        if sorted(now) != sorted(pipeline):
            return f"traced {now}, decided {list(pipeline)}"
        programs = [argv for argv in pipeline if argv[0] in PROGRAMS or argv[0] in _PLACED | _OWN_FILES]
        executed, ran = ran[: len(programs)], ran[len(programs) :]
        if sorted((one.program.removeprefix("/stub/"), *one.arguments) for one in executed) != sorted(programs):
            return f"ran {executed}, decided {programs}"
        if any(one.directory != expected.directory for one in executed):
            return f"ran elsewhere: {executed}, decided {expected.directory!r}"
    if expected.status is None:
        return _beyond(expected, seen, traced, ran)
    if traced or ran:
        return f"more than was decided: {traced} {ran}"
    return None if seen.status == expected.status else f"status {seen.status}, decided {expected.status}"


def _beyond(expected: Expected, seen: Observation, traced: list[Argv], ran: list[Ran]) -> str | None:
    """Where a status was not known, whatever follows may run or not, but it must be a command of the list."""
    if seen.status is None:
        return "it never ended"
    strangers = [argv for argv in traced if argv not in expected.commands]
    programs = [(one.program, *one.arguments) for one in ran]
    programs = [
        (argv[0].removeprefix("/stub/"), *argv[1:]) if argv not in expected.commands else argv for argv in programs
    ]
    strangers += [argv for argv in programs if argv not in expected.commands]
    return f"more than was decided: {strangers}" if strangers else None

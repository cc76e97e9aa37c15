"""Commands that change the user: in which form they are asked about at all, and which of them a chat may approve.

No rule, grant or classifier lets such a command run, and no scheduled job may have one. ``sudo`` is asked about only as
a call of its own that is exactly ``sudo PROGRAM ARGUMENTS``, because that is what a person can read and what a line of
sudoers(5) can permit. Nothing is found behind everything: what computes its words while it runs is judged as such.
"""

from collections.abc import Sequence

from mtbot.policy import argv_pattern
from mtbot.policy.argv_pattern import ArgvPattern
from mtbot.policy.lexer import Literal, NotLiteral
from mtbot.policy.reading_values import Readings
from mtbot.policy.unwrap_tables import ELEVATORS

HOST = "elevation"
"""The rule of a command that is asked about and can only be run at the host."""
CHAT = "elevation.chat"
"""The rule of a command that the owner may approve in a chat."""
FORM = "elevation.form"
"""The rule that refuses any other way to write it; the only refusal that another spelling answers."""
SCHEDULED = "elevation.scheduled"
"""The rule that refuses it to a job."""

RIGHT_FORM = "a call of its own that is exactly: sudo PROGRAM ARGUMENTS (PROGRAM without a path, sudo without options)"

_PROGRAM = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")


def form_fault(readings: Readings, literal: Literal | NotLiteral | None) -> str | None:
    """Why a text that changes the user is not asked about at all; None where a person may be asked.

    ``sudo`` on another host (by ssh) is none of ours to spell: it is a question like ``su``.
    """
    changes = [command for command in readings.commands if command.program in ELEVATORS]
    for command in changes:
        outer = [label.split()[0] for label in command.via if label.split()[0] in ELEVATORS]
        if outer and "ssh" not in command.via:
            return f"{command.program} inside {outer[-1]}: the user is changed once, or not at all"
    if not any(command.program == "sudo" and "ssh" not in command.via for command in changes):
        return None
    if not isinstance(literal, Literal):
        said = f" ({literal.reason.value})" if literal is not None else ""
        return f"sudo is one plain command by itself, and nothing in it is left to a shell{said}"
    if literal.cd is not None or len(literal.commands) != 1:
        return "sudo is one plain command by itself, without a pipe or another command beside it"
    (only,) = literal.commands
    if only.redirects:
        return "sudo is one plain command by itself, without redirects"
    if only.argv[0] != "sudo":
        return "sudo stands first and by its bare name, with nothing around it"
    return _program_fault(only.argv)


def _program_fault(argv: Sequence[str]) -> str | None:
    if len(argv) < 2:
        return "sudo without a program runs nothing"
    program = argv[1]
    if program.startswith("-"):
        return "sudo takes no options of its own here"
    if not program or program.startswith(".") or not _PROGRAM.issuperset(program):
        return "the program that sudo runs is written by its bare name, without a path or an assignment"
    return None


def pattern_fault(words: Sequence[str]) -> str | None:
    """Why ``words`` is no argv pattern of a command that a chat may approve; None if it is one. Never raises."""
    try:
        argv_pattern.parse(tuple(words))
    except argv_pattern.PatternError as error:
        return error.fault.value
    if words[0] != "sudo":
        return "must begin with sudo"
    if len(words) > 1 and "*" in words[1]:
        return "must write out the program that sudo runs"
    fault = _program_fault(words)
    if fault is None and words[1] in ELEVATORS:
        fault = f"{words[1]} inside sudo: the user is changed once"
    return fault


def chat_may_approve(
    patterns: Sequence[ArgvPattern], literal: Literal | NotLiteral | None, second: Sequence[tuple[str, ...]] | None
) -> bool:
    """Whether the owner listed this very command; both readers have to see the same argv."""
    if not isinstance(literal, Literal) or second is None or literal.argvs() != tuple(second):
        return False
    return len(literal.argvs()) == 1 and any(pattern.matches(literal.argvs()[0]) for pattern in patterns)

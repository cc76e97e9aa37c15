"""Strings to try: drawn from the subset's own grammar, and spoiled by characters that shells act on."""

from __future__ import annotations

import random

_PROGRAMS = [
    "ls",
    "git",
    "cat",
    "wc",
    "mk",
    "fail",
    "no",
    "X",
    "deploy.sh",
    "g++",
    "apt-get",
    "2to3",
    "a_b",
    "rm",
    "echo",
    "pwd",
    "true",
    "false",
    "nosuch",
    ".hid",
]
_SLASHED = ["./run", "d/run", "/opt/X", "/usr/bin/X", "./missing"]
_WORDS = [
    "a",
    "b",
    "c",
    "-rf",
    "--x=y",
    "-n",
    "5",
    "d",
    "d/f",
    "../x",
    "a=b",
    "A=1",
    "x:y",
    "@m",
    "^",
    "%",
    "+",
    ",",
    "=",
    "if",
    "then",
    "time",
    "do",
    "done",
    "esac",
    "2",
    "1",
    "10",
    "--",
    "-",
    "cd",
    "eval",
    "X",
    "rm",
    "ls",
]
_BARE = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_./:=,@%+^-"
_INNER_SINGLE = " $`\\\"!#&;|<>(){}[]*?~\tab-='"[:-1] + "\n"
_INNER_DOUBLE = " '#&;|<>(){}[]*?~\tab-=\n"
_SEPARATORS = (" ; ", ";", "\n", " && ", "&&", " || ", "||", " | ", "|", "\n\n", " &&\n ", " |\n", " ;\n")
_REDIRECTS = (" 2>&1", " >/dev/null", " 2>/dev/null")
_DIRECTORIES = ("d", "./d", "d/e", "..", "/", "missing", "'d'", "/home/op")
_SPOILERS = [
    *list("`$\\*?[]{}()<>&~#!|;\n\t\r'\" =%+^,:@-2"),
    "$(X)",
    "`X`",
    "<(X)",
    "&X",
    "$IFS",
    "2>",
    ">&",
    "é",
    "\u200b",
    "\x00",
    "{X,a}",
    "|&X",
    "\\\nX",
]


def subset(chance: random.Random) -> str:
    """One string of the subset's grammar."""
    count = chance.choice((1, 1, 1, 2, 2, 3, 4, 6))
    parts = [_command(chance)]
    leading = chance.random() < 0.1
    for _ in range(count - 1):
        joints = [one for one in _SEPARATORS if not leading or "&&" in one or ("|" in one and "||" not in one)]
        parts += [chance.choice(joints), _command(chance)]
    text = "".join(parts)
    if leading:
        text = f"cd {chance.choice(_DIRECTORIES)} && {text}"
    return chance.choice(("", "", "", " ", "\n")) + text + chance.choice(("", "", "", " ", "\n", ";", " ;\n"))


def spoiled(chance: random.Random) -> str:
    """A string of the grammar with a few characters put in, taken out or exchanged."""
    text = subset(chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(3)
        spoiler = chance.choice(_SPOILERS)
        if kind == 0:
            text = text[:at] + spoiler + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[:at] + spoiler + text[at + 1 :]
    return text


def _command(chance: random.Random) -> str:
    program = chance.choice(_SLASHED) if chance.random() < 0.08 else chance.choice(_PROGRAMS)
    count = 0 if program == "pwd" else chance.choice((0, 0, 1, 1, 2, 3, 5))
    words = [program, *(_word(chance) for _ in range(count))]
    text = chance.choice((" ", " ", "  ", "\t")).join(words)
    while chance.random() < 0.15:
        text += chance.choice(_REDIRECTS)
    return text


def _word(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(_WORDS)
    if kind < 0.65:
        return "".join(chance.choice(_BARE) for _ in range(chance.randrange(1, 9)))
    if kind < 0.82:
        return "'" + "".join(chance.choice(_INNER_SINGLE) for _ in range(chance.randrange(0, 9))) + "'"
    if kind < 0.99:
        return '"' + "".join(chance.choice(_INNER_DOUBLE) for _ in range(chance.randrange(0, 9))) + '"'
    return "".join(chance.choice(("a", "'b c'", '"d"', "-x", "''")) for _ in range(chance.randrange(2, 4)))

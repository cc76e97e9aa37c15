"""What a command surely prints: echo and printf of constants and the like, as deny needs it for `$(echo rm)`.

Too little is harmless here (the word stays unknown, and unknown asks); too much would only make deny stricter.
"""

from __future__ import annotations

import re

from mtbot.policy.quoting import ansi_text
from mtbot.policy.reading_values import SimpleCommand

_PASSES_ON = frozenset(["cat", "tac", "tee", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "fold", "fmt"])
"""Programs that print what they read, all of it or lines of it."""
_CLASSES = {"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:digit:]": "0-9", "[:alpha:]": "A-Za-z"}
_RANGE = re.compile(r"([ -~])-([ -~])")
_FORMAT = re.compile(r"%(?:[-0-9.]*)([sbqdc%])")


def printed_by(command: SimpleCommand, stdin: str | None) -> str | None:
    """What the command surely prints: echo and printf of constants, and filters of a constant input."""
    if command.program in ("echo", "printf"):
        return printed(command.program, list(command.arguments))
    if stdin is None or not stdin:
        return None
    if command.program in _PASSES_ON or (command.program == "dd" and command.arguments):
        return stdin
    if command.program == "rev":
        return "\n".join([line[::-1] for line in stdin.split("\n")])
    if command.program == "tr":
        return _exchanged(command.arguments, stdin)
    return None


def _exchanged(arguments: tuple[str, ...], text: str) -> str | None:
    """What tr makes of a text: characters taken for others, or left out."""
    letters = "".join([word[1:] for word in arguments if word.startswith("-")])
    sets = [_members(word) for word in arguments if not word.startswith("-")]
    if len(sets) not in (1, 2) or set(letters) & set("cC"):
        return None
    if "d" in letters:
        return "".join([char for char in text if char not in sets[0]])
    if len(sets) == 1 or not sets[1]:
        return None
    to = sets[1] + sets[1][-1] * (len(sets[0]) - len(sets[1]))
    return text.translate({ord(char): other for char, other in reversed(list(zip(sets[0], to, strict=False)))})


def _members(spelled: str) -> str:
    """The characters of one of tr's sets, as far as `a-z` and the common classes go."""
    for name, members in _CLASSES.items():
        spelled = spelled.replace(name, members)
    return _RANGE.sub(
        lambda found: "".join([chr(code) for code in range(ord(found[1]), min(ord(found[2]), 255) + 1)]),
        ansi_text(spelled),
    )


def printed(program: str, words: list[str]) -> str | None:
    """The output of a constant `echo`, `printf`, `which`, `command -v`, `type` or `basename`."""
    if program == "echo":
        escapes = False
        while words and re.fullmatch(r"-[neE]+", words[0]):
            escapes = escapes or "e" in words[0]
            words = words[1:]
        text = " ".join(words)
        return ansi_text(text) if escapes else text
    if program == "printf":
        if words[:1] == ["--"]:
            words = words[1:]
        return _formatted(words[0], words[1:]) if words else None
    operands = [word for word in words if not word.startswith("-")]
    if program in ("command", "type") and not any(word.startswith("-") for word in words):
        return None
    return operands[0].rsplit("/", 1)[-1] if operands else None


def _formatted(template: str, values: list[str]) -> str:
    """printf with its common directives; the template is used again while values are left."""
    template = ansi_text(template)
    if not _FORMAT.search(template):
        return template.replace("%%", "%")
    waiting = list(values[:64])
    pieces: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        value = waiting.pop(0) if waiting else ""
        if match[1] == "c":
            return value[:1]
        return ansi_text(value) if match[1] == "b" else value

    while True:
        count = len(waiting)
        pieces.append(_FORMAT.sub(fill, template))
        if not waiting or len(waiting) == count:
            return "".join(pieces)

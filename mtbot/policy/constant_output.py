"""What a command surely prints: echo and printf of constants and the like, as deny needs it for `$(echo rm)`.

Too little is harmless here (the word stays unknown, and unknown asks); too much would only make deny stricter.
"""

from __future__ import annotations

import re

from mtbot.policy.quoting import ansi_text
from mtbot.policy.reading_values import SimpleCommand

_FORMAT = re.compile(r"%(?:[-0-9.]*)([sbqdc%])")


def printed_by(command: SimpleCommand, stdin: str | None) -> str | None:
    """What the command surely prints: echo and printf of constants, cat of a constant input."""
    if command.program in ("echo", "printf"):
        return printed(command.program, list(command.arguments))
    if command.program in ("cat", "tee") and stdin:
        return stdin
    return None


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

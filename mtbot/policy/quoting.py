"""The small mechanics of shell quoting: where a construct ends, what `$'..'` and a brace list mean.

Everything here is linear in the source and never raises: an end that is missing is the end of the source.
"""

from __future__ import annotations

import re

from mtbot.policy.reading_values import UNKNOWN

MAX_BRACE_WORDS = 64
MAX_BRACE_SOURCE = 2048
MAX_BRACE_TRIES = 80
"""Opening braces that are looked at for a list, in all readings of one word together."""

_ANSI = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S)
_ANSI_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_NESTING = re.compile(r"[\\'\"`(){}#$]")
_QUOTED_STOP = re.compile(r"[\\\"`$]")
_RUN = re.compile(r"[^ \t\n;&|()<>\"'`\\$]+")
_BRACE_STOP = re.compile(r"[{},\\'\"]")
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.-?\d{1,4})?")


def ansi_c(source: str, position: int) -> tuple[str, int]:
    """Decode `$'..'` from after its quote; returns the text and the index after the closing quote."""
    end = position
    while end < len(source) and source[end] != "'":
        end += 2 if source[end] == "\\" else 1
    return ansi_text(source[position:end]), end + 1


def ansi_text(inside: str) -> str:
    """The text that backslash escapes stand for, as in `$'..'`, `echo -e` and `printf`."""
    return _ANSI.sub(_ansi_character, inside) if "\\" in inside else inside


def _ansi_character(match: re.Match[str]) -> str:
    two, four, eight, octal, control, simple = match.groups()
    digits = two or four or eight
    if digits:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else "\ufffd"
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_SIMPLE.get(simple, "\\" + simple)


def closing_paren(source: str, position: int) -> int:
    """Index of the `)` that closes a `$(` whose inside starts at `position`, or the end of the source."""
    return _closing(source, position, ")")


def closing_brace(source: str, position: int) -> int:
    """Index of the `}` that closes a `${` whose inside starts at `position`, or the end of the source."""
    return _closing(source, position, "}")


def _closing(source: str, position: int, closer: str) -> int:
    """Find the closer with a stack of what is open: `)`, `}`, `"`; quotes, escapes and comments are stepped over."""
    stack = [closer]
    size = len(source)
    while True:
        inside_quotes = stack[-1] == '"'
        match = (_QUOTED_STOP if inside_quotes else _NESTING).search(source, position)
        if match is None:
            return size
        at, char = match.start(), match.group()
        position = at + 1
        if char == stack[-1]:
            stack.pop()
            if not stack:
                return at
        elif char in "('\"":
            if char == "'":
                position = _after(source, position, "'")
            else:
                stack.append(")" if char == "(" else '"')
        elif char == "\\":
            position += 1
        elif char == "$":
            opener = source[position : position + 1]
            if opener in ("(", "{"):
                stack.append(")" if opener == "(" else "}")
                position += 1
            elif opener == "'" and not inside_quotes:
                position = ansi_c(source, position + 1)[1]
        elif char == "`":
            position = _after(source, position, "`")
        elif char == "#" and stack[-1] == ")" and source[at - 1 : at] in (" ", "\t", "\n", ";", "(", ""):
            position = _after(source, position, "\n")


def _after(source: str, position: int, mark: str) -> int:
    """Index after the next mark, or the end."""
    end = source.find(mark, position)
    return len(source) if end < 0 else end + 1


def closing_backtick(source: str, position: int) -> int:
    """Index of the backtick that ends the substitution, or the end of the source."""
    while True:
        end = source.find("`", position)
        if end < 0:
            return len(source)
        slashes = 0
        while end - slashes > 0 and source[end - slashes - 1] == "\\":
            slashes += 1
        if slashes % 2 == 0:
            return end
        position = end + 1


def word_end(text: str, position: int) -> tuple[int, int | None]:
    """Index after the word that begins at `position`, and where a quote in it opens that never closes."""
    size = len(text)
    while position < size:
        run = _RUN.match(text, position)
        if run:
            position = run.end()
            continue
        char = text[position]
        if char == "\\":
            position += 2
        elif char in "'\"":
            end = text.find("'", position + 1) if char == "'" else _double_end(text, position + 1)
            if end < 0:
                return size, position + 1
            position = end + 1
        elif char == "`":
            position = closing_backtick(text, position + 1) + 1
        elif char == "$":
            position = _after_dollar(text, position)
        elif char in "<>" and text[position + 1 : position + 2] == "(":
            position = closing_paren(text, position + 2) + 1
        else:
            break
    return min(position, size), None


def _double_end(text: str, position: int) -> int:
    """Index of the `"` that closes, or -1."""
    while True:
        match = _QUOTED_STOP.search(text, position)
        if match is None:
            return -1
        char, at = match.group(), match.start()
        if char == '"':
            return at
        if char == "\\":
            position = at + 2
        elif char == "`":
            position = closing_backtick(text, at + 1) + 1
        elif text[at + 1 : at + 2] in ("(", "{"):
            position = _after_dollar(text, at)
        else:
            position = at + 1


def _after_dollar(text: str, position: int) -> int:
    following = text[position + 1 : position + 2]
    if following == "(":
        return closing_paren(text, position + 2) + 1
    if following == "{":
        return closing_brace(text, position + 2) + 1
    if following == "'":
        return ansi_c(text, position + 2)[1]
    return position + 1


def brace_words(source: str) -> list[str]:
    """The sources that a word with brace lists stands for (`{rm,-rf}` is two).

    At most MAX_BRACE_WORDS; behind them, and behind a source that is too long, UNKNOWN stands for the rest.
    """
    if "{" not in source or ("," not in source and ".." not in source):
        return [source]
    if len(source) > MAX_BRACE_SOURCE:
        return [source] if _next_unquoted(source, 0) is None else [source, UNKNOWN]
    done: list[str] = []
    waiting = [source]
    tries = MAX_BRACE_TRIES
    while waiting and tries > 0 and len(done) + len(waiting) <= MAX_BRACE_WORDS:
        current = waiting.pop(0)
        parts, tries = _first_brace(current, tries)
        if parts is None:
            done.append(current)
        else:
            before, choices, after = parts
            waiting = [before + choice + after for choice in choices] + waiting
    return [*done, *waiting[: MAX_BRACE_WORDS - len(done)], UNKNOWN] if waiting or not tries else done


def _first_brace(source: str, tries: int) -> tuple[tuple[str, list[str], str] | None, int]:
    """Split at the first brace list outside quotes: what is before it, its choices, what is after it; and tries left."""
    position = 0
    while tries > 0:
        start = _next_unquoted(source, position)
        if start is None:
            return None, tries
        position = start + 1
        if source[start] != "{":
            continue
        tries -= 1
        if source[start - 1 : start] == "$":
            position = closing_brace(source, start + 1)
            continue
        found = _choices(source, start)
        if found is not None:
            choices, end = found
            return (source[:start], choices, source[end + 1 :]), tries
    return None, tries


def _choices(source: str, start: int) -> tuple[list[str], int] | None:
    """The choices of the brace list that opens at `start` and the index of its end; None when it is no list."""
    depth, position, last = 1, start + 1, start + 1
    choices: list[str] = []
    while True:
        at = _next_unquoted(source, position)
        if at is None:
            return None
        char = source[at]
        position = at + 1
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                break
        elif depth == 1:
            choices.append(source[last:at])
            last = at + 1
    inside = source[start + 1 : at]
    if choices:
        return [*choices, source[last:at]], at
    bounds = _RANGE.fullmatch(inside)
    return (_range(bounds[1], bounds[2]), at) if bounds else None


def _range(first: str, last: str) -> list[str]:
    """`{1..3}` and `{a..c}`; both ends of one kind, else the ends themselves."""
    numbers = first.lstrip("-").isdigit()
    if numbers != last.lstrip("-").isdigit():
        return [first, last]
    low, high = (int(first), int(last)) if numbers else (ord(first), ord(last))
    step = 1 if high >= low else -1
    values = range(low, high + step, step)[:MAX_BRACE_WORDS]
    return [str(value) if numbers else chr(value) for value in values]


def _next_unquoted(source: str, position: int) -> int | None:
    """Index of the next brace or comma outside quotes and escapes."""
    while True:
        match = _BRACE_STOP.search(source, position)
        if match is None:
            return None
        char, position = match.group(), match.end()
        if char == "\\":
            position += 1
        elif char == "'":
            position = _after(source, position, "'")
        elif char == '"':
            position = _closing(source, position, '"') + 1
        else:
            return match.start()

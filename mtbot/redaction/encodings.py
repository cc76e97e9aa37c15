"""One pattern for a known value in every form in which a program, a shell or a protocol may repeat it.

Each character is matched as itself or escaped: by backslashes (shell, JSON, JSON inside JSON), as `%XX`, `\\uXXXX`,
`\\xXX`, octal, an HTML entity, or a quote that a shell closes and reopens. Mixtures match too, because every
character decides for itself. Beside that stands base64 in its three alignments, standard or URL-safe, with the line
breaks that `base64` and MIME put in. Hexadecimal and base32 are looked for in `digits.py`.
"""

import base64
import re
from collections.abc import Iterator

SHORTEST = 8
"""Characters; a shorter value would be found everywhere."""

_SHORTEST_LINE = 16
_LINE_OF_KEY = re.compile(r"[A-Za-z0-9+/=_.~-]+")
_ENTITIES = {"&": ("amp",), "<": ("lt",), ">": ("gt",), '"': ("quot", "#34", "#x22"), "'": ("apos", "#39", "#x27")}
_WRAP = r"(?:\r?\n|\\n)?"
_PARTIAL = "[A-Za-z0-9+/_-]?"
_PADDING = "(?:={1,2}|(?:%3[dD]){1,2})?"


def worth_hiding(value: str) -> list[str]:
    """The stripped value and, of a value with several lines, each line that could be part of a key."""
    whole = value.strip()
    lines = [line.strip() for line in whole.splitlines()] if "\n" in whole else []
    keys = [line for line in lines if len(line) >= _SHORTEST_LINE and _LINE_OF_KEY.fullmatch(line)]
    return [text for text in (whole, *keys) if len(text) >= SHORTEST]


def pattern_of(value: str) -> str:
    """An RE2 pattern that matches `value` in every form."""
    return "|".join((escaped(value), *_encoded(value)))


def escaped(value: str) -> str:
    """An RE2 pattern that matches `value` as it is or escaped."""
    return "".join(map(_character, value))


def _character(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    if char == "\n":
        return r"(?:\r?\n|\\{1,4}n|(?:%0[dD])?%0[aA]|\\u000[aA])"
    code = ord(char)
    octets = char.encode("utf-8")
    forms = [r"\\{1,8}" if char == "\\" else rf"\\{{0,7}}{re.escape(char)}"]
    forms.append("".join(f"%{_hex(octet)}" for octet in octets))
    forms.append("".join(rf"\\{{1,4}}x{_hex(octet)}" for octet in octets))
    forms.append("".join(rf"\\{{1,4}}0?{octet:03o}" for octet in octets))
    if code < 0x10000:
        forms.append(rf"\\{{1,4}}u{_hex(code, 4)}")
    else:
        high, low = divmod(code - 0x10000, 0x400)
        forms.append(rf"\\{{1,4}}u{_hex(0xD800 + high, 4)}\\{{1,4}}u{_hex(0xDC00 + low, 4)}")
    forms.extend(f"&{name};" for name in _ENTITIES.get(char, ()))
    if char == " ":
        forms.append(r"\+")
    elif char == "'":
        forms += [r"'\\{1,4}''", "'\\\\{0,3}\"'\\\\{0,3}\"'"]
    elif char == "\t":
        forms.append(r"\\{1,4}t")
    return f"(?:{'|'.join(forms)})"


def _hex(number: int, width: int = 2) -> str:
    return "".join(f"[{digit.lower()}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{number:0{width}x}")


def _encoded(value: str) -> Iterator[str]:
    """The base64 digits that are certain whatever surrounds the value, and the doubtful one at each end."""
    octets = value.encode("utf-8")
    for ahead in range(3):
        digits = base64.b64encode(bytes(ahead) + octets).decode("ascii")
        first = (8 * ahead + 5) // 6
        last = 8 * (ahead + len(octets)) // 6
        certain = _WRAP.join(map(_digit, digits[first:last]))
        lead = _PARTIAL + _WRAP if ahead else ""
        trail = _WRAP + _PARTIAL + _PADDING if (ahead + len(octets)) % 3 else ""
        yield lead + certain + trail


def _digit(digit: str) -> str:
    if digit == "+":
        return "(?:[+-]|%2[bB])"
    if digit == "/":
        return r"(?:[/_]|%2[fF]|\\/)"
    return digit

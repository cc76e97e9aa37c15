r"""Show a text so that nothing in it can be overlooked; what runs stays the same bytes.

The notation, which a question explains in one line when `hidden` is not zero:

- ``\xNN``, ``\uNNNN``, ``\UNNNNNNNN``: a character that is invisible, changes direction or order, is a blank other
  than the space, is not assigned, or is a lone surrogate; a tab is ``\x09``.
- the same for a letter that looks like another one: folded to ASCII by Unicode (full-width, styled), drawn like a
  piece of shell syntax, or foreign to the word that it stands in (a Cyrillic letter in a Latin word).
- ``␣{900}``: that many spaces in a row, from four on, or any at the end of a line. Up to 32 of indentation stay.
- ``⏎``: a newline at the end, or an empty line among several. The line break itself stays too.

A ``␣`` or ``⏎`` in the text is escaped itself, so each of the two always means what it says here. No form holds any
of ``; & | $ ( ) < > ` `` and newlines are kept, so the count of shell syntax is what it was. A backslash of the text
stays as it is: doubling it would misstate the command, and `hidden` tells real characters from spelled-out ones.
"""

import re
import unicodedata
from functools import lru_cache

_SPACES = re.compile(r" +")
_EMPTY_LINES = re.compile(r"\n{4,}|\n+\Z")
_INDENT = 32
_RUN = 4
_WORD = re.compile(r"(?:\w|[^\x00-\x7f])*[^\x00-\x7f](?:\w|[^\x00-\x7f])*")
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]|[^\x00-\xff]|\xad")

_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs", "Me"))
_BLANK_LOOKING = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U0001d159")
_NOTATION = frozenset("\u2423\u23ce")
_SYNTAX_TWINS = frozenset("\u01c0\u01c3\u2010\u2012\u2043\u2044\u2212\u2215\u2216\u2223\u2236\u23fd\u29f5\u29f8\u29f9")
_EMOJI_STYLE = "\ufe0f"
_FREE_SCRIPTS = frozenset(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"))
"""Scripts that honest text mixes with Latin and that hold no look-alikes of it."""

_TWINS = frozenset("асеорхуіјѕһԁԛԝАВЕКМНОРСТХІЈЅαικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Cyrillic and Greek letters drawn like Latin ones; a word of nothing else is not what it seems."""


def display(text: str) -> str:
    """`text` with everything hidden made visible; line breaks stay line breaks. Total: any string is taken."""
    return _revealed(text)[0]


def hidden(text: str) -> int:
    """How many characters and runs `display` shows in another form: the number for the line below a question."""
    return _revealed(text)[1]


def shows(text: str) -> bool:
    """Whether a reader would see anything of `text`."""
    return not all(char == _EMOJI_STYLE or _is_unseen(char) for char in text)


def terminal_safe(text: str, *, table: bool) -> str:
    """`text` without anything that moves, colours or reorders a terminal; with `table` also on one line.

    Newlines and tabs stay in running text and are shown as backslash-n and backslash-t in a table.
    """
    shown = _TERMINAL.sub(lambda found: _escape(found.group()) if _is_unseen(found.group()) else found.group(), text)
    return shown.replace("\n", "\\n").replace("\t", "\\t") if table else shown


def _revealed(text: str) -> tuple[str, int]:
    if text.isascii() and text.isprintable() and " " * _RUN not in text and not text.endswith(" "):
        return str(text), 0
    shown, controls = _CONTROLS.subn(lambda found: _escape(found.group()), text)
    count = controls
    if not shown.isascii():
        pieces = _WORD.split(shown)
        words = [_word(found) for found in _WORD.findall(shown)]
        count += sum(changed for _, changed in words)
        shown = "".join(piece + word for piece, (word, _) in zip(pieces, [*words, ("", 0)], strict=True))
    spaced = _SPACES.sub(_spaces, shown)
    lined = _EMPTY_LINES.sub(_lines, spaced)
    return lined, count + spaced.count("\u2423") + lined.count("\u23ce")


def _spaces(run: re.Match[str]) -> str:
    text, length = run.string, run.end() - run.start()
    if run.end() < len(text) and text[run.end()] != "\n":
        indents = run.start() == 0 or text[run.start() - 1] == "\n"
        if length < _RUN or (indents and length <= _INDENT):
            return run.group()
    return f"\u2423{{{length}}}"


def _lines(run: re.Match[str]) -> str:
    length = run.end() - run.start()
    return "\u23ce\n" * length if run.end() == len(run.string) else "\n" + "\u23ce\n" * (length - 1)


def _word(word: str) -> tuple[str, int]:
    """A run of letters, digits and anything that is not ASCII, with what is wrong in it escaped."""
    suspects = _foreign(word)
    shown: list[str] = []
    before = ""
    for char in word:
        escaped = char in suspects or _is_strange(char, before)
        shown.append(_escape(char) if escaped else char)
        before = char
    return "".join(shown), sum(map(str.__ne__, shown, word))


def _foreign(word: str) -> frozenset[str]:
    letters = [char for char in word if char.isalpha()]
    scripts = {_script(char) for char in letters} - _FREE_SCRIPTS
    if len(scripts) > 1:
        return frozenset(
            char for char in letters if not char.isascii() and _script(char) not in ("LATIN", *_FREE_SCRIPTS)
        )
    if len(letters) > 1 and _TWINS.issuperset(letters):
        return frozenset(letters)
    return frozenset()


@lru_cache(maxsize=2048)
def _script(char: str) -> str:
    script = unicodedata.name(char, "NONE").partition(" ")[0]
    return "LATIN" if script == "MICRO" else script


def _is_strange(char: str, before: str) -> bool:
    if char == _EMOJI_STYLE:
        return not before or unicodedata.category(before) != "So"
    if _is_unseen(char) or char in _NOTATION or char in _SYNTAX_TWINS:
        return True
    if unicodedata.category(char) == "Mn":
        return not before or not (before.isalpha() or unicodedata.category(before) == "Mn")
    return _folds(char)


@lru_cache(maxsize=2048)
def _folds(char: str) -> bool:
    folded = unicodedata.normalize("NFKC", char)
    return folded.isascii() and not char.isascii() and (len(folded) == 1 or char.isalpha())


@lru_cache(maxsize=2048)
def _is_unseen(char: str) -> bool:
    code = ord(char)
    selector = 0xFE00 <= code <= 0xFE0E or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F or code == 0x34F
    return selector or char in _BLANK_LOOKING or unicodedata.category(char) in _UNSEEN


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

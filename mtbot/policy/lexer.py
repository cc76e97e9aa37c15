"""Read a command as words only if its text is in a literal subset where bash can mean nothing else.

An allow rule may run a command without a person, so what it matches must be what bash will do. No general
shell parser can promise that; this reader does, by refusing everything that is not plain words, quotes without
expansion, five separators and three fixed redirects. A refusal is no judgement on the command: it only means
that a rule alone cannot let it run.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from mtbot.policy.words import words

MAX_BYTES = 4096

_BARE = re.compile(r"[A-Za-z0-9_./:=,@%+^-]+")
_PROGRAM_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./")
_PROGRAM = _PROGRAM_START | frozenset("+-")
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e\t\n]")
_NOT_IN_DOUBLE_QUOTES = frozenset("$`\\!")
_BLANK = frozenset(" \t")
_ENDS_A_REDIRECT = _BLANK | frozenset(";\n|&")

RESERVED_WORDS = words(
    """if then else elif fi case esac for select while until do done in function time coproc { } ! [[ ]] ["""
)


class Separator(StrEnum):
    """What stands between two simple commands; FIRST stands before the first one."""

    FIRST = ""
    SEMICOLON = ";"
    NEWLINE = "\n"
    AND = "&&"
    OR = "||"
    PIPE = "|"


class Redirect(StrEnum):
    """The only redirects in the subset: none of them can create, change or read a file."""

    ERR_TO_OUT = "2>&1"
    ERR_TO_NULL = "2>/dev/null"
    OUT_TO_NULL = ">/dev/null"


_REDIRECTS = tuple(Redirect)


class NotLiteralReason(StrEnum):
    """Why a text is outside the subset, in words for a person."""

    EMPTY = "there is no command"
    TOO_LONG = "the text is longer than 4096 bytes"
    CHARACTER = "it holds a character outside printable ASCII"
    EXPANSION = "it holds a character that the shell expands or acts on"
    QUOTE_OPEN = "a quote is not closed"
    QUOTE_EXPANDS = "a double-quoted part holds $, `, \\ or !"
    REDIRECT = "it redirects to or from something other than /dev/null"
    SEPARATOR = "a separator has no command on one side"
    BACKGROUND = "it puts a command into the background"
    PROGRAM_QUOTED = "the name of a program is quoted"
    PROGRAM_NAME = "the name of a program is not plain letters, digits, _ . / + -"
    ASSIGNMENT = "it sets a variable in front of a command"
    RESERVED = "it uses a word of the shell's grammar"


@dataclass(frozen=True, slots=True)
class LexedCommand:
    """One simple command: its exact argv, its redirects in order, and the separator in front of it."""

    argv: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    separator_before: Separator = Separator.FIRST

    def canonical(self) -> str:
        """The one spelling of this command, without its redirects; owner's patterns match against this."""
        return " ".join(quote(word) for word in self.argv)


@dataclass(frozen=True, slots=True)
class Literal:
    """A text of the subset: every simple command in order; `cd` is the DIR of a leading `cd DIR &&`.

    `commands` does not hold that leading cd. Where `cd` is set, only `&&` and `|` join the commands, so that
    nothing can run when the directory is missing.
    """

    commands: tuple[LexedCommand, ...]
    cd: str | None = None

    def canonical(self) -> str:
        """The text that runs: the same argv, redirects and separators in one spelling; reading it again changes nothing."""
        parts = [] if self.cd is None else [f"cd {quote(self.cd)}"]
        for command in self.commands:
            separator = (
                Separator.AND if self.cd is not None and not command.separator_before else command.separator_before
            )
            parts.append(_JOINS[separator] + " ".join((command.canonical(), *command.redirects)))
        return "".join(parts)

    def argvs(self) -> tuple[tuple[str, ...], ...]:
        """Every argv in order, the leading cd among them: what any other reader must find."""
        leading = () if self.cd is None else (("cd", self.cd),)
        return leading + tuple(command.argv for command in self.commands)


@dataclass(frozen=True, slots=True)
class NotLiteral:
    """The text lies outside the subset, so no rule may allow it."""

    reason: NotLiteralReason
    at: int = 0


_JOINS = {
    Separator.FIRST: "",
    Separator.SEMICOLON: "; ",
    Separator.NEWLINE: "\n",
    Separator.AND: " && ",
    Separator.OR: " || ",
    Separator.PIPE: " | ",
}


def lex(text: str) -> Literal | NotLiteral:
    """Read a whole text; never raises, and answers in time linear in the text."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return NotLiteral(NotLiteralReason.TOO_LONG)
    strange = _NOT_PRINTABLE.search(text)
    if strange is not None:
        return NotLiteral(NotLiteralReason.CHARACTER, strange.start())
    reader = _Reader(text)
    try:
        commands = reader.read()
    except _OutsideError as outside:
        return NotLiteral(outside.reason, outside.at)
    return _lift_cd(commands)


def quote(word: str) -> str:
    """A word in its canonical spelling: bare where every character is inert, else in single quotes."""
    if _BARE.fullmatch(word) is not None:
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _lift_cd(commands: tuple[LexedCommand, ...]) -> Literal:
    """Take a leading `cd DIR &&` out of the list where everything after it can only run inside DIR.

    After `cd DIR && a; b` the second command runs even if DIR is missing, in the directory before. Such a cd stays
    an ordinary command, which no rule matches. Bash also resolves `a/..` by text and the kernel by links: `..` is
    taken only in front.
    """
    first = commands[0]
    if len(commands) < 2 or len(first.argv) != 2 or first.argv[0] != "cd" or first.redirects:
        return Literal(commands)
    if commands[1].separator_before is not Separator.AND or not is_plain_directory(first.argv[1]):
        return Literal(commands)
    if any(command.separator_before not in (Separator.AND, Separator.PIPE) for command in commands[1:]):
        return Literal(commands)
    second = LexedCommand(commands[1].argv, commands[1].redirects)
    return Literal((second, *commands[2:]), first.argv[1])


def is_plain_directory(word: str) -> bool:
    """Whether a shell, the kernel and a look-up all take the word for the same directory."""
    if not word or word[0] in "-~":
        # a ~ is in quotes here: bash enters a directory of that very name, a look-up would go to the home
        return False
    parts = [part for part in word.split("/") if part not in ("", ".")]
    while parts and parts[0] == "..":
        parts.pop(0)
    return ".." not in parts


class _OutsideError(Exception):
    """Carries the first reason why a text is outside the subset up to `lex`."""

    def __init__(self, reason: NotLiteralReason, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class _Reader:
    """One pass over the text, left to right, without looking back."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._done: list[LexedCommand] = []
        self._argv: list[str] = []
        self._redirects: list[Redirect] = []
        self._separator = Separator.FIRST

    def read(self) -> tuple[LexedCommand, ...]:
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in _BLANK:
                self._at += 1
            elif character in ";\n&|":
                self._take_separator()
            elif character in "2>" and (redirect := self._redirect_here()) is not None:
                self._take_redirect(redirect)
            else:
                self._take_word()
        self._finish()
        return tuple(self._done)

    def _take_separator(self) -> None:
        start, separator = self._at, self._separator_here()
        self._at += len(separator)
        if not self._argv:
            # a blank line, or a line break after && || | or ; carries on with what was expected before
            if separator is Separator.NEWLINE and not self._redirects:
                return
            raise _OutsideError(NotLiteralReason.SEPARATOR, start)
        self._close_command()
        self._separator = separator

    def _separator_here(self) -> Separator:
        two = self._text[self._at : self._at + 2]
        if two in ("&&", "||"):
            return Separator(two)
        if two[0] == "&" or two == "|&":
            raise _OutsideError(NotLiteralReason.BACKGROUND, self._at)
        return Separator(two[0])

    def _redirect_here(self) -> Redirect | None:
        for redirect in _REDIRECTS:
            if self._text.startswith(redirect, self._at):
                end = self._at + len(redirect)
                if end == len(self._text) or self._text[end] in _ENDS_A_REDIRECT:
                    return redirect
        return None

    def _take_redirect(self, redirect: Redirect) -> None:
        if not self._argv:
            # after a leading redirect bash still takes A=1 as an assignment; the name must come first
            raise _OutsideError(NotLiteralReason.REDIRECT, self._at)
        self._redirects.append(redirect)
        self._at += len(redirect)

    def _take_word(self) -> None:
        start = self._at
        pieces: list[str] = []
        quoted = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in "'\"":
                pieces.append(self._quoted(character))
                quoted = True
            elif (bare := _BARE.match(self._text, self._at)) is not None:
                pieces.append(bare.group())
                self._at = bare.end()
            elif character in _BLANK or character in ";\n&|":
                break
            else:
                redirect = character in "<>"
                raise _OutsideError(NotLiteralReason.REDIRECT if redirect else NotLiteralReason.EXPANSION, self._at)
        word = "".join(pieces)
        if not self._argv:
            _check_program(word, quoted, start)
        self._argv.append(word)

    def _quoted(self, mark: str) -> str:
        start = self._at + 1
        end = self._text.find(mark, start)
        if end < 0:
            raise _OutsideError(NotLiteralReason.QUOTE_OPEN, self._at)
        inner = self._text[start:end]
        if mark == '"' and not _NOT_IN_DOUBLE_QUOTES.isdisjoint(inner):
            raise _OutsideError(NotLiteralReason.QUOTE_EXPANDS, self._at)
        self._at = end + 1
        return inner

    def _close_command(self) -> None:
        self._done.append(LexedCommand(tuple(self._argv), tuple(self._redirects), self._separator))
        self._argv, self._redirects = [], []

    def _finish(self) -> None:
        if self._argv:
            self._close_command()
        elif not self._done:
            raise _OutsideError(NotLiteralReason.EMPTY, 0)
        elif self._separator not in (Separator.SEMICOLON, Separator.NEWLINE):
            raise _OutsideError(NotLiteralReason.SEPARATOR, self._at)


def _check_program(word: str, quoted: bool, at: int) -> None:
    if quoted:
        raise _OutsideError(NotLiteralReason.PROGRAM_QUOTED, at)
    if "=" in word:
        raise _OutsideError(NotLiteralReason.ASSIGNMENT, at)
    if word in RESERVED_WORDS:
        raise _OutsideError(NotLiteralReason.RESERVED, at)
    if word[0] not in _PROGRAM_START or any(character not in _PROGRAM for character in word):
        raise _OutsideError(NotLiteralReason.PROGRAM_NAME, at)

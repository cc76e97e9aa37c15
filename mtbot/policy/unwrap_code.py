"""Shells and interpreters: whether one reads its program from standard input, and what code asks a shell to run.

Code in another language is not read. Only a constant string in one of the calls by which common languages start a
process is found, so that `python -c "os.system('rm -rf /')"` is no way around; everything else asks anyway.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mtbot.policy.reading_values import SimpleCommand, Word
from mtbot.policy.unwrap_tables import (
    CODE_OPTIONS,
    INTERPRETERS,
    SHELL_LONG_VALUES,
    SHELL_VALUES,
    SHELLS,
    STDIN_SHELLS,
)
from mtbot.policy.words import words


@dataclass(frozen=True, slots=True)
class InnerWords:
    """A command given as words."""

    argv: tuple[Word, ...]
    label: str
    assignments: tuple[tuple[str, Word], ...] = ()
    """Names that the wrapper sets for it (`env A=b`)."""


@dataclass(frozen=True, slots=True)
class InnerText:
    """A program text for a shell, with the positional parameters that it is given (`$0` first)."""

    text: Word
    label: str
    positional: tuple[str, ...] = ()


Inside = InnerWords | InnerText

_INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|lua|php|node|nodejs)[0-9.]*").fullmatch
_CODE_CALL = re.compile(
    r"(?:\b(?:os\.)?(?:system|popen|exec|execSync|spawn|spawnSync|getoutput|getstatusoutput|check_output|check_call"
    r"|run|call|Popen|shell_exec|passthru|proc_open|execl|execlp|execute)\b\s{0,8}\(?\s{0,8})"
    r"(?:b?\"((?:[^\"\\]|\\.){1,2000})\"|b?'((?:[^'\\]|\\.){1,2000})'|`([^`]{1,2000})`)"
    r"|(?:\bqx|%x)\s{0,8}[{(/!|\[]([^})/!|\]]{1,2000})[})/!|\]]"
    r"|\bopen\b[^;]{1,60}?[\"']\s{0,8}\|\s{0,8}([^\"';]{1,2000})"
)
_CODE_LIST = re.compile(
    r"\b(?:run|call|Popen|check_call|check_output|execvp?|spawn(?:Sync)?)\s{0,8}\(\s{0,8}\[([^\]]{1,2000})\]"
)
_CODE_ARGUMENTS = re.compile(
    r"\b(?:system|exec[lv]?p?e?|spawn[lv]?p?e?|spawnSync|execFile(?:Sync)?|posix_spawnp?|run|call|Popen|check_call|check_output)\b\s{0,8}\(?\s{0,8}"
    r"(?=[\"'])([^;\n]{1,2000})"
)
"""A call whose further arguments are words of the command: `system("rm", "-r", "x")`, `execvp("rm", ["rm", "x"])`."""
_WORD_LIST = re.compile(r"\b(?:system|exec|spawn|run)\b\s{0,8}\(?\s{0,8}(?:qw|%w)\s{0,4}[\[({/<]([^\])}/>]{1,2000})")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_AWK_PIPE = re.compile(
    r"\"([^\"]{1,500})\"\s{0,8}\|&?\s{0,8}(?:getline|\"(?:/bin/|/usr/bin/)?(?:ba|da|z|k)?sh(?: -s)?\")"
)
"""A constant that awk runs to read from, or that it prints into a shell."""
_CODE_LETTERS = "ceEpr"
"""Letters of the options whose value is code, alone or at the end of a cluster (`perl -le`, `python3 -Ic`)."""
_BACKTICKS = re.compile(r"`([^`]{1,2000})`")
_VALUES = {
    **dict.fromkeys(("python", "pypy"), words("-W -X")),
    **dict.fromkeys(("node", "nodejs"), words("-r --require --import -C --conditions")),
    "perl": words("-I"),
    "ruby": words("-I -r -C"),
    "php": words("-c -d"),
}
"""Options of an interpreter that take the next word and say nothing about where its program is."""
_NAMES_CODE = ("-c", "-e", "-m", "-n", "-p", "--eval")
_READERS = words("runpy code asyncio pdb")
"""Modules of Python that run what they read."""


def is_interpreter(program: str) -> bool:
    """Whether `program` runs code that it is given, shells included."""
    return program in SHELLS or program in INTERPRETERS or _INTERPRETER(program) is not None


def reads_program_from_stdin(command: SimpleCommand) -> bool:
    """Whether a shell or interpreter takes its program from standard input: no code option and no script."""
    if command.program in STDIN_SHELLS - SHELLS:
        return True
    if command.program in SHELLS:
        flags, operands = shell_words(command.argv[1:])
        return "s" in flags or ("c" not in flags and (not operands or operands[0].text in STDIN_FILES))
    if not is_interpreter(command.program):
        return False
    valued = _VALUES.get(command.program.rstrip("0123456789."), frozenset())
    arguments = iter(command.arguments)
    for argument in arguments:
        if argument in STDIN_FILES:
            return True
        if argument in valued:
            next(arguments, None)
        elif argument in CODE_OPTIONS or argument.startswith(_NAMES_CODE):
            return argument.startswith("-m") and not _READERS.isdisjoint([argument[2:], *command.arguments])
        elif not argument.startswith("-"):
            return command.program in ("deno", "bun") and argument == "run" and "-" in command.arguments
    return True


STDIN_FILES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def shell_words(given: tuple[Word, ...]) -> tuple[str, tuple[Word, ...]]:
    """A shell's option letters together, and its operands."""
    letters = ""
    position = 0
    while position < len(given):
        text = given[position].text
        if text in ("--", "-"):
            if text == "--" or position + 1 < len(given):
                position += 1
            break
        if text.startswith("--"):
            position += 2 if text in SHELL_LONG_VALUES else 1
        elif text[:1] in "-+" and len(text) > 1:
            letters += text[1:]
            position += 2 if text[-1] in SHELL_VALUES else 1
        else:
            break
    return letters, given[position:]


def interpreter_code(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """The shell commands that code hands to a shell as a plain string."""
    found: list[Inside] = []
    codes = [stdin] if stdin and reads_program_from_stdin(command) else []
    for position, argument in enumerate(command.arguments):
        following = command.arguments[position + 1 : position + 2]
        if argument in CODE_OPTIONS:
            codes.extend(following)
        elif argument.startswith("--"):
            name, _, value = argument.partition("=")
            codes.extend([value] if name in CODE_OPTIONS else [])
        elif argument.startswith("-"):
            marks = [index for index, letter in enumerate(argument[:8]) if letter in _CODE_LETTERS]
            codes.extend([argument[index + 1 :] for index in marks])
            codes.extend(following if marks and marks[-1] == len(argument) - 1 else ())
    for code in codes:
        found.extend([InnerText(Word(text), f"{command.program} code") for text in called_in_code(code[:4096])])
    return tuple(found)


def called_in_code(code: str) -> list[str]:
    """Constant commands in the arguments of the calls by which common languages start a process."""
    texts = [next(filter(None, match.groups()), "") for match in _CODE_CALL.finditer(code)]
    lists = [_QUOTED.finditer(listed[1]) for listed in _CODE_LIST.finditer(code)]
    texts.extend([" ".join(["".join(match.groups("")) for match in matches]) for matches in lists])
    if "," in code:
        arguments = [_QUOTED.finditer(match[1].partition(")")[0]) for match in _CODE_ARGUMENTS.finditer(code)]
        texts.extend([" ".join(["".join(match.groups("")) for match in matches]) for matches in arguments])
    texts.extend([match[1] for match in _WORD_LIST.finditer(code)])
    if "print" not in code:
        texts.extend(match[1] for match in _BACKTICKS.finditer(code))
    return [text for text in dict.fromkeys(texts) if text][:16]


def awk_code(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """The constant commands of an awk program's `system` calls and pipes; it may come from the standard input."""
    found = []
    programs = command.arguments[:64]
    if stdin and any(argument.removeprefix("-f") in STDIN_FILES for argument in programs):
        programs += (stdin,)
    for argument in programs:
        if "system" in argument or "|" in argument:
            found.extend([InnerText(Word(text), "awk system") for text in called_in_code(argument[:4096])])
            found.extend([InnerText(Word(m[1]), "awk pipe") for m in _AWK_PIPE.finditer(argument)])
    return tuple(found)

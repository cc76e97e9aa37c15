"""Programs that are no wrappers but run a text or a command that one of their options, scripts or inputs holds.

tar runs what a checkpoint asks for, sed and ed have a command for it, ssh a proxy, make a recipe. Only what such a
program is given as a constant is found; the rest of its words is no business of this module. Never raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mtbot.policy.option_values import values_of
from mtbot.policy.reading_values import UNKNOWN, SimpleCommand, Word
from mtbot.policy.unwrap_code import STDIN_FILES, InnerText, InnerWords, Inside, shell_words
from mtbot.policy.words import words

MAX_SCRIPT = 4096
"""Characters of one sed script or editor command that are looked at."""
MAX_TEXTS = 200
"""Texts of one command; the reader of the texts has a lower bound, and one that is hit is a doubt."""

TAR_TEXTS = words("--use-compress-program --to-command --info-script --new-volume-script --rsh-command")
_TAR_VALUES = "bCfgHKLNTVX"
_SSH_VALUES = "BbcDEeFIiJLlmOpPQRSWw"
_RSYNC_VALUES = "BMfT"
RSYNC_SHELLS = words("-e --rsh")
_SSH_TEXTS = re.compile(r"\s*(?:proxycommand|localcommand|knownhostscommand)\s{0,8}[= ]\s{0,8}", re.IGNORECASE)
_SED_RUNS = re.compile(r"(?:^|[\s;{}0-9$/!,~+I])e[ \t]+([^\n]{1,2000})")
_SED_REPLACES = re.compile(r"s([/|,#@:!%_])(?:(?!\1).){0,500}\1((?:(?!\1).){1,500})\1[gpiIm0-9]{0,5}e")
TEXT_OPTIONS = {
    "split": words("--filter"),
    "zip": words("-TT --unzip-command"),
    "man": words("-P --pager -H --html"),
    "sort": words("--compress-program"),
    "gdb": words("-ex -iex --eval-command -eval-command"),
}
_JOB = re.compile(r"^[ \t]*(?:@[a-z]+[ \t]+|(?:[0-9*][^ \t\n]*[ \t]+){5})([^\n]+)", re.MULTILINE)
_MAKE_FILES = words("-f --file --makefile")


def _texts(program: str, found: Iterator[Word]) -> tuple[Inside, ...]:
    return tuple([InnerText(word, program) for word in found if word.text][:MAX_TEXTS])


def tar(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """`--checkpoint-action=exec=CMD`, a compression program, a script for volumes."""
    arguments = command.argv[1:]
    named = list(values_of(arguments, TAR_TEXTS | {"-I", "-F"}, _TAR_VALUES))
    first = arguments[0].text if arguments else ""
    if first[:1] not in ("", "-"):  # letters without a dash: their values follow in the order of the letters
        taking = [letter for letter in first if letter in "IF" + _TAR_VALUES]
        named += [word for letter, word in zip(taking, arguments[1:], strict=False) if letter in "IF"]
    actions = [
        Word(word.text.removeprefix("exec="), word.dynamic)
        for word in values_of(arguments, frozenset({"--checkpoint-action"}))
        if word.text.startswith("exec=")
    ]
    return _texts("tar", iter([*actions, *named]))


def sed(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """The `e` command of a script, and a replacement that is run; the script may come from the standard input."""
    found = []
    scripts = [word.text for word in command.argv[1 : MAX_TEXTS + 1]]
    if stdin and any(word.text in STDIN_FILES for word in values_of(command.argv[1:], words("-f --file"))):
        scripts.append(stdin)
    for whole in scripts:
        script = whole[:MAX_SCRIPT]
        if "e" in script:
            found += [match[1] for match in _SED_RUNS.finditer(script)]
            found += [match[2] for match in _SED_REPLACES.finditer(script)]
    return _texts("sed e", iter([Word(text, UNKNOWN in text) for text in found]))


def editor(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """`:!CMD` of vi and its kin, by an option or on the standard input; `!CMD` of ed."""
    arguments = command.argv[1:]
    scripts = [word.text for word in values_of(arguments, words("-c --cmd -s"))]
    scripts += [word.text[1:] for word in arguments if word.text.startswith("+")]
    scripts += (stdin or "").splitlines()[:MAX_TEXTS]
    ran = [script[:MAX_SCRIPT].partition("!")[2] for script in scripts]
    return _texts(command.program, iter([Word(text, UNKNOWN in text) for text in ran]))


def opened_by(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """The remote shell of rsync, scp and the like, and the proxies of ssh."""
    arguments = command.argv[1:]
    found = list(values_of(arguments, RSYNC_SHELLS, _RSYNC_VALUES)) if command.program == "rsync" else []
    for word in values_of(arguments, frozenset({"-o"}), _SSH_VALUES):
        named = _SSH_TEXTS.match(word.text)
        if named:
            found.append(Word(word.text[named.end() :], word.dynamic))
    return _texts(command.program, iter(found))


def crontab(_: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """The commands of a table of jobs on the standard input."""
    return _texts("crontab", (Word(match[1], UNKNOWN in match[1]) for match in _JOB.finditer(stdin or "")))


def make(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    """The recipes of a makefile on the standard input; its `target: ;` reads like a command that does not exist."""
    if not stdin or not any(word.text in STDIN_FILES for word in values_of(command.argv[1:], _MAKE_FILES)):
        return ()
    return (InnerText(Word(stdin), "make -f -"),)


def called_back(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """What mapfile and the completion builtins call back, and the word list that compgen expands."""
    return _texts(command.program, values_of(command.argv[1:], frozenset({"-C", "-W"})))


def by_name(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """A filter, a pager, a compression program or a debugger's shell: one option, one text."""
    found = values_of(command.argv[1:], TEXT_OPTIONS[command.program])
    return _texts(command.program, (Word(word.text.removeprefix("shell ").lstrip("!"), word.dynamic) for word in found))


def after_dashes(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """capsh gives everything behind `--` (or `==`, itself again) to a shell."""
    for position, word in enumerate(command.argv):
        if word.text in ("--", "==") and position:
            letters, operands = shell_words(command.argv[position + 1 :])
            if "c" in letters:
                return (InnerText(operands[0], "capsh"),) if operands else ()
            return (InnerWords((Word("bash"), *command.argv[position + 1 :]), "capsh"),)
    return ()


BY_OPTION: dict[str, Callable[[SimpleCommand, str | None], tuple[Inside, ...]]] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), tar),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("vi", "vim", "nvim", "view", "ex", "vim.basic", "vim.tiny", "ed", "red", "less", "more"), editor),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync"), opened_by),
    **dict.fromkeys(("make", "gmake"), make),
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), called_back),
    **dict.fromkeys(TEXT_OPTIONS, by_name),
    "capsh": after_dashes,
    "crontab": crontab,
}
"""By program; what one of these finds comes beside what the tables of wrappers say."""

"""Take a wrapper off: from the command that runs another one to what it runs, words or a program text.

Rules about `rm` must hold behind sudo, xargs, `sh -c`, find -exec and the like, so each is opened one step at a
time; the reader of the text does the steps and counts them. Pure table work, never raises.
"""

from __future__ import annotations

import re
from itertools import pairwise

from mtbot.policy.option_values import abbreviates, placed_values, values_of
from mtbot.policy.reading_values import UNKNOWN, SimpleCommand, Word
from mtbot.policy.unwrap_code import (
    STDIN_FILES,
    InnerText,
    InnerWords,
    Inside,
    awk_code,
    interpreter_code,
    is_interpreter,
    reads_program_from_stdin,
    shell_words,
)
from mtbot.policy.unwrap_options import BY_OPTION
from mtbot.policy.unwrap_tables import (
    FD_EXEC,
    FIND_EXEC,
    GIT_GLOBAL_VALUES,
    GIT_PACKS,
    GIT_RUNS,
    LOADER,
    LOADERS,
    PARALLEL,
    RUN_AS_COMMAND,
    SHELLS,
    STDIN_SHELLS,
    TWO_WORD_WRAPPERS,
    WRAPPERS,
    Wrapper,
)

_TMUX = Wrapper("cFfnstexy")
_TMUX_RUNS = ("new", "split", "respawn", "run", "pipe", "display-popup", "popup")
MAX_FED = 200
"""Words or texts of a known input that are looked at; each text counts against the reader's own bounds."""

_REBASE_RUNS = frozenset({"-x", "--exec"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=").match


def unwrap(command: SimpleCommand, stdin: str | None = None) -> tuple[Inside, ...]:
    """What `command` runs; empty when it runs nothing of its own words.

    `stdin` is what it reads when that is a constant (a here-document, `echo TEXT |`).
    """
    program = command.program
    if not program:
        return ()
    special = _SPECIAL.get(program)
    if special is not None:
        return special(command, stdin)
    if program in SHELLS:
        return _shell(command, stdin)
    if program in STDIN_SHELLS:
        return _stdin_text(stdin, program)
    by_option = BY_OPTION[program](command, stdin) if program in BY_OPTION else ()
    wrapper = LOADER if program.startswith(LOADERS) else WRAPPERS.get(program)
    if wrapper is not None:
        return by_option + _plain(command.argv[1:], wrapper, program)
    if by_option:
        return by_option
    if is_interpreter(program):
        return interpreter_code(command, stdin)
    second = command.argv[1].text if len(command.argv) > 1 else ""
    two = TWO_WORD_WRAPPERS.get((program, second))
    return _plain(command.argv[2:], two, f"{program} {second}") if two is not None else ()


def operands_at(words: tuple[Word, ...], wrapper: Wrapper) -> tuple[int, bool]:
    """Index of the first word after the wrapper's options, and whether an option on the way is not in its table."""
    position, strange = 0, False
    while position < len(words):
        text = words[position].text
        if text == "--":
            return position + 1, strange
        if text.startswith("--"):
            name, equals, _ = text.partition("=")
            takes = not equals and abbreviates(name, wrapper.long)
            two = not equals and name in wrapper.two
            strange = wrapper.flags is not None and not equals and not takes and position + 1 < len(words)
            position += 1 + takes + 2 * two
        elif text.startswith("-") and len(text) > 1:
            takes, strange = _cluster(text[1:], wrapper)
            position += 2 if takes else 1
        elif text == "-" and wrapper.assignments:
            position += 1
        elif wrapper.assignments and _ASSIGNMENT(text):
            strange = False
            position += 1
        else:
            break
    return position, strange


def _cluster(letters: str, wrapper: Wrapper) -> tuple[bool, bool]:
    """Whether a cluster of short options takes the next word, and whether one of them is unknown."""
    for index, letter in enumerate(letters):
        if letter in wrapper.short:
            return index == len(letters) - 1, False
        if wrapper.flags is not None and letter not in wrapper.flags:
            return False, index == len(letters) - 1
    return False, False


def _joined(words: tuple[Word, ...]) -> Word:
    return Word(" ".join([word.text for word in words]), any(word.dynamic for word in words))


def _plain(words: tuple[Word, ...], wrapper: Wrapper, label: str) -> tuple[Inside, ...]:
    inside: list[Inside] = []
    if wrapper.text_options:
        for value, end in placed_values(words, wrapper.text_options, wrapper.short):
            tail = words[end:] if label == "env" else ()
            inside.append(InnerText(_joined((value, *tail)), f"{label} -c"))
        if inside:
            return tuple(inside)
    position, strange = operands_at(words, wrapper)
    starts = [position + wrapper.skip] + ([position + wrapper.skip + 1] if strange else [])
    if label == "setarch":  # its operand may be missing
        starts.append(position)
    for start in starts:
        rest = words[start:]
        if label in ("coproc", "time"):
            rest = _without_group(rest)
        if rest and rest[0].text.startswith("-"):
            rest = rest[operands_at(rest, wrapper)[0] :]
        if rest and wrapper.shell_text:
            inside.append(InnerText(_joined(rest), label))
        elif rest:
            given = _given(words[:start]) if wrapper.assignments else ()
            inside.append(InnerWords(rest, label, given))
            inside.extend([InnerText(value, f"{label} {name}") for name, value in given if RUN_AS_COMMAND(name)])
    return tuple(inside)


def _given(words: tuple[Word, ...]) -> tuple[tuple[str, Word], ...]:
    """The NAME=VALUE words among a wrapper's options."""
    pairs = [word.text.partition("=") for word in words if _ASSIGNMENT(word.text)]
    return tuple([(name, Word(value, UNKNOWN in value)) for name, _, value in pairs])


def _without_group(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """coproc and time are keywords: a group, a subshell or, for coproc, a name may come before the command."""
    if len(words) > 1 and words[1].text in ("{", "("):
        words = words[1:]
    while words and words[0].text in ("{", "(", "!"):
        words = words[1:]
    return words


def _stdin_text(stdin: str | None, label: str) -> tuple[Inside, ...]:
    return (InnerText(Word(stdin), f"{label} <"),) if stdin else ()


def _shell(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    letters, operands = shell_words(command.argv[1:])
    if "c" in letters:
        if not operands:
            return ()
        return (InnerText(operands[0], f"{command.program} -c", tuple([word.text for word in operands[1:]])),)
    return _stdin_text(stdin, command.program) if reads_program_from_stdin(command) else ()


def _eval(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    words = command.argv[1:]
    if words and words[0].text == "--":
        words = words[1:]
    return (InnerText(_joined(words), "eval"),) if words else ()


def _source(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    return _stdin_text(stdin, "source") if command.arguments[:1] and command.arguments[0] in STDIN_FILES else ()


def _trap(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    words = [word for word in command.argv[1:] if not word.text.startswith("-")]
    return (InnerText(words[0], "trap"),) if len(words) > 1 else ()


def _declaration(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    """`export PAGER=CMD` in whichever way the word is quoted."""
    return tuple([InnerText(value, name) for name, value in _given(command.argv[1:]) if RUN_AS_COMMAND(name)])


def _command_builtin(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    words = command.argv[1:]
    position = 0
    while position < len(words) and words[position].text.startswith("-"):
        if words[position].text != "--" and set(words[position].text) & {"v", "V"}:
            return ()  # only tells what the name means
        position += 1
    return (InnerWords(words[position:], "command"),) if position < len(words) else ()


def _xargs(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    words = command.argv[1:]
    marks = {"{}"} if any(w.text == "-i" or w.text.startswith("--replace") for w in words) else set()
    marks.update([word.text for word in values_of(words, frozenset({"-I", "-J"}), WRAPPERS["xargs"].short)])
    found: list[Inside] = []
    fed = Word(" ".join(stdin.split())) if stdin else Word(UNKNOWN, dynamic=True)
    for inner in _plain(words, WRAPPERS["xargs"], "xargs"):
        assert isinstance(inner, InnerWords)  # xargs has no option that is a text
        argv = inner.argv
        if marks:
            argv = tuple([_filled(word, marks, fed) for word in argv])
        elif stdin:
            pieces = stdin.split()
            argv = (*argv, *[Word(piece) for piece in pieces[:MAX_FED]])
            if len(pieces) > MAX_FED:
                argv = (*argv, Word(UNKNOWN, dynamic=True))
            if argv[0].text in SHELLS:
                argv = (*inner.argv, fed)
        else:
            argv = (*argv, fed)
        found.append(InnerWords(argv, "xargs"))
    return tuple(found)


def _filled(word: Word, marks: set[str], value: Word) -> Word:
    text = word.text
    for mark in marks:
        text = text.replace(mark, value.text)
    return word if text == word.text else Word(text, value.dynamic or word.dynamic)


def _parallel(command: SimpleCommand, stdin: str | None) -> tuple[Inside, ...]:
    words = command.argv[1:]
    start = operands_at(words, PARALLEL)[0]
    template: list[Word] = []
    given: list[Word] = []
    for word in words[start:]:
        if word.text in (":::", ":::+", "::::"):
            given.append(Word(""))
        elif given:
            given.append(word)
        else:
            template.append(word)
    values = tuple([word for word in given if word.text]) or (
        (Word(stdin),) if stdin else (Word(UNKNOWN, dynamic=True),)
    )
    if not template:
        return tuple([InnerText(value, "parallel") for value in values[:MAX_FED]])
    fed = _joined(values)
    filled = tuple([_filled(word, {"{}"}, fed) for word in template])
    if filled == tuple(template):
        filled = (*filled, fed)
    found: list[Inside] = [InnerText(_joined(filled), "parallel")]
    if template[0].text in SHELLS:
        found.append(InnerWords(filled, "parallel"))
    return tuple(found)


def _find(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    found: list[Inside] = []
    words = command.argv
    position = 0
    while position < len(words):
        label = words[position].text
        position += 1
        if label not in FIND_EXEC:
            continue
        start = position
        while position < len(words) and words[position].text not in (";", "+"):
            position += 1
        if position > start:
            found.append(InnerWords(words[start:position], f"find {label}"))
    return tuple(found)


def _fd(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    for position, word in enumerate(command.argv):
        if word.text in FD_EXEC and position + 1 < len(command.argv):
            return (InnerWords(command.argv[position + 1 :], f"fd {word.text}"),)
    return ()


def _tmux(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    found: list[Inside] = [InnerText(word, "tmux") for word in command.argv[2:] if " " in word.text]
    for position, word in enumerate(command.argv[1:], start=2):
        if word.text.startswith(_TMUX_RUNS):
            rest = command.argv[position:]
            words = rest[operands_at(rest, _TMUX)[0] :]
            found += [InnerWords(words, "tmux")] if len(words) > 1 else []
    return tuple(found)


def git_subcommand(command: SimpleCommand) -> int:
    """Index in argv of git's subcommand, its global options parsed; the length of argv when there is none."""
    position = 1
    while position < len(command.argv):
        text = command.argv[position].text
        if text in GIT_GLOBAL_VALUES:
            position += 2
        elif text.startswith("-"):
            position += 1
        else:
            break
    return min(position, len(command.argv))


def _git(command: SimpleCommand, _: str | None) -> tuple[Inside, ...]:
    found: list[Inside] = []
    at = git_subcommand(command)
    for position in range(1, at):
        text = command.argv[position].text
        pair = command.argv[position + 1].text if text == "-c" and position + 1 < at else text[2:]
        key, equals, value = pair.partition("=")
        if text.startswith("-c") and equals and (value.startswith("!") or GIT_RUNS(key)):
            found.append(InnerText(Word(value.removeprefix("!")), f"git -c {key}"))
    words = command.argv[at:]
    subcommand = words[0].text if words else ""
    if subcommand == "bisect" and len(words) > 2 and words[1].text == "run":
        found.append(InnerWords(words[2:], "git bisect run"))
    elif subcommand == "submodule":
        for position, word in enumerate(words):
            if word.text == "foreach":
                rest = tuple([w for w in words[position + 1 :] if w.text not in ("--recursive", "--quiet")])
                found.extend([InnerText(_joined(rest), "git submodule foreach")] if rest else [])
    elif subcommand == "rebase":
        found.extend([InnerText(word, "git rebase --exec") for word in values_of(words, _REBASE_RUNS, "sXCS")])
    elif subcommand == "filter-branch":
        found.extend([InnerText(word, "git filter-branch") for word in words[1:] if " " in word.text])
    elif subcommand == "config":
        found.extend([InnerText(Word(word.text[1:]), "git config") for word in words if word.text.startswith("!")])
        found.extend([InnerText(value, "git config") for key, value in pairwise(words) if GIT_RUNS(key.text)])
    elif subcommand in ("clone", "fetch", "pull", "push", "ls-remote", "archive"):
        found.extend([InnerText(word, f"git {subcommand}") for word in values_of(words, GIT_PACKS)])
        for word in words:
            remote = word.text.removeprefix("ext::").replace("% ", "\0").split()  # there "% " is a blank in a word
            if remote and word.text.startswith("ext::"):
                inner = tuple([Word(text.replace("\0", " "), word.dynamic) for text in remote])
                found.append(InnerWords(inner, "git ext::"))
    return tuple(found)


_SPECIAL = {
    **dict.fromkeys(("export", "declare", "typeset", "readonly", "local"), _declaration),
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "command": _command_builtin,
    "xargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "tmux": _tmux,
    "git": _git,
    "awk": awk_code,
    "gawk": awk_code,
    "mawk": awk_code,
}

"""What a call touches, by policy's own reading of it: named here, looked up by gate/facts, judged by evaluate.

A text is read once per call; what was read travels in ``Prepared`` to every stage.
"""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from mtbot.domain.call import Access, Call, ToolSpec
from mtbot.policy import allow, grant_words, never, readings
from mtbot.policy.lexer import Literal, NotLiteral, lex
from mtbot.policy.reading_values import BashlexReading, Readings, SimpleCommand, Word
from mtbot.policy.rule import MAX_TEXT_BYTES
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.unwrap_code import STDIN_FILES, shell_words

MAX_SCRIPTS = 16
"""Script operands that are bound by content; a command with more of them says that the rest is not."""

MAX_CONTENTS = 16
"""Operands that a grant is bound to by content; a command that names more files is asked about each time."""

_MAX_NAMED = 4
MAX_WORDS = 256
"""Words of a command that are looked up when the owner has denied paths."""

MAX_PROGRAMS = 64
"""Programs of a command that are looked up."""

_SCRIPT_RUNNERS = never.SHELLS | never.INTERPRETERS
_TAKES_A_VALUE = frozenset({"-W", "-X", "-O", "-o", "--rcfile", "--init-file", "-r", "--require", "-I", "-L"})
_MOVERS = frozenset({"env", "sudo", "run0", "systemd-run", "unshare", "nsenter", "chroot"})
_DIRECTORY_OPTIONS = ("-C", "-D", "-R", "-r", "-w", "--chdir", "--wd", "--root", "--working-directory")
_CODE_FLAGS = ("-c", "-e", "-m", "--eval", "--command", "-p", "--print")


@dataclass(frozen=True, slots=True)
class PathWant:
    """A path that a tool would read, write, or take away (which is a write, too)."""

    written: str
    write: bool
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Wants:
    """The look-ups that the decision needs (see ``Facts`` for what each becomes).

    ``cut``: the owner's denied paths or commands call for more look-ups than one call gets. ``grant``: by its shape it is
    a command that a person could allow for some minutes, and ``contents`` are the words whose files that would be bound to.
    """

    directory: str | None = None
    paths: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    repository: bool = False
    programs: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    unbound: tuple[str, ...] = ()
    cut: bool = False
    grant: bool = False
    contents: tuple[str, ...] = ()
    targets: tuple[PathWant, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call after it was read and before anybody looked at the world."""

    call: Call
    spec: ToolSpec
    rules: RuleSet
    wants: Wants
    readings: Readings | None = None
    literal: Literal | NotLiteral | None = None

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Every argv that was found: the literal ones where the text is literal, else whatever the readings show."""
        if isinstance(self.literal, Literal):
            return self.literal.argvs()
        if self.readings is None:
            return ()
        return tuple(tuple(word.text for word in command.argv) for command in self.readings.commands)

    @property
    def second_reading(self) -> tuple[tuple[str, ...], ...] | None:
        """bashlex's argvs if it read the text as plain commands."""
        found = self.readings.bashlex if self.readings else None
        return found.argvs if isinstance(found, BashlexReading) and found.plain else None


def prepare(call: Call, spec: ToolSpec, rules: RuleSet) -> Prepared:
    """Read a call. Pure and total."""
    if call.tool != "exec":
        targets = _targets(call, spec)
        taken = tuple(dict.fromkeys(target.written for target in targets if target.remove))
        return Prepared(call, spec, rules, Wants(paths=taken, trees=taken, targets=targets))
    if len(call.command) > MAX_TEXT_BYTES or len(call.command.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        return Prepared(call, spec, rules, Wants())
    found = readings.read(call.command)
    literal = lex(call.command)
    asked = allow.wanted(literal, rules.allow) if isinstance(literal, Literal) else allow.Wanted()
    paths, trees, cut = asked.paths, asked.trees, False
    scripts, unbound = _scripts(found.commands, here=_stays(found.commands, literal))
    programs = tuple(dict.fromkeys(c.argv[0].text for c in found.commands if c.argv and not c.argv[0].dynamic))
    if rules.denied_paths:
        words = dict.fromkeys(w.text for c in found.commands for w in (*c.argv, *(r.target for r in c.redirects)))
        paths = tuple(dict.fromkeys((*paths, *words)))
        if len(paths) > MAX_WORDS:
            # it is refused as it is; what would have been looked up for a rule needs no look
            paths, trees, cut = paths[:MAX_WORDS], (), True
    wants = Wants(
        directory=asked.directory,
        paths=paths,
        trees=trees,
        repository=asked.repository,
        programs=programs[:MAX_PROGRAMS],
        scripts=scripts[:MAX_SCRIPTS],
        unbound=unbound + scripts[MAX_SCRIPTS : MAX_SCRIPTS + _MAX_NAMED],
        cut=cut or (bool(rules.denied_commands) and len(programs) > MAX_PROGRAMS),
    )
    if not call.background and isinstance(literal, Literal) and not allow.covers(literal, rules.allow):
        # also where nothing may be granted: a yes to a question must not turn on that setting
        wants = _for_a_grant(wants, literal)
    return Prepared(call, spec, rules, wants, found, literal)


def _for_a_grant(wants: Wants, literal: Literal) -> Wants:
    """What has to be looked at before a command that no rule knows could be granted."""
    command = grant_words.single(literal)
    paths = None if command is None else grant_words.paths_in(command.argv)
    if paths is None:
        return wants
    assert command is not None, "only a command has paths"
    looks = allow.wanted(literal, grant_words.readers())
    own = "/" in command.argv[0]
    return replace(
        wants,
        paths=tuple(dict.fromkeys((*wants.paths, *paths, *looks.paths))),
        trees=tuple(dict.fromkeys((*wants.trees, *looks.trees))),
        repository=wants.repository or looks.repository,
        grant=True,
        contents=tuple(path for path in paths if path != command.argv[0])[:MAX_CONTENTS] if own else (),
    )


def _targets(call: Call, spec: ToolSpec) -> tuple[PathWant, ...]:
    return tuple(
        PathWant(path, argument.access is not Access.READ, argument.access is Access.REMOVE)
        for argument in spec.path_args
        for path in _paths(call.arguments.get(argument.name))
    )


def _paths(value: object) -> tuple[str, ...]:
    """The paths that an argument names: itself, or each text of a list."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def _scripts(commands: tuple[SimpleCommand, ...], *, here: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that name scripts which a command would run, and the programs whose input cannot be fixed.

    ``here``: every command runs in the directory that the words are looked up from.
    """
    scripts: dict[str, None] = {}
    unbound: dict[str, None] = {}
    for command in commands:
        if not command.argv or command.argv[0].dynamic:
            continue
        word = command.argv[0].text
        found = _script_of(command)
        if "/" in word:
            scripts[word] = None
        elif never.runs_workspace_files(command.program) or command.program in ("source", "."):
            unbound[command.program] = None
        if isinstance(found, Word):
            scripts[found.text] = None
            found = found.dynamic or not (here or found.text.startswith(("/", "~")))
        if found or ("/" in word and not here and not word.startswith(("/", "~"))):
            unbound[command.program] = None
    return tuple(scripts), tuple(unbound)


def _script_of(command: SimpleCommand) -> Word | bool:
    """The word that names the file a command runs; else whether what it runs comes from somewhere that may change."""
    if command.program in ("source", "."):
        return command.argv[1] if command.arguments else False
    if command.program in never.SHELLS:
        letters, operands = shell_words(command.argv[1:])
        if "c" in letters:
            return False  # a text, which is read by itself
        script = operands[0] if operands and "s" not in letters else None
    elif never.base_name(command.argv[0].text) in _SCRIPT_RUNNERS:
        script = _operand(command.argv[1:])
        if script is None and any(argument.startswith(_CODE_FLAGS) for argument in command.arguments):
            return any(argument.startswith("-m") for argument in command.arguments)
    else:
        return False
    if script is not None and script.text not in STDIN_FILES:
        return script
    read = [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    return read[-1] if read else bool(command.stdin_from - {"echo", "printf"})


def _operand(words: tuple[Word, ...]) -> Word | None:
    """The first word that is neither an option nor an option's value; None where code comes from elsewhere."""
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if word.text.startswith(_CODE_FLAGS):
            return None
        if word.text in _TAKES_A_VALUE:
            skip = True
        elif not word.text.startswith("-") or word.text == "-":
            return word
    return None


def _stays(commands: tuple[SimpleCommand, ...], literal: Literal | NotLiteral) -> bool:
    """Whether no command changes the directory, but for a leading ``cd`` that the look-ups follow."""
    leading = isinstance(literal, Literal) and literal.cd is not None
    cds = [command for command in commands if command.program in never.CHANGES_DIRECTORY]
    if len(cds) > leading:
        return False
    return not any(
        command.program == "chroot" or argument.startswith(_DIRECTORY_OPTIONS)
        for command in commands
        if command.program in _MOVERS
        for argument in command.arguments
    )


def host_of(url: str) -> str:
    """The host name of a URL in lower case, empty if there is none. Never raises."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""

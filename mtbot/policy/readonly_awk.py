"""Read-only awk, and the shell's own printf, test and command, by a grammar over the very text that they interpret.

These are on the never-by-rule list, because a pattern over them is a pattern over code. Here the code itself is
read token by token against what can only compute and print, so the entries may stand in front of the list.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Operand
from mtbot.policy.grammar import Read, grammar
from mtbot.policy.words import words

_AWK_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n]+)|(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<number>[0-9]+(?:[.][0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<operator>\|\||&&|==|!=|<=|>=|\+\+|--|\+=|-=|\*=|%=|!~|[-$+*%~!,;:?(){}\[\]=<>])|(?P<slash>/)"""
)
_DIVISION = re.compile(r"/")
_AWK_REGEX = re.compile(r"/(?:[^/\[\\\n]|\\[^\n]|\[\^?\]?(?:[^]/\\\n]|\\[^\n])*\])*/")
"""Some awks end an expression at a slash inside brackets and some do not, so there must be none."""
_AWK_FUNCTIONS = words(
    """length substr index split sub gsub match tolower toupper sprintf int sqrt sin cos atan2 exp log rand srand if while for
    print printf exit return in"""
)
_AWK_NEVER = words(
    """system getline close fflush ENVIRON PROCINFO ARGV ARGC ARGIND FUNCTAB SYMTAB function func nextfile include load namespace
    RFLAGS printenv extension"""
)
_DIVIDED = re.compile(r"[0-9][0-9.]*|\]|[A-Za-z_][A-Za-z0-9_]*")
_NOT_KNOWN_WHICH = re.compile(r"[)$]|//|\+\+|--|\".*")
_BEFORE_A_REGEX = words("print printf return in")
_NO_VALUES = (_AWK_FUNCTIONS - _BEFORE_A_REGEX) | words(
    "else do next exit delete break continue BEGIN END BEGINFILE ENDFILE case switch default"
)


def _is_harmless_awk(program: str) -> bool:
    """Whether a program can only compute and print: no pipe, no file, no other program, no environment.

    `>` compares in a pattern and in the condition of an `if` or `while`, and redirects after print, so it is taken
    nowhere else. `<` only compares, since nothing here knows getline.
    """
    at, depth, before, pending = 0, 0, "", ""
    opened: list[str] = []
    while at < len(program):
        token = _AWK_TOKEN.match(program, at)
        if token is None:
            return False
        if token.lastgroup == "slash":
            token = _slash(program, at, before)
            if token is None:
                return False
            divides = token.re is _DIVISION
            before, at, pending = "/" if divides else "//", token.end(), ""
            continue
        text, at = token.group(), token.end()
        if token.lastgroup == "blank":
            # a line that ends ends the value in front of a slash
            before = "\n" if "\n" in text else before
            continue
        if pending and text == "(" and pending not in _AWK_FUNCTIONS:
            return False
        if text in _AWK_NEVER or (text == ">" and depth and not {"if", "while"}.issuperset(opened[:1] or ["print"])):
            return False
        if text == "(":
            opened.append(pending)
        elif text == ")" and not opened:
            return False
        elif text == ")":
            opened.pop()
        pending = text if token.lastgroup == "name" else ""
        depth += (text == "{") - (text == "}")
        before = text
    return depth == 0 and not opened


def _slash(program: str, at: int, before: str) -> re.Match[str] | None:
    """The division or the whole regular expression at `at`; None where it depends on what only awk's grammar knows."""
    if before in _NO_VALUES or _NOT_KNOWN_WHICH.fullmatch(before):
        return None
    if _DIVIDED.fullmatch(before) and before not in _BEFORE_A_REGEX:
        return _DIVISION.match(program, at)
    return _AWK_REGEX.match(program, at)


def _awk_reads_only(read: Read) -> bool:
    if not read.operands or not _is_harmless_awk(read.operands[0]):
        return False
    return not any(operand.startswith("/inet") or operand.split("=")[0] in _AWK_NEVER for operand in read.operands[1:])


_AWK = grammar(r"-F:any -v:([A-Za-z_][A-Za-z0-9_]*=[^\n]*)", "any path*", also=_awk_reads_only)


def _match_awk(argv: Argv) -> Match | None:
    if any(word.startswith("-v") and set(words(" ".join(word[2:].split("=")[:1]))) & _AWK_NEVER for word in argv):
        return None
    names = [argv[at + 1].split("=")[0] for at, word in enumerate(argv[:-1]) if word == "-v"]
    return None if not _AWK_NEVER.isdisjoint(names) else _AWK.match(argv[1:])


_PRINTF_FORMAT = re.compile(r"(?!-)(?:[^%\\]|\\[^c]|%%|%[-+ 0#]*[0-9]*(?:[.][0-9]+)?[sdiuxXofcq])*")


def _match_printf(argv: Argv) -> Match | None:
    """`%n` would store through an index expression, `-v` too; every other conversion only prints."""
    return Match() if len(argv) > 1 and _PRINTF_FORMAT.fullmatch(argv[1]) is not None else None


def _match_test(argv: Argv) -> Match | None:
    """`test -f FILE` and its kin; comparisons of numbers and `-v` evaluate index expressions."""
    rest = argv[2:] if argv[1:2] == ("!",) else argv[1:]
    if (
        len(rest) == 2
        and rest[0] in ("-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h")
        and not rest[1].startswith("-")
    ):
        return Match((Operand(rest[1]),))
    return Match() if len(rest) == 2 and rest[0] in ("-z", "-n") else None


def _match_command(argv: Argv) -> Match | None:
    names = argv[2:]
    plain = all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", name) for name in names)
    return Match() if argv[1:2] in (("-v",), ("-V",)) and names and plain else None


CODE: tuple[AllowRule, ...] = (
    *(
        AllowRule(
            id=f"readonly:{name}",
            match=_match_awk,
            program=name,
            reads_code=True,
            why="computes and prints",
            permits=(
                f"{name} '{{print $1}}' f",
                f"{name} -F, '{{s+=$2}} END {{print s}}' f",
                f"{name} -F : '$3 > 999 {{print $1}}' /etc/passwd",
                f"{name} '/foo/ {{print tolower($1)}}' f",
                f"{name} '/^[]a-z[:digit:]]+$/' f",
                f"{name} NR==1 f",
                f"{name} '{{print $1/1024}}' f",
                f"{name} '{{if ($1 > 10) print}}' f",
                f"{name} '{{s+=$1; n++}} END {{print s/n}}' f",
            ),
            refuses=(
                f"{name} 'BEGIN{{system(\"id\")}}'",
                f"{name} '{{print > \"out\"}}' f",
                f"{name} '{{print | \"sh\"}}' f",
                f"{name} '{{\"id\" | getline x; print x}}' f",
                f"{name} 'BEGIN{{while ((getline l < \"/etc/shadow\") > 0) print l}}'",
                f"{name} 'BEGIN{{print ENVIRON[\"X\"]}}'",
                f"{name} -f prog f",
                f"{name} 'BEGIN{{ARGV[1]=\"/etc/shadow\"; ARGC=2}} 1'",
                f"{name} '@include \"x\"' f",
                f'{name} \'BEGIN{{f="system"; @f("id")}}\'',
                f"{name} 1 /inet/tcp/0/evil.example/80",
                f"{name} -i inplace 1 f",
                f"{name} -v ARGC=2 1 f",
                f"{name} 'BEGIN{{x(\"id\")}}'",
                f"{name} '{{print a > b}}' f",
                f"{name} '{{if (1) print a > b}}' f",
                f"{name} '{{for (print > \"x\";;) 1}}' f",
                f"{name} '{{print (a) > b}}' f",
                f'{name} \'{{print /"/; system("id") /"/}}\' f',
                f"{name} '{{x = 1 /a/ > \"f\"}}' f",
                f"{name} '{{print /r/ / 1 > \"f\" / 1}}' f",
                f'{name} \'{{if (1 ~ /[/]"/) print > "f"; if (1 ~ /[/]"/) x}}\' f',
                f"{name} '{{if (0) x; else /\"/ > y}}' f",
                f"{name} '{{print rand / 1 > \"f\" / 1}}' f",
            ),
        )
        for name in ("awk", "gawk", "mawk", "nawk")
    ),
    AllowRule(
        id="readonly:printf",
        match=_match_printf,
        program="printf",
        reads_code=True,
        why="prints",
        permits=("printf '%s\\n' a b", "printf hello", "printf '%5.2f %%' 3"),
        refuses=(
            "printf -v x y",
            "printf '%n' 'a[0]'",
            "printf '%(%F)T' 1",
            "printf -- x",
            "printf '%*d' 1 2",
            "printf",
        ),
    ),
    AllowRule(
        id="readonly:test",
        match=_match_test,
        program="test",
        reads_code=True,
        why="looks whether a file is there",
        permits=("test -f a", "test -d /srv", "test -z x"),
        refuses=("test -v 'a[0]'", "test 'a[0]' -eq 0", "test -R x", "test -f a -o -v b", "test -t 1", "test -N x"),
    ),
    AllowRule(
        id="readonly:command",
        match=_match_command,
        program="command",
        reads_code=True,
        why="says where a program is",
        permits=("command -v git", "command -V ls"),
        refuses=("command -p ls", "command -v ls -x", "command -v /tmp/x", "command -v"),
    ),
)

"""The read-only shapes of find and sed: languages of their own, of which only the part that cannot write or run is known.

find acts by its expression (`-delete`, `-exec`, `-fprint`), sed by its script (`w`, `e`, `-i`). Both are read word by
word or letter by letter against what is listed here.
"""

import re
from dataclasses import replace

from mtbot.policy.allow_rule import AllowRule, Argv, Match, Operand, Role
from mtbot.policy.grammar import Read, grammar
from mtbot.policy.readonly_entry import entry
from mtbot.policy.words import words

_ALONE = words(
    """-print -print0 -ls -true -false -empty -readable -writable -executable -nouser -nogroup -prune -depth -d -xdev -mount
    -noleaf -quit -not -a -and -o -or ! ( ) , -daystart -warn -nowarn -ignore_readdir_race -noignore_readdir_race"""
)
_WITH_TEXT = words(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -user -group -uid -gid
    -perm -maxdepth -mindepth -mtime -atime -ctime -mmin -amin -cmin -links -inum -fstype -used -regextype -printf -newermt
    -newerat -newerct -newerBt -context -flags"""
)
_WITH_PATH = words("-newer -anewer -cnewer -samefile -newermm -newerma -newermc -neweraa -newercc -neweram -newercm")
_LEADING = words("-H -P -E")


def _match_find(argv: Argv) -> Match | None:
    rest = list(argv[1:])
    if rest in (["--help"], ["--version"]):
        return Match()
    while rest and rest[0] in _LEADING:
        rest.pop(0)
    operands: list[Operand] = []
    while rest and not rest[0].startswith("-") and rest[0] not in ("!", "(", ")", ","):
        operands.append(Operand(rest.pop(0), Role.NAMES_BELOW))
    while rest:
        word = rest.pop(0)
        if word in _ALONE:
            continue
        if not rest or word not in _WITH_TEXT | _WITH_PATH:
            return None
        value = rest.pop(0)
        if word in _WITH_PATH:
            operands.append(Operand(value))
    if not any(operand.role is Role.NAMES_BELOW for operand in operands):
        operands.append(Operand(".", Role.NAMES_BELOW))
    return Match(tuple(operands))


_ADDRESS = r"(?:[0-9]+|\$|/(?:[^\\/\[\n]|\\[^\n]|\[[^\]/\n]*\])*/I?)"
_RANGE = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~][0-9]+)|~[0-9]+)?!?)?"
_SUBSTITUTE = "|".join(
    rf"s{mark}(?:[^\\{mark}\[\n]|\\[^\n]|\[[^\]{mark}\n]*\])*{mark}(?:[^\\{mark}\n]|\\[^\n])*{mark}[gpiI0-9]{{0,4}}"
    for mark in ("/", r"\|", ",", "#", "@", ":")
)
_EXCHANGE = r"y/(?:[^\\/\n]|\\[^\n])*/(?:[^\\/\n]|\\[^\n])*/"
_SED_SCRIPT = re.compile(
    rf"{_RANGE} ?(?:[pdq=lnNDPhHgGx]|{_SUBSTITUTE}|{_EXCHANGE})(?: ?; ?{_RANGE} ?(?:[pdq=]|{_SUBSTITUTE}|{_EXCHANGE}))*;?"
)


def _harmless_script(read: Read) -> bool:
    scripts = [value for name, value in read.values if name in ("-e", "--expression")] or list(read.operands[:1])
    return all(_SED_SCRIPT.fullmatch(script) is not None for script in scripts)


_SED_OPTIONS = "-nErszu --quiet --silent --regexp-extended --separate --null-data --unbuffered --help --version"
_SED_REFUSES = (
    "sed -i s/a/b/ f",
    "sed -n '1e id' f",
    "sed 's/a/b/e' f",
    "sed 's/a/b/w out' f",
    "sed -n 'w out' f",
    "sed -f script f",
    "sed --in-place=x s/a/b/ f",
    "sed 'r /etc/x' f",
    "sed 'y/a/b/;w out' f",
    "sed 'y/a/b/w' f",
    "sed '1!G;h;$!d;w out' f",
)

_SED = tuple(
    replace(one, reads_code=True)
    for one in (
        *entry(
            "sed",
            grammar(_SED_OPTIONS, "text path*", also=_harmless_script),
            why="prints or edits a stream by a script without e, w, r",
            permits=(
                "sed -n 1,20p f",
                "sed -n '/a/,/b/p' f",
                "sed s/a/b/g f",
                "sed 5q f",
                "sed 's|/usr|/opt|' f",
                "sed -n '10p;20q' f",
                "sed 'y/abc/xyz/' f",
            ),
            refuses=_SED_REFUSES,
        ),
        *entry(
            "sed",
            grammar(_SED_OPTIONS + " -e:text --expression:text", "path*", requires="-e", also=_harmless_script),
            why="prints or edits a stream by a script without e, w, r",
            permits=("sed -e s/a/b/ -e s/c/d/ f",),
            refuses=("sed -e 's/a/b/e' f", "sed -e p -e 'w x' f"),
        ),
    )
)
"""sed runs what its script says, so no pattern of the owner's covers it; these know the whole of a script."""

FIND: tuple[AllowRule, ...] = (
    AllowRule(
        id="readonly:find",
        match=_match_find,
        program="find",
        why="lists names",
        permits=(
            "find . -name '*.py'",
            "find src -type f -size +1k -mtime -7",
            "find . -name node_modules -prune -o -name '*.js' -print",
            "find",
        ),
        refuses=(
            "find . -delete",
            "find . -exec rm '{}' +",
            "find . -execdir rm '{}' +",
            "find . -ok rm '{}' ';'",
            "find . -fprint out",
            "find . -fprintf out x",
            "find . -fls out",
            "find -L . -name x",
            "find . -follow",
            "find -files0-from list",
            "find -D exec .",
        ),
    ),
    *_SED,
)

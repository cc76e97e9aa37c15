"""Decide whether a text is refused for good: the owner's patterns and the built-in rules over every reading.

Best effort and over-approximate: it looks at everything that any reading finds in command position. A dangerous
text that no reading shows there is a Mention: it is named in the question and never refused, so that commit
messages and grep patterns stay usable. Pure and total; a text that is too large is refused before any matching.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache

from mtbot.policy import readings
from mtbot.policy.reading_values import Doubt, Readings, SimpleCommand, Word
from mtbot.policy.rule import MAX_TEXT_BYTES, Level, Patterns, Rule
from mtbot.policy.rules import RULES

TOO_LONG_ID = "limits.too-long"

INTRICATE_ID = "limits.too-intricate"

KEY_ID = "limits.private-key"

_ARMOUR = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_GAP = r"""(?:\\{1,4}[rn]|[\s"',\\#-])"""
_LINE = r"[A-Za-z0-9+/=]{16,}"
_LABEL = r"(?:Proc-Type|DEK-Info|Version|Comment|Charset)[ \t]*:[^\n]{0,130}"
_LABELS = rf"(?:{_LABEL}{_GAP})*"
_WORDS = r"""[A-Za-z0-9+/=\s"',\\#-]*"""


@cache
def _keys() -> Patterns:
    """A private key over several lines, or the end of one: a question masks it, and a line of it may be a command."""
    return Patterns(
        (
            rf"{_ARMOUR}{_GAP}*\n{_GAP}*{_LABELS}{_GAP}*{_LINE}",
            rf"{_ARMOUR}{_GAP}+{_LABELS}{_GAP}*{_LABEL}{_GAP}*\n{_GAP}*{_LABELS}{_GAP}*{_LINE}",
            rf"{_ARMOUR}{_GAP}+{_LABELS}{_GAP}*{_LINE}(?:{_GAP}+{_LINE})*{_GAP}*\n{_GAP}*(?:{_LINE}|[A-Za-z0-9+/=]{{1,15}}\z)",
            rf"""{_ARMOUR}[A-Za-z0-9+/=\s"',\\#:.@-]*\n[A-Za-z0-9+/=\s"',\\#:.@-]*-----END """,
            rf"""{_WORDS}\n{_WORDS}-----END (?:[A-Z0-9]+ ){{0,4}}PRIVATE KEY""",
        )
    )


_MAX_MENTIONS = 400
_MAX_SCANNED = 2000
_SEGMENT_END = re.compile(r"[;&|()\n`{}]")
_BEFORE_COMMAND = re.compile(
    r"(?:^|[;&|()\n`{}'\"]|\$\(|\b(?:then|do|else|sudo|exec|xargs|env|nohup|time))[ \t'\"\\]*$"
)
_SEGMENT_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Denial:
    """A rule matched: for `refuse` nothing may lift it, for `ask` only a person may."""

    rule_id: str
    reason: str
    better: str | None
    level: Level
    hardline: bool
    command: str
    """The words that matched, or the owner's pattern."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A rule's text stands somewhere, but no reading shows it in command position."""

    rule_id: str
    text: str


class UnknownRuleError(ValueError):
    """builtin_deny names a rule that does not exist, or softens a hardline one."""


@dataclass(frozen=True, slots=True)
class DenyRules:
    """The compiled deny half of the configuration."""

    owner: Patterns
    levels: dict[str, Level] = field(default_factory=dict)
    """Rules that the owner softened; every other rule refuses."""

    def level(self, rule: Rule) -> Level:
        """What `rule` does when it matches."""
        return Level.REFUSE if rule.hardline else self.levels.get(rule.id, Level.REFUSE)


def compile_rules(owner: Iterable[str] = (), ask: Iterable[str] = (), off: Iterable[str] = ()) -> DenyRules:
    """Compile the settings; raises PatternsError or UnknownRuleError, never drops an entry."""
    known = {rule.id: rule for rule in RULES}
    levels: dict[str, Level] = {}
    for level, ids in ((Level.ASK, ask), (Level.OFF, off)):
        for rule_id in ids:
            rule = known.get(rule_id)
            if rule is None:
                raise UnknownRuleError(f"builtin_deny.{level}: there is no rule {rule_id!r}")
            if rule.hardline:
                raise UnknownRuleError(f"builtin_deny.{level}: {rule_id} is a hardline rule and can only refuse")
            levels[rule_id] = level
    return DenyRules(Patterns(owner), levels)


_BY_PROGRAM: dict[str, tuple[Rule, ...]] = {
    name: tuple(rule for rule in RULES if name in rule.programs)
    for name in sorted(frozenset[str]().union(*(rule.programs for rule in RULES)))
}
_BY_REDIRECT = tuple(rule for rule in RULES if rule.redirects)
_BY_FUNCTION = tuple(rule for rule in RULES if rule.functions)
_NAMES = frozenset(name for name in _BY_PROGRAM if name.isascii() and name != ".")
_TOKEN = re.compile(r"[A-Za-z0-9_.\-+]+")
_VERSIONED = re.compile(r"(python|perl|ruby|lua|php)[0-9.]+").fullmatch


def judge(found: Readings, rules: DenyRules) -> Denial | Mention | None:
    """The first denial, refusals before questions, hardline rules before others; else a mention; else None."""
    if len(found.text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        return too_long()
    owned = _holds_a_key(found) or _owners(found, rules)
    if owned is not None:
        return owned
    softened = _intricate(found)
    for rule, command in _hits(found):
        level = rules.level(rule)
        if level is Level.OFF:
            continue
        denial = Denial(
            rule.id, rule.reason, rule.better, level, rule.hardline, command.text or found.text.strip()[:200]
        )
        if level is Level.REFUSE:
            return denial
        softened = softened or denial
    return softened or _mention(found, rules)


def too_long() -> Denial:
    """The refusal of a text that is longer than MAX_TEXT_BYTES; it is neither read nor matched."""
    return Denial(
        TOO_LONG_ID,
        f"the command is longer than {MAX_TEXT_BYTES // 1024} KiB and is not looked at",
        "write a file with write_file and run that",
        Level.REFUSE,
        hardline=False,
        command="",
    )


def _holds_a_key(found: Readings) -> Denial | None:
    """The refusal of a text with a private key in it, of which no question could show what runs."""
    if "PRIVATE KEY" not in found.text:
        return None
    if _keys().first_match(found.text.encode("utf-8", "replace").decode()) is None:
        return None
    reason = "it holds a private key, and a question that masks one can't show what else stands there"
    return Denial(
        KEY_ID, reason, "put the key into a file of its own with write_file", Level.REFUSE, hardline=False, command=""
    )


def look(text: str, rules: DenyRules) -> tuple[Readings | None, Denial | Mention | None]:
    """Read and judge in one step; a text that is too long is refused unread, so there are no readings."""
    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        return None, too_long()
    found = readings.read(text)
    return found, judge(found, rules)


def _intricate(found: Readings) -> Denial | None:
    """A text past every bound that names so many of the rules' programs that not all can be looked at."""
    if not found.too_many or sum(token in _NAMES for token in _TOKEN.findall(found.resolved)) <= _MAX_SCANNED:
        return None
    reason = "the command is too intricate to be looked at"
    return Denial(
        INTRICATE_ID, reason, "write a script with write_file and run that", Level.REFUSE, hardline=False, command=""
    )


def _owners(found: Readings, rules: DenyRules) -> Denial | None:
    if not rules.owner.patterns:
        return None
    for text in dict.fromkeys((found.text.encode("utf-8", "replace").decode(), found.resolved)):
        index = rules.owner.first_match(text)
        if index is not None:
            pattern = rules.owner.patterns[index]
            reason = "a pattern of the owner matches"
            return Denial(f"deny[{index}]", reason, None, Level.REFUSE, hardline=False, command=pattern)
    return None


def _hits(found: Readings) -> list[tuple[Rule, SimpleCommand]]:
    """Every rule that matches a command, hardline ones first."""
    commands = found.commands
    if found.too_many:
        commands += tuple(command for command, in_position in _scan(found.resolved) if in_position)
    hits = [(rule, command) for command in commands for rule in candidates(command) if rule.matches(command)]
    return sorted(hits, key=lambda hit: not hit[0].hardline)


def candidates(command: SimpleCommand) -> tuple[Rule, ...]:
    """The rules that could match: by base name, by a redirect, by a function of the text."""
    rules = _BY_PROGRAM.get(command.program, ())
    if not rules and command.program:
        version = _VERSIONED(command.program)
        if version:
            rules = _BY_PROGRAM.get(version[1], ())
        elif command.argv[0].glob:
            return _globbed(command)
    if command.redirects or command.assignments:
        rules = tuple(dict.fromkeys((*rules, *_BY_REDIRECT)))
    if command.respawns:
        rules = tuple(dict.fromkeys((*_BY_FUNCTION, *rules)))
    return rules


def _globbed(command: SimpleCommand) -> tuple[Rule, ...]:
    """`/bin/r?` runs whatever file it matches: the rules of every program that it could be."""
    pattern = command.program
    if len(pattern) > 40 or pattern.count("*") > 3 or not re.search(r"[A-Za-z]", pattern):
        return ()
    names = [name for name in _NAMES if fnmatchcase(name, pattern)]
    return tuple(dict.fromkeys(rule for name in names for rule in _BY_PROGRAM[name]))


def _mention(found: Readings, rules: DenyRules) -> Mention | None:
    """The first place anywhere in the text where a rule's program stands with the words that the rule refuses."""
    for command, _ in _scan(found.resolved):
        for rule in candidates(command):
            if rules.level(rule) is not Level.OFF and rule.matches(command):
                return Mention(rule.id, command.text)
    return None


def _scan(text: str) -> Iterator[tuple[SimpleCommand, bool]]:
    """Each place where a rule's program is named, with the words behind it, and whether a command may begin there.

    Ends after _MAX_SCANNED different places; `_intricate` refuses a text that has more.
    """
    seen: set[str] = set()
    mentions = 0
    for token in _TOKEN.finditer(text):
        if token.group() not in _NAMES:
            continue
        start = token.start()
        segment = text[start : start + _SEGMENT_LENGTH]
        before = text[max(0, start - 12) : start]
        in_position = _BEFORE_COMMAND.search(before) is not None
        key = f"{in_position}{segment}"
        if key in seen:
            continue
        if len(seen) > _MAX_SCANNED:
            return
        seen.add(key)
        if not in_position:
            mentions += 1
            if mentions > _MAX_MENTIONS or (before.endswith("/") and not before.endswith("bin/")):
                continue
        end = _SEGMENT_END.search(segment)
        words = (segment[: end.start()] if end else segment).split()
        yield SimpleCommand(tuple([Word(word) for word in words])), in_position


def forbids_rules(found: Readings) -> tuple[tuple[Doubt, str], ...]:
    """Why neither an allow rule nor the classifier may let this text run; empty when nothing stands against it."""
    return found.doubts

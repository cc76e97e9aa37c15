"""Which commands a person may allow for some minutes, and whether such a grant covers a call. Pure.

A grant is for the exact words of one simple command, at one place, for one person, with everything looked up that
decides what it does. It is only for what does the same the next time: programs that are known to look only, or to obey
nothing but their words, and a script or program of the owner's own, bound by its content and by that of every file of the
workspace that its words name. A program that nobody knows may read there what to do (gcc @file, pandoc --filter, tar -I),
and what it reads could be another thing by then. Nor does a grant touch what asks in every mode: softened rules, root,
sensitive paths, turns that read text from outside, places where nobody is.
"""

import hashlib
import json
from dataclasses import replace

from mtbot.domain.call import MISSING, Below, Call, Decision, Facts, Stage, Verdict
from mtbot.domain.grant import MINUTE_MS, Grant
from mtbot.domain.ids import Digest
from mtbot.domain.record import Offer
from mtbot.policy import allow, grant_words, never, sensitive
from mtbot.policy.classify import NETWORK, WRITES
from mtbot.policy.effects import Prepared
from mtbot.policy.grant_words import readers
from mtbot.policy.lexer import LexedCommand, Literal, lex
from mtbot.policy.people import People, Say
from mtbot.policy.ruleset import RootAccess
from mtbot.policy.words import words

FILE_WRITERS = words("rm rmdir mv cp ln dd tee truncate touch mkdir chmod")
"""Of the programs that change something, those that act on nothing but the paths they are given."""

KNOWN = FILE_WRITERS | {"systemctl"}
"""Programs that obey their words alone, beside those that are known to look only: no file tells them what else to do."""

INSTALLED = ("/usr/", "/bin/", "/sbin/", "/lib", "/snap/", "/nix/")
"""Where the system puts programs; one from there is judged by its name, whether it is named by its path or not."""

_HEX = 64
"""Characters of a SHA-256; anything else in its place says that there is none."""

SERVICE_VERBS = frozenset({"start", "restart", "reload", "try-restart", "reload-or-restart"})
"""What may be granted of systemctl, for units that are named, without any option."""


def offer(prepared: Prepared, facts: Facts, decision: Decision) -> Offer | None:
    """The grant that the question about this call may be answered with; None if it can only be approved once."""
    minutes = prepared.rules.grant_minutes
    if minutes <= 0 or decision.verdict is not Verdict.ASK or decision.stage not in (Stage.MODE, Stage.CLASSIFIER):
        return None
    if decision.elevates or decision.owner_only or obstacle(prepared, facts) is not None:
        return None
    return Offer(binding(prepared, facts), minutes * MINUTE_MS)


def covering(prepared: Prepared, facts: Facts) -> Grant | None:
    """The grant among the facts that is for exactly this call as it would run now."""
    if not facts.grants or obstacle(prepared, facts) is not None:
        return None
    wanted = binding(prepared, facts)
    return next((grant for grant in facts.grants if grant.binding == wanted), None)


def for_these_words(grant: Grant, prepared: Prepared) -> bool:
    """Whether a grant is for the words of this call; whether it covers it depends on place, person and files, too."""
    command = grant_words.single(prepared.literal)
    granted = lex(grant.command)
    if command is None or not isinstance(granted, Literal):
        return False
    return [(one.argv, one.redirects) for one in granted.commands] == [(command.argv, command.redirects)]


def told(prepared: Prepared, facts: Facts, decision: Decision) -> str:
    """Whether a question about this call could be answered for a while, in words; empty where none is asked."""
    if decision.verdict not in (Verdict.ASK, Verdict.CLASSIFY):
        return ""
    asked = replace(decision, verdict=Verdict.ASK)
    offered = offer(prepared, facts, asked)
    if offered is not None:
        return f"a person can allow exactly this for {offered.ms // MINUTE_MS} min"
    why = obstacle(prepared, facts) or "what asks for this reason asks every time"
    if not prepared.rules.grant_minutes:
        why = "tools.exec.grant_minutes is 0"
    return f"a person can only approve it once: {why}"


def holds(grant: Grant, people: People, now_ms: int, minutes: int) -> bool:
    """Whether a grant still holds under the configuration of this moment.

    Who gave it must still be one who may approve, who asked must still be listed, and no grant lasts longer than
    ``minutes`` allow by now (0: none does).
    """
    if not grant.live(now_ms) or now_ms >= grant.given_ms + minutes * MINUTE_MS:
        return False
    if not people.still_welcome(grant.requester, grant.address):
        return False
    say = people.may_decide(grant.giver, grant.address, grant.requester, elevates=False)
    return say in (Say.YES, Say.CANNOT_TELL)


def binding(prepared: Prepared, facts: Facts) -> Digest:
    """The identity of what may run: SHA-256 (hex) over the words, the place, the person and all that was looked up.

    Only for a call without an ``obstacle``. The words are bound as a list: ``a 'b c'`` is not ``a b c``.
    """
    command = grant_words.single(prepared.literal)
    assert command is not None, "only one simple command is ever bound"
    call: Call = prepared.call
    address = call.address
    bound = {
        "v": 2,
        "surface": address.surface,
        "bot": address.bot,
        "chat": address.chat,
        "thread": address.thread,
        "session": address.session,
        "requester": call.requester.key,
        "argv": command.argv,
        "redirects": command.redirects,
        "more": {name: value for name, value in call.arguments.items() if name != "command"},
        "cwd": call.cwd,
        "directory": facts.directory,
        "shell": call.shell,
        "env": sorted(facts.env_names),
        "account": facts.account,
        "profile": facts.profile,
        "programs": sorted(facts.programs.items()),
        "operands": sorted(facts.operand_digests.items()),
        "contents": sorted(facts.contents.items()),
        "resolved": sorted(facts.resolved.items()),
    }
    text = json.dumps(bound, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return Digest(hashlib.sha256(text.encode()).hexdigest())


def obstacle(prepared: Prepared, facts: Facts) -> str | None:
    """Why this call can be approved only once, in words; None if it may be granted."""
    literal, readings = prepared.literal, prepared.readings
    command = grant_words.single(literal)
    if command is None or readings is None or not prepared.wants.grant:
        return "only one plain command of a program that runs nothing else can be granted"
    if not facts.attended:
        return "nobody is there"
    if facts.tainted:
        return "text from outside is in this turn"
    if readings.doubts or readings.elevates or _seen(prepared) != [command.argv]:
        return "it is not certain that it is one command"
    return _program_obstacle(command.argv, facts) or _words_obstacle(prepared, facts, command)


def _seen(prepared: Prepared) -> list[tuple[str, ...]]:
    found = prepared.readings.commands if prepared.readings else ()
    return [tuple(word.text for word in one.argv) for one in found]


def _program_obstacle(argv: tuple[str, ...], facts: Facts) -> str | None:
    name = never.base_name(argv[0])
    if facts.unbound:
        return f"the content of what {facts.unbound[0]} runs cannot be fixed"
    if name in NETWORK:
        return f"{name} can send data out"
    if name == "systemctl":
        plain = len(argv) > 2 and argv[1] in SERVICE_VERBS and not any(word.startswith("-") for word in argv[2:])
        return None if plain else "of systemctl only starting and restarting named units can be granted"
    if name == "cp" and any(word.startswith("-") for word in argv[1:]):
        return "of cp only plain copies can be granted, because a link in a tree leads anywhere"
    if name in WRITES - FILE_WRITERS:
        return f"{name} can change things outside the workspace"
    if "/" not in argv[0] and not facts.programs.get(argv[0], "").startswith("/"):
        return f"{argv[0]} is no program that was found"
    return None


def _words_obstacle(prepared: Prepared, facts: Facts, command: LexedCommand) -> str | None:
    program, rules = command.argv[0], prepared.rules
    found = {word: facts.resolved.get(word) for word in grant_words.paths_in(command.argv) or ()}
    for word, path in found.items():
        if path is None:
            return f"nobody looked where {word} leads"
        if word == program:
            trouble = _file_obstacle(prepared, facts, path)
            if trouble is not None:
                return trouble
        elif sensitive.is_sensitive(path, rules.places) or sensitive.is_repository_pointer(path):
            return f"{path} is sensitive"
        elif sensitive.is_above_sensitive(path, rules.places):
            return f"something sensitive lies below {path}"
    reads = _reads(prepared, facts)
    if reads is not None:
        return reads or None
    # a path may be a link with another name
    file = found.get(program) or program
    own = "/" in program and not file.startswith(INSTALLED)
    if not own and never.base_name(file) not in KNOWN:
        return f"{program} may obey files whose content can change, so a yes to its words would not fix what it does"
    for word, path in found.items():
        if path is None or word == program or path == "/dev/null":
            continue
        if not _writable(prepared, path):
            return f"{path} is outside the workspace, and whether it would be written cannot be told"
        if own and facts.contents.get(word) != MISSING and len(facts.contents.get(word, "")) != _HEX:
            return f"the content of {path} cannot be fixed"
    return None


def _file_obstacle(prepared: Prepared, facts: Facts, path: str) -> str | None:
    """Why a program that is named by its path cannot be granted."""
    if len(facts.operand_digests.get(path, "")) != _HEX:
        return f"the content of {path} cannot be fixed"
    if _writable(prepared, path):
        return f"{path} lies where files can be written without a question"
    return grant_words.why_never(path) or _program_obstacle((path,), facts)


def _reads(prepared: Prepared, facts: Facts) -> str | None:
    """Empty for a command that is known to look only and may look there, a reason if it may not, None if unknown."""
    literal = prepared.literal
    assert isinstance(literal, Literal), "only one plain command comes this far"
    paths = {word: allow.PathFact(path, facts.below.get(word, Below.UNKNOWN)) for word, path in facts.resolved.items()}
    context = allow.AllowContext(facts.directory, prepared.rules.places, paths, facts.repository_keys)
    verdict = allow.judge(literal, prepared.second_reading, readers(), context)
    if isinstance(verdict, allow.NotAllowed):
        return None if verdict.kind is allow.WhyNot.NO_RULE else verdict.reason
    if verdict.needs.network or verdict.environment:
        return "it asks other machines, or only looks in an environment of its own"
    return ""


def _writable(prepared: Prepared, path: str) -> bool:
    root = prepared.rules.root_of(path)
    return root is not None and root.access is RootAccess.READ_WRITE

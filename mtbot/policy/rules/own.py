"""The deny rule about mtclaw itself: what runs by exec never stops, reconfigures or decides for it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import pairwise

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.rule import Patterns, PatternsError, Rule
from mtbot.policy.rules.arguments import EVERYTHING, WRITERS, letters, operands, writes
from mtbot.policy.words import words

_SERVICE_STOPS = words(
    "stop restart disable kill mask reload try-restart reload-or-restart edit set-property revert delete "
    "remove unload bootout freeze force-reload down rm pause"
)
_SERVICES = words("systemctl service rc-service launchctl supervisorctl initctl sv s6-svc docker podman")
_OWN_READING = frozenset({
    ("version",), ("doctor",), ("status",), ("senders",), ("usage",), ("config", "path"), ("config", "show"), ("config", "validate"),
    ("config", "reference"), ("sessions", "list"), ("sessions", "show"), ("approvals", "list"), ("approvals", "show"),
    ("approvals", "pending"), ("cron", "list"), ("grants", "list"), ("jobs", "list"), ("trash", "list"), ("policy", "rules"), ("policy", "test"), ("policy", "check"),
    ("policy", "explain"), ("policy", "lint"), ("policy", "replay"), ("policy", "suggest"), ("policy", "sudoers"), ("audit", "verify"),
    ("audit", "export"),
})  # fmt: skip
"""Every verb of the command line that changes nothing; a verb that is not here is refused."""
_NAMES = ("mtclaw", "mtbot")


def _touches_mtclaw(command: SimpleCommand) -> bool:
    if any(redirect.writes and _is_own_state(redirect.target.text) for redirect in command.redirects):
        return True
    program, arguments = command.program, command.arguments
    if program == "mtclaw":
        return not _own_reading(arguments)
    if program.startswith("python"):
        module = [b for a, b in pairwise(arguments) if a == "-m"] + [
            a[2:] for a in arguments if a.startswith("-m") and a[2:]
        ]
        return bool(module) and module[0].partition(".")[0] == "mtbot"
    if program in ("pkill", "killall", "skill", "snice"):
        flags, given = letters(arguments, "sgGPtuUF"), operands(arguments, "sgGPtuUF")
        patterns = given if program == "pkill" or "r" in flags else []
        names = _NAMES if "f" in flags else ("mtclaw",)
        return any(map(_names_us, arguments)) or any(_matches(pattern, names) for pattern in patterns)
    if program in _SERVICES:
        given = operands(arguments)
        stops = any(word in _SERVICE_STOPS for word in given)
        return stops and any(_names_us(word) or fnmatchcase("mtclaw.service", word) for word in given)
    return writes(command, _is_own_state)


def _names_us(word: str) -> bool:
    return any(name in word for name in _NAMES)


def _matches(pattern: str, names: tuple[str, ...]) -> bool:
    """Whether a pattern of pkill finds this bot's process; one that finds everything is another rule's."""
    if pattern in EVERYTHING:
        return False
    try:
        return any(Patterns((pattern,)).first_match(name) is not None for name in names)
    except PatternsError:
        return False


def _own_reading(arguments: tuple[str, ...]) -> bool:
    """Whether the verb only shows something, or help is asked for in front of any option that could take the word."""
    verb: list[str] = []
    rest = list(arguments)
    while rest and len(verb) < 3:
        word = rest.pop(0)
        if word == "--help":
            return True
        if not word.startswith("-"):
            verb.append(word)
        elif word in ("--config", "--log-level"):
            del rest[:1]
        elif not word.startswith(("--config=", "--log-level=")):
            verb = verb or [word]
            break
    return not verb or tuple(verb[:1]) in _OWN_READING or tuple(verb[:2]) in _OWN_READING


def _is_own_state(word: str) -> bool:
    parts = word.split("/")
    return ".mtclaw" in parts or parts[-1].startswith("mtclaw.db")


OWN: tuple[Rule, ...] = (
    Rule(
        id="host.mtclaw-self",
        reason="stops, reconfigures or decides for mtclaw itself, which only its owner does, outside the chat",
        hardline=True,
        programs=WRITERS | _SERVICES | {"mtclaw", "pkill", "killall", "skill", "snice", "python", "python3"},
        redirects=True,
        matches=_touches_mtclaw,
        refuses=(
            "pkill mtclaw",
            "pkill -f mtbot",
            "killall -9 mtclaw",
            "systemctl stop mtclaw",
            "systemctl --user restart mtclaw.service",
            "service mtclaw stop",
            "docker stop mtclaw",
            "mtclaw approvals approve 3fa9",
            "mtclaw approvals deny 3fa9 --reason --help",
            "mtclaw policy allow ls --why --help",
            "mtclaw audit acknowledge --reason --help",
            "mtclaw --config approve approvals approve list",
            "mtclaw trash empty --yes",
            "mtclaw trash restore 3",
            "mtclaw db prune",
            "mtclaw db backup x.db",
            "mtclaw cron run nightly",
            "mtclaw --config x.yaml gateway",
            "mtclaw sessions rm 4",
            "mtclaw onboard",
            "python3 -m mtbot gateway",
            "python3 -mmtbot.cli.main approvals approve 3fa9",
            "echo 'mode: auto' >> ~/.mtclaw/config.yaml",
            "sed -i s/approval/auto/ ~/.mtclaw/config.yaml",
            "sqlite3 ~/.mtclaw/mtclaw.db 'delete from exec_audit'",
            "cp evil.yaml $HOME/.mtclaw/config.yaml",
            "rm /home/chief/.mtclaw/mtclaw.db",
        ),
        permits=(
            "mtclaw version",
            "mtclaw --config x.yaml doctor",
            "mtclaw approvals list",
            "mtclaw approvals pending",
            "mtclaw approvals approve --help",
            "mtclaw --help",
            "mtclaw --log-level debug trash list",
            "mtclaw usage --days 3",
            "mtclaw audit export",
            "mtclaw policy check",
            "systemctl status mtclaw",
            "journalctl -u mtclaw",
            "pgrep mtclaw",
            "systemctl stop nginx",
            "cat ~/.mtclaw/config.yaml",
            "sqlite3 -readonly ~/.mtclaw/mtclaw.db 'select 1'",
            "grep mtclaw README.md",
            "echo pkill mtclaw",
        ),
    ),
)

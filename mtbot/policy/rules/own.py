"""The deny rule about mtclaw itself: what runs by exec never stops, reconfigures or decides for it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import pairwise

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.rule import Patterns, PatternsError, Rule
from mtbot.policy.rules.arguments import EVERYTHING, WRITERS, asks_for_help, letters, operands, writes
from mtbot.policy.words import words

_SERVICE_STOPS = words(
    "stop restart disable kill mask reload try-restart reload-or-restart edit set-property revert delete "
    "remove unload bootout freeze force-reload down rm pause"
)
_SERVICES = words("systemctl service rc-service launchctl supervisorctl initctl sv s6-svc docker podman")
_OWN_READING = frozenset({
    ("version",), ("doctor",), ("help",), ("completion",), ("config", "path"), ("config", "show"), ("config", "validate"),
    ("sessions", "list"), ("sessions", "show"), ("approvals", "list"), ("approvals", "show"), ("cron", "list"),
    ("policy", "rules"), ("policy", "test"), ("policy", "explain"), ("policy", "lint"), ("audit", "verify"),
    ("audit", "list"), ("audit", "show"), ("status",),
})  # fmt: skip
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
    """Whether the verb only shows something."""
    if asks_for_help(arguments):
        return True
    kept = [b for a, b in pairwise(("", *arguments)) if a not in ("--config", "--log-level")]
    verb = tuple(operands(kept)[:2])
    return not verb or verb[:1] in _OWN_READING or verb in _OWN_READING


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

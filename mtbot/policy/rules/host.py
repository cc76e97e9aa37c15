"""Deny rules about the host as a whole: power, accounts, history, every process."""

from __future__ import annotations

from itertools import pairwise

from mtbot.policy.reading_values import SimpleCommand
from mtbot.policy.rule import Rule
from mtbot.policy.rules.arguments import (
    EVERYTHING,
    WRITERS,
    asks_for_help,
    has_long,
    letters,
    operands,
    options,
    path,
    writes,
)
from mtbot.policy.words import words

_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_POWER_VERBS = words(
    "reboot poweroff halt kexec soft-reboot suspend hibernate hybrid-sleep suspend-then-hibernate rescue emergency"
)
_UNIT_VERBS = words(
    "status show cat help list-units list-unit-files list-dependencies list-timers list-sockets list-jobs is-active is-enabled"
    " is-failed stop restart reload enable disable mask unmask edit kill list-sessions session-status show-session"
)
"""Verbs behind which a power verb is the name of a unit; before one, a word may be the value of an option."""
_POWER_FILES = frozenset({"/proc/sysrq-trigger", "/sys/power/state"})
_BUSES = frozenset({"dbus-send", "busctl", "gdbus"})
_ACCOUNTS = words(
    "passwd useradd usermod userdel adduser deluser addgroup delgroup groupadd groupmod groupdel chpasswd "
    "chgpasswd gpasswd newusers visudo vipw vigr chsh chfn chage grpconv pwconv pwunconv"
)
_ACCOUNT_FILES = frozenset(
    {"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers", "/etc/doas.conf"}
)
_HISTORY_FILES = (".bash_history", ".zsh_history", ".sh_history", ".history", "fish_history", ".python_history")


def _bomb(command: SimpleCommand) -> bool:
    if command.respawns:
        return True
    code = " ".join(command.arguments)
    return command.program != "" and ("fork while fork" in code or ("os.fork" in code and "while" in code))


def _powers(command: SimpleCommand) -> bool:
    if any(r.writes and path(r.target.text) in _POWER_FILES for r in command.redirects):
        return True
    arguments = command.arguments
    if asks_for_help(arguments):
        return False
    if command.program in _POWER:
        return "-c" not in options(arguments) and not has_long(arguments, "--show", 5)
    if command.program in ("init", "telinit"):
        return any(word in ("0", "6", "1", "s", "S") for word in arguments)
    if command.program == "tee":
        return any(path(word) in _POWER_FILES for word in arguments)
    if command.program == "kexec":
        return "e" in letters(arguments) or has_long(arguments, "--exec", 4)
    if command.program in _BUSES:
        return any(
            word.rpartition(".")[2] in ("Reboot", "PowerOff", "Halt", "Suspend", "Hibernate") for word in arguments
        )
    for position, word in enumerate(given := operands(arguments, "HMtspno")):
        if word in _POWER_VERBS:
            return True
        if word in ("isolate", "start"):
            return any(unit.partition(".")[0] in _POWER_VERBS for unit in given[position + 1 :])
        if word in _UNIT_VERBS:
            return False
    return False


def _accounts(command: SimpleCommand) -> bool:
    if any(redirect.writes and _is_account_file(redirect.target.text) for redirect in command.redirects):
        return True
    arguments = command.arguments
    if command.program not in _ACCOUNTS:
        return writes(command, _is_account_file)
    if asks_for_help(arguments) or arguments == ("-h",):
        return False
    flags = letters(arguments)
    shows = {"passwd": "S", "chage": "l", "useradd": "D", "visudo": "c"}.get(command.program, "")
    only_shows = bool(shows) and shows in flags and not flags - {shows, "a", "f", "q", "s"}
    return not only_shows and not has_long(arguments, "--status", 5) and not has_long(arguments, "--list", 4)


def _is_account_file(word: str) -> bool:
    place = path(word)
    return place in _ACCOUNT_FILES or place.startswith("/etc/sudoers.d/")


def _password(command: SimpleCommand) -> bool:
    for word in command.arguments:
        if word == "--" or not word.startswith("-"):
            return False
        if word in ("--stdin", "--askpass") or (not word.startswith("--") and bool({"S", "A"} & set(word[1:]))):
            return True
    return False


def _history(command: SimpleCommand) -> bool:
    if any(redirect.writes and _is_history(redirect.target.text) for redirect in command.redirects):
        return True
    if any(name in ("HISTFILE", "HISTSIZE", "HISTFILESIZE") for name, _ in command.assignments):
        return True
    program, arguments = command.program, command.arguments
    if program == "history":
        return bool(letters(arguments) & {"c", "d"})
    if program in ("unset", "export", "declare", "typeset", "readonly"):
        return any(word.partition("=")[0] == "HISTFILE" for word in arguments)
    if program == "set":
        return any(a == "+o" and b == "history" for a, b in pairwise(arguments))
    return writes(command, _is_history)


def _is_history(word: str) -> bool:
    return path(word).rsplit("/", 1)[-1] in _HISTORY_FILES


def _kills_all(command: SimpleCommand) -> bool:
    arguments = list(command.arguments)
    if command.program == "killall5":
        return True
    if command.program == "kill":
        if arguments[:1] in (["-s"], ["-n"], ["--signal"]):
            arguments = arguments[2:]
        elif arguments[:1] and arguments[0].startswith("-") and arguments[0] not in ("--", "-l", "-L"):
            arguments = arguments[1:]
        return "-1" in arguments
    return any(word in EVERYTHING for word in operands(arguments, "sgGPtuU"))


HOST: tuple[Rule, ...] = (
    Rule(
        id="host.fork-bomb",
        reason="starts itself again without end",
        hardline=True,
        functions=True,
        programs=frozenset({"perl", "python", "python3", "ruby"}),
        matches=_bomb,
        refuses=(
            ":(){ :|:& };:",
            "bomb() { bomb | bomb & }; bomb",
            "f(){ f & f & }; f",
            "function boom { boom|boom& }; boom",
            "perl -e 'fork while fork'",
            "python3 -c 'import os\nwhile 1: os.fork()'",
        ),
        permits=(
            "f(){ echo a | cat; }; f",
            'walk(){ for d in "$1"/*; do walk "$d"; done; }; walk .',
            "echo ':(){ :|:& };:'",
            "git log --grep 'fork while fork'",
        ),
    ),
    Rule(
        id="host.kill-all",
        reason="signals every process of the user or host",
        better="kill with the one process id",
        hardline=True,
        programs=frozenset({"kill", "killall5", "pkill"}),
        matches=_kills_all,
        refuses=("kill -9 -1", "kill -KILL -1", "kill -s KILL -1", "kill -- -1", "pkill -9 .", "killall5 -9"),
        permits=("kill -1 4242", "kill -9 4242", "kill -l", "pkill -f worker", "kill -9 -4242"),
    ),
    Rule(
        id="host.power",
        reason="shuts the host down, restarts it or sends it to sleep",
        programs=_POWER | {"systemctl", "launchctl", "init", "telinit", "loginctl", "kexec", "tee"} | _BUSES,
        redirects=True,
        matches=_powers,
        refuses=(
            "shutdown now",
            "shutdown -h +5",
            "reboot",
            "/sbin/halt -p",
            "poweroff",
            "systemctl reboot",
            "systemctl -i poweroff",
            "systemctl isolate rescue.target",
            "loginctl hibernate",
            "init 0",
            "telinit 6",
            "echo b > /proc/sysrq-trigger",
        ),
        permits=(
            "shutdown -c",
            "echo reboot",
            "systemctl status reboot.target",
            "last reboot",
            "man shutdown",
            "aws ec2 run-instances --instance-initiated-shutdown-behavior stop",
            "git commit -m 'fix shutdown bug'",
            "journalctl --since reboot",
            "npm run reboot",
        ),
    ),
    Rule(
        id="host.accounts",
        reason="changes accounts, groups, passwords or who may become root",
        programs=_ACCOUNTS | WRITERS,
        redirects=True,
        matches=_accounts,
        refuses=(
            "passwd",
            "passwd deploy",
            "useradd -m eve",
            "usermod -aG sudo eve",
            "echo 'root:x' | chpasswd",
            "visudo",
            "groupadd ops",
            "echo 'eve ALL=(ALL) NOPASSWD: ALL' >> /etc/sudoers",
            "echo x | tee -a /etc/sudoers.d/eve",
            "sed -i s/x// /etc/passwd",
            "chsh -s /bin/sh root",
        ),
        permits=(
            "passwd -S deploy",
            "chage -l deploy",
            "cat /etc/passwd",
            "getent group sudo",
            "grep useradd setup.sh",
            "cp /etc/passwd backup",
            "cat passwd",
            "visudo -c",
        ),
    ),
    Rule(
        id="host.sudo-password",
        reason="hands a password to sudo",
        better="ask the owner for a rule that names the command",
        programs=frozenset({"sudo"}),
        matches=_password,
        refuses=("echo pw | sudo -S id", "sudo -kS id < pw", "sudo --stdin id", "sudo -A id"),
        permits=("sudo -n id", "sudo -u deploy sort -S 1M x", "sudo id"),
    ),
    Rule(
        id="host.history-clear",
        reason="clears or switches off the shell's history",
        programs=WRITERS | {"history", "unset", "export", "declare", "typeset", "readonly", "set"},
        redirects=True,
        matches=_history,
        refuses=(
            "history -c",
            "history -cw",
            "history -d 5",
            "unset HISTFILE",
            "export HISTFILE=/dev/null",
            "> ~/.bash_history",
            "cat /dev/null > ~/.zsh_history",
            "ln -sf /dev/null ~/.bash_history",
            "set +o history",
            "rm ~/.bash_history",
        ),
        permits=("history", "history 20", "cat ~/.bash_history", "wc -l history.jsonl", "set -o history", "git log"),
    ),
)

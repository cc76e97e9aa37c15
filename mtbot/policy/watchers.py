"""Commands that go on until somebody ends them: servers, watchers, followed logs.

In the foreground such a call shows nothing until its time-out kills it, so it is answered at once with the way in which it
works. A guess that is wrong costs a word to the model and nothing else; what runs is decided elsewhere.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from mtbot.policy.reading_values import Readings, SimpleCommand
from mtbot.policy.words import words

_BOUNDED = "timeout"
"""What is started through it ends by itself."""

_ALWAYS = words(
    "watch nodemon vite webpack-dev-server live-server http-server json-server browser-sync tailwindcss-watch htop btop "
    "top atop nethogs iftop ngrok cloudflared uvicorn gunicorn hypercorn daphne celery mailhog caddy nginx-debug"
)
_SCRIPTS = words("dev start serve server watch develop preview storybook")
_RUNNERS = words("npm pnpm yarn bun deno")
_TASKS = words("dev serve watch start runserver")

_FOLLOWS = {
    "tail": re.compile(r"-[qvz0-9]*[fF]|--follow(=.*)?|--retry"),
    "journalctl": re.compile(r"-[a-zA-Z]*f[a-zA-Z]*|--follow"),
    "dmesg": re.compile(r"-[a-zA-Z]*w|--follow(-new)?|-[a-zA-Z]*W"),
    "logread": re.compile(r"-[a-z]*f"),
    "inotifywait": re.compile(r"-[a-z]*m|--monitor"),
    "udevadm": re.compile(r"monitor"),
    "docker": re.compile(r"-[t]*f[t]*|--follow|events|stats"),
    "docker-compose": re.compile(r"-[t]*f[t]*|--follow"),
    "podman": re.compile(r"-[lnt]*f|--follow|events|stats"),
    "kubectl": re.compile(r"-f|--follow(=true)?|-w|--watch(=true)?|port-forward|proxy"),
    "tsc": re.compile(r"-w|--watch"),
    "jest": re.compile(r"--watch(All)?"),
    "webpack": re.compile(r"serve|watch|-w|--watch"),
    "esbuild": re.compile(r"--watch|--serve(=.*)?"),
    "cargo": re.compile(r"watch"),
    "next": re.compile(r"dev|start"),
    "nuxt": re.compile(r"dev|start"),
    "astro": re.compile(r"dev|preview"),
    "ng": re.compile(r"serve"),
    "hugo": re.compile(r"server?"),
    "jekyll": re.compile(r"s|serve"),
    "mkdocs": re.compile(r"serve"),
    "rails": re.compile(r"s|server"),
    "flask": re.compile(r"run"),
    "fastapi": re.compile(r"dev|run"),
    "php": re.compile(r"-S"),
    "mitmdump": re.compile(r".*"),
    "tcpdump": re.compile(r".*"),
    "ping": re.compile(r".*"),
    "ping6": re.compile(r".*"),
}
"""By program, the word among its arguments that makes it go on."""

_ENDS = {
    "docker": re.compile(
        r"--no-stream|-f?d|--detach|--until(=.*)?|--filter|--format|build|compose|rm|ps|images|run|exec"
    ),
    "podman": re.compile(r"--no-stream|--detach|--until(=.*)?|--stream=false|build|rm|ps|images|run|exec"),
    "kubectl": re.compile(r"apply|create|delete|replace|patch|diff|kustomize|label|annotate|wait|set|scale"),
    "tcpdump": re.compile(r"-[a-zA-Z]*c|-c\d+|-r|--version|-D|--list-interfaces|-G"),
    "ping": re.compile(r"-[46a-zA-Z]*c\d*|-w\d*|-V|-h"),
    "ping6": re.compile(r"-[a-zA-Z]*c\d*|-w\d*|-V|-h"),
    "top": re.compile(r"-[a-zA-Z]*n\d*|-[a-zA-Z]*b[a-zA-Z]*n\d*|-v|-h|-l\d*"),
    "atop": re.compile(r"-r|-V|-h"),
    "journalctl": re.compile(r"--no-follow"),
    "mitmdump": re.compile(r"-r|--version|--help"),
    "caddy": re.compile(r"version|validate|fmt|adapt|reload|stop|list-modules|hash-password|help"),
    "celery": re.compile(r"inspect|status|call|result|purge|list|report|--help"),
    "vite": re.compile(r"build|optimize|--version|-v|--help|-h"),
}
"""By program, the word that makes it end by itself after all."""

_HELP = frozenset({"--help", "--version"})


def watcher_in(found: Readings) -> str:
    """The first command of a text that goes on until somebody ends it, in a few words; empty if there is none."""
    return next((_named(one) for one in found.commands if _BOUNDED not in one.via and _goes_on(one)), "")


def _goes_on(command: SimpleCommand) -> bool:
    program, arguments = command.program, command.arguments
    if _HELP.intersection(arguments):
        return False
    ends = _ENDS.get(program)
    if ends is not None and any(ends.fullmatch(word) for word in arguments) and not _is_compose(program, arguments):
        return False
    if program in _ALWAYS:
        return True
    if program in _RUNNERS:
        return _runs_for_ever(arguments)
    if program.startswith("python"):
        return _serves(arguments)
    if _is_compose(program, arguments):
        return _compose_goes_on(arguments)
    follows = _FOLLOWS.get(program)
    return follows is not None and any(follows.fullmatch(word) for word in arguments)


def _runs_for_ever(arguments: Sequence[str]) -> bool:
    """``npm run dev``, ``yarn start``, ``pnpm watch``: the name of the script is all that there is to go by."""
    runs = next((at for at, word in enumerate(arguments) if word in ("run", "run-script", "task")), -1)
    plain = [word for word in arguments[runs + 1 :] if not word.startswith("-")]
    return bool(plain) and plain[0].partition(":")[0] in _SCRIPTS


def _serves(arguments: Sequence[str]) -> bool:
    """``python -m http.server``, ``python manage.py runserver``."""
    modules = [after for before, after in pairwise(arguments) if before == "-m"]
    if any(module in ("http.server", "uvicorn", "flask", "celery", "jupyter") for module in modules):
        return True
    return any(word.endswith("manage.py") for word in arguments) and bool(_TASKS.intersection(arguments))


def _is_compose(program: str, arguments: Sequence[str]) -> bool:
    return program == "docker-compose" or (program in ("docker", "podman") and "compose" in arguments)


def _compose_goes_on(arguments: Sequence[str]) -> bool:
    """``up`` without ``-d``, followed logs, ``watch`` and ``events``."""
    if "up" in arguments:
        return not {"-d", "--detach", "--wait", "--no-start", "--dry-run"}.intersection(arguments)
    if "logs" in arguments:
        return any(re.fullmatch(r"-[t]*f[t]*|--follow", word) for word in arguments[arguments.index("logs") :])
    return bool({"watch", "events", "attach"}.intersection(arguments))


def _named(command: SimpleCommand) -> str:
    return " ".join((command.program, *command.arguments))[:80]

"""``mtclaw onboard``: token, model, the person's own id, then doctor. Nothing is written before it is complete.

Secrets are typed hidden and go into 0600 files beside the configuration, or stay in the environment and are named.
"""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

import click

from mtbot.cli.frame import Frame

TRIES = 3
CAPTURE_SECONDS = 60

_TO_A_FILE = (
    "--proxy: must not hold a user or password: put the whole address in a file and name that with --proxy-file"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a secret is kept: a variable that is named, or a value that goes to a file."""

    value: str
    env: str = ""
    file: str = ""

    def lines(self, indent: str, name: str) -> str:
        """The configuration line that points to it."""
        if self.env:
            return f"{indent}{name}_env: {self.env}\n"
        return f"{indent}{name}_file: {self.file}\n" if self.file else f'{indent}{name}_env: ""\n'


@dataclass(frozen=True, slots=True)
class Person:
    """The owner: how they are called here, and their numeric Telegram id."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Way:
    """How Telegram is reached: its server ("" for its own), and a proxy with the configuration line that names it."""

    server: str
    proxy: str = field(default="", repr=False)
    line: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked."""

    base_url: str
    model: str
    key: Kept
    token: Kept
    way: Way
    person: Person | None
    readonly: bool
    workspace: str


@click.command()
@click.option("--api-base-url", default="", help="A Bot API server of your own.")
@click.option("--proxy", default="", help="Proxy on the way to Telegram: socks5://HOST:PORT or http://HOST:PORT.")
@click.option("--proxy-file", default="", help="File that holds such a proxy with its user and password.")
@click.pass_obj
def onboard(frame: Frame, api_base_url: str, proxy: str, proxy_file: str) -> int:
    """Set up a bot: token, model, your id, then a check."""
    from mtbot.bootstrap.system import home_directory
    from mtbot.cli.doctor import examine, report
    from mtbot.config.load import locate
    from mtbot.domain.errors import ConfigError

    located = locate(frame.config, os.environ, home_directory())
    if located.path.exists():
        raise ConfigError((f"{located.path} exists already",), hint="edit it, or give another place with --config")
    way = _way(api_base_url, proxy, proxy_file)
    click.echo("This sets up mtclaw: whoever may write to the bot gets a shell on this machine, asked or by rule.")
    click.echo("Do not list anybody to whom you would not give a shell.\n")
    answers = _ask(way)
    _write(located.path, answers)
    click.echo(f"\nWritten: {located.path} (0600)\n")
    frame.config = str(located.path)
    report(examine(frame))
    click.echo("\nNext: `mtclaw gateway` starts the bot; write to it. `mtclaw config reference` explains every key.")
    if answers.person is None:
        click.echo("Nobody is listed yet, so Telegram is off: put your id into people, set owner and enabled: true.")
    return 0


def _way(server: str, proxy: str, file: str) -> Way:
    """ConfigError if there is no such proxy to go by."""
    from mtbot.config.proxy import in_the_open, secret_problem
    from mtbot.config.secrets import resolve_secret
    from mtbot.config.values import SecretRef
    from mtbot.domain.errors import ConfigError

    if proxy and file:
        raise ConfigError(("give --proxy or --proxy-file, and not both",))
    if file:
        place = Path(file).absolute()
        secret = resolve_secret(SecretRef("channels.telegram.proxy", "", place, secret_problem), {})
        return Way(server, secret.value, f"    proxy_file: {_yaml(str(place))}\n")
    try:
        address = in_the_open(proxy)
    except ValueError as error:
        # what it says of a password is for whoever writes the configuration
        raise ConfigError((_TO_A_FILE if "@" in proxy else f"--proxy: {error}",)) from error
    return Way(server, address, f"    proxy: {_yaml(address)}\n" if address else "")


def _ask(way: Way) -> Answers:
    base_url = _line("Address of the model server (OpenAI-compatible)", "https://api.openai.com/v1")
    key = _secret("API key", "OPENAI_API_KEY", "secrets/model", optional=True)
    model = _model(base_url, key.value)
    workspace = _workspace()
    readonly = click.confirm(
        "Let harmless look-only commands (ls, git status, docker ps ...) run unasked?", default=True
    )
    token = _token(way)
    person = _person(token.value, way)
    return Answers(base_url, model, key, token, way, person, readonly, workspace)


def _line(question: str, default: str = "") -> str:
    """A line; a closed input ends everything."""
    value: str = click.prompt(question, default=default or None)
    return value.strip()


def _secret(what: str, env: str, file: str, *, optional: bool = False) -> Kept:
    """A secret, typed hidden; or the name of a variable that holds it."""
    if os.environ.get(env, "").strip() and click.confirm(f"{env} is set; use it?", default=True):
        return Kept(os.environ[env].strip(), env=env)
    for _ in range(TRIES):
        note = ", empty for none" if optional else ""
        value = click.prompt(f"{what} (hidden{note})", default="", hide_input=True, show_default=False).strip()
        if value or optional:
            return Kept(value, file=file if value else "")
        click.echo("It must not be empty.")
    raise click.Abort


def _workspace() -> str:
    """A directory as the configuration takes it."""
    for _ in range(TRIES):
        text = _line("Directory the bot works in", "~/mtclaw-workspace")
        if not text.startswith("~") or text == "~" or text.startswith("~/"):
            return text
        click.echo("Only ~/ (your own home) is understood.")
    raise click.Abort


def _model(base_url: str, key: str) -> str:
    """A model that the server lists, if it lists any."""
    listed = asyncio.run(_models(base_url, key))
    if listed:
        click.echo(f"It has: {', '.join(listed[:12])}{' ...' if len(listed) > 12 else ''}")
    for _ in range(TRIES):
        name = _line("Model", listed[0] if len(listed) == 1 else "")
        if name and (not listed or name in listed or click.confirm(f"The server does not list {name}; use it?")):
            return name
    raise click.Abort


async def _models(base_url: str, key: str) -> tuple[str, ...]:
    from mtbot.bootstrap.capture import list_models
    from mtbot.domain.errors import ProviderError

    try:
        return await list_models(base_url, key)
    except ProviderError as error:
        click.echo(f"The model server did not answer the list of models: {error}")
        return ()


def _token(way: Way) -> Kept:
    """A token that Telegram accepts."""
    click.echo("\nTalk to @BotFather on Telegram, send /newbot, and copy the token it gives you.")
    for _ in range(TRIES):
        kept = _secret("Bot token", "TELEGRAM_BOT_TOKEN", "secrets/telegram")
        username = asyncio.run(_username(kept.value, way))
        if username:
            click.echo(f"That is @{username}.")
            return kept
    raise click.Abort


async def _username(token: str, way: Way) -> str:
    from mtbot.bootstrap.capture import ask_name
    from mtbot.domain.errors import ChannelError

    try:
        return await ask_name(token, way.server, way.proxy)
    except (ChannelError, ValueError) as error:
        click.echo(f"That did not work: {error}")
        return ""


def _person(token: str, way: Way) -> Person | None:
    """The owner's id: whoever writes to the bot within a minute, if it is just one person; else typed."""
    from mtbot.bootstrap.capture import capture

    click.echo(f"\nNow write any message to your bot from your own Telegram account ({CAPTURE_SECONDS} s) ...")
    people = asyncio.run(capture(token, way.server, CAPTURE_SECONDS, way.proxy))
    if len(people) == 1:
        ident, name = next(iter(people.items()))
        if click.confirm(f"Are you {name} (id {ident})?", default=True):
            return Person(_key(name), ident)
    elif people:
        click.echo(f"{len(people)} people wrote: {', '.join(f'{name} ({ident})' for ident, name in people.items())}.")
    else:
        click.echo("Nobody wrote.")
    text = _line("Your numeric Telegram id (0 to leave Telegram off for now)", "0")
    if text.isdigit() and int(text) > 0:
        return Person("owner", int(text))
    return None


def _key(name: str) -> str:
    """A name that the configuration can use as a key."""
    plain = "".join(char for char in name.lower() if char.isascii() and char.isalnum())
    return plain or "owner"


def _write(path: Path, answers: Answers) -> None:
    """The secret files first, the configuration last and at once, so that a cut leaves nothing half made."""
    from mtbot.bootstrap.system import home_directory

    directory = path.parent
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for kept in (answers.key, answers.token):
        if kept.file:
            (directory / kept.file).parent.mkdir(exist_ok=True, mode=0o700)
            _private(directory / kept.file, kept.value + "\n")
    text = answers.workspace
    # as the configuration will read it: from its own directory on
    workspace = home_directory() / text[2:] if text.startswith("~") else directory / text
    workspace.mkdir(parents=True, exist_ok=True, mode=0o750)
    _private(path, text_of(answers))


def text_of(answers: Answers) -> str:
    """The configuration file."""
    person = answers.person
    lines = "version: 1\n"
    if person is not None:
        lines += f"people: {{{person.name}: {person.id}}}\nowner: {person.name}\n"
    lines += f"agent:\n  model: {_yaml(answers.model)}\n  workspace: {_yaml(answers.workspace)}\n"
    lines += f"openai:\n  base_url: {_yaml(answers.base_url)}\n" + answers.key.lines("  ", "api_key")
    lines += "channels:\n  telegram:\n"
    lines += "" if person is not None else "    enabled: false\n"
    lines += answers.token.lines("    ", "token")
    lines += f"    api_base_url: {_yaml(answers.way.server)}\n" if answers.way.server else ""
    lines += answers.way.line
    lines += f"    allow_from: [{person.name if person is not None else ''}]\n"
    lines += "tools:\n  exec:\n    mode: approval\n"
    lines += "    allow_packs: [readonly]\n" if answers.readonly else ""
    return lines


def _yaml(text: str) -> str:
    """A text as a double-quoted YAML scalar."""
    import json

    return json.dumps(text, ensure_ascii=True)


def _private(path: Path, text: str) -> None:
    """Write a 0600 file in one step; an existing one is never overwritten."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(temporary, path)
    except FileExistsError as error:
        raise click.ClickException(f"{path} exists already; move it away first") from error
    finally:
        temporary.unlink()

"""``mtclaw simulator``: the stand-ins for Telegram and a model, as programs."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click


@click.group()
def simulator() -> None:
    """The stand-ins for Telegram and a model, on 127.0.0.1."""


@simulator.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--token", "tokens", multiple=True, help="Token of a bot; may be given more than once.")
def telegram(port: int, tokens: tuple[str, ...]) -> None:
    """A Bot API server that enforces Telegram's limits."""
    from mtbot.simulator.telegram import run_telegram

    with _port(port):
        run_telegram(port, tokens)


@simulator.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes a free one.")
@click.option("--rules", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="JSON file of rules.")
def model(port: int, rules: Path | None) -> None:
    """A scripted model behind an OpenAI-compatible API."""
    from mtbot.simulator.model import run_model

    with _port(port):
        run_model(port, rules.read_text() if rules else None)


@contextmanager
def _port(port: int) -> Iterator[None]:
    """Say in one line that ``port`` cannot be listened on."""
    try:
        yield
    except OSError as fault:
        if fault.errno == errno.EADDRINUSE:
            raise click.ClickException(f"port {port} is in use; name another one, or leave --port out") from fault
        if fault.errno == errno.EACCES:
            raise click.ClickException(f"port {port} is reserved; name one above 1023, or leave --port out") from fault
        raise

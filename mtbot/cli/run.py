"""``mtclaw gateway``, ``prompt`` and ``send``: what runs turns or speaks."""

import asyncio
import sys

import click

from mtbot.cli.frame import Frame


@click.command()
@click.pass_obj
def gateway(frame: Frame) -> int:
    """Serve Telegram until stopped (Ctrl-C or SIGTERM; a second one ends it at once)."""
    from mtbot.bootstrap.logs import set_up_logs
    from mtbot.bootstrap.serve import serve_gateway

    loaded = frame.load()
    set_up_logs(loaded)
    return asyncio.run(serve_gateway(loaded, frame.take_spawner()))


@click.command()
@click.argument("text")
@click.option("--session", help="Session to speak in (default: local).")
@click.option("--new", "fresh", is_flag=True, help="A session of its own.")
@click.option("--answers-from-stdin", "piped", is_flag=True, help="Take answers to questions from a pipe, in order.")
@click.pass_obj
def prompt(frame: Frame, text: str, session: str | None, fresh: bool, piped: bool) -> int:
    """One turn in this terminal: TEXT is what you say."""
    from mtbot.bootstrap.logs import set_up_logs
    from mtbot.bootstrap.serve import PromptWanted, run_prompt

    if session is not None and fresh:
        raise click.UsageError("--session and --new exclude each other")
    loaded = frame.load()
    set_up_logs(loaded)
    name = session or (f"new-{loaded.clock.now_ms()}" if fresh else "local")
    wanted = PromptWanted(text, name, piped)
    return asyncio.run(run_prompt(loaded, frame.take_spawner(), wanted, sys.stdout, sys.stderr))


@click.command()
@click.argument("text")
@click.option("--chat", type=int, required=True, metavar="ID", help="Chat to send to.")
@click.option("--thread", type=int, metavar="N", help="Topic within the chat.")
@click.option("--bot", metavar="NAME", help="Bot that speaks, where there are several.")
@click.pass_obj
def send(frame: Frame, text: str, chat: int, thread: int | None, bot: str | None) -> None:
    """Send TEXT to a chat, directly and without the database."""
    from mtbot.bootstrap.serve import send_text

    loaded = frame.load()
    asyncio.run(send_text(loaded, text, chat, thread, bot))
    click.echo(f"sent to chat {chat}")

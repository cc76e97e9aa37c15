"""``mtclaw demo``: the real gateway, database and shell on a temporary state, with stand-ins for Telegram and a model."""

import asyncio
import logging
import sys
import tempfile
from pathlib import Path

import click

from mtbot.cli.frame import Frame


@click.command()
@click.option("--script", "scripted", is_flag=True, help="Play the script, also on a terminal.")
@click.pass_obj
def demo(frame: Frame, scripted: bool) -> int:
    """The whole bot on this machine, without Telegram or a model.

    On a terminal it is a chat; elsewhere it plays a script and fails if anything comes out differently.
    """
    spawner = frame.take_spawner()
    from mtbot.cli.demo_chat import chat
    from mtbot.cli.demo_script import play
    from mtbot.cli.demo_stage import Stage

    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not scripted
    with tempfile.TemporaryDirectory(prefix="mtclaw-demo-") as directory:
        stage = Stage(Path(directory).resolve(), spawner)
        return asyncio.run(chat(stage) if interactive else play(stage))

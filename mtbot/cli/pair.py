"""``mtclaw pair``: let somebody speak to a bot, by a code that this host shows."""

import asyncio

import click

from mtbot.cli.frame import Frame
from mtbot.domain.pairing import Pairing


@click.command()
@click.argument("person", metavar="NAME")
@click.option("--bot", metavar="BOT", help="Which bot; needed where there are several.")
@click.pass_obj
def pair(frame: Frame, person: str, bot: str | None) -> None:
    """Show a code for somebody who is to be known as NAME, and wait for them to send it to the bot."""
    from mtbot.bootstrap.pairing import pair as run
    from mtbot.bootstrap.pairing import wanted

    loaded = frame.load()
    found = asyncio.run(run(loaded, person, wanted(loaded, person, bot), _show))
    click.echo(
        frame.clean(f"{found.called or 'Somebody'} (id {found.user}) sent it and is {found.person} from now on.")
    )
    click.echo("They may speak to the bot, in private and in its groups that have no list of their own.")


def _show(code: str, pairing: Pairing) -> None:
    click.echo(f"Code for {pairing.person}: {code}")
    click.echo(f"To be sent to the bot {pairing.bot} in a private chat, never in a group: /pair {code}")
    click.echo("It is good once, for five minutes and five tries of each sender. Waiting; Ctrl-C takes it back.")

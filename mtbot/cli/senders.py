"""``mtclaw senders``: who wrote to a bot and was ignored."""

import asyncio

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import moment, table
from mtbot.domain.senders import name_hash

_WHY = {"not_listed": "not in allow_from", "unknown_group": "group not in groups"}


@click.command()
@click.option("--name", metavar="NAME", help="Only who calls themselves exactly that; names are kept as a hash.")
@click.pass_obj
def senders(frame: Frame, name: str | None) -> None:
    """Who wrote to a bot lately and was ignored, the latest first, and why."""
    asyncio.run(_senders(frame, name))


async def _senders(frame: Frame, name: str | None) -> None:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        found = await office.stores.senders.all()
    finally:
        await office.close()
    zone = office.loaded.settings.zone
    rows = [
        (
            int(one.user),
            one.bot,
            "private" if one.chat > 0 else int(one.chat),
            one.name,
            one.times,
            moment(one.last_ms, zone),
            _WHY.get(one.why, one.why),
        )
        for one in found
        if name is None or one.name == name_hash(name)
    ]
    table(("ID", "BOT", "CHAT", "NAME", "TIMES", "LAST", "WHY"), rows)

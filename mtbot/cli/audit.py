"""``mtclaw audit``: whether the record is whole."""

import asyncio
import json
from dataclasses import asdict

import click

from mtbot.cli.frame import Frame
from mtbot.domain.errors import StateError


@click.group()
def audit() -> None:
    """The record: verify, acknowledge, export."""


@audit.command()
@click.option("--against", default="", metavar="HASH", help="A head hash that was noted elsewhere.")
@click.pass_obj
def verify(frame: Frame, against: str) -> None:
    """Read the whole record and name the first thing that is wrong with it."""
    click.echo(asyncio.run(_verify(frame, against)))


async def _verify(frame: Frame, against: str) -> str:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        report = await office.stores.trail.verify(against)
    finally:
        await office.close()
    if report.fault is not None:
        raise StateError(
            f"the record is not whole: {report.fault}", hint="`mtclaw audit acknowledge --reason ...` once you know why"
        )
    return f"the record is whole: {report.events} events, head {report.head.seq} {report.head.hash}"


@audit.command()
@click.option("--reason", required=True, help="Why the gap is accepted; it goes into the record.")
@click.pass_obj
def acknowledge(frame: Frame, reason: str) -> None:
    """Accept what verify complains about, with a reason, as an event of its own."""
    seq = asyncio.run(_acknowledge(frame, reason))
    click.echo(f"acknowledged as event {seq}")


async def _acknowledge(frame: Frame, reason: str) -> int:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.people import local_person

    loaded = frame.load()
    office = await work(loaded, create=False)
    try:
        said = str(loaded.redactor.mask(reason))
        event = await office.stores.trail.acknowledge(said, local_person().key, loaded.clock.now_ms())
    finally:
        await office.close()
    return event.seq


@audit.command()
@click.option("--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Only events behind this one.")
@click.pass_obj
def export(frame: Frame, after: int) -> None:
    """Every event as a JSON line, oldest first, masked as it is stored."""
    asyncio.run(_export(frame, after))


async def _export(frame: Frame, after: int) -> None:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        while events := await office.stores.trail.after(after):
            for event in events:
                click.echo(
                    json.dumps(
                        {
                            "seq": event.seq,
                            "instance": event.instance,
                            **asdict(event.draft),
                            "previous": event.previous,
                            "hash": event.hash,
                        },
                        ensure_ascii=True,
                    )
                )
            after = events[-1].seq
    finally:
        await office.close()

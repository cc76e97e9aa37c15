"""``mtclaw trash``: what the tools took away or overwrote: list, restore, empty."""

import asyncio

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import moment, table
from mtbot.domain.record import Via
from mtbot.domain.trash import Trashed

DAY_MS = 86_400_000


@click.group()
def trash() -> None:
    """What the tools took away or overwrote: list, restore, empty."""


@trash.command("list")
@click.pass_obj
def list_(frame: Frame) -> None:
    """Everything in the trash, oldest first, one line a path."""
    from mtbot.bootstrap.trash import trash_of
    from mtbot.policy.explain import size_text

    loaded = frame.load()
    zone = loaded.settings.zone
    rows = [
        (
            entry.id,
            moment(entry.at_ms, zone),
            moment(entry.until_ms, zone),
            entry.reason.value,
            item.files,
            size_text(item.size),
            loaded.redactor.mask(item.path),
        )
        for entry in trash_of(loaded).entries()
        for item in entry.items
    ]
    table(("ID", "SINCE", "UNTIL", "WHY", "FILES", "SIZE", "FROM"), rows)


@trash.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def restore(frame: Frame, ident: str) -> None:
    """Put something back to where it came from; nothing that lies there now is lost."""
    found, masked = asyncio.run(_restore(frame, ident.lstrip("#").upper()))
    click.echo("\n".join(f"restored {path}" for path in masked))
    if found.overwritten:
        click.echo("the newer version is in the trash instead")


async def _restore(frame: Frame, ident: str) -> tuple[Trashed, tuple[str, ...]]:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.people import local_person
    from mtbot.bootstrap.trash import keeper_of

    office = await work(frame.load(), create=False)
    try:
        found = await keeper_of(office).restore(ident, local_person(), Via.CLI)
        return found, tuple(str(office.loaded.redactor.mask(path)) for path in found.paths)
    finally:
        await office.close()


@trash.command()
@click.option("--older-than", type=click.IntRange(0), metavar="DAYS", help="Only what has been there for longer.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def empty(frame: Frame, older_than: int | None, yes: bool) -> None:
    """Delete what is in the trash for good."""
    if not yes:
        which = "everything in the trash" if older_than is None else f"what has been in the trash for {older_than} days"
        click.confirm(f"Delete {which} for good?", abort=True)
    from mtbot.policy.explain import size_text

    gone = asyncio.run(_empty(frame, older_than))
    files, size = sum(one.files for one in gone), sum(one.size for one in gone)
    click.echo(f"deleted {len(gone)} entries ({files} files, {size_text(size)})" if gone else "nothing to delete")


async def _empty(frame: Frame, older_than: int | None) -> tuple[Trashed, ...]:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.people import local_person
    from mtbot.bootstrap.trash import keeper_of

    office = await work(frame.load(), create=False)
    try:
        # one millisecond on, so that without a number of days what came in this moment goes too
        before = office.loaded.clock.now_ms() + 1 - (older_than or 0) * DAY_MS
        return await keeper_of(office).empty(before, local_person(), Via.CLI)
    finally:
        await office.close()

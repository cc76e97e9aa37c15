"""``mtclaw db``: backup, prune, vacuum."""

import asyncio
from datetime import datetime
from pathlib import Path

import click

from mtbot.cli.frame import Frame
from mtbot.domain.errors import StateError

DAY_MS = 86_400_000
QUEUE_DAYS = 14
"""What was acted on, sent or decided is of no use to a gateway after that; Telegram itself forgets updates in a day."""


@click.group()
def db() -> None:
    """The database: backup, prune, vacuum."""


@db.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(frame: Frame, file: Path) -> None:
    """Copy the database to FILE while it is in use, and check the copy."""
    click.echo(asyncio.run(_backup(frame, file)))


async def _backup(frame: Frame, file: Path) -> str:
    from mtbot.bootstrap.offline import look
    from mtbot.bootstrap.stores import maintenance_of

    office = await look(frame.load())
    try:
        report = await maintenance_of(office.db).backup(file.absolute())
    finally:
        await office.close()
    return (
        f"{file}: {report.events} events, head {report.head.seq} {report.head.hash}\n"
        f"Keep {office.db.place.key} with it: without that key nothing that waits in it can be read, with it the backup "
        "is as secret as the database."
    )


@db.command()
@click.option("--before", metavar="DATE", help="Instead of the settings: what is older than 2026-11-30.")
@click.pass_obj
def prune(frame: Frame, before: str | None) -> None:
    """Remove old records and conversations as audit.keep_days and storage.keep_days say, and what is long done."""
    click.echo(asyncio.run(_prune(frame, before)))


async def _prune(frame: Frame, before: str | None) -> str:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.outputs import expire_outputs
    from mtbot.bootstrap.people import local_person
    from mtbot.bootstrap.stores import maintenance_of

    loaded = frame.load()
    now = loaded.clock.now_ms()
    audit = storage = None
    if before is not None:
        try:
            at = datetime.fromisoformat(before)
        except ValueError:
            raise click.UsageError(f"{before}: is no date; write 2026-11-30") from None
        audit = storage = round((at if at.tzinfo else at.replace(tzinfo=loaded.settings.zone)).timestamp() * 1000)
    else:
        days = loaded.settings.audit.keep_days, loaded.settings.storage.keep_days
        audit, storage = (now - kept * DAY_MS if kept else None for kept in days)
    office = await work(loaded, create=False)
    lines = []
    try:
        care = maintenance_of(office.db)
        if audit is None:
            lines.append("the record: kept (audit.keep_days is 0)")
        else:
            events = 0
            while some := await office.stores.trail.prune(min(audit, now), now, local_person().key):
                events += some
            lines.append(f"the record: {events} events removed from its beginning")
        if storage is None:
            lines.append("conversations: kept (storage.keep_days is 0)")
        else:
            lines.append(f"conversations: {(await care.forget(min(storage, now), now)).conversations} removed")
        done = await care.tidy(now - QUEUE_DAYS * DAY_MS, now)
        lines.append(
            f"done for more than {QUEUE_DAYS} days: {done.updates} updates, {done.messages} sent messages, "
            f"{done.requests} requests, {done.grants} grants, {done.job_runs} runs of jobs removed"
        )
        lines.append(f"whole outputs: {await expire_outputs(loaded)} removed")
    finally:
        await office.close()
    return "\n".join(lines)


@db.command()
@click.pass_obj
def vacuum(frame: Frame) -> None:
    """Give the space of what was removed back to the disk; the gateway must not run."""
    click.echo(asyncio.run(_vacuum(frame)))


async def _vacuum(frame: Frame) -> str:
    from mtbot.bootstrap.offline import look, place_of
    from mtbot.bootstrap.stores import maintenance_of
    from mtbot.storage.lock import InstanceLock

    loaded = frame.load()
    office = await look(loaded)
    try:
        holder = InstanceLock(place_of(loaded).lock).holder()
        if holder is not None:
            raise StateError(f"the gateway (pid {holder}) is running", hint="stop it first: it would have to wait")
        before, after = await maintenance_of(office.db).vacuum()
    finally:
        await office.close()
    return f"{before} bytes before, {after} bytes after"

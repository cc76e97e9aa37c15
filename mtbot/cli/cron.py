"""``mtclaw cron``: list, run."""

import asyncio
import signal

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import moment, table, text_out
from mtbot.domain.record import CronRun


@click.group()
def cron() -> None:
    """Scheduled jobs: list, run."""


@cron.command("list")
@click.pass_obj
def list_(frame: Frame) -> None:
    """Every job with its next and its last run."""
    rows = asyncio.run(_rows(frame))
    table(("NAME", "SCHEDULE", "ENABLED", "NEXT DUE", "LAST STATUS", "LAST RUN"), rows)


async def _rows(frame: Frame) -> list[tuple[object, ...]]:
    from mtbot.bootstrap.offline import look
    from mtbot.bootstrap.online import jobs_of
    from mtbot.domain.errors import StorageError

    loaded = frame.load()
    now, zone = loaded.clock.now_ms(), loaded.settings.zone
    try:
        office = await look(loaded)
    except StorageError:
        office = None
    rows: list[tuple[object, ...]] = []
    try:
        for job in jobs_of(loaded):
            last = await office.stores.cron_runs.last(job.name) if office else None
            enabled = "yes" if job.enabled and loaded.settings.cron.enabled else "no"
            due = job.schedule.describe(job.schedule.next_after(now), now)
            status = (_status(last), moment(last.started_ms, zone)) if last else ("-", "-")
            rows.append((job.name, job.schedule.text, enabled, due, *status))
    finally:
        if office is not None:
            await office.close()
    return rows


def _status(run: CronRun) -> str:
    """How a run stands; one that waits names its question."""
    return f"waiting #{run.waiting}" if run.waiting else run.status.value


@cron.command()
@click.argument("name")
@click.option("--deliver", is_flag=True, help="Send the result to the job's chat.")
@click.option("--ephemeral", is_flag=True, help="In a session of its own.")
@click.pass_obj
def run(frame: Frame, name: str, deliver: bool, ephemeral: bool) -> None:
    """Run a job now, as by night; what it would ask is asked only if its result is delivered."""
    frame.start_spawner()
    from mtbot.bootstrap.logs import set_up_logs
    from mtbot.bootstrap.serve import Interrupted, run_job

    loaded = frame.load()
    set_up_logs(loaded)
    try:
        said = asyncio.run(run_job(loaded, frame.take_spawner(), name, deliver=deliver, ephemeral=ephemeral))
    except Interrupted as error:
        number = signal.Signals(error.args[0])
        click.echo("interrupted" if number is signal.SIGINT else "terminated", err=True)
        raise click.exceptions.Exit(128 + number) from None
    text_out(said or "(no reply)")

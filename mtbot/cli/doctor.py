"""``mtclaw doctor``."""

import asyncio
from typing import TYPE_CHECKING

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, table

if TYPE_CHECKING:
    from mtbot.doctor.checks import Row


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.option("--offline", is_flag=True, help="Leave Telegram and the model alone.")
@click.pass_obj
def doctor(frame: Frame, as_json: bool, offline: bool) -> int:
    """Check configuration, database, Telegram, model and this host; exit 1 if anything fails."""
    return report(examine(frame, network=not offline), as_json=as_json)


def examine(frame: Frame, *, network: bool = True) -> "tuple[Row, ...]":
    """All rows; a configuration that cannot be used is the single row."""
    from mtbot.doctor.checks import Row, Status, judge
    from mtbot.doctor.probes import gather
    from mtbot.domain.errors import ConfigError

    try:
        loaded = frame.load(quiet=True)
    except ConfigError as error:
        return tuple(Row("configuration", Status.FAIL, frame.clean(problem)) for problem in error.problems)
    rows = judge(asyncio.run(gather(loaded, network=network)))
    return tuple(Row(row.check, row.status, str(loaded.redactor.mask(row.message))) for row in rows)


def report(rows: "tuple[Row, ...]", *, as_json: bool = False) -> int:
    """Print the rows; 1 if any of them is FAIL."""
    if as_json:
        json_out([{"check": row.check, "status": row.status.value, "message": row.message} for row in rows])
    else:
        table(("STATUS", "CHECK", "MESSAGE"), [(row.status.value, row.check, row.message) for row in rows])
    return 1 if any(row.status.value == "FAIL" for row in rows) else 0

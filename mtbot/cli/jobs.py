"""``mtclaw jobs``: commands that the gateway runs in the background: list, tail, kill."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, moment, table, text_out
from mtbot.domain.errors import ControlError

if TYPE_CHECKING:
    from mtbot.control.wire import JsonObject


@click.group()
def jobs() -> None:
    """Commands in the background: list, tail, kill. Jobs end with the gateway, so without one there are none."""


@jobs.command("list")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_obj
def list_(frame: Frame, as_json: bool) -> None:
    """Those that run, and the last that ended."""
    answer = _asked(frame, {"do": "jobs"})
    found = answer["jobs"] if answer is not None else []
    rows = [job for job in found if isinstance(job, dict)] if isinstance(found, list) else []
    if as_json:
        json_out(rows)
        return
    zone = frame.load(quiet=True).settings.zone
    headings = ("ID", "STARTED", "STATE", "EXIT", "SESSION", "COMMAND")
    table(headings, [_row(job, moment(_started(job), zone)) for job in rows])


@jobs.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def tail(frame: Frame, ident: str) -> None:
    """The end of what a job has written."""
    text_out(str(_of_gateway(frame, {"do": "tail", "id": ident})["text"]).rstrip("\n"))


@jobs.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def kill(frame: Frame, ident: str) -> None:
    """End a job and everything that it started."""
    answer = _of_gateway(frame, {"do": "kill", "id": ident})
    words = {"ended": "ended", "ending": "is being ended", "not_running": "does not run any more"}
    text_out(f"job {answer['id']} {words.get(str(answer['killed']), 'is unknown')}")


def _asked(frame: Frame, wanted: Mapping[str, object]) -> "JsonObject | None":
    from mtbot.bootstrap.reach import ask_gateway

    return ask_gateway(frame.load(), wanted)


def _of_gateway(frame: Frame, wanted: Mapping[str, object]) -> "JsonObject":
    answer = _asked(frame, wanted)
    if answer is None:
        raise ControlError("no gateway runs, so no job runs", hint="`mtclaw approvals list` shows how its calls ended")
    return answer


def _started(job: Mapping[str, object]) -> int | None:
    at = job.get("started_ms")
    return at if isinstance(at, int) else None


def _row(job: Mapping[str, object], started: str) -> tuple[object, ...]:
    code = job["exit_code"]
    return (job["id"], started, job["state"], "-" if code is None else code, job["session"], job["command"])

"""``mtclaw status``."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, moment, text_out
from mtbot.domain.errors import StorageError
from mtbot.domain.span import span_text

if TYPE_CHECKING:
    from mtbot.bootstrap.offline import Loaded


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@click.pass_obj
def status(frame: Frame, as_json: bool) -> int:
    """How the gateway stands; exit 1 if none runs (then the questions come from the database)."""
    from mtbot.bootstrap.reach import ask_gateway

    loaded = frame.load(quiet=True)
    answer = ask_gateway(loaded, {"do": "status"})
    told = asyncio.run(_from_database(loaded)) if answer is None else {**answer, "gateway": "running"}
    told.pop("ok", None)
    told.pop("v", None)
    if as_json:
        json_out(told)
    else:
        text_out("\n".join(_lines(told, loaded.settings.zone)))
    return 1 if answer is None else 0


async def _from_database(loaded: "Loaded") -> dict[str, object]:
    """What can be said without the gateway."""
    from mtbot.bootstrap.offline import look, place_of
    from mtbot.storage.lock import InstanceLock

    holder = InstanceLock(place_of(loaded).lock).holder()
    state = "not running" if holder is None else f"running (pid {holder}), but nothing answers at its control socket"
    told: dict[str, object] = {"gateway": state, "questions": 0, "pending": []}
    try:
        office = await look(loaded)
    except StorageError as error:
        return {**told, "database": error.message}
    try:
        rows = await office.stores.consents.pending()
    finally:
        await office.close()
    named = [
        {
            "id": str(row.id),
            "until_ms": row.expires_ms,
            "asked_by": loaded.people.name(row.requester),
            "command": " ".join(row.command.split()),
        }
        for row in rows
    ]
    return {**told, "questions": len(named), "pending": named}


def _lines(told: Mapping[str, object], zone: tzinfo) -> Iterator[str]:
    if "pid" in told:
        up = span_text(_number(told["uptime_s"]))
        yield f"{told['host']} · pid {told['pid']} as {told['user']} · version {told['version']} · up {up}"
        yield f"Mode: {told['mode']} · containment {told['containment']}"
        for bot in _mappings(told["bots"]):
            yield poll_line(bot)
        running = [f"{one['session']}: {one['doing'] or 'thinking'}" for one in _mappings(told["running"])]
        yield from _block("Running", running)
        yield from _block("Jobs", [f"{job['id']}: {job['command']}" for job in _mappings(told["jobs"])])
    else:
        yield f"Gateway: {told['gateway']}"
        if "database" in told:
            yield f"Database: {told['database']}"
    questions = [
        f"#{one['id']} until {moment(round(_number(one['until_ms'])), zone)}, asked by {one['asked_by']}: {one['command']}"
        for one in _mappings(told["pending"])
    ]
    left = round(_number(told["questions"])) - len(questions)
    yield from _block("Open questions", [*questions, *([f"and {left} more"] if left else [])])


def poll_line(bot: Mapping[str, object]) -> str:
    """How the polling of a bot stands, in one line."""
    age = bot["poll_age_s"]
    polled = "Telegram has not answered yet" if age is None else f"Telegram answered {span_text(_number(age))} ago"
    return f"Bot {bot['name']}: {polled}" + (f"; now: {bot['trouble']}" if bot["trouble"] else "")


def _block(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"{title}: nothing" if not lines else f"{title}:"
    yield from (f"  {line}" for line in lines)


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

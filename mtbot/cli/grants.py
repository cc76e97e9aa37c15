"""``mtclaw grants``: which exact commands run for a while without a question, and taking that back from the host."""

import asyncio

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, moment, table
from mtbot.domain.errors import AlreadyDecided, ConsentError
from mtbot.domain.grant import Grant
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import ApprovalState, Ruling, Via
from mtbot.policy.people import People


@click.group()
def grants() -> None:
    """What runs for a while without a question: list, revoke."""


@grants.command("list")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_obj
def list_(frame: Frame, *, as_json: bool) -> None:
    """The grants that hold now, oldest first; what they let run is in `mtclaw approvals list`."""
    loaded = frame.load()
    found = asyncio.run(_live(frame))
    if as_json:
        json_out([_told(grant, loaded.people) for grant in found])
        return
    zone = loaded.settings.zone
    rows = [
        (
            grant.id,
            moment(grant.until_ms, zone),
            grant.address.session,
            loaded.people.name(grant.requester),
            loaded.people.name(grant.giver),
            grant.uses,
            grant.command,
        )
        for grant in found
    ]
    table(("ID", "UNTIL", "SESSION", "FOR", "BY", "RUNS", "COMMAND"), rows)


async def _live(frame: Frame) -> tuple[Grant, ...]:
    from mtbot.bootstrap.offline import look

    assert frame.loaded is not None, "the configuration was read before"
    office = await look(frame.loaded)
    try:
        return await office.desk.grants.all()
    finally:
        await office.close()


def _told(grant: Grant, people: People) -> dict[str, object]:
    """A grant as a JSON-ready mapping; times are Unix milliseconds."""
    return {
        "id": grant.id,
        "session": grant.address.session,
        "bot": grant.address.bot,
        "chat": grant.address.chat,
        "thread": grant.address.thread,
        "requester": grant.requester.key,
        "requester_name": people.name(grant.requester),
        "giver": grant.giver.key,
        "giver_name": people.name(grant.giver),
        "via": grant.via.value,
        "given_ms": grant.given_ms,
        "until_ms": grant.until_ms,
        "uses": grant.uses,
        "command": grant.command,
    }


@grants.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def revoke(frame: Frame, ident: str) -> None:
    """Take a grant back; no run by it starts after this, whether or not a gateway is running."""
    click.echo(asyncio.run(_revoke(frame, ident.lstrip("#").upper())))


async def _revoke(frame: Frame, ident: str) -> str:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.people import local_person

    loaded = frame.load()
    office = await work(loaded, create=False)
    try:
        ruling = Ruling(ApprovalState.REVOKED, local_person(), Via.CLI, loaded.clock.now_ms())
        grant = await office.desk.grants.revoke(ApprovalId(ident), ruling)
    except AlreadyDecided as lost:
        at = loaded.clock.clock_text(lost.at_ms)
        over = "lapsed" if lost.state == ApprovalState.EXPIRED else f"was revoked by {lost.decider}"
        raise ConsentError(f"#{ident} {over} {at} already; nothing changed") from lost
    finally:
        await office.close()
    return f"revoked #{grant.id}; the same command asks again from now on"

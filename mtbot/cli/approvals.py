"""``mtclaw approvals``: what was proposed, who decided, how it ended; and ruling from the host."""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import json_out, moment, table, text_out
from mtbot.cli.trails import Line, line_of
from mtbot.domain.errors import AlreadyDecided, ConsentError
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import Approval, ApprovalState, EventKind, Ruling, Via


@click.group()
def approvals() -> None:
    """What was proposed, who decided, how it ended."""


@approvals.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
@click.pass_obj
def list_(frame: Frame, limit: int, as_json: bool) -> None:
    """The record, newest first, one line a call."""
    lines, zone = asyncio.run(_lines(frame, limit))
    if as_json:
        json_out([line.to_dict() for line in lines])
        return
    headings = ("TIME", "SESSION", "DECISION", "DECIDER", "EXIT", "DURATION", "TRUNC", "COMMAND")
    table(headings, [line.cells(moment(line.at_ms, zone)) for line in lines])


async def _lines(frame: Frame, limit: int) -> tuple[Sequence[Line], tzinfo]:
    from mtbot.bootstrap.offline import look
    from mtbot.storage.trail import EventFilter

    office = await look(frame.load())
    try:
        trail = office.stores.trail
        proposed = await trail.page(EventFilter(kind=EventKind.PROPOSED), limit=limit)
        trails = await trail.trails_of([event.draft.call for event in proposed])
        people = office.loaded.people
        return [line_of(trails[event.draft.call], people) for event in proposed], office.loaded.settings.zone
    finally:
        await office.close()


@approvals.command()
@click.pass_obj
def pending(frame: Frame) -> None:
    """The questions that wait for an answer."""
    text_out(asyncio.run(_pending(frame)))


async def _pending(frame: Frame) -> str:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        found = await office.stores.consents.pending()
        shown = [_whole(approval) for approval in found]
        return "\n\n".join(shown) or "no open questions"
    finally:
        await office.close()


def _whole(approval: Approval) -> str:
    """A question as every surface shows it."""
    card = approval.card
    body = card.attachment if card.attachment is not None else card.body
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return "\n".join((str(card.title), indented, *map(str, card.lines)))


@approvals.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def approve(frame: Frame, ident: str) -> None:
    """Approve a question once."""
    click.echo(asyncio.run(_rule(frame, ident, ApprovalState.APPROVED, "")))


@approvals.command()
@click.argument("ident", metavar="ID")
@click.option("--reason", default="", help="What the model is told.")
@click.pass_obj
def deny(frame: Frame, ident: str, reason: str) -> None:
    """Deny a question."""
    click.echo(asyncio.run(_rule(frame, ident, ApprovalState.DENIED, reason)))


async def _rule(frame: Frame, ident: str, state: ApprovalState, reason: str) -> str:
    from mtbot.bootstrap.offline import place_of, work
    from mtbot.bootstrap.people import local_person
    from mtbot.storage.lock import InstanceLock

    loaded = frame.load()
    office = await work(loaded, create=False)
    try:
        ruling = Ruling(state, local_person(), Via.CLI, loaded.clock.now_ms(), reason)
        row = await office.desk.decide(ApprovalId(ident.lstrip("#").upper()), ruling)
    except AlreadyDecided as lost:
        at = loaded.clock.clock_text(lost.at_ms)
        raise ConsentError(f"#{ident} was {lost.state} by {lost.decider} {at} already; nothing changed") from lost
    finally:
        await office.close()
    if state is not ApprovalState.APPROVED:
        return f"denied #{row.id}"
    lapses = loaded.clock.clock_text(row.expires_ms)
    if InstanceLock(place_of(loaded).lock).holder() is not None:
        return f"approved #{row.id}; the gateway runs it within 5 s"
    return f"approved #{row.id}; it runs when the gateway starts, and lapses at {lapses}"

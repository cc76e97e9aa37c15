"""``mtclaw approvals``: what was proposed, who decided, how it ended; and ruling from the host."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mtbot.cli.frame import Frame
from mtbot.cli.host_run import run
from mtbot.cli.output import csv_out, json_out, moment, table, text_out
from mtbot.domain.errors import AlreadyDecided, ConsentError, NoSuchApproval, StateError
from mtbot.domain.ids import ApprovalId, CallId
from mtbot.domain.record import Approval, ApprovalState, Ruling, Via, Word

if TYPE_CHECKING:
    from mtbot.bootstrap.offline import Loaded

T = TypeVar("T")


@click.group()
def approvals() -> None:
    """What was proposed, who decided, how it ended."""


@approvals.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--since", metavar="WHEN", help="From then on: 2026-11-30, 2026-11-30T19:36, or 2h, 3d ago.")
@click.option("--until", metavar="WHEN", help="Before then.")
@click.option("--chat", type=int, metavar="ID", help="Only this chat.")
@click.option("--user", metavar="WHO", help="Only what this person asked for or decided: a name or a numeric id.")
@click.option("--decision", type=click.Choice([word.value for word in Word if word]), help="Only what came out so.")
@click.option("--command", "pattern", metavar="REGEX", help="Only commands in which this is found (RE2).")
@click.option("--json", "shape", flag_value="json", help="JSON instead of a table.")
@click.option("--csv", "shape", flag_value="csv", help="CSV instead of a table.")
@click.pass_obj
def list_(frame: Frame, /, shape: str | None, **wanted: Any) -> None:  # Any: click hands over what the options say
    """The record, newest first, one line a call."""
    from mtbot.cli.record_query import find, query_of

    loaded = frame.load()
    query = query_of(loaded, wanted)
    lines = find(loaded, query)
    zone = loaded.settings.zone
    headings = ("TIME", "SESSION", "DECISION", "DECIDER", "EXIT", "DURATION", "TRUNC", "COMMAND")
    if shape == "json":
        json_out([line.to_dict() for line in lines])
    elif shape == "csv":
        csv_out(headings, [line.cells(moment(line.at_ms, zone)) for line in lines])
    else:
        table(headings, [line.cells(moment(line.at_ms, zone)) for line in lines])


@approvals.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def show(frame: Frame, ident: str) -> None:
    """One question, or one call by its id, with everything on record about it."""
    text_out(_wait(_show(frame, ident)))


async def _show(frame: Frame, ident: str) -> str:
    from mtbot.bootstrap.offline import look
    from mtbot.cli.trails import story_of

    office = await look(frame.load())
    zone = office.loaded.settings.zone
    try:
        try:
            approval = await office.stores.consents.get(ApprovalId(ident.lstrip("#").upper()))
        except NoSuchApproval:
            approval = None
        call = CallId(ident) if approval is None else approval.call
        events = await office.stores.trail.trail_of(call)
        if approval is None and not events:
            raise NoSuchApproval(
                f"there is no question and no call {ident}", hint="`mtclaw approvals list --json` has the ids"
            )
        lines = [_whole(approval), ""] if approval is not None else []
        return "\n".join([*lines, *story_of(events, office.loaded.people, zone)])
    finally:
        await office.close()


@approvals.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def output(frame: Frame, ident: str) -> None:
    """The whole of an output that was cut, by the id beside it or by its call's; masked, for as long as it is kept."""
    from mtbot.bootstrap.outputs import outputs_of

    outputs = outputs_of(frame.load())
    try:
        found = outputs.find(ident)
        if found is None:
            raise StateError(f"no output {ident} is kept", hint="storage.output_days says for how long one is")
        text_out(outputs.read(found).decode("utf-8", "replace"))
    except OSError as fault:
        raise StateError(f"the output cannot be read: {fault.strerror}") from fault


@approvals.command()
@click.pass_obj
def pending(frame: Frame) -> None:
    """The questions that wait for an answer."""
    text_out(_wait(_pending(frame)))


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
    click.echo(_wait(_rule(frame, ident, ApprovalState.APPROVED, "")))


@approvals.command()
@click.argument("ident", metavar="ID")
@click.option("--reason", default="", help="What the model is told.")
@click.pass_obj
def deny(frame: Frame, ident: str, reason: str) -> None:
    """Deny a question."""
    click.echo(_wait(_rule(frame, ident, ApprovalState.DENIED, reason)))


@approvals.command()
@click.argument("ident", metavar="ID")
@click.option("--reason", default="", help="Noted in the record.")
@click.pass_obj
def revoke(frame: Frame, ident: str, reason: str) -> None:
    """Take back a question, or a yes that has not run yet."""
    click.echo(_wait(_rule(frame, ident, ApprovalState.REVOKED, reason)))


approvals.add_command(run)


_VERBS = {ApprovalState.APPROVED: "approve", ApprovalState.DENIED: "deny", ApprovalState.REVOKED: "revoke"}


async def _rule(frame: Frame, ident: str, state: ApprovalState, reason: str) -> str:
    """Have the gateway decide, at once; without one, decide in the database."""
    from mtbot.bootstrap.offline import place_of
    from mtbot.bootstrap.reach import ask_gateway, check_decider, nudge_gateway
    from mtbot.storage.lock import InstanceLock

    loaded = frame.load()
    answer = ask_gateway(loaded, {"do": _VERBS[state], "id": ident, "reason": reason})
    if answer is not None:
        known = f"{answer['state']} #{answer['id']}"
        if state is not ApprovalState.APPROVED:
            return known
        return f"{known}; it runs now" if answer["here"] else f"{known}; the process that asked runs it within 5 s"
    check_decider(loaded)
    row = await _rule_offline(loaded, ident, state, reason)
    reached = nudge_gateway(loaded)
    if state is not ApprovalState.APPROVED:
        return f"{state.value} #{row.id}"
    if reached:
        return f"approved #{row.id}; it runs now"
    if InstanceLock(place_of(loaded).lock).holder() is not None:
        return f"approved #{row.id}; the gateway runs it within 5 s"
    lapses = loaded.clock.clock_text(row.expires_ms)
    return f"approved #{row.id}; it runs when the gateway starts, and lapses at {lapses}"


async def _rule_offline(loaded: "Loaded", ident: str, state: ApprovalState, reason: str) -> Approval:
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.people import local_person

    office = await work(loaded, create=False)
    try:
        ruling = Ruling(state, local_person(), Via.CLI, loaded.clock.now_ms(), reason)
        return await office.desk.decide(ApprovalId(ident.lstrip("#").upper()), ruling)
    except AlreadyDecided as lost:
        at = loaded.clock.clock_text(lost.at_ms)
        raise ConsentError(f"#{ident} was {lost.state} by {lost.decider} {at} already; nothing changed") from lost
    finally:
        await office.close()


def _wait(work: Coroutine[None, None, T]) -> T:
    """The result; asyncio is loaded here, because the list does without."""
    import asyncio

    return asyncio.run(work)

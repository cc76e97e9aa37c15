"""``mtclaw sessions``: list, show, rm."""

import asyncio

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import moment, table, text_out
from mtbot.domain.errors import StateError
from mtbot.domain.ids import SessionId
from mtbot.domain.turn import Message


@click.group()
def sessions() -> None:
    """Conversations: list, show, rm."""


@sessions.command("list")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="0 for all.")
@click.pass_obj
def list_(frame: Frame, limit: int) -> None:
    """All conversations, the latest first."""
    asyncio.run(_list(frame, limit))


async def _list(frame: Frame, limit: int) -> None:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        found = await office.stores.history.sessions(limit or None)
    finally:
        await office.close()
    zone = office.loaded.settings.zone
    rows = [
        (
            s.id,
            s.surface.value,
            s.chat or "-",
            s.messages,
            s.prompt_tokens + s.completion_tokens,
            moment(s.updated_ms, zone),
        )
        for s in found
    ]
    table(("ID", "CHANNEL", "CHAT", "MESSAGES", "TOKENS", "UPDATED"), rows)


@sessions.command()
@click.argument("session", metavar="ID")
@click.pass_obj
def show(frame: Frame, session: str) -> None:
    """One conversation, message by message, with what was pinned and the summary that the model is shown."""
    asyncio.run(_show(frame, SessionId(session)))


async def _show(frame: Frame, session: SessionId) -> None:
    from mtbot.bootstrap.offline import look

    office = await look(frame.load())
    try:
        summary = await office.stores.history.summary(session)
        if summary is None:
            raise StateError(f"there is no session {session}", hint="`mtclaw sessions list` lists them")
        zone = office.loaded.settings.zone
        text_out(f"{session}: {summary.messages} messages, updated {moment(summary.updated_ms, zone)}")
        kept = await office.stores.memories.look(session)
        for pin in kept.pins:
            text_out(f"[pinned {pin.number}] {pin.text}")
        if kept.summary is not None:
            outside = ", some of it from outside" if kept.summary.tainted else ""
            text_out(f"[summary of 1 to {kept.summary.through}{outside}] {kept.summary.text}")
        after = 0
        while page := await office.stores.history.messages(session, after):
            for number, message in page:
                text_out(_line(number, message))
            after = page[-1][0]
    finally:
        await office.close()


def _line(number: int, message: Message) -> str:
    lines = [f"[{number}] {message.role.value}: {message.content}"]
    lines += [f"    calls {call.name} ({call.id}): {call.arguments}" for call in message.calls]
    if message.call_id is not None:
        lines[0] = f"[{number}] {message.role.value} ({message.tool_name}, {message.call_id}): {message.content}"
    return "\n".join(lines)


@sessions.command()
@click.argument("session", metavar="ID")
@click.pass_obj
def rm(frame: Frame, session: str) -> None:
    """Delete a conversation; the record of what ran is kept."""
    count = asyncio.run(_rm(frame, SessionId(session)))
    click.echo(f"deleted session {session} ({count} messages)")


async def _rm(frame: Frame, session: SessionId) -> int:
    from mtbot.bootstrap.offline import work

    office = await work(frame.load(), create=False)
    try:
        if await office.stores.history.summary(session) is None:
            raise StateError(f"there is no session {session}", hint="`mtclaw sessions list` lists them")
        return await office.stores.history.clear(session)
    finally:
        await office.close()

"""``mtclaw approvals run``: the call of a question that no chat can approve, run by hand in this terminal."""

import signal
import sys
import termios
from typing import TYPE_CHECKING

import click

from mtbot.cli.frame import Frame
from mtbot.cli.output import text_out
from mtbot.domain.ids import ApprovalId

if TYPE_CHECKING:
    from mtbot.bootstrap.host_run import HostRunner, Ready
    from mtbot.bootstrap.offline import Office
    from mtbot.domain.call import Outcome


@click.command()
@click.argument("ident", metavar="ID")
@click.pass_obj
def run(frame: Frame, ident: str) -> int:
    """Run what needs root here, in your own terminal and with your own sudo.

    The command is shown first and you are asked. It passes the policy and is on record like any other; what it says goes
    to this screen and, masked, back to the conversation that asked for it. The exit status is that of the command.
    """
    import asyncio

    return asyncio.run(_run(frame, ApprovalId(ident.lstrip("#").upper())))


async def _run(frame: Frame, ident: ApprovalId) -> int:
    from mtbot.processes.own_terminal import require_terminal

    require_terminal(sys.stdin.fileno(), sys.stdout.fileno())
    from mtbot.bootstrap.host_run import HostRunner
    from mtbot.bootstrap.offline import work
    from mtbot.bootstrap.reach import check_person

    check_person()

    office = await work(frame.load(), create=False)
    try:
        runner = HostRunner(office, sys.stdout.fileno())
        ready = await runner.ready(ident)
        _show(office, ready)
        if not _yes():
            at = office.loaded.clock.clock_text(ready.approval.expires_ms)
            click.echo(f"nothing ran; #{ident} stays open until {at}")
            return 1
        return await _go(office, runner, ready)
    finally:
        await office.close()


async def _go(office: "Office", runner: "HostRunner", ready: "Ready") -> int:
    from mtbot.approvals.card import ending
    from mtbot.bootstrap.offline import place_of
    from mtbot.storage.lock import InstanceLock

    outcome: Outcome = await runner.run(ready)
    there = InstanceLock(place_of(office.loaded).lock).holder() is not None
    goes_on = "the conversation goes on within 5 s" if there else "the conversation goes on when the gateway starts"
    text_out(f"#{ready.approval.id}: {ending(outcome)}; {goes_on}")
    return 1 if outcome.exit_code is None else outcome.exit_code


def _show(office: "Office", ready: "Ready") -> None:
    """The command whole, in the form in which nothing of it can hide, and where it comes from."""
    from mtbot.bootstrap.system import user_name

    row, people = ready.approval, office.loaded.people
    text_out(f"Run this here, as {user_name()}?  #{row.id}")
    text_out("\n".join(f"    {line}" for line in str(ready.shown).splitlines()))
    if ready.masked:
        text_out(f"{ready.masked} of its values are masked here; what runs has the real ones.")
    until = office.loaded.clock.clock_text(row.expires_ms)
    text_out(f"Asked by {people.name(row.requester)} in {row.address.session} · open until {until}")


def _yes() -> bool:
    """An answer that was typed after the question was there to be read; anything but y is a no."""
    # Nothing has to be cleaned up yet, so Ctrl-C ends the process at once. Python's handler only runs between two steps
    # of the interpreter, and one that comes just before the read begins would be noticed after the next line only.
    kept = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        click.echo("Run it? [y/N] ", nl=False)
        answer = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, kept)
    return answer.strip().lower() in ("y", "yes")

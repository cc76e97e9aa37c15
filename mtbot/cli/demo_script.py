"""The demo without a terminal: six scenes that must come out as they are promised, the transcript, and the record."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from mtbot.bootstrap.online import jobs_of
from mtbot.cli.demo_stage import CHIEF, Scene, Stage
from mtbot.cli.output import moment, table
from mtbot.cli.trails import line_of
from mtbot.domain.record import EventKind
from mtbot.redaction.display import terminal_safe
from mtbot.simulator.values import Message
from mtbot.storage.events import EventFilter

HALF_AN_HOUR_MS = 31 * 60_000

EXPECTED = (
    ("rm -rf old-reports", "denied_rule", "-"),
    ("ls -l", "allowed_rule", "0"),
    ("printf 'remember the milk\\n' > note.txt && cat note.txt", "approved", "0"),
    ("rm note.txt", "denied_user", "-"),
    ("mail -s report boss@example.org", "expired", "-"),
    ("certbot renew --dry-run", "expired", "-"),
)


async def play(stage: Stage) -> int:
    """Play every scene; 0 if all came out as promised."""
    faults: list[str] = []
    async with stage.open() as scene:
        for name, act in SCENES:
            try:
                await act(scene)
            except (TimeoutError, AssertionError) as error:
                faults.append(f"{name}: {str(error) or type(error).__name__}")
        await asyncio.sleep(0)
        transcript(scene.telegram.chat(CHIEF.id))
        faults += await record(scene)
    for fault in faults:
        print(f"mtclaw demo: NOT AS PROMISED: {terminal_safe(fault, table=True)}", file=sys.stderr)
    print(f"\n{len(SCENES)} scenes, {len(faults)} not as promised")
    return 1 if faults else 0


async def refused(scene: Scene) -> None:
    """A deny rule refuses; nobody is asked."""
    await scene.telegram.say(CHIEF, None, "please clean up")
    await scene.telegram.shown(CHIEF.id, "⛔ Not run:")
    await scene.telegram.shown(CHIEF.id, "I did not delete it")
    assert (scene.workspace / "old-reports" / "2019.txt").exists(), "the refused command ran"


async def allowed(scene: Scene) -> None:
    """An allow rule runs it without a question."""
    await scene.telegram.say(CHIEF, None, "what is here")
    await scene.telegram.shown(CHIEF.id, "This is in the workspace")
    await scene.telegram.shown(CHIEF.id, "Ran by rule: ls -l")


async def approved(scene: Scene) -> None:
    """A question, a press, one run."""
    await scene.telegram.say(CHIEF, None, "write a note")
    asked = await scene.telegram.shown(CHIEF.id, "Run this on")
    assert not (scene.workspace / "note.txt").exists(), "it ran before it was approved"
    await scene.telegram.press(CHIEF, asked.id)
    await scene.telegram.shown(CHIEF.id, "Done.")
    assert (scene.workspace / "note.txt").read_text() == "remember the milk\n", "the approved command did not run"


async def denied(scene: Scene) -> None:
    """A reply to the question is a no with a reason."""
    await scene.telegram.say(CHIEF, None, "remove the note")
    asked = await scene.telegram.shown(CHIEF.id, "rm note.txt")
    await scene.telegram.say(CHIEF, None, "keep it until Friday", reply_to=asked.id)
    await scene.telegram.shown(CHIEF.id, "I left it")
    assert (scene.workspace / "note.txt").exists(), "the denied command ran"


async def expired(scene: Scene) -> None:
    """Nobody answers for half an hour."""
    await scene.telegram.say(CHIEF, None, "send the report")
    await scene.telegram.shown(CHIEF.id, "mail -s report")
    scene.clock.skipped_ms += HALF_AN_HOUR_MS
    await scene.engine.recovery.look()
    await scene.telegram.shown(CHIEF.id, "expired, nothing ran")


async def by_night(scene: Scene) -> None:
    """A job needs a person and nobody is there."""
    job = jobs_of(scene.engine.loaded)[0]
    assert scene.running.scheduler is not None
    await scene.running.scheduler.run_now(job, scene.clock.now_ms(), deliver=True)
    await scene.telegram.shown(CHIEF.id, "Not run, nobody was there to ask")


SCENES: tuple[tuple[str, Callable[[Scene], Awaitable[None]]], ...] = (
    ("a refused command", refused),
    ("an allow-listed command", allowed),
    ("an approved command", approved),
    ("a command denied with a reason", denied),
    ("a question that expires", expired),
    ("a cron job that is refused", by_night),
)


def transcript(messages: tuple[Message, ...]) -> None:
    """The chat as a person sees it."""
    for message in messages:
        who = "bot" if message.sender.is_bot else message.sender.name
        print(f"[{message.id}] {who}:")
        print("\n".join(f"    {line}" for line in terminal_safe(message.text, table=False).splitlines()))
        if message.labels:
            print(f"    {'  '.join(f'[{label}]' for label in message.labels)}")


async def record(scene: Scene) -> list[str]:
    """Print the record; what differs from the promise."""
    trail = scene.engine.office.stores.trail
    proposed = list(reversed(await trail.page(EventFilter(kind=EventKind.PROPOSED))))
    trails = await trail.trails_of([event.draft.call for event in proposed])
    lines = [line_of(trails[event.draft.call], scene.engine.loaded.people) for event in proposed]
    print()
    headings = ("TIME", "SESSION", "DECISION", "DECIDER", "EXIT", "DURATION", "TRUNC", "COMMAND")
    table(headings, [line.cells(moment(line.at_ms, scene.engine.loaded.settings.zone)) for line in lines])
    found = tuple((line.command, line.decision, line.exit) for line in lines)
    faults = [f"the record says {row}" for row in found if row not in EXPECTED]
    faults += [f"the record lacks {row}" for row in EXPECTED if row not in found]
    report = await trail.verify()
    print(f"\nrecord: {report.events} events, {'whole' if report.whole else report.fault}")
    return faults if report.whole else [*faults, f"the record is not whole: {report.fault}"]

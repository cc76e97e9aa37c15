"""A record that was rewritten, chain and anchor and all, fails against the head that was sent away."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlmodel import Session, insert, select

from mtbot.audit import GENESIS, Mark, link
from mtbot.simulator.script import call, say
from mtbot.storage.anchor import Anchor
from mtbot.storage.chain import event_of
from mtbot.storage.engine import Database
from mtbot.storage.events import event_columns
from mtbot.storage.place import sqlite_place
from mtbot.storage.tables import EventRow, HeadRow
from tests.contract.stage import CHIEF, Setting, Stage, open_stage

STEPS = (call("exec", {"command": "echo hello"}), say("Hello."))
ANCHORED = Setting(allow='["echo .*"]', extra="audit: {anchor: owner}")
DAY_MS = 86_400_000


async def forge(stage: Stage) -> None:
    """What somebody with the same account can do: change an event, chain all of them anew, and write the anchor."""
    place = sqlite_place(stage.directory / "state" / "mtclaw.db")
    db = await Database.open_for_writing(place, create=False)

    def rewrite(session: Session) -> Mark:
        mark = Mark(0, GENESIS)
        rows = session.exec(select(EventRow).order_by(EventRow.seq)).all()  # type: ignore[arg-type]  # a column, to mypy an int
        events = [event_of(row) for row in rows]
        for row in rows:
            session.delete(row)
        session.flush()
        for event in events:
            new = link(
                replace(event.draft, command=event.draft.command.replace("hello", "nothing")), mark, event.instance
            )
            session.execute(insert(EventRow).values(event_columns(new)))
            mark = Mark(new.seq, new.hash)
        head = session.exec(select(HeadRow)).one()
        head.hash = mark.hash
        return mark

    mark = await db.write(rewrite)
    await db.close()
    Anchor(place.anchor).restart(mark)


def told(stage: Stage, times: int, _: object) -> bool:
    """Whether somebody has heard so often who they are."""
    return sum("You are Chief" in text for text in stage.bot_texts()) == times


async def test_a_rewritten_record_fails_against_the_head_in_the_owners_chat(tmp_path: Path) -> None:
    """By itself it verifies; against the hash that the owner got it does not."""
    async with open_stage(tmp_path, STEPS, ANCHORED) as stage:
        await stage.telegram.say(CHIEF, None, "say it")
        await stage.telegram.shown(CHIEF.id, "Hello.")
        # nothing was on record at the first start, so the head goes out with the next one
        stage.clock.skipped_ms = DAY_MS
        await stage.restart()
        sent = await stage.telegram.shown(CHIEF.id, "ends with event 4:")
        found = re.search(r"verify --against ([0-9a-f]{64})", sent.text)
        assert found is not None
        assert [one.params.get("disable_notification") for one in stage.telegram.calls("sendMessage")][-1] is True
        await stage.stop()
        honest = await stage.cli("audit", "verify", "--against", found[1])
        assert (honest.status, honest.err) == (0, "")
        await forge(stage)
        assert (await stage.cli("audit", "verify")).status == 0
        forged = await stage.cli("audit", "verify", "--against", found[1])
        assert forged.status == 1
        assert "the record is not whole" in forged.err


async def test_the_head_is_sent_once_a_day(tmp_path: Path) -> None:
    """A restart within the day sends nothing; after a day it does."""
    async with open_stage(tmp_path, STEPS, ANCHORED) as stage:
        await stage.telegram.say(CHIEF, None, "say it")
        await stage.telegram.shown(CHIEF.id, "Hello.")
        for number, (skipped, heads) in enumerate(
            ((DAY_MS // 2, 0), (DAY_MS, 1), (DAY_MS + 1000, 1), (2 * DAY_MS, 2)), 1
        ):
            stage.clock.skipped_ms = skipped
            await stage.restart()
            await stage.telegram.say(CHIEF, None, "/whoami")
            # messages of a chat leave in order, and the head was queued before this was asked
            await stage.telegram.wait_for(partial(told, stage, number), 20)
            assert sum("ends with event" in text for text in stage.bot_texts()) == heads

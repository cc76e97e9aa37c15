"""An owner can see who is ignored, and why."""

from pathlib import Path

import pytest

from mtbot.gateway import senders
from mtbot.simulator.people import Disguise, Origin
from mtbot.storage.tables import MarkRow
from tests.contract.stage import CHIEF, GROUP, STRANGER, Stage, open_stage

ELSEWHERE = -1005550001112


async def heard(stage: Stage) -> None:
    """Everything that was said before this has been dealt with."""
    await stage.telegram.say(CHIEF, None, "/whoami")
    await stage.telegram.wait_for(lambda sim: sim.chat(CHIEF.id)[-1].text.startswith("You are Chief"), 10)


async def test_who_was_ignored_is_listed_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number, where, how often; the name they chose is neither shown nor kept, but can be looked for."""
    monkeypatch.setattr(senders, "WRITE_SECONDS", 0.01)
    async with open_stage(tmp_path) as stage:
        stage.telegram.group(ELSEWHERE, "elsewhere", members=(STRANGER,))
        for text in ("hello", "anybody?"):
            await stage.telegram.say(STRANGER, None, text)
        await stage.telegram.say(STRANGER, ELSEWHERE, "/start")
        await stage.telegram.say(CHIEF, GROUP, "between us")
        await stage.telegram.say(CHIEF, GROUP, "do it", origin=Origin(Disguise.ANONYMOUS_ADMIN))
        await heard(stage)
        await stage.stop()
        shown = await stage.cli("senders")
        lines = [line.split() for line in shown.out.splitlines()[1:]]
        assert [(line[0], line[2], line[4]) for line in lines] == [
            (str(STRANGER.id), str(ELSEWHERE), "1"),
            (str(STRANGER.id), "private", "2"),
        ]
        assert shown.out.splitlines()[1].endswith("group not in groups")
        assert shown.out.splitlines()[2].endswith("not in allow_from")
        assert "Stranger" not in shown.out
        assert len((await stage.cli("senders", "--name", "Stranger")).out.splitlines()) == 3
        assert len((await stage.cli("senders", "--name", "Nobody")).out.splitlines()) <= 1
        await stage.start()
        kept = await stage.engine.office.db.read(lambda session: session.get_one(MarkRow, "senders").value)
        assert "Stranger" not in kept

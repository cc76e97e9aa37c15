"""An old yes is void when the person behind it is gone."""

from pathlib import Path

import pytest

from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import ApprovalState, Ruling, Via
from mtbot.domain.turn import Actor, ActorKind
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, REVIEW, open_stage


@pytest.mark.parametrize("gone", ["chief", "review"])
async def test_a_yes_does_not_outlive_the_listing_of_who_asked_or_who_approved(tmp_path: Path, gone: str) -> None:
    """Approved, the gateway stops before it runs, somebody is taken off the list, it starts: nothing runs."""
    steps = [call("exec", {"command": "touch made"}), say("It was not run.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        ident = ApprovalId(asked.text.split("#", 1)[1].split()[0])
        reviewer = Actor(ActorKind.TELEGRAM, REVIEW.id, REVIEW.name)
        ruling = Ruling(ApprovalState.APPROVED, reviewer, Via.BUTTON, stage.clock.now_ms())
        await stage.engine.desk.decide(ident, ruling)
        await stage.stop()
        text = stage.config.read_text().replace("chat_id: chief", "chat_id: deploy")
        stage.config.write_text(text.replace("allow_from: [chief, deploy, review]", f"allow_from: [{_rest(gone)}]"))
        await stage.start()
        await stage.telegram.wait_for(lambda _: stage.model.requests and len(stage.model.requests) == 2, 10)
        assert "no longer on the list" in str(stage.model.requests[-1].messages[-1])
        assert not (stage.workspace / "made").exists()
        assert [line.exit for line in await stage.lines()] == ["failed"]


def _rest(gone: str) -> str:
    return ", ".join(name for name in ("chief", "deploy", "review") if name != gone)

"""What a person notices of the models behind the bot: nothing, as long as one of them can answer."""

from pathlib import Path

from mtbot.simulator.script import Step, call, out_of_quota, rate_limited, say, server_error
from tests.contract.stage import CHIEF, Setting, open_stage

SPARE = Setting(allow='["pwd"]', agent_extra=", fallback_models: [spare-model]")


async def test_another_model_goes_on_where_the_first_cannot(tmp_path: Path) -> None:
    """In the middle of a turn too: what ran is not run again, and the first one is left alone for a while."""
    steps: tuple[Step, ...] = (
        call("exec", {"command": "pwd"}),
        *[server_error()] * 2,
        say("It is here."),
        say("And again."),
    )
    async with open_stage(tmp_path, steps, SPARE) as stage:
        await stage.telegram.say(CHIEF, None, "where are you?")
        await stage.telegram.shown(CHIEF.id, "It is here.")
        await stage.telegram.say(CHIEF, None, "sure?")
        await stage.telegram.shown(CHIEF.id, "And again.")
        asked = [request.body["model"] for request in stage.model.requests]
        assert asked == ["test-model", "test-model", "test-model", "spare-model", "spare-model"]
        assert len(await stage.lines()) == 1
        assert "trouble" not in "".join(stage.bot_texts())


async def test_when_nobody_can_the_first_fault_is_put_into_words(tmp_path: Path) -> None:
    """One sentence, about the model that the owner chose."""
    steps: tuple[Step, ...] = (out_of_quota(), *[rate_limited(0)] * 2)
    async with open_stage(tmp_path, steps, SPARE) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "The quota at the model's provider is used up.")

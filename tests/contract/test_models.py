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


CAPPED = Setting(
    allow='["pwd"]',
    extra="""budgets:
  currency: EUR
  turn: {tokens: 240}
  person: {tokens: 500}
""",
    agent_extra="",
)


async def test_a_budget_stops_a_turn_with_a_sentence_and_usage_says_why(tmp_path: Path) -> None:
    """First the turn's, which the next message is past; then the person's, which only midnight is."""
    steps: tuple[Step, ...] = (*[call("exec", {"command": "pwd"})] * 2, say("Here I am."), say("never said"))
    async with open_stage(tmp_path, steps, CAPPED) as stage:
        await stage.telegram.say(CHIEF, None, "go round in circles")
        await stage.telegram.shown(CHIEF.id, "I stopped: this request has used its budget of 240 tokens.")
        await stage.telegram.say(CHIEF, None, "once more")
        await stage.telegram.shown(CHIEF.id, "Here I am.")
        await stage.telegram.say(CHIEF, None, "/usage")
        shown = await stage.telegram.shown(CHIEF.id, "Everybody today")
        assert shown.text.splitlines() == [
            "Last turn: 120 of 240 tokens",
            "This conversation: 360 tokens",
            "You today: 360 of 500 tokens",
            "Everybody today: 360 tokens",
        ]
        await stage.run_job()
        assert (await stage.engine.office.stores.spending.days("2000-01-01"))[0].answers >= 1
        told = await stage.cli("usage", "--json")
        assert (told.status, '"currency": "EUR"' in told.out, '"name": "chief"' in told.out) == (0, True, True)
        assert "chief" in (await stage.cli("usage")).out


async def test_a_job_is_stopped_by_the_same_caps(tmp_path: Path) -> None:
    """Its run is recorded as one that failed, and where it reports the sentence is read."""
    capped = Setting(extra="budgets: {day: {tokens: 100}}")
    async with open_stage(tmp_path, (say("first"), say("second")), capped) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "first")
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "today's budget for everybody, 100 tokens, is used up")
        run = await stage.engine.office.stores.cron_runs.last("nightly")
        assert run is not None
        assert (run.status.value, len(stage.model.requests)) == ("error", 1)


async def test_prices_of_the_owner_make_money_of_tokens(tmp_path: Path) -> None:
    """And a cap in money holds."""
    setting = Setting(
        provider_extra=", prices: {test-model: {input: 100, output: 500}}", extra="budgets: {day: {cost: 0.02}}"
    )
    async with open_stage(tmp_path, (say("first"), say("never said")), setting) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "first")
        await stage.telegram.say(CHIEF, None, "/usage")
        await stage.telegram.shown(CHIEF.id, "Everybody today: 120 tokens, 0.0200 of 0.0200 USD")
        await stage.telegram.say(CHIEF, None, "again")
        await stage.telegram.shown(CHIEF.id, "today's budget for everybody, 0.0200 USD, is used up")

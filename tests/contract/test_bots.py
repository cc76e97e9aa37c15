"""Several bots in one process: what befalls one of them silences no other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mtbot.simulator import faults
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import Step, call, say
from mtbot.simulator.telegram import DEFAULT_TOKEN, TelegramSimulator
from tests.contract.stage import CHIEF, Setting, Stage

SECOND = "7001002:SIMULATED-second-token-for-tests-00000"
FIRST_NAME, SECOND_NAME = "sim7001001_bot", "sim7001002_bot"
BOTS = """\
    bots:
      main: {token_file: secrets/telegram, allow_from: [chief]}
      ops: {token_file: secrets/ops, allow_from: [chief]}
"""


@asynccontextmanager
async def two_bots(directory: Path, *steps: Step) -> AsyncIterator[Stage]:
    """A stage with two bots, not started yet."""
    async with TelegramSimulator([DEFAULT_TOKEN, SECOND]) as telegram, ModelSimulator(steps) as model:
        stage = Stage(directory, telegram, model, Setting())
        stage.prepare()
        ops = directory / "secrets" / "ops"
        ops.write_text(SECOND)
        ops.chmod(0o600)
        lines = stage.config.read_text().splitlines(keepends=True)
        first = next(n for n, line in enumerate(lines) if "token_file: secrets/telegram" in line)
        kept = [
            line
            for line in lines
            if not line.strip().startswith(("token_file:", "allow_from:", "approvers:", "groups:"))
        ]
        kept.insert(first, BOTS)
        stage.config.write_text("".join(kept).replace("chat_id: chief", "chat_id: chief, bot: main"))
        for name in (FIRST_NAME, SECOND_NAME):
            telegram.open(CHIEF, bot=name)
        try:
            yield stage
        finally:
            if stage.serving is not None:
                await stage.stop()


async def test_two_bots_speak_for_themselves(tmp_path: Path) -> None:
    """To the same person: each remembers what was said to it alone, and answers and asks in its own chat."""
    steps = (say("First."), say("Second."), call("exec", {"command": "touch a"}), say("Made."))
    async with two_bots(tmp_path, *steps) as stage:
        await stage.start()
        await stage.telegram.say(CHIEF, None, "a word for the first", bot=FIRST_NAME)
        await stage.telegram.shown(CHIEF.id, "First.", bot=FIRST_NAME)
        await stage.telegram.say(CHIEF, None, "hello", bot=SECOND_NAME)
        await stage.telegram.shown(CHIEF.id, "Second.", bot=SECOND_NAME)
        await stage.telegram.say(CHIEF, None, "make it", bot=SECOND_NAME)
        await stage.telegram.shown(CHIEF.id, "Run this on", bot=SECOND_NAME)
        await stage.telegram.press(CHIEF, "✅ Approve once", bot=SECOND_NAME)
        await stage.telegram.shown(CHIEF.id, "Made.", bot=SECOND_NAME)
        heard = [repr(request.body["messages"]) for request in stage.model.requests]
        assert ["a word for the first" in one for one in heard] == [True, False, False, False]
        said = {
            name: [message.text for message in stage.telegram.chat(CHIEF.id, bot=name) if message.sender.is_bot]
            for name in (FIRST_NAME, SECOND_NAME)
        }
        assert said[FIRST_NAME] == ["First."]
        assert [text.partition(" #")[0] for text in said[SECOND_NAME]][::2] == ["Second.", "Made."]


async def test_a_token_that_is_refused_later_rests_its_bot_alone(tmp_path: Path) -> None:
    """The other one goes on, and the owner hears of it there."""
    async with two_bots(tmp_path, say("Here.")) as stage:
        await stage.start()
        stage.telegram.fault("getUpdates", faults.unauthorized(), times=faults.FOR_EVER, bot=SECOND_NAME)
        await stage.telegram.say(CHIEF, None, "/whoami", bot=SECOND_NAME)
        await stage.telegram.shown(CHIEF.id, "Telegram does not accept the token of my bot ops", bot=FIRST_NAME)
        await stage.telegram.say(CHIEF, None, "there?", bot=FIRST_NAME)
        await stage.telegram.shown(CHIEF.id, "Here.", bot=FIRST_NAME)
        assert len(stage.model.requests) == 1


async def test_a_token_that_is_refused_at_the_start_rests_its_bot_alone(tmp_path: Path) -> None:
    """As with one that is revoked later."""
    async with two_bots(tmp_path, say("Here.")) as stage:
        stage.telegram.fault("getMe", faults.unauthorized(), bot=SECOND_NAME)
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "Telegram does not accept the token of my bot ops", bot=FIRST_NAME)
        await stage.telegram.say(CHIEF, None, "there?", bot=FIRST_NAME)
        await stage.telegram.shown(CHIEF.id, "Here.", bot=FIRST_NAME)
        assert stage.telegram.calls("getUpdates", bot=SECOND_NAME) == []


async def test_without_any_bot_left_the_gateway_ends_with_the_reason(tmp_path: Path) -> None:
    """It does not pretend to serve."""
    async with two_bots(tmp_path) as stage:
        stage.telegram.fault("getMe", faults.unauthorized(), times=2)
        said = await stage.cli("gateway")
        assert said.status == 1
        assert "Telegram does not accept the token of bot ops (check it with @BotFather)" in said.err


async def test_another_reader_of_one_bot_holds_up_no_other(tmp_path: Path) -> None:
    """409 for one, for ever: the other answers."""
    async with two_bots(tmp_path, say("Here.")) as stage:
        stage.telegram.fault("getUpdates", faults.conflict(), times=faults.FOR_EVER, bot=SECOND_NAME)
        await stage.start()
        await stage.telegram.say(CHIEF, None, "there?", bot=FIRST_NAME)
        await stage.telegram.shown(CHIEF.id, "Here.", bot=FIRST_NAME)

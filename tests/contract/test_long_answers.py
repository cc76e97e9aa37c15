"""A very long answer is a beginning and a file; where no file can be sent it is all its parts."""

from pathlib import Path

from mtbot.simulator import faults
from mtbot.simulator.script import say
from tests.contract.stage import CHIEF, Stage, open_stage

LONG = "\n\n".join(f"Paragraph {number} says **something** about the logs of that day." for number in range(700))
SHORTER = "\n\n".join(f"Paragraph {number} says something about the logs of that day." for number in range(250))


async def answered(stage: Stage, last: str) -> None:
    """The person asks and the answer is there."""
    await stage.telegram.say(CHIEF, None, "tell me everything")
    await stage.telegram.shown(CHIEF.id, last, timeout=60)


async def test_a_very_long_answer_comes_as_a_file_behind_its_beginning(tmp_path: Path) -> None:
    """Two messages instead of a dozen, and nothing is missing."""
    async with open_stage(tmp_path, (say(LONG),)) as stage:
        await answered(stage, "The whole answer")
        beginning, file = [message for message in stage.telegram.chat(CHIEF.id) if message.sender.is_bot]
        assert beginning.text.startswith("Paragraph 0 says something")
        assert file.attachment is not None
        assert (file.attachment.name, file.attachment.data.decode()) == ("answer.md", LONG)
        assert file.text == f"The whole answer, {len(LONG):,} characters, of which you see the beginning above."


async def test_an_answer_of_a_few_messages_is_no_file(tmp_path: Path) -> None:
    """People read on where they are."""
    async with open_stage(tmp_path, (say(SHORTER),)) as stage:
        await answered(stage, "Paragraph 249 ")
        assert all(message.attachment is None for message in stage.telegram.chat(CHIEF.id))


async def test_where_no_file_can_be_sent_the_parts_are(tmp_path: Path) -> None:
    """A group may not let a bot send files."""
    async with open_stage(tmp_path, (say(LONG),)) as stage:
        refusal = faults.status(400, "Bad Request: not enough rights to send documents to the chat")
        stage.telegram.fault("sendDocument", refusal, times=faults.FOR_EVER)
        await answered(stage, "Paragraph 699 ")
        assert len(stage.bot_texts()) > 5

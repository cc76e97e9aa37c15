"""Begin afresh, go back, and have it all deleted, over the whole of mtclaw."""

from pathlib import Path

import pytest

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Address, Message, Role, SurfaceName, ToolCall, Usage
from mtbot.simulator.script import HANG, call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage

PLACE = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(CHIEF.id))


def people_said(stage: Stage) -> list[object]:
    """What people said in the last request."""
    return [message["content"] for message in stage.model.requests[-1].messages if message["role"] == "user"]


async def test_back_and_forth_between_two_conversations(tmp_path: Path) -> None:
    """Each with its own messages, also after a restart."""
    steps = [say(word) for word in ("One.", "Two.", "Three.", "Four.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "/resume")
        await stage.telegram.shown(CHIEF.id, "No earlier conversations here; /new puts one away.")
        await stage.telegram.say(CHIEF, None, "the `disk` is full")
        await stage.telegram.shown(CHIEF.id, "One.")
        await stage.telegram.say(CHIEF, None, "/new")
        shown = await stage.telegram.shown(CHIEF.id, "A fresh start")
        assert shown.text == (
            "A fresh start: 2 messages put away. /resume 1 goes back, /forget deletes. The record of what ran is kept."
        )
        await stage.telegram.say(CHIEF, None, "the backup")
        await stage.telegram.shown(CHIEF.id, "Two.")
        assert people_said(stage) == ["the backup"]
        await stage.restart()
        await stage.telegram.say(CHIEF, None, "/resume")
        listed = await stage.telegram.shown(CHIEF.id, "1: ")
        assert listed.text.endswith(", 2 messages: the ´disk´ is full")
        await stage.telegram.say(CHIEF, None, "/resume 2")
        await stage.telegram.shown(CHIEF.id, "There is no earlier conversation 2 here; /resume lists them.")
        await stage.telegram.say(CHIEF, None, "/resume 1")
        await stage.telegram.shown(CHIEF.id, "Back in the conversation of ")
        await stage.telegram.say(CHIEF, None, "and now?")
        await stage.telegram.shown(CHIEF.id, "Three.")
        assert people_said(stage) == ["the `disk` is full", "and now?"]
        await stage.telegram.say(CHIEF, None, "/sessions")
        sessions = await stage.telegram.shown(CHIEF.id, "tokens, last at")
        assert len(sessions.text.splitlines()) == 1
        await stage.telegram.say(CHIEF, None, "/forget")
        await stage.telegram.shown(CHIEF.id, "Deleted: 6 messages of this chat. The record of what ran is kept.")
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "Four.")
        assert people_said(stage) == ["hello"]
        assert await stage.engine.office.stores.archives.put_aways(PLACE.session) == ()


async def test_what_came_from_outside_is_still_marked_when_it_is_gone_back_to(tmp_path: Path) -> None:
    """Putting it away washes nothing."""
    steps = [call("web_fetch", {"url": "http://evil.example/?q=1"}), say("I asked.")]
    async with open_stage(tmp_path, steps) as stage:
        read = ToolCall(CallId("c1"), "web_fetch", "{}")
        past = (
            Message(Role.USER, "read that page"),
            Message(Role.ASSISTANT, "", calls=(read,)),
            Message(Role.TOOL, f"The text is {UNTRUSTED}.", call_id=read.id, tool_name="web_fetch"),
            Message(Role.ASSISTANT, "Read."),
        )
        await stage.engine.office.stores.history.flush(
            TurnFlush(TurnId("t0"), PLACE, past, Usage(), ()), stage.clock.now_ms()
        )
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start")
        await stage.telegram.say(CHIEF, None, "/resume 1")
        await stage.telegram.shown(CHIEF.id, "Back in the conversation of ")
        await stage.telegram.say(CHIEF, None, "go on")
        asked = await stage.telegram.shown(CHIEF.id, "http://evil.example/?q=1")
        assert "This turn has read text from outside" in asked.text


async def test_going_back_ends_what_runs_first(tmp_path: Path) -> None:
    """Nothing of it is written into the other conversation; a message that waits is dropped."""
    async with open_stage(tmp_path, [say("One."), HANG, say("Three.")]) as stage:
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "One.")
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start")
        await stage.telegram.say(CHIEF, None, "two")
        await stage.model.wait_for(lambda model: model.hanging == 1)
        await stage.telegram.say(CHIEF, None, "queued")
        await stage.telegram.say(CHIEF, None, "/resume #1")
        shown = await stage.telegram.shown(CHIEF.id, "Back in the conversation of ")
        assert shown.text.endswith(", 2 messages. I stopped what was running.")
        await stage.telegram.say(CHIEF, None, "three")
        await stage.telegram.shown(CHIEF.id, "Three.")
        assert people_said(stage) == ["one", "three"]


async def test_nobody_leaves_a_question_that_is_not_theirs_to_turn_down(tmp_path: Path) -> None:
    """By none of the three."""
    setting = Setting(approvers="[review]")
    steps = [say("One."), call("exec", {"command": "echo x > x"})]
    async with open_stage(tmp_path, steps, setting) as stage:
        me = f"@{stage.telegram.bot().account.person.username}"
        await stage.telegram.say(CHIEF, GROUP, f"{me} one")
        await stage.telegram.shown(GROUP, "One.")
        await stage.telegram.say(DEPLOY, GROUP, "/new")
        await stage.telegram.shown(GROUP, "A fresh start")
        await stage.telegram.say(CHIEF, GROUP, f"{me} go")
        await stage.telegram.shown(GROUP, "Run this on")
        refusal = "so nothing was changed."
        await stage.telegram.say(DEPLOY, GROUP, f"/resume{me} 1")
        first = await stage.telegram.shown(GROUP, refusal)
        await stage.telegram.say(DEPLOY, GROUP, f"/forget{me}")
        await stage.telegram.shown(GROUP, refusal, after=first.id)
        assert len(await stage.engine.office.stores.consents.pending()) == 1


async def test_without_room_new_deletes(tmp_path: Path) -> None:
    """As the owner set it."""
    async with open_stage(tmp_path, [say("One.")], start=False) as stage:
        text = stage.config.read_text()
        stage.config.write_text(text.replace("storage: {dsn:", "storage: {earlier_conversations: 0, dsn:"))
        await stage.start()
        await stage.telegram.say(CHIEF, None, "one")
        await stage.telegram.shown(CHIEF.id, "One.")
        await stage.telegram.say(CHIEF, None, "/new")
        await stage.telegram.shown(CHIEF.id, "A fresh start: 2 messages forgotten. The record of what ran is kept.")
        await stage.telegram.say(CHIEF, None, "/resume")
        await stage.telegram.shown(CHIEF.id, "No earlier conversations here; /new puts one away.")


@pytest.mark.parametrize("command", ["hello", "/new"])
async def test_a_chat_goes_on_whose_conversation_was_removed_at_the_host(tmp_path: Path, command: str) -> None:
    """Also where a question was open in it: nothing is left to be waited for."""
    steps = [call("exec", {"command": "touch made"}), say("Here.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        await stage.telegram.shown(CHIEF.id, "Run this on")
        assert (await stage.cli("sessions", "rm", str(PLACE.session))).status == 0
        await stage.telegram.say(CHIEF, None, command)
        await stage.telegram.say(CHIEF, None, "go on" if command == "/new" else "/pending")
        await stage.telegram.shown(CHIEF.id, "Here.", timeout=15)
        assert not (stage.workspace / "made").exists()

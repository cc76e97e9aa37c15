"""One person's turns and questions have a limit over all chats; who meets it hears one clear sentence."""

from pathlib import Path

from mtbot.simulator.script import Rule, Rulebook, call, say
from mtbot.simulator.values import Attachment
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, open_stage

HELLO = Rulebook((Rule("hello", (say("Hello yourself."),)),), say("Hm."))
HOUR_MS = 3_600_000
PDF = Attachment(b"%PDF-1.7", "report.pdf", mime="application/pdf")


async def test_a_flood_of_messages_is_answered_by_one_sentence(tmp_path: Path) -> None:
    """Counted over chats; commands still work, the owner goes on, and after an hour everybody does."""
    setting = Setting(extra="limits: {turns_per_hour: 2}")
    async with open_stage(tmp_path, HELLO, setting) as stage:
        mention = f"@{stage.telegram.bot().account.person.username}"
        for chat in (None, GROUP):
            await stage.telegram.say(DEPLOY, chat, f"{mention} hello")
            await stage.telegram.shown(chat or DEPLOY.id, "Hello yourself.", timeout=20)
        for _ in range(4):
            await stage.telegram.say(DEPLOY, GROUP, f"{mention} hello")
        await stage.telegram.shown(GROUP, "You have asked 2 things within an hour", timeout=20)
        await stage.telegram.say(DEPLOY, GROUP, "/whoami")
        await stage.telegram.shown(GROUP, "You are Deploy", timeout=20)
        told = [text for text in stage.bot_texts(GROUP) if "The next is free at" in text]
        assert len(told) == 1
        for _ in range(3):
            await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.wait_for(
            lambda sim: [m.text for m in sim.chat(CHIEF.id)].count("Hello yourself.") == 3, timeout=20
        )
        assert len(stage.model.requests) == 5
        stage.clock.skipped_ms += HOUR_MS
        last = await stage.telegram.say(DEPLOY, None, "hello")
        await stage.telegram.shown(DEPLOY.id, "Hello yourself.", after=last, timeout=20)


async def test_a_restart_gives_nobody_more_turns(tmp_path: Path) -> None:
    """However a turn began, and whoever the others are; an hour later it counts no more."""
    setting = Setting(extra="limits: {turns_per_hour: 3}")
    async with open_stage(tmp_path, HELLO, setting) as stage:
        said = await stage.telegram.say(DEPLOY, None, "hello")
        await stage.telegram.shown(DEPLOY.id, "Hello yourself.", timeout=20)
        await stage.telegram.edit(DEPLOY, None, said, "hello hello")
        await stage.telegram.shown(DEPLOY.id, "Use the edited text?", timeout=20)
        assert await stage.telegram.press(DEPLOY, "Use it", DEPLOY.id) == "Taken up."
        await stage.telegram.wait_for(
            lambda sim: [m.text for m in sim.chat(DEPLOY.id)].count("Hello yourself.") == 2, timeout=20
        )
        await stage.telegram.album(DEPLOY, None, [PDF, PDF], "hello with files")
        await stage.telegram.wait_for(
            lambda sim: [m.text for m in sim.chat(DEPLOY.id)].count("Hello yourself.") == 3, timeout=20
        )
        await stage.restart()
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "Hello yourself.", timeout=20)
        last = await stage.telegram.say(DEPLOY, None, "hello")
        await stage.telegram.shown(DEPLOY.id, "You have asked 3 things within an hour", after=last, timeout=20)
        assert len(stage.model.requests) == 4
        stage.clock.skipped_ms += HOUR_MS
        await stage.restart()
        last = await stage.telegram.say(DEPLOY, None, "hello")
        await stage.telegram.shown(DEPLOY.id, "Hello yourself.", after=last, timeout=20)


async def test_no_other_way_in_begins_a_turn_beyond_the_limit(tmp_path: Path) -> None:
    """An edited text, Ask again and a file are turned away like a message, and the edit may be used later."""
    setting = Setting(extra="limits: {turns_per_hour: 1}")
    steps = [call("exec", {"command": "touch a"}), say("Again.")]
    async with open_stage(tmp_path, steps, setting) as stage:
        said = await stage.telegram.say(DEPLOY, None, "make it")
        await stage.telegram.shown(DEPLOY.id, "Run this on", timeout=20)
        stage.clock.skipped_ms += HOUR_MS // 2
        await stage.engine.recovery.look()
        await stage.telegram.shown(DEPLOY.id, "expired, nothing ran.", timeout=20)
        await stage.telegram.wait_for(lambda sim: any("Ask again" in m.labels for m in sim.chat(DEPLOY.id)), timeout=20)
        told = "You have asked 1 things within an hour"
        for _ in range(2):
            assert (await stage.telegram.press(DEPLOY, "Ask again", DEPLOY.id)).startswith(told)
        await stage.telegram.edit(DEPLOY, None, said, "make it again")
        await stage.telegram.shown(DEPLOY.id, "Use the edited text?", timeout=20)
        assert (await stage.telegram.press(DEPLOY, "Use it", DEPLOY.id)).startswith(told)
        await stage.telegram.say(DEPLOY, None, attach=PDF)
        await stage.telegram.shown(DEPLOY.id, told, timeout=20)
        assert not (stage.workspace / "inbox").exists()
        assert len(stage.model.requests) == 1
        stage.clock.skipped_ms += HOUR_MS
        assert await stage.telegram.press(DEPLOY, "Use it", DEPLOY.id) == "Taken up."
        await stage.telegram.shown(DEPLOY.id, "Again.", timeout=20)
        assert stage.model.requests[-1].last_user_text == "make it again"


async def test_people_are_not_asked_without_end(tmp_path: Path) -> None:
    """The model hears that there is a limit, the chat what was not run; the record has both."""
    setting = Setting(extra="limits: {questions_per_hour: 1}")
    steps = [call("exec", {"command": "touch a"}), call("exec", {"command": "touch b"}), say("Half done.")]
    async with open_stage(tmp_path, steps, setting) as stage:
        await stage.telegram.say(CHIEF, None, "make them")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Half done.", timeout=20)
        assert "no more than 1 questions an hour, the next at " in stage.model.requests[-1].last_tool_result
        await stage.telegram.shown(CHIEF.id, "Not run, nobody could be asked: touch b", timeout=20)
        assert [(line.decision) for line in await stage.lines()] == ["approved", "expired"]
        assert sorted(path.name for path in stage.workspace.iterdir()) == ["a"]


async def test_a_restart_gives_nobody_more_questions(tmp_path: Path) -> None:
    """They are on record with whose they were; an hour later they count no more."""
    setting = Setting(extra="limits: {questions_per_hour: 1}")
    steps = [step for name in "abcd" for step in (call("exec", {"command": f"touch {name}"}), say(f"Tried {name}."))]
    async with open_stage(tmp_path, steps, setting) as stage:
        await stage.telegram.say(DEPLOY, None, "a")
        await stage.telegram.shown(DEPLOY.id, "Run this on", timeout=20)
        await stage.telegram.press(DEPLOY, "🚫 Deny", DEPLOY.id)
        await stage.telegram.shown(DEPLOY.id, "Tried a.", timeout=20)
        await stage.restart()
        await stage.telegram.say(DEPLOY, None, "b")
        await stage.telegram.shown(DEPLOY.id, "Not run, nobody could be asked: touch b", timeout=20)
        await stage.telegram.shown(DEPLOY.id, "Tried b.", timeout=20)
        await stage.telegram.say(CHIEF, None, "c")  # it is another person's, who was asked nothing yet
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await stage.telegram.press(CHIEF, "🚫 Deny", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Tried c.", timeout=20)
        stage.clock.skipped_ms += HOUR_MS
        await stage.restart()
        last = await stage.telegram.say(DEPLOY, None, "d")
        await stage.telegram.shown(DEPLOY.id, "Run this on", after=last, timeout=20)

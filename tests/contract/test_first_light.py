"""The life of one command in a private chat, from the message to the record."""

import gc
from pathlib import Path

from mtbot.bootstrap import collector
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, Setting, open_stage


async def test_an_allowed_command_runs_and_its_output_comes_back(tmp_path: Path) -> None:
    """Model, rule, shell, model, chat: nobody is asked and the record says so."""
    steps = [call("exec", {"command": "touch made"}), say("It is made.")]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [touch, '*']}]")) as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        await stage.telegram.shown(CHIEF.id, "It is made.")
        assert (stage.workspace / "made").exists()
        assert [(line.command, line.decision, line.exit) for line in await stage.lines()] == [
            ("touch made", "allowed_rule", "0")
        ]
        assert "Run this" not in " ".join(stage.bot_texts())


async def test_an_approved_command_runs_once_and_its_question_says_how_it_ended(tmp_path: Path) -> None:
    """The question is shown whole, the press runs it, the edit tells the end."""
    steps = [call("exec", {"command": "echo hello >> log"}), say("Logged.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "log it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        assert "echo hello >> log" in asked.text
        assert not (stage.workspace / "log").exists()
        await stage.telegram.press(CHIEF, asked.id)
        await stage.telegram.shown(CHIEF.id, "Logged.")
        assert (stage.workspace / "log").read_text() == "hello\n"
        await stage.telegram.shown(CHIEF.id, "✅ Approved once by Chief")


async def test_a_refused_command_never_runs_and_the_chat_hears_the_rule(tmp_path: Path) -> None:
    """Deny wins, the model reads it as a result, the person reads rule and remedy."""
    steps = [call("exec", {"command": "rm -rf precious"}), say("I could not.")]
    async with open_stage(tmp_path, steps) as stage:
        (stage.workspace / "precious").mkdir()
        await stage.telegram.say(CHIEF, None, "clean")
        await stage.telegram.shown(CHIEF.id, "I could not.")
        assert (stage.workspace / "precious").exists()
        assert "Rule files.rm-recursive" in " ".join(stage.bot_texts())


async def test_a_gateway_that_serves_collects_its_garbage_as_usual(tmp_path: Path) -> None:
    """Only while it loads does the collector rest."""
    usual = gc.get_threshold()
    collector.rest()
    try:
        async with open_stage(tmp_path):
            assert gc.get_threshold() == usual
    finally:
        gc.set_threshold(*usual)

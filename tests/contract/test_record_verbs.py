"""``approvals`` and ``audit`` over a real record."""

import asyncio
import json
from pathlib import Path

import pytest

from mtbot.cli.main import run
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, Setting, open_stage


async def typed(config: Path, *arguments: str) -> int:
    """The exit status of a command line, run beside the gateway."""
    return await asyncio.to_thread(run, ["--config", str(config), *arguments])


async def test_the_record_is_listed_filtered_and_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By chat, person, decision, text and time; as table, JSON and CSV."""
    steps = [
        call("exec", {"command": "touch made"}),
        say("Made."),
        call("exec", {"command": "rm -rf x"}),
        say("Not done."),
    ]
    async with open_stage(tmp_path, steps, Setting(allow="[{argv: [touch, '*']}]")) as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        await stage.telegram.shown(CHIEF.id, "Made.")
        stage.telegram.open(DEPLOY)
        await stage.telegram.say(DEPLOY, None, "clean")
        await stage.telegram.shown(DEPLOY.id, "Not done.")
        config = stage.config
        listing = ("approvals", "list", "--json")
        found: dict[tuple[str, ...], list[str]] = {}
        capsys.readouterr()
        for wanted in (
            (),
            ("--user", "deploy"),
            ("--user", "1001"),
            ("--chat", "1002"),
            ("--decision", "allowed_rule"),
            ("--command", "^touch "),
            ("--since", "1h"),
            ("--until", "2020-01-01"),
            ("--limit", "1"),
        ):
            assert await typed(config, *listing, *wanted) == 0
            found[wanted] = [line["command"] for line in json.loads(capsys.readouterr().out)]
        assert found == {
            (): ["rm -rf x", "touch made"],
            ("--user", "deploy"): ["rm -rf x"],
            ("--user", "1001"): ["touch made"],
            ("--chat", "1002"): ["rm -rf x"],
            ("--decision", "allowed_rule"): ["touch made"],
            ("--command", "^touch "): ["touch made"],
            ("--since", "1h"): ["rm -rf x", "touch made"],
            ("--until", "2020-01-01"): [],
            ("--limit", "1"): ["rm -rf x"],
        }
        assert await typed(config, "approvals", "list", "--csv") == 0
        assert capsys.readouterr().out.splitlines()[0] == "TIME,SESSION,DECISION,DECIDER,EXIT,DURATION,TRUNC,COMMAND"
        assert await typed(config, "audit", "export", "--after", "1") == 0
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [event["seq"] for event in events] == list(range(2, 2 + len(events)))
        assert events[0]["kind"] == "decided"
        assert await typed(config, "audit", "verify") == 0
        assert "the record is whole" in capsys.readouterr().out
        (line,) = [line for line in await stage.lines() if line.command == "touch made"]
        assert await typed(config, "approvals", "show", line.call) == 0
        story = capsys.readouterr().out
        assert [word for word in ("proposed", "decided", "started", "finished") if word in story] == [
            "proposed",
            "decided",
            "started",
            "finished",
        ]


@pytest.mark.parametrize(
    "arguments",
    [("--user", "nobody"), ("--since", "soon"), ("--command", "("), ("--decision", "maybe")],
)
async def test_an_option_that_makes_no_sense_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Exit 2, and nothing is shown."""
    async with open_stage(tmp_path, start=False) as stage:
        assert await typed(stage.config, "approvals", "list", *arguments) == 2
        assert arguments[1] in capsys.readouterr().err


async def test_a_yes_that_has_not_run_can_be_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the gateway down: approved, revoked, and after the start nothing runs and the turn is closed."""
    steps = [call("exec", {"command": "touch made"})]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "make it")
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        ident = asked.text.split("#", 1)[1].split()[0]
        await stage.stop()
        assert await typed(stage.config, "approvals", "pending") == 0
        assert ident in capsys.readouterr().out
        assert await typed(stage.config, "approvals", "approve", ident) == 0
        assert "runs when the gateway starts, and lapses at" in capsys.readouterr().out
        assert await typed(stage.config, "approvals", "revoke", ident, "--reason", "wrong host") == 0
        assert await typed(stage.config, "approvals", "approve", ident) == 1
        await stage.start()
        await stage.telegram.shown(CHIEF.id, "was revoked, nothing ran")
        assert not (stage.workspace / "made").exists()
        assert await typed(stage.config, "approvals", "show", ident) == 0
        assert "wrong host" in capsys.readouterr().out

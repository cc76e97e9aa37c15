"""An output longer than a message: its ends for the model, the whole of it, masked, for the people of its chat."""

import os
from pathlib import Path

import pytest

from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage
from tests.contract.test_files import sent

SECRET = "sk-test-0123456789abcdef0123456789"
LONG = "seq 1 3000; cat key.txt; seq 3001 6000"
KEPT = Setting(exec_extra="max_output_bytes: 2000")
WHOLE = [*map(str, range(1, 3001)), "", *map(str, range(3001, 6001))]


def prepare(directory: Path) -> None:
    """A file with a secret, for the middle of the output."""
    (directory / "workspace").mkdir()
    (directory / "workspace" / "key.txt").write_text(f"{SECRET}\n")


async def run_it(stage: Stage) -> str:
    """Have the command approved and ended; the name of its output."""
    await stage.telegram.say(CHIEF, None, "count")
    await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
    await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
    await stage.telegram.shown(CHIEF.id, "Counted.", timeout=20)
    result = stage.model.requests[-1].last_tool_result
    assert len(result) < 2500
    _, found, ident = result.partition("the whole output is kept for the person: /output ")
    assert found, result
    return ident.split()[0]


def check(data: bytes) -> None:
    """All of it, and the secret masked."""
    lines = data.decode().splitlines()
    assert lines[3000].startswith("‹secret:")
    assert [*lines[:3000], "", *lines[3001:]] == WHOLE


async def test_the_whole_of_it_comes_on_request(tmp_path: Path) -> None:
    """By the button below the question, by command, on the host; in no other chat; nothing raw is on any disk."""
    prepare(tmp_path)
    async with open_stage(tmp_path, [call("exec", {"command": LONG}), say("Counted.")], KEPT) as stage:
        ident = await run_it(stage)
        await stage.telegram.wait_for(
            lambda sim: any("Whole output" in m.labels for m in sim.chat(CHIEF.id)), timeout=20
        )
        assert await stage.telegram.press(CHIEF, "Whole output", CHIEF.id) == "Coming as a file."
        await stage.telegram.wait_for(lambda _: len(sent(stage)) == 1, timeout=20)
        await stage.telegram.say(CHIEF, None, f"/output {ident.lower()}")
        await stage.telegram.wait_for(lambda _: len(sent(stage)) == 2, timeout=20)
        for name, data in sent(stage):
            assert name == f"output-{ident}.txt"
            check(data)
        said = await stage.cli("approvals", "output", ident)
        assert said.status == 0
        check(said.out.removesuffix("\n").encode())
        for chat in (GROUP, None):
            await stage.telegram.say(DEPLOY, chat, f"/output {ident}")
            await stage.telegram.shown(chat or DEPLOY.id, "That output is not kept here, or not any more.", timeout=20)
        assert sent(stage, GROUP) == sent(stage, DEPLOY.id) == []
        (file,) = (tmp_path / "state" / "outputs").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        for path in (tmp_path / "state").rglob("*"):
            assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


async def test_what_ran_by_a_rule_says_where_its_output_is(tmp_path: Path) -> None:
    """Nobody was asked, so there is no question to put a button below."""
    prepare(tmp_path)
    setting = Setting(exec_extra="max_output_bytes: 2000", allow="[{argv: [seq, '*', '*']}]")
    async with open_stage(tmp_path, [call("exec", {"command": "seq 1 6000"}), say("Counted.")], setting) as stage:
        await stage.telegram.say(CHIEF, None, "count")
        shown = await stage.telegram.shown(CHIEF.id, "Ran by rule: seq 1 6000 (/output ")
        ident = shown.text.partition("/output ")[2].rstrip(")")
        await stage.telegram.say(CHIEF, None, f"/output {ident}")
        await stage.telegram.wait_for(lambda _: len(sent(stage)) == 1, timeout=20)
        await stage.telegram.say(CHIEF, None, "/output")
        await stage.telegram.shown(CHIEF.id, "Which one? Say /output ID", timeout=20)
        pruned = await stage.cli("db", "prune")
        assert "whole outputs: 0 removed" in pruned.out
        os.utime(next((tmp_path / "state" / "outputs").iterdir()), (1, 1))
        pruned = await stage.cli("db", "prune")
        assert "whole outputs: 1 removed" in pruned.out
        gone = await stage.cli("approvals", "output", ident)
        assert (gone.status, gone.out) == (1, "")
        assert f"no output {ident} is kept" in gone.err


@pytest.mark.parametrize("place", ["a file", "the setting"])
async def test_where_nothing_can_be_kept_the_command_is_none_the_worse(tmp_path: Path, place: str) -> None:
    """Its ends are told, and why there is no more."""
    prepare(tmp_path)
    extra = "" if place == "a file" else "storage: {dsn: state/mtclaw.db, output_bytes: 0}"
    async with open_stage(tmp_path, [call("exec", {"command": LONG}), say("Counted.")], KEPT, start=False) as stage:
        if place == "a file":
            (tmp_path / "state" / "outputs").write_text("in the way")
        else:
            stage.config.write_text(stage.config.read_text().replace("storage: {dsn: state/mtclaw.db}", extra))
        await stage.start()
        await stage.telegram.say(CHIEF, None, "count")
        await stage.telegram.shown(CHIEF.id, "Run this on", timeout=20)
        await stage.telegram.press(CHIEF, "✅ Approve once", CHIEF.id)
        await stage.telegram.shown(CHIEF.id, "Counted.", timeout=20)
        result = stage.model.requests[-1].last_tool_result
        assert result.startswith("exit_code: 0\n")
        assert result.rstrip().endswith("6000")
        assert ("could not be kept: file exists" in result) is (place == "a file")
        assert [line.exit for line in await stage.lines()] == ["0"]

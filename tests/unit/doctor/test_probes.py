"""Gathering looks at everything, changes nothing and never raises."""

import asyncio
from pathlib import Path

from mtbot.bootstrap.offline import load_all
from mtbot.doctor.probes import gather
from mtbot.simulator import faults
from mtbot.simulator.model import ModelSimulator
from mtbot.simulator.script import say
from mtbot.simulator.telegram import TelegramSimulator
from tests.contract.stage import CHIEF, Setting, Stage, open_stage


async def test_a_running_installation_is_gathered_whole(tmp_path: Path) -> None:
    """Bot, model, database, lock, paths, jobs."""
    async with open_stage(tmp_path, [say("hi")]) as stage:
        await stage.telegram.say(CHIEF, None, "hello")
        await stage.telegram.shown(CHIEF.id, "hi")
        found = await gather(stage.engine.loaded)
    assert [(bot.name, bot.username, bot.fault) for bot in found.bots] == [("main", "sim_bot", "")] or found.bots[
        0
    ].username
    assert (found.models[0].fault, found.database.fault, found.database.absent) == ("", "", False)
    assert [name for name, _ in found.overdue] == ["nightly"]
    assert {path.key for path in found.paths} >= {"agent.workspace", "tools.exec.cwd", "tools.exec.shell"}


async def test_faults_of_the_outside_become_values(tmp_path: Path) -> None:
    """A rejected token, a dead model, no database yet."""
    async with TelegramSimulator() as telegram, ModelSimulator([]) as model:
        stage = Stage(tmp_path, telegram, model, Setting())
        stage.prepare()
        telegram.fault("getMe", faults.unauthorized(), times=faults.FOR_EVER)
        await model.stop()
        loaded = load_all(str(stage.config), environ={"HOME": str(tmp_path)})
        found = await gather(loaded)
        assert "does not accept" in found.bots[0].fault
        assert found.models[0].fault
        assert found.database.absent
        assert not (tmp_path / "state" / "mtclaw.db").exists()
        quiet = await gather(loaded, network=False)
        assert (quiet.bots, quiet.models) == ((), ())


async def test_missing_secrets_and_a_damaged_database_become_values(tmp_path: Path) -> None:
    """Each names what is wrong."""
    async with TelegramSimulator() as telegram, ModelSimulator([]) as model:
        stage = Stage(tmp_path, telegram, model, Setting())
        stage.prepare()
        (tmp_path / "secrets" / "telegram").unlink()
        (tmp_path / "secrets" / "model").unlink()
        (tmp_path / "state" / "mtclaw.db").write_bytes(b"not a database" * 100)
        loaded = await asyncio.to_thread(load_all, str(stage.config), environ={"HOME": str(tmp_path)})
        found = await gather(loaded)
        assert "token_file" in found.bots[0].fault
        assert "api_key_file" in found.models[0].fault
        assert not found.models[0].has_key
        assert found.database.fault

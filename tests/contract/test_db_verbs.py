"""``mtclaw db``: a backup beside a running gateway, retention by the settings, and space given back."""

import sqlite3
from pathlib import Path

from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, Setting, Stage, open_stage

STEPS = (call("exec", {"command": "echo hello"}), say("Hello."))
ALLOWED = Setting(allow='["echo .*"]')


async def talk(stage: Stage) -> None:
    """One turn that runs something by rule."""
    await stage.telegram.say(CHIEF, None, "say it")
    await stage.telegram.shown(CHIEF.id, "Hello.")


async def test_a_backup_is_made_beside_a_running_gateway(tmp_path: Path) -> None:
    """It says what it holds and which key belongs to it; a second one does not overwrite it."""
    async with open_stage(tmp_path, STEPS, ALLOWED) as stage:
        await talk(stage)
        said = await stage.cli("db", "backup", "copy.db")
        assert (said.status, said.err) == (0, "")
        first, second = said.out.splitlines()
        assert first.startswith("copy.db: 4 events, head 4 ")
        assert second.startswith(f"Keep {tmp_path}/state/mtclaw.db.key with it")
        copy = sqlite3.connect(tmp_path / "copy.db")
        assert copy.execute("SELECT count(*) FROM exec_audit").fetchone() == (4,)
        copy.close()
        again = await stage.cli("db", "backup", "copy.db")
        assert (again.status, again.out) == (1, "")
        assert "copy.db exists already" in again.err


async def test_pruning_keeps_what_the_settings_keep(tmp_path: Path) -> None:
    """Everything by default; with a date the record's beginning goes, and what is left verifies."""
    async with open_stage(tmp_path, STEPS, ALLOWED) as stage:
        await talk(stage)
        await stage.stop()
        kept = await stage.cli("db", "prune")
        assert kept.out == (
            "the record: kept (audit.keep_days is 0)\n"
            "conversations: kept (storage.keep_days is 0)\n"
            "done for more than 14 days: 0 updates, 0 sent messages, 0 requests, 0 grants, 0 runs of jobs removed\n"
            "whole outputs: 0 removed\n"
        )
        gone = await stage.cli("db", "prune", "--before", "2999-01-01")
        assert gone.out.splitlines()[:2] == [
            "the record: 4 events removed from its beginning",
            "conversations: 1 removed",
        ]
        assert (await stage.cli("audit", "verify")).out.startswith("the record is whole: 1 events")
        assert (await stage.cli("db", "prune", "--before", "soon")).status == 2


async def test_vacuum_waits_for_the_gateway_to_be_stopped(tmp_path: Path) -> None:
    """Beside it the gateway would have to wait."""
    async with open_stage(tmp_path, STEPS, ALLOWED, start=False) as stage:
        async with stage.gateway_process():
            beside = await stage.cli("db", "vacuum")
        assert beside.status == 1
        assert "stop it first" in beside.err
        alone = await stage.cli("db", "vacuum")
        assert alone.status == 0
        assert "bytes after" in alone.out

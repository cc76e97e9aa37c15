"""Where ``approvals list`` takes its lines from, and what it does not wait for."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mtbot.bootstrap.offline import load_all, work
from mtbot.cli import record_query
from mtbot.cli.main import run
from mtbot.domain.ids import CallId, SessionId
from mtbot.domain.record import EventDraft, EventKind
from mtbot.storage.glance import Glance

ROOT = Path(__file__).parents[3]
CONFIG = """\
version: 1
agent: {model: m, workspace: ws}
openai: {base_url: "http://127.0.0.1:1", api_key_env: ""}
channels: {telegram: {enabled: false}}
tools: {exec: {allow: ["ls .*"], allow_packs: [readonly], builtin_deny: {ask: [files.rm-recursive]}}}
storage: {dsn: db/m.db}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration; there is no record yet."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    file.chmod(0o600)
    (tmp_path / "ws").mkdir()
    return str(file)


@pytest.fixture
def recorded(config: str, tmp_path: Path) -> str:
    """The same with a record of six hundred calls, more than one page."""

    async def write() -> None:
        office = await work(load_all(config, environ={"HOME": str(tmp_path)}))
        drafts = [
            EventDraft(EventKind.PROPOSED, 1_700_000_000_000 + n, SessionId("s"), CallId(f"c{n}"), "exec", f"ls {n}")
            for n in range(600)
        ]
        await office.stores.trail.append(*drafts)
        await office.close()

    asyncio.run(write())
    return config


def listed(config: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The commands that are shown."""
    assert run(["--config", config, "approvals", "list", "--csv", *arguments]) == 0
    return [line.rpartition(",")[2] for line in capsys.readouterr().out.splitlines()[1:]]


def test_lines_are_the_same_by_either_road(
    recorded: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several pages, and with what only a line can decide."""
    for arguments in (("--limit", "550"), ("--command", "^ls 1$"), ("--limit", "2")):
        swift = listed(recorded, capsys, *arguments)
        with monkeypatch.context() as without:
            without.setattr(record_query, "glance", lambda _loaded: None)
            assert listed(recorded, capsys, *arguments) == swift
    assert swift == ["ls 599", "ls 598"]


def test_a_glance_that_fails_in_the_middle_is_begun_anew(
    recorded: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is listed twice."""

    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Glance, "trails_of", fails)
    assert listed(recorded, capsys, "--limit", "2") == ["ls 599", "ls 598"]


def test_a_record_that_is_not_there_is_said(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the road that can explain it."""
    assert run(["--config", config, "approvals", "list"]) == 1
    assert capsys.readouterr().err.startswith("mtclaw: no database yet at ")


def test_a_list_loads_neither_the_policy_nor_the_database_library(recorded: str) -> None:
    """Each costs more than the rest of the command together."""
    code = (
        "import sys\n"
        "from mtbot.cli.main import run\n"
        "assert run(['--config', sys.argv[1], 'approvals', 'list']) == 0\n"
        "heavy = {'sqlalchemy', 'sqlmodel', 'alembic', 'psycopg', 'asyncio', 'bashlex', 'tree_sitter', 'httpx', 'aiogram',\n"
        "         'mtbot.policy.readonly', 'mtbot.policy.deny', 'mtbot.agent.loop', 'nacl'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, recorded], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == "[]\n"

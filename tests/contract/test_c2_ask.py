"""C2: what needs no question, what needs exactly one, and what no answer can allow."""

import asyncio
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, Setting, open_stage
from tests.contract.surfaces import SURFACES, Private, Way, on_every_surface

FREE: tuple[tuple[str, dict[str, object]], ...] = (
    ("read_file", {"path": "notes.txt"}),
    ("list_dir", {"path": "."}),
    ("write_file", {"path": "new.txt", "content": "x\n"}),
)
ASKED: tuple[tuple[str, dict[str, object], Setting], ...] = (
    ("exec", {"command": "touch made.txt"}, Setting()),
    ("write_file", {"path": "made.txt", "content": "x\n"}, Setting(files_extra=", write: ask")),
    ("read_file", {"path": ".env"}, Setting()),
    ("write_file", {"path": ".env", "content": "x\n"}, Setting()),
)


@on_every_surface
@pytest.mark.parametrize(("tool", "arguments"), FREE, ids=[tool for tool, _ in FREE])
async def test_file_tools_inside_their_roots_need_no_question(
    tmp_path: Path, way: Way, tool: str, arguments: dict[str, object]
) -> None:
    """Reading, listing and writing in a read-write root run at once and are on record."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "notes.txt").write_text("remember the milk\n")
    async with open_stage(tmp_path, [call(tool, arguments), say("Through.")]) as stage:
        heard = await way.turn(stage, "Through.")
        assert "Run this on" not in heard
        assert [(line.tool, line.decision, line.exit) for line in await stage.lines()] == [(tool, "allowed_rule", "ok")]
        kinds = [event.draft.kind for event in await stage.events()]
        assert kinds == [EventKind.PROPOSED, EventKind.DECIDED, EventKind.STARTED, EventKind.FINISHED]


@pytest.mark.parametrize(("tool", "arguments", "setting"), ASKED, ids=["exec", "write-asks", "read-env", "write-env"])
async def test_what_needs_a_person_is_asked_once_and_waits(
    tmp_path: Path, tool: str, arguments: dict[str, object], setting: Setting
) -> None:
    """One question, nothing done before the press, done after it."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    if tool == "read_file":
        (workspace / ".env").write_text("precious\n")
    async with open_stage(tmp_path, [call(tool, arguments), say("Through.")], setting) as stage:
        turn = asyncio.create_task(Private().turn(stage, "Through."))
        asked = await stage.telegram.shown(CHIEF.id, "Run this on")
        # what is exact and stays in the workspace could be approved for a while, too
        lasting = ("✅ Approve for 15 min",) if tool == "exec" else ()
        assert asked.labels == ("✅ Approve once", "🚫 Deny", *lasting)
        assert not (workspace / str(arguments.get("path", "made.txt"))).exists() or tool == "read_file"
        assert EventKind.STARTED not in {event.draft.kind for event in await stage.events()}
        await stage.telegram.press(CHIEF, asked.id)
        heard = await turn
        assert heard.count("Run this on") == 1
        assert [(line.decision, line.decider) for line in await stage.lines()] == [("approved", "Chief (1001)")]
        if "content" in arguments:
            assert (workspace / str(arguments["path"])).read_text() == "x\n"
        if tool == "exec":
            assert (workspace / "made.txt").exists()


@pytest.mark.parametrize("name", ["terminal", "cron"])
@pytest.mark.parametrize("path", [".env", "id_rsa"])
async def test_sensitive_files_are_refused_where_nobody_can_be_asked(tmp_path: Path, name: str, path: str) -> None:
    """The same read that a chat is asked about ends at once, with nothing read."""
    way = next(one for one in SURFACES if one.name == name)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / path).write_text("precious\n")
    async with open_stage(tmp_path, [call("read_file", {"path": path}), say("Through.")]) as stage:
        heard = await way.turn(stage, "Through.")
        assert "precious" not in heard
        assert "precious" not in stage.model.requests[-1].last_tool_result
        assert [line.decision for line in await stage.lines()] == ["expired"]


@on_every_surface
@pytest.mark.parametrize("mode", ["approval", "auto"])
async def test_pages_of_this_host_and_its_networks_are_refused(tmp_path: Path, way: Way, mode: str) -> None:
    """Loopback, metadata and private addresses: no connection is made, also when the person named the address."""
    hits: list[str] = []

    async def hit(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hits.append("hit")
        writer.close()

    server = await asyncio.start_server(hit, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    urls = [
        f"http://127.0.0.1:{port}/",
        f"http://localhost:{port}/",
        f"http://[::ffff:127.0.0.1]:{port}/",
        f"http://2130706433:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://192.168.1.1/",
        "http://10.0.0.1/",
    ]
    steps = [call("web_fetch", {"url": url}) for url in urls[:4]]
    async with server, open_stage(tmp_path, [*steps, say("Through.")], Setting(mode=mode)) as stage:
        heard = await way.turn(stage, "Through.")
        assert hits == []
        assert "Run this on" not in heard
        results = [m for m in stage.model.requests[-1].messages if m["role"] == "tool"]
        assert len(results) == 4

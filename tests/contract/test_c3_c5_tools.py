"""C3, C4, C5: tools that are off, tools that nobody vetted, and roots that are for reading only."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mtbot.domain.call import Call, Outcome, Permit, Risk, Status, ToolDefault, ToolSource, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Tool
from mtbot.domain.record import EventKind
from mtbot.redaction.mask import Redactor
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import Way, in_every_chat, on_every_surface


@on_every_surface
async def test_a_tool_that_is_off_cannot_be_called_by_its_name(tmp_path: Path, way: Way) -> None:
    """Mode off takes exec away: it is not offered, and a forged call is on record and starts nothing."""
    steps = [call("exec", {"command": "touch made.txt"}), say("Through.")]
    async with open_stage(tmp_path, steps, Setting(mode="off")) as stage:
        await way.turn(stage, "Through.")
        assert "exec" not in stage.model.requests[0].tools
        assert stage.model.requests[-1].last_tool_result.startswith(
            "There is no tool 'exec' here, or it is switched off."
        )
        assert not (stage.workspace / "made.txt").exists()
        kinds = [(event.draft.kind, event.draft.rule) for event in await stage.events()]
        assert kinds == [(EventKind.PROPOSED, ""), (EventKind.DECIDED, "input.call")]


class Strange:
    """A tool that says of itself what it likes."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec
        self.performed = 0

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """Count."""
        self.performed += 1
        return Outcome(Status.OK, Redactor({}, b"k").mask("done"))


_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
SPECS = (
    ToolSpec("strange", "?", _SCHEMA, Risk.READ, ToolDefault.ALLOW),
    ToolSpec("strange", "?", _SCHEMA, Risk.READ, ToolDefault.ALLOW, ToolSource.MCP, target_arg="path"),
    ToolSpec("strange", "?", _SCHEMA, Risk.READ, ToolDefault.ALLOW, ToolSource.PLUGIN, target_arg="path"),
    ToolSpec("strange", "?", _SCHEMA, Risk.EXEC, ToolDefault.ALLOW, target_arg="path"),
    ToolSpec("strange", "?", _SCHEMA, Risk.WRITE_LOCAL, ToolDefault.ALLOW, target_arg="path"),
)
NAMES = ("no-metadata", "mcp", "plugin", "claims-exec", "writes-nowhere")


def give(stage: Stage, tool: Tool) -> None:
    """Put a tool into every profile."""
    for built in stage.engine.profiles._built.values():
        assert isinstance(built.tools, dict)
        built.tools[tool.spec.name] = tool


@in_every_chat
@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
async def test_a_tool_without_trusted_metadata_asks(tmp_path: Path, way: Way, spec: ToolSpec) -> None:
    """Whatever it claims, a person is asked, and a no means that it did nothing."""
    tool = Strange(spec)
    async with open_stage(tmp_path, [call("strange", {}), say("Through.")]) as stage:
        give(stage, tool)
        await _deny(stage, way)
        assert tool.performed == 0
        assert [line.decision for line in await stage.lines()] == ["denied_user"]


async def _deny(stage: Stage, way: Way) -> None:
    turn = asyncio.create_task(way.turn(stage, "Through."))
    chat = CHIEF.id if way.name == "private" else GROUP
    await stage.telegram.shown(chat, "Run this on")
    await stage.telegram.press(CHIEF, "🚫 Deny", chat)
    await turn


@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
async def test_by_night_such_a_tool_is_refused(tmp_path: Path, spec: ToolSpec) -> None:
    """Nobody can be asked, so it never performs."""
    tool = Strange(spec)
    async with open_stage(tmp_path, [call("strange", {}), say("Through.")]) as stage:
        give(stage, tool)
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Not run, nobody was there to ask: strange (tool.metadata)")
        assert tool.performed == 0
        assert [line.decision for line in await stage.lines()] == ["expired"]


@on_every_surface
async def test_a_root_for_reading_refuses_writes_without_a_button(tmp_path: Path, way: Way) -> None:
    """Also where it lies inside a read-write root: the longest match decides."""
    workspace = tmp_path / "workspace"
    (workspace / "archive").mkdir(parents=True)
    (workspace / "archive" / "old.txt").write_text("old\n")
    setting = Setting(more_roots=f", {{path: {workspace / 'archive'}, access: read}}")
    steps = [
        call("read_file", {"path": "archive/old.txt"}),
        call("write_file", {"path": "archive/old.txt", "content": "new\n", "mode": "overwrite"}),
        say("Through."),
    ]
    async with open_stage(tmp_path, steps, setting) as stage:
        heard = await way.turn(stage, "Through.")
        assert (workspace / "archive" / "old.txt").read_text() == "old\n"
        assert "Run this on" not in heard
        decided = [event.draft for event in await stage.events() if event.draft.kind is EventKind.DECIDED]
        assert [(draft.tool, draft.rule) for draft in decided] == [
            ("read_file", "tool.read_file"),
            ("write_file", "workspace-root"),
        ]

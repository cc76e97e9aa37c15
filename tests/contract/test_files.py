"""G4, G18, G19: the file tools as a whole program has them."""

from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import Cron, Group, Private, Way

EDIT = [
    call("read_file", {"path": "notes.txt"}),
    call("edit_file", {"path": "notes.txt", "old": "old", "new": "new"}),
    say("Edited."),
]


async def test_an_edit_after_a_read_is_done_without_a_question_and_can_be_taken_back(tmp_path: Path) -> None:
    """On record, and the old version comes back from the host."""
    (tmp_path / "workspace").mkdir()
    notes = tmp_path / "workspace" / "notes.txt"
    notes.write_text("an old line\n")
    async with open_stage(tmp_path, EDIT) as stage:
        await stage.telegram.say(CHIEF, None, "renew the notes")
        await stage.telegram.shown(CHIEF.id, "Edited.")
        assert notes.read_text() == "an new line\n"
        assert [(line.tool, line.decision, line.exit) for line in await stage.lines()] == [
            ("read_file", "allowed_rule", "ok"),
            ("edit_file", "allowed_rule", "ok"),
        ]
        ident = stage.model.requests[-1].last_tool_result.rpartition("kept in the trash: ")[2].strip()
        assert (await stage.cli("trash", "restore", ident)).status == 0
        assert notes.read_text() == "an old line\n"


async def test_where_writes_ask_the_question_shows_both_texts(tmp_path: Path) -> None:
    """And after the yes it has a way back of its own."""
    (tmp_path / "workspace").mkdir()
    notes = tmp_path / "workspace" / "notes.txt"
    notes.write_text("an old line\n")
    async with open_stage(tmp_path, EDIT, Setting(files_extra=", write: ask")) as stage:
        await stage.telegram.say(CHIEF, None, "renew the notes")
        asked = await stage.telegram.shown(CHIEF.id, "Change a file")
        assert asked.text.splitlines()[1:8] == [str(notes), "", "Replace:", "old", "", "With:", "new"]
        assert notes.read_text() == "an old line\n"
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "Edited.")
        assert notes.read_text() == "an new line\n"
        await stage.telegram.press(CHIEF, "↩ Undo")
        await stage.telegram.shown(CHIEF.id, "↩ Undone by Chief")
        assert notes.read_text() == "an old line\n"


async def test_by_night_a_sensitive_file_is_not_edited(tmp_path: Path) -> None:
    """Nobody can be asked."""
    (tmp_path / "workspace").mkdir()
    env = tmp_path / "workspace" / ".env"
    env.write_text("old\n")
    steps = [call("edit_file", {"path": ".env", "old": "old", "new": "new"}), say("Not done.")]
    async with open_stage(tmp_path, steps) as stage:
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Not run, nobody was there to ask: edit_file")
        assert env.read_text() == "old\n"
        decided = [event.draft.rule for event in await stage.events() if event.draft.kind is EventKind.DECIDED]
        assert decided == ["path.sensitive"]


async def test_a_search_passes_by_what_needs_a_yes(tmp_path: Path) -> None:
    """Also by night: a sensitive file and a denied directory are not read, and nobody is asked."""
    workspace = tmp_path / "workspace"
    (workspace / "kept").mkdir(parents=True)
    for name in ("notes.txt", ".env", "kept/a.txt", "id_rsa"):
        (workspace / name).write_text("needle\n")
    setting = Setting(tools_extra=f"denied_path: [{workspace / 'kept'}]")
    async with open_stage(
        tmp_path, [call("search", {"pattern": "needle", "path": "."}), say("Found.")], setting
    ) as stage:
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Found.")
        assert stage.model.requests[-1].last_tool_result.splitlines()[1:] == [
            "files searched: 1",
            "matches: 1",
            "passed by: 3 (sensitive, unreadable, too large or with several names)",
            "notes.txt:1: needle",
        ]
        assert [line.decision for line in await stage.lines()] == ["allowed_rule"]


def sent(stage: Stage, chat: int = CHIEF.id) -> list[tuple[str, bytes]]:
    """The files that the bot has put into a chat."""
    return [(one.attachment.name, one.attachment.data) for one in stage.telegram.chat(chat) if one.attachment]


SEND = [call("send_file", {"path": "report.txt"}), say("There it is.")]


@pytest.mark.parametrize("way", [Private(), Group(), Cron()], ids=lambda way: way.name)
async def test_a_file_goes_to_the_chat_of_the_turn(tmp_path: Path, way: Way) -> None:
    """Masked, silent, before the answer; from a job to where its results go."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "report.txt").write_text("all well, key sk-test-0123456789abcdef0123456789\n")
    async with open_stage(tmp_path, SEND) as stage:
        await way.turn(stage, "There it is.")
        chat = GROUP if way.name == "group" else CHIEF.id
        ((name, data),) = sent(stage, chat)
        assert name == "report.txt"
        assert data.startswith(b"all well, key \xe2\x80\xb9secret:")
        (request,) = stage.telegram.calls("sendDocument")
        assert str(request.params["disable_notification"]).lower() == "true"
        assert [line.decision for line in await stage.lines()] == ["allowed_rule"]
        kinds = [bool(one.attachment) for one in stage.telegram.chat(chat) if one.sender.is_bot]
        assert kinds.index(True) < len(kinds) - 1


async def test_a_terminal_is_told_the_path(tmp_path: Path) -> None:
    """It can show no files."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "report.txt").write_text("all well\n")
    async with open_stage(tmp_path, SEND) as stage:
        said = await stage.prompt("send it", "--new")
        assert f"File: {tmp_path / 'workspace' / 'report.txt'}" in said.err
        assert sent(stage) == []


async def test_a_sensitive_file_is_sent_only_after_a_yes(tmp_path: Path) -> None:
    """And a denied one never; by night neither."""
    workspace = tmp_path / "workspace"
    (workspace / "kept").mkdir(parents=True)
    (workspace / ".env").write_text("MODE=1\n")
    (workspace / "kept" / "a.txt").write_text("kept\n")
    steps = [
        call("send_file", {"path": "kept/a.txt"}),
        call("send_file", {"path": ".env"}),
        say("Done."),
        call("send_file", {"path": ".env"}),
        say("Not done."),
    ]
    setting = Setting(tools_extra=f"denied_path: [{workspace / 'kept'}]")
    async with open_stage(tmp_path, steps, setting) as stage:
        await stage.telegram.say(CHIEF, None, "send both")
        asked = await stage.telegram.shown(CHIEF.id, "Send a file to this chat")
        assert str(workspace / ".env") in asked.text
        assert sent(stage) == []
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "Done.")
        assert sent(stage) == [(".env", b"MODE=1\n")]
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Not run, nobody was there to ask: send_file")
        assert len(sent(stage)) == 1
        assert [(line.tool, line.decision) for line in await stage.lines()] == [
            ("send_file", "denied_rule"),
            ("send_file", "approved"),
            ("send_file", "expired"),
        ]

"""G12: what a model would delete goes to a trash, after a yes, and comes back by a press or from the host."""

import json
from pathlib import Path

import pytest

from mtbot.domain.record import EventKind
from mtbot.simulator.script import call, say
from tests.contract.stage import CHIEF, DEPLOY, GROUP, Setting, Stage, open_stage
from tests.contract.surfaces import Way, in_every_chat


def fill(workspace: Path) -> Path:
    """Two old reports."""
    place = workspace / "old-reports"
    place.mkdir(parents=True)
    (place / "one.txt").write_text("one\n")
    (place / "two.txt").write_text("two\n" * 300)
    return place


def trash(stage: Stage) -> list[Path]:
    """What lies in the trash."""
    return sorted((stage.directory / "state" / "trash").glob("*/*"))


DELETE = [
    call("exec", {"command": "rm -rf old-reports"}),
    call("trash", {"paths": ["old-reports"]}),
    say("They are in the trash."),
]


async def test_a_refused_rm_names_the_trash_and_the_trash_asks_moves_and_gives_back(tmp_path: Path) -> None:
    """The whole way: the model is told of the tool, a person is asked, approves, and takes it back."""
    place = fill(tmp_path / "workspace")
    async with open_stage(tmp_path, DELETE) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        asked = await stage.telegram.shown(CHIEF.id, "Move to trash on")
        assert "Better: The trash tool: it moves files to a trash" in stage.model.requests[1].last_tool_result
        lines = asked.text.splitlines()
        assert lines[1] == f"{place}   (2 files, 1.2 kB)"
        assert lines[3].startswith("Can be restored until ")
        assert place.is_dir()
        assert trash(stage) == []
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "They are in the trash.")
        done = await stage.telegram.shown(CHIEF.id, "· moved")
        assert done.text.splitlines()[:2] == lines[:2]
        assert not place.exists()
        assert [path.name for path in trash(stage)] == ["0", "manifest.json"]
        manifest = json.loads(trash(stage)[1].read_text())
        told = stage.model.requests[-1].last_tool_result
        assert f"restore id: {trash(stage)[1].parent.name}, kept until" in told
        assert manifest["items"][0]["path"] == str(place)
        await stage.telegram.press(CHIEF, "↩ Undo")
        undone = await stage.telegram.shown(CHIEF.id, "↩ Undone by Chief")
        assert undone.text.splitlines()[:2] == lines[:2]
        assert {path.name: path.read_text() for path in place.iterdir()} == {
            "one.txt": "one\n",
            "two.txt": "two\n" * 300,
        }
        assert trash(stage) == []
        assert [(line.tool, line.decision, line.decider, line.exit) for line in await stage.lines()] == [
            ("exec", "denied_rule", "policy", "-"),
            ("trash", "approved", "Chief (1001)", "ok"),
            ("restore", "approved", "Chief (1001)", "ok"),
        ]


async def test_a_no_leaves_everything_where_it_is(tmp_path: Path) -> None:
    """Nothing is moved before the yes."""
    place = fill(tmp_path / "workspace")
    async with open_stage(tmp_path, [DELETE[1], say("Then not.")]) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        await stage.telegram.shown(CHIEF.id, "Move to trash on")
        await stage.telegram.press(CHIEF, "🚫 Deny")
        await stage.telegram.shown(CHIEF.id, "Then not.")
        assert sorted(path.name for path in place.iterdir()) == ["one.txt", "two.txt"]
        assert trash(stage) == []


async def test_by_night_nothing_goes_to_the_trash(tmp_path: Path) -> None:
    """Nobody can be asked, so the call is refused at once."""
    place = fill(tmp_path / "workspace")
    async with open_stage(tmp_path, [DELETE[1], say("Not done.")]) as stage:
        await stage.run_job()
        await stage.telegram.shown(CHIEF.id, "Not run, nobody was there to ask: trash")
        assert place.is_dir()
        assert trash(stage) == []
        assert [line.decision for line in await stage.lines()] == ["expired"]


async def test_the_question_says_that_keys_go_along(tmp_path: Path) -> None:
    """What lies deep in a directory is looked at before somebody is asked."""
    place = fill(tmp_path / "workspace")
    (place / "deploy").mkdir()
    (place / "deploy" / "id_rsa").write_text("key\n")
    async with open_stage(tmp_path, [DELETE[1], say("Then not.")]) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        asked = await stage.telegram.shown(CHIEF.id, "Move to trash on")
        assert f"Why I ask: {place} holds sensitive files." in asked.text.splitlines()
        await stage.telegram.press(CHIEF, "🚫 Deny")
        await stage.telegram.shown(CHIEF.id, "Then not.")


async def test_only_who_may_decide_may_undo(tmp_path: Path) -> None:
    """Whoever may not approve a request has no say about its way back either."""
    place = fill(tmp_path / "workspace")
    async with open_stage(tmp_path, [DELETE[1], say("Gone.")], Setting(approvers="not_requester")) as stage:
        name = stage.telegram.bot().account.person.username
        await stage.telegram.say(DEPLOY, GROUP, f"@{name} throw away old-reports")
        await stage.telegram.shown(GROUP, "Move to trash on")
        await stage.telegram.press(CHIEF, "✅ Approve once", GROUP)
        await stage.telegram.shown(GROUP, "· moved")
        await stage.telegram.press(DEPLOY, "↩ Undo", GROUP)
        await stage.telegram.wait_for(lambda sim: len(sim.calls("answerCallbackQuery")) == 2, 10)
        assert not place.exists()
        await stage.telegram.press(CHIEF, "↩ Undo", GROUP)
        await stage.telegram.shown(GROUP, "↩ Undone by Chief")
        assert place.is_dir()


@in_every_chat
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("../outside.txt", "root.outside"),
        ("link", "root.outside"),
        ("dangling", "root.outside"),
        (".", "denied_path"),
        ("holds", "root.whole"),
        ("archive/old.txt", "workspace-root"),
        ("nothing-here", "path.missing"),
        ("deep", "denied_path"),
        ("deep/kept/notes.txt", "denied_path"),
    ],
)
async def test_what_no_one_can_approve_has_no_button(tmp_path: Path, way: Way, path: str, rule: str) -> None:
    """Outside the roots, whole roots, what holds a root or a denied path, what may only be read, what is not there."""
    workspace = tmp_path / "workspace"
    for name in ("archive", "holds/inner", "deep/kept"):
        (workspace / name).mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("not yours\n")
    (workspace / "archive" / "old.txt").write_text("old\n")
    (workspace / "deep" / "kept" / "notes.txt").write_text("kept\n")
    (workspace / "link").symlink_to(tmp_path / "outside.txt")
    (workspace / "dangling").symlink_to(tmp_path / "nowhere")
    setting = Setting(
        more_roots=f", {{path: {workspace / 'archive'}, access: read}}, {workspace / 'holds' / 'inner'}",
        tools_extra=f"denied_path: [{workspace / 'deep' / 'kept'}]",
    )
    before = sorted(str(one) for one in tmp_path.rglob("*") if "state" not in one.parts)
    async with open_stage(tmp_path, [call("trash", {"paths": [path]}), say("Through.")], setting) as stage:
        heard = await way.turn(stage, "Through.")
        assert "Move to trash" not in heard
        decided = [event.draft.rule for event in await stage.events() if event.draft.kind is EventKind.DECIDED]
        assert decided == [rule]
        after = sorted(str(one) for one in tmp_path.rglob("*") if "state" not in one.parts)
        assert set(before) <= set(after)
        assert trash(stage) == []


async def test_a_full_trash_refuses_and_deletes_nothing(tmp_path: Path) -> None:
    """The approved call ends as not run, and what is in the trash stays."""
    place = fill(tmp_path / "workspace")
    steps = [DELETE[1], say("No room.")]
    async with open_stage(tmp_path, steps, Setting(tools_extra="trash: {max_bytes: 1000}")) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        await stage.telegram.shown(CHIEF.id, "Move to trash on")
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "No room.")
        assert "does not fit into the trash" in stage.model.requests[-1].last_tool_result
        ended = await stage.telegram.shown(CHIEF.id, "✅ Approved once by Chief")
        assert "Undo" not in str(ended)
        assert place.is_dir()
        assert trash(stage) == []


async def test_an_overwritten_file_is_kept_and_comes_back_from_the_host(tmp_path: Path) -> None:
    """No question for an ordinary write, but a way back, which is on record too."""
    (tmp_path / "workspace").mkdir()
    notes = tmp_path / "workspace" / "notes.txt"
    notes.write_text("old\n")
    steps = [
        call("read_file", {"path": "notes.txt"}),
        call("write_file", {"path": "notes.txt", "content": "new\n"}),
        say("Written."),
    ]
    async with open_stage(tmp_path, steps) as stage:
        await stage.telegram.say(CHIEF, None, "renew the notes")
        await stage.telegram.shown(CHIEF.id, "Written.")
        assert notes.read_text() == "new\n"
        ident = stage.model.requests[-1].last_tool_result.rpartition("kept in the trash: ")[2].strip()
        listed = await stage.cli("trash", "list")
        assert listed.out.splitlines()[1].split() == [
            ident,
            *listed.out.splitlines()[1].split()[1:5],
            *("overwritten", "1", "4", "bytes", str(notes)),
        ]
        said = await stage.cli("trash", "restore", ident.lower())
        assert (said.status, said.out) == (0, f"restored {notes}\nthe newer version is in the trash instead\n")
        assert notes.read_text() == "old\n"
        assert [(line.tool, line.session, line.decision) for line in await stage.lines()][2:] == [
            ("restore", "cli:trash", "approved")
        ]
        again = await stage.cli("trash", "restore", ident)
        assert (again.status, again.err.splitlines()[-1][:50]) == (
            1,
            f"mtclaw: there is nothing called {ident} in the trash"[:50],
        )


async def test_emptying_is_for_the_host_and_on_record(tmp_path: Path) -> None:
    """Only what is old enough goes, nothing without a yes, and the record names it."""
    fill(tmp_path / "workspace")
    async with open_stage(tmp_path, [DELETE[1], say("Gone.")]) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        await stage.telegram.shown(CHIEF.id, "Move to trash on")
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "Gone.")
        assert (await stage.cli("trash", "empty", answers="n\n")).status != 0
        assert (await stage.cli("trash", "empty", "--yes", "--older-than", "1")).out == "nothing to delete\n"
        assert len(trash(stage)) == 2
        assert (await stage.cli("trash", "empty", answers="y\n")).out.endswith("deleted 1 entries (2 files, 1.2 kB)\n")
        assert trash(stage) == []
        last = (await stage.lines())[-1]
        assert (last.tool, last.decision, last.exit) == ("empty", "approved", "ok")
        assert str(stage.workspace / "old-reports") in last.command
        await stage.telegram.press(CHIEF, "↩ Undo")
        await stage.telegram.wait_for(lambda sim: len(sim.calls("answerCallbackQuery")) == 2, 10)
        assert not (stage.workspace / "old-reports").exists()


async def test_a_start_removes_what_was_kept_for_long_enough(tmp_path: Path) -> None:
    """On the day after the last one that was promised, and on record."""
    fill(tmp_path / "workspace")
    async with open_stage(tmp_path, [DELETE[1], say("Gone.")]) as stage:
        await stage.telegram.say(CHIEF, None, "throw away old-reports")
        await stage.telegram.shown(CHIEF.id, "Move to trash on")
        await stage.telegram.press(CHIEF, "✅ Approve once")
        await stage.telegram.shown(CHIEF.id, "Gone.")
        stage.clock.skipped_ms = 29 * 86_400_000
        await stage.restart()
        assert len(trash(stage)) == 2
        stage.clock.skipped_ms = 31 * 86_400_000
        await stage.restart()
        assert trash(stage) == []
        drafts = [event.draft for event in await stage.events() if event.draft.tool == "empty"]
        assert [(draft.kind, draft.rule) for draft in drafts] == [
            (kind, "" if kind is EventKind.PROPOSED else "trash.keep_days")
            for kind in (EventKind.PROPOSED, EventKind.DECIDED, EventKind.STARTED, EventKind.FINISHED)
        ]

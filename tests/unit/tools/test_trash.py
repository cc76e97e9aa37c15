"""The tool trash: what the permit names and no more, inside read-write roots whoever approved."""

from pathlib import Path

import pytest

from mtbot.domain.call import Basis, Outcome, Permit, Status
from mtbot.policy.ruleset import Root
from mtbot.tools import roots
from mtbot.tools.file_access import FileSettings
from mtbot.tools.trash import TrashTool
from mtbot.tools.trash_store import Bin, Limits, Trash
from tests.unit.tools.builders import REDACTOR, SECRET, call, nothing, permit, read_only


class Table:
    """The tool over one workspace."""

    def __init__(self, workspace: Path, *more: Root) -> None:
        self.workspace = workspace
        self.trash = Trash(workspace.parent / "trash", lambda: 0)
        settings = FileSettings((Root(str(workspace)), *more))
        self.tool = TrashTool(settings, Bin(self.trash, Limits(1000, 10)), REDACTOR)

    async def use(self, *paths: str, given: Permit | None = None) -> Outcome:
        """Decide and perform at once, after a person's yes."""
        decided = [roots.resolve(path, str(self.workspace), "/nowhere").path for path in paths]
        wanted = call("trash", {"paths": list(paths)}, self.workspace)
        return await self.tool.perform(wanted, given or permit(*decided, basis=Basis.RULING), nothing)


@pytest.fixture
def table(workspace: Path) -> Table:
    """The tool."""
    return Table(workspace)


async def test_the_answer_says_what_was_moved_and_how_it_comes_back(table: Table, workspace: Path) -> None:
    """Each path with its size, the id, the last day; and the outcome carries the id for the button."""
    (workspace / "old").mkdir()
    (workspace / "old" / "a").write_text("a")
    (workspace / "b").write_text("bb")
    outcome = await table.use("old", "b")
    (entry,) = table.trash.entries()
    assert (outcome.status, outcome.undo) == (Status.OK, entry.id)
    assert outcome.text.splitlines() == [
        f"moved to the trash: {workspace}/old (1 file, 1 byte)",
        f"moved to the trash: {workspace}/b (2 bytes)",
        f"restore id: {entry.id}, kept until 1970-01-11",
    ]
    assert table.tool.spec.kept_days == 10


@pytest.mark.parametrize("paths", [("d", "d"), ("d", "d/a"), ("d/a", "d"), ("d", "./d/../d")])
async def test_nothing_is_named_twice(table: Table, workspace: Path, paths: tuple[str, ...]) -> None:
    """Neither a path nor what lies below one."""
    (workspace / "d").mkdir()
    (workspace / "d" / "a").write_text("a")
    outcome = await table.use(*paths)
    assert outcome.status is Status.REFUSED
    assert "is named twice, or together with a directory that holds it" in outcome.text
    assert (workspace / "d" / "a").exists()


async def test_a_yes_does_not_lead_out_of_the_roots(workspace: Path, outside: Path) -> None:
    """Unlike a read, a move has to stay inside, also when a person approved; a root for reading stays whole."""
    table = Table(workspace, read_only(outside))
    for place in (outside / "notes.txt", outside.parent):
        outcome = await table.use(str(place))
        assert (outcome.status, outcome.undo) == (Status.REFUSED, "")
    assert (outside / "notes.txt").exists()


async def test_a_permit_without_paths_moves_nothing(table: Table, workspace: Path) -> None:
    """What the arguments say is not what was decided on."""
    (workspace / "a").write_text("a")
    outcome = await table.use("a", given=permit(basis=Basis.RULING))
    assert (outcome.status, outcome.text) == (Status.REFUSED, "Not moved: a is not named by the permit.")
    assert (workspace / "a").exists()


async def test_a_secret_in_a_name_is_masked(table: Table, workspace: Path) -> None:
    """The model and the chat never see it; the file comes back under it."""
    (workspace / SECRET).write_text("a")
    outcome = await table.use(SECRET)
    assert outcome.status is Status.OK
    assert SECRET not in outcome.text
    table.trash.restore(outcome.undo)
    assert (workspace / SECRET).exists()

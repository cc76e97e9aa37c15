"""The tool trash: move files and directories to where a person can bring them back from.

It stands in for deleting. A person is always asked, and nothing here removes anything for good.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.policy.explain import size_text
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, Invalid, Told
from mtbot.tools.trash_bin import TIMEOUT
from mtbot.tools.trash_entry import Entry, Item
from mtbot.tools.trash_store import Bin

MAX_PATHS = 64


SPEC = ToolSpec(
    name="trash",
    description=(
        "Move files or directories to the trash, from where the person can bring them back. Use it for everything that "
        "shall be deleted. Relative paths start at the workspace; the person is asked first. All of it is moved, or nothing."
    ),
    schema={
        "type": "object",
        "properties": {
            "paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MAX_PATHS,
                "description": "The files and directories.",
            },
        },
        "required": ["paths"],
        "additionalProperties": False,
    },
    risk=Risk.WRITE_LOCAL,
    default=ToolDefault.ASK,
    path_args=(PathArg("paths", Access.REMOVE),),
)


class TrashTool:
    """Moves to the trash."""

    def __init__(self, settings: FileSettings, bin_: Bin, masker: Masker) -> None:
        self._bin = bin_
        self._access = FileAccess(settings, masker)
        self._spec = replace(SPEC, kept_days=bin_.limits.keep_days)

    @property
    def spec(self) -> ToolSpec:
        """The spec of trash, with the days for which it keeps."""
        return self._spec

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """What was moved, and the id that brings it back. On any failure everything is where it was."""
        del progress

        async def moved() -> Told:
            entry = await off_loop(lambda: self._move(call, permit), TIMEOUT)
            return Told(_told(entry), entry.id)

        return await self._access.run(call, "Not moved", moved)

    def _move(self, call: Call, permit: Permit) -> Entry:
        paths = tuple(found.path for found in self._access.admit_all(permit, Access.REMOVE))
        for number, path in enumerate(paths):
            if any(other == path or path.startswith(other + "/") for other in (*paths[:number], *paths[number + 1 :])):
                raise Invalid(f"{path} is named twice, or together with a directory that holds it")
        return self._bin.trash.take(paths, call.id, self._bin.limits)


def _told(entry: Entry) -> str:
    until = datetime.fromtimestamp(entry.until_ms / 1000, UTC).date().isoformat()
    lines = [f"moved to the trash: {item.path} ({_much(item)})" for item in entry.items]
    return "\n".join([*lines, f"restore id: {entry.id}, kept until {until}"])


def _much(item: Item) -> str:
    files = f"{item.files} file{'' if item.files == 1 else 's'}, " if item.directory else ""
    return files + size_text(item.size)

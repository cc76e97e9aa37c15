"""The tool edit_file: replace a piece of text that stands in a file as often as was said, and nowhere else.

Where a secret stands the model reads a mask, so what it cannot read it cannot match either: whether a guess hits would
tell the secret piece by piece. Everything else is as for write_file.
"""

from collections.abc import Callable
from itertools import pairwise

from mtbot.domain.call import Access, Call, Outcome, PathArg, Permit, Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import SafeText
from mtbot.domain.ports import Masker
from mtbot.tools import replacement, roots
from mtbot.tools.blocking import off_loop
from mtbot.tools.file_access import FileAccess, FileSettings, Invalid, Told, number_of, text_of
from mtbot.tools.replacement import WriteMode, Written
from mtbot.tools.roots import PathRefused
from mtbot.tools.seen import Stamp
from mtbot.tools.window import MARGIN, masked_part

MAX_COUNT = 100
MAX_LOOKS = 1000
"""Places that are looked at in a file that holds secrets; each look costs a masking of what surrounds it."""

MAX_EDITED = 16 * 1024 * 1024
"""The largest file that is edited (bytes); the whole of it is held in memory."""

SPEC = ToolSpec(
    name="edit_file",
    description=(
        "Replace text in a file that you have read in this turn. old must stand there exactly as given, count times "
        "(default once); give enough of its surroundings to make it unique. Relative paths start at the workspace."
    ),
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "old": {"type": "string", "description": "The text to be replaced, with its blanks and line ends."},
            "new": {"type": "string", "description": "The text to stand in its place; may be empty."},
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_COUNT,
                "description": "How often old stands in the file; all of them are replaced.",
            },
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    },
    risk=Risk.WRITE_LOCAL,
    default=ToolDefault.ALLOW,
    path_args=(PathArg("path", Access.WRITE),),
)


class EditFileTool:
    """Edits text files."""

    def __init__(self, settings: FileSettings, masker: Masker) -> None:
        self._settings = settings
        self._masker = masker
        self._access = FileAccess(settings, masker)

    @property
    def spec(self) -> ToolSpec:
        """The spec of edit_file."""
        return SPEC

    async def perform(self, call: Call, permit: Permit, progress: Callable[[SafeText], None]) -> Outcome:
        """How often it was replaced. On any failure the file is as it was."""
        del progress

        async def edit() -> Told:
            old, new, count = self._asked(call)
            path, done = await off_loop(lambda: self._edit(call, permit, (old, new, count)), self._settings.timeout)
            self._settings.seen.remember(call.turn, path, done.stamp)
            kept = f"\nthe old version is kept in the trash: {done.kept}" if done.kept else ""
            return Told(f"edited: {path}\nreplaced: {count}\nsize now: {done.stamp.size} bytes{kept}", done.kept)

        return await self._access.run(call, "Not edited", edit)

    def _asked(self, call: Call) -> tuple[str, str, int]:
        """What is to be replaced, by what, how often. Invalid for what makes no sense or must not be written."""
        old, new = text_of(call, "old"), text_of(call, "new")
        if not old:
            raise Invalid("old is empty; write_file makes a file, and append adds to one")
        if old == new:
            raise Invalid("old and new are the same")
        if self._masker.made_mask(old) or self._masker.made_mask(new):
            raise Invalid(
                "the text holds a mask where the file has a secret; choose a piece without it, or ask the person to edit it"
            )
        count = number_of(call, "count", 1, low=1, high=MAX_COUNT)
        if len(new.encode()) * count > self._settings.max_write:
            raise Invalid(f"what would be written is larger than one write may be ({self._settings.max_write} bytes)")
        return old, new, count

    def _edit(self, call: Call, permit: Permit, asked: tuple[str, str, int]) -> tuple[str, Written]:
        path = self._access.admit(permit, Access.WRITE).path
        known = self._settings.seen.recall(call.turn, path)
        if known is None:
            raise PathRefused("was not read in this turn; read it first, then edit")
        text = self._text(path, known)
        old, new, count = asked
        found = self._matches(text, old)
        if len(found) != count:
            times = "does not stand" if not found else f"stands {len(found)} times"
            more = "" if not found else "; give more of its surroundings, or that count"
            raise Invalid(f"old {times} in {path} as you read it, and count is {count}{more}")
        if any(after - before < len(old) for before, after in pairwise(found)):
            raise Invalid("the places where old stands overlap")
        pieces, at = [], 0
        for place in found:
            pieces += [text[at:place], new]
            at = place + len(old)
        data = "".join((*pieces, text[at:])).encode()
        return path, replacement.write(path, data, WriteMode.OVERWRITE, known, self._settings.keep(path, call))

    def _text(self, path: str, known: Stamp) -> str:
        with roots.regular_file(path) as opened:
            data = replacement.content(opened, MAX_EDITED, known)
        if b"\0" in data:
            raise PathRefused("is not text")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise PathRefused("is not UTF-8 text") from None

    def _matches(self, text: str, old: str) -> list[int]:
        """Where ``old`` stands, as far as a reader could see it: at most one place more than can be replaced."""
        clear = str(self._masker.mask(text)) == text
        found: list[int] = []
        at, looks = text.find(old), 0
        while at >= 0 and len(found) <= MAX_COUNT:
            looks += 1
            if looks > MAX_LOOKS:
                raise Invalid("old stands in too many places; give more of its surroundings")
            if clear or self._seen(text, at, at + len(old)):
                found.append(at)
            at = text.find(old, at + 1)
        return found

    def _seen(self, text: str, start: int, end: int) -> bool:
        """Whether that part is not under a mask, looked at with what surrounds it."""
        part = text[start:end]
        return masked_part(self._masker, text[max(0, start - MARGIN) : start], part, text[end : end + MARGIN]) == part

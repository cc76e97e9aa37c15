"""What the file tools share: the check that a path is the one that was decided on, and how their ends are worded.

Policy has judged the resolved path before a permit was made. This is the second line: a tool opens the path that the
permit names and no other, and without a person's ruling only inside a root of the needed access.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from mtbot.domain.call import Access, Basis, Call, Outcome, Permit, Status, TargetKind
from mtbot.domain.ports import Masker
from mtbot.policy.ruleset import Root, RootAccess, RuleSet
from mtbot.tools import roots
from mtbot.tools.replacement import Keep
from mtbot.tools.roots import PathRefused, Resolved
from mtbot.tools.seen import Seen
from mtbot.tools.trash_store import Bin


def _never(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What a profile fixes for its file tools; they share one of these, and so what a turn has ``seen``.

    ``max_read`` bytes is the most that one read returns, ``max_write`` the most that one write may hold; ``timeout``
    seconds is what the file system gets. ``closed`` says of a resolved path that it needs a decision of its own, so
    that a listing of what lies above shows no more than its name. ``bin`` keeps what is overwritten.
    """

    roots: tuple[Root, ...]
    max_read: int = 262_144
    max_write: int = 1_048_576
    timeout: float = 10.0
    closed: Callable[[str], bool] = _never
    seen: Seen = field(default_factory=Seen)
    bin: Bin | None = None

    def keep(self, path: str, call: Call) -> Keep | None:
        """Where the old version of a file goes before ``call`` overwrites it; None where nothing is kept."""
        if self.bin is None:
            return None
        trash, limits = self.bin.trash, self.bin.limits
        return Keep(lambda opened: trash.keep(path, opened, call.id, limits), trash.remove)


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told of a call that left something in the trash, and what it is called there."""

    text: str
    undo: str


class Invalid(Exception):
    """The arguments make no sense or may not be carried out as they are; the text tells the model what to mend."""


class FileAccess:
    """The second line in front of a file, and the words for how a call ended."""

    def __init__(self, settings: FileSettings, masker: Masker) -> None:
        self._roots = RuleSet(roots=settings.roots)
        self._masker = masker

    def admit(self, permit: Permit, access: Access) -> Resolved:
        """The one path that the permit names, as it lies there now. PathRefused unless it may be opened."""
        if len(permit.targets) != 1:
            raise PathRefused("is not named by the permit")
        return self._admit(permit.targets[0], permit, access)

    def admit_all(self, permit: Permit, access: Access) -> tuple[Resolved, ...]:
        """Every path that the permit names, as they lie there now. PathRefused unless each may be opened."""
        found = tuple(self._admit(decided, permit, access) for decided in permit.targets)
        if not found:
            raise PathRefused("is not named by the permit")
        return found

    def _admit(self, decided: str, permit: Permit, access: Access) -> Resolved:
        found = roots.resolve(decided, "/", "/")
        if found.path != decided:
            raise PathRefused("does not lead where it led when this was decided")
        if found.kind is TargetKind.OTHER:
            raise PathRefused(found.why)
        if permit.basis is not Basis.RULING or access is Access.REMOVE:
            self._inside(decided, access)
        return found

    def _inside(self, path: str, access: Access) -> None:
        root = self._roots.root_of(path)
        if root is None:
            raise PathRefused("lies outside the directories that file tools may use")
        if access is not Access.READ and root.access is not RootAccess.READ_WRITE:
            raise PathRefused(f"lies in {root.path}, which file tools may only read")

    async def run(self, call: Call, not_done: str, work: Callable[[], Awaitable[str | Told]]) -> Outcome:
        """The outcome of ``work``, which returns the text for the model; its failures become outcomes, too."""
        began = time.monotonic()
        path, undo = text_of(call, "path") or ", ".join(texts_of(call, "paths")), ""
        try:
            told = await work()
            text, undo = (told.text, told.undo) if isinstance(told, Told) else (told, "")
            status = Status.OK
        except PathRefused as refused:
            status, text = Status.REFUSED, f"{not_done}: {path} {refused.reason}."
        except Invalid as invalid:
            status, text = Status.REFUSED, f"[Invalid] {not_done}: {invalid}."
        except TimeoutError:
            status, text = Status.TIMED_OUT, f"{not_done} in time: the file system of {path} does not answer."
        except OSError as error:
            status, text = Status.FAILED, f"{not_done}: {path}: {(error.strerror or 'unknown reason').lower()}."
        outcome = Outcome(status, self._masker.mask(text), lines=len(text.splitlines()), undo=undo)
        return replace(outcome, duration_ms=round((time.monotonic() - began) * 1000))


def text_of(call: Call, name: str, default: str = "") -> str:
    """A text argument; the gate has checked it against the schema, so a wrong type only means that it is not there."""
    value = call.arguments.get(name, default)
    return value if isinstance(value, str) else default


def texts_of(call: Call, name: str) -> tuple[str, ...]:
    """The texts of a list argument, in order."""
    value = call.arguments.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def number_of(call: Call, name: str, default: int, *, low: int, high: int) -> int:
    """A whole-number argument, brought into its range."""
    value = call.arguments.get(name, default)
    return max(low, min(value, high)) if isinstance(value, int) and not isinstance(value, bool) else default

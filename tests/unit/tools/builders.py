"""Calls and permits as the gate would hand them over, and a redactor that knows one secret."""

from collections.abc import Callable
from pathlib import Path

from mtbot.domain.call import Basis, Call, Outcome, Permit
from mtbot.domain.ids import BotName, CallId, ChatId, Digest, SafeText, TurnId
from mtbot.domain.ports import Tool
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.policy.ruleset import Root, RootAccess
from mtbot.redaction.mask import Redactor
from mtbot.tools import roots
from mtbot.tools.files import FileSettings

SECRET = "correct-horse-battery-staple"
REDACTOR = Redactor({"model": SECRET}, b"k" * 32)
MASK = str(REDACTOR.mask(SECRET))


def call(tool: str, arguments: dict[str, object], cwd: Path | str = "/", turn: str = "t1") -> Call:
    """A call of the model in turn ``turn``."""
    address = Address(SurfaceName.PRIVATE, BotName("ops"), ChatId(1001))
    return Call(CallId("c1"), TurnId(turn), tool, arguments, str(cwd), address, SYSTEM)


def permit(*targets: str, basis: Basis = Basis.TOOL) -> Permit:
    """A permit for a call whose paths were resolved to ``targets``."""
    return Permit(Digest("d"), basis, "host", "", {}, 1, "h", targets)


def nothing(_text: SafeText) -> None:
    """Take no notice of progress."""


class Desk:
    """A workspace with the file tools on it: resolves a path as the facts would, and performs with that as target."""

    def __init__(self, workspace: Path, *more: Root) -> None:
        self.workspace = workspace
        self.settings = FileSettings((Root(str(workspace)), *more), max_read=64 * 1024, max_write=1024)

    async def use(
        self,
        tool: Callable[[FileSettings, Redactor], Tool],
        path: str,
        *,
        turn: str = "t1",
        basis: Basis = Basis.TOOL,
        **arguments: object,
    ) -> Outcome:
        """Decide and perform at once."""
        built = tool(self.settings, REDACTOR)
        decided = roots.resolve(path, str(self.workspace), "/nowhere").path
        wanted = call(built.spec.name, {"path": path, **arguments}, self.workspace, turn)
        return await built.perform(wanted, permit(decided, basis=basis), nothing)


def read_only(path: Path) -> Root:
    """A root that is open for reading."""
    return Root(str(path), RootAccess.READ)


def state_of(place: Path) -> dict[str, tuple[int, ...]]:
    """Everything below a directory: mode, identity, names, owner, size and time of change of each."""
    found: dict[str, tuple[int, ...]] = {}
    for one in sorted(place.rglob("*")):
        status = one.lstat()
        found[str(one)] = (
            *(status.st_mode, status.st_ino, status.st_nlink, status.st_uid, status.st_gid),
            *(status.st_size, status.st_mtime_ns),
        )
    return found

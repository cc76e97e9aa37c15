"""A child process as tools see it: what is asked for, how it ended, and the port in between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

HOST, CONTAINED = "host", "contained"
"""The profiles of a child: with all rights of the user, or with what it was granted and no more."""


@dataclass(frozen=True, slots=True)
class Grants:
    """What a contained child gets beyond the system's own directories; all paths are absolute and resolved.

    ``read`` and ``write`` hold with everything below them. Of ``look``, a file may be read and a directory listed.
    ``programs`` are directories of its PATH. ``repository`` is a directory whose git repository may be read.
    ``attributes``: modes, owners and times of files may be changed. ``guarded`` is the workspace in which files that
    hold secrets are hidden and repositories cannot be changed, where this host can do that; with ``git`` a repository can
    be, but for what decides which programs git runs.
    """

    network: bool = False
    attributes: bool = False
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    repository: str = ""
    guarded: str = ""
    git: bool = False


@dataclass(frozen=True, slots=True)
class Containment:
    """What this host can keep a contained child from, each found out by trying.

    ``files``: to read and change what it was not granted; ``network``: to reach anything; ``signals``: to signal what is
    not its own. ``missing`` says in words what did not hold. ``bubblewrap``: secrets in the workspace are hidden,
    repositories fixed, modes and times outside out of reach, and other processes unseen; ``no_bubblewrap`` says why not.
    """

    files: bool = False
    network: bool = False
    signals: bool = False
    missing: tuple[str, ...] = ()
    bubblewrap: bool = False
    no_bubblewrap: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether a command can be called contained here."""
        return self.files and self.network

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that hold, by name."""
        return tuple(name for name in ("files", "network", "signals", "bubblewrap") if getattr(self, name))


@dataclass(frozen=True, slots=True)
class Spool:
    """An open file into which at most ``limit`` bytes of an output are written once it is too long to be kept whole."""

    descriptor: int
    limit: int


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this host that a child runs as, with all of its groups; only a gateway that is root can do that."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A program to run, with nothing inherited. ``argv`` is executed as it is; ``timeout`` is in seconds.

    ``id`` is unique among running children. ``profile`` names the containment, ``grants`` are read where it is contained.
    ``max_output`` bytes of standard output and error together are kept; where that is not all of it, all of it goes into
    ``spool``, too. ``stdin`` None is /dev/null. ``account`` None is the gateway's own user.
    """

    id: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    max_output: int = 65_536
    profile: str = HOST
    grants: Grants = Grants()
    stdin: bytes | None = None
    spool: Spool | None = None
    account: Account | None = None


class ChildStatus(StrEnum):
    """Why a child is over."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    NOT_STARTED = "not_started"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How it ended. ``output`` is harmless text (no control characters) but not masked; ``raw`` are the kept bytes.

    ``message`` is one line that explains anything but a plain exit. ``survivors`` describes what could not be ended.
    ``held`` are the parts of containment that it ran under.
    """

    status: ChildStatus
    exit_code: int | None
    duration_ms: int
    output: str
    raw: bytes = b""
    dropped: int = 0
    background_left: bool = False
    survivors: tuple[str, ...] = ()
    message: str = ""
    held: tuple[str, ...] = ()


class Children(Protocol):
    """Starts and ends child processes."""

    async def run(self, request: ChildRequest, on_output: Callable[[bytes], None] | None = None) -> ChildEnd:
        """Run to the end. Cancelling stops the child and raises CancelledError once that is under way."""
        ...

    async def stop(self, child: str) -> bool:
        """End a child and its tree, also one that is only about to start; True if there was one."""
        ...

"""What the gateway asks the spawner to execute: a command with everything that decides what it may do.

Nothing is inherited. Environment, folder, limits and containment are part of the request, because they are part of what
was decided and recorded.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mtbot.domain.process import Account, Spool

MAX_KEPT_BYTES = 16 * 1024 * 1024
MAX_STDIN_BYTES = 64 * 1024 * 1024
CALL_MARK = "MTCLAW_CALL"
"""If the environment has this name, processes that carry it outside the command's own tree are named as survivors."""


class BadRequest(ValueError):
    """The request cannot be executed by anyone; nothing was started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a command and all its children; None leaves what the service was started with (and no core
    dumps).

    ``memory_bytes`` bounds address space, ``file_bytes`` one file, ``cpu_seconds`` each process. ``processes`` counts all
    processes of the user, not only the command's.
    """

    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None
    processes: int | None = None
    core_bytes: int | None = None

    def by_name(self) -> dict[str, int]:
        """Return the limits that are set, under the names of the ``resource`` module."""
        named = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory_bytes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_CORE": self.core_bytes,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Part:
    """One prepared piece of containment: the name of an applier in ``spawner.parts`` and its JSON-like settings."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Box:
    """Namespaces that bubblewrap builds around a command. ``curtains`` are pairs of kind and path, parents first.

    ``wait_ms`` is how long it may take, in milliseconds.
    """

    program: str
    args: tuple[str, ...]
    curtains: tuple[tuple[str, str], ...] = ()
    wait_ms: int = 5_000

    def facts(self) -> dict[str, object]:
        """Return what the supervisor is told."""
        return {"program": self.program, "args": self.args, "curtains": self.curtains, "wait_ms": self.wait_ms}


@dataclass(frozen=True, slots=True)
class Profile:
    """A named containment: parts that the supervisor applies in order between fork and exec, inside ``box`` if there is one.

    All or nothing.
    """

    name: str = "host"
    parts: tuple[Part, ...] = ()
    box: Box | None = None


HOST = Profile()


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """One command. ``id`` is unique among running commands; ``argv`` is executed as it is, without a shell.

    ``timeout_seconds`` None is for long-lived children only. ``max_output_bytes`` is how much of standard output and error,
    joined, is kept; ``spool`` gets all of it once it is more than that. ``stdin`` None is /dev/null. ``account`` is who it
    becomes before its containment is put up; None stays who the gateway is. Raises BadRequest for what no kernel would
    accept, and for limits that would silently mean nothing.
    """

    id: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    timeout_seconds: float | None
    max_output_bytes: int
    limits: Limits = Limits()
    profile: Profile = HOST
    stdin: bytes | None = None
    spool: Spool | None = None
    account: Account | None = None

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise BadRequest("no program to execute")
        if any("\0" in word for word in (*self.argv, self.cwd, *self.env, *self.env.values())):
            raise BadRequest("a NUL character cannot be passed to a program")
        if any(not name or "=" in name for name in self.env):
            raise BadRequest("an environment name is empty or has '=' in it")
        if not self.cwd.startswith("/"):
            raise BadRequest(f"the working directory is not absolute: {self.cwd}")
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < math.inf:
            raise BadRequest(f"a time-out of {self.timeout_seconds} s would end the command before it starts, or never")
        if not 1 <= self.max_output_bytes <= MAX_KEPT_BYTES:
            raise BadRequest(f"max_output_bytes must be 1 to {MAX_KEPT_BYTES}, not {self.max_output_bytes}")
        if self.stdin is not None and len(self.stdin) > MAX_STDIN_BYTES:
            raise BadRequest(f"standard input is over {MAX_STDIN_BYTES} bytes")

    def facts(self) -> dict[str, object]:
        """Return what the supervisor is told, ready for JSON."""
        call = self.env.get(CALL_MARK)
        return {
            "argv": self.argv,
            "env": dict(self.env),
            "cwd": self.cwd,
            "timeout": self.timeout_seconds,
            "keep": self.max_output_bytes,
            "spool": 0 if self.spool is None else self.spool.limit,
            "limits": self.limits.by_name(),
            "parts": [[part.name, dict(part.settings)] for part in self.profile.parts],
            "box": None if self.profile.box is None else self.profile.box.facts(),
            "user": None if self.account is None else [self.account.uid, self.account.gid, list(self.account.groups)],
            "mark": "" if call is None else f"{CALL_MARK}={call}",
        }

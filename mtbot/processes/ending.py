"""How a command ended: the one value that the record, the model and the chat are told from.

The cause comes before the exit status. A command that was timed out or stopped has no exit code, whatever number its death
by our own signal left behind.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

from mtbot.processes.output import Output


class EndStatus(StrEnum):
    """Why a command is over. LOST: its supervisor, the spawner or the gateway died before it could be told."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    FAILED_TO_START = "failed_to_start"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that could not be ended: ``start_time`` is in clock ticks since boot, ``uid`` the effective one."""

    pid: int
    start_time: int
    uid: int
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of one command.

    ``exit_code`` is set only for EXITED, ``signal`` whenever a signal ended the first process. ``background_left``: the
    command exited while processes of it were still running, which were then ended. ``survivors`` are those that were
    still alive five seconds later, or that run under a parent that is not ours. ``message`` is one line, or empty.
    """

    status: EndStatus
    exit_code: int | None = None
    signal: int | None = None
    duration_seconds: float = 0.0
    output: Output = Output()
    background_left: bool = False
    survivors: tuple[Survivor, ...] = ()
    message: str = ""

    @property
    def dropped(self) -> int:
        """How many bytes of output were not kept."""
        return self.output.dropped


def read_end(payload: bytes, head: bytes, tail: bytes) -> ProcessEnd:
    """Return the ProcessEnd of an END frame and the output frames before it; raises ValueError if it is none."""
    try:
        fields = json.loads(payload)
        code, number = fields["code"], fields["signal"]
        return ProcessEnd(
            status=EndStatus(fields["status"]),
            exit_code=None if code is None else int(code),
            signal=None if number is None else int(number),
            duration_seconds=float(fields["duration"]),
            output=Output(head, tail, int(fields["dropped"])),
            background_left=bool(fields["background"]),
            survivors=read_survivors(fields["survivors"]),
            message=str(fields["message"]),
        )
    except (KeyError, TypeError) as wrong:
        raise ValueError(f"not the end of a command: {wrong}") from wrong


def read_survivors(listed: list[tuple[int, int, int, list[str]]]) -> tuple[Survivor, ...]:
    """Return the survivors that a frame lists."""
    return tuple(Survivor(int(pid), int(start), int(uid), tuple(map(str, argv))) for pid, start, uid, argv in listed)

"""A command in the background: what is known of it while it runs and for a while afterwards."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Protocol

from mtbot.domain.call import Outcome
from mtbot.domain.ids import CallId, SafeText
from mtbot.domain.turn import Actor, Address

JobId = NewType("JobId", str)
"""How people call a job: ``J7Q2``. It lives as long as the process that runs it; the record knows the call."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """How many jobs may run at once (0: none), and how long one may live, in seconds."""

    at_once: int
    timeout: float


@dataclass(frozen=True, slots=True)
class Job:
    """A job that was started. ``command`` is masked and visible; ``started_ms`` is Unix time, ``timeout`` in seconds.

    ``outcome`` is None while it runs.
    """

    id: JobId
    call: CallId
    address: Address
    requester: Actor
    command: SafeText
    started_ms: int
    timeout: float
    outcome: Outcome | None = None


class Killed(StrEnum):
    """What became of a wish to end a job."""

    ENDED = "ended"
    ENDING = "ending"
    NOT_RUNNING = "not_running"
    UNKNOWN = "unknown"


class JobBook(Protocol):
    """The jobs of this process (gate/jobs), as surfaces see them."""

    def all(self) -> tuple[Job, ...]:
        """Those that run, and the last that ended; oldest first."""
        ...

    def find(self, name: str) -> Job | None:
        """The job of that name, however it is written."""
        ...

    def tail(self, job: Job) -> SafeText:
        """The end of what it has written so far, in whole lines; of one that is over all that was kept."""
        ...

    async def kill(self, job: JobId) -> Killed:
        """End it and everything that it started; waits for that for some seconds."""
        ...

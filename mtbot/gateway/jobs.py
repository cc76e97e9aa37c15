"""What a turn of a scheduled job tells whoever began it; its words and its end are written with the turn itself."""

from dataclasses import dataclass
from typing import Protocol

from mtbot.domain.ids import ApprovalId
from mtbot.domain.jobs import JobEnd
from mtbot.domain.turn import TurnState


@dataclass(frozen=True, slots=True)
class Finished:
    """How a turn ended, for whoever started it without a person (cron) or waits for it (prompt).

    ``written``: its messages, and what it leaves to be said, are in the database.
    """

    state: TurnState
    text: str
    code: str = ""
    written: bool = False


class JobDesk(Protocol):
    """Whoever runs jobs, as far as turns need it; none of this may raise."""

    def resumed(self, state: TurnState) -> None:
        """A parked turn of a job goes on."""
        ...

    def parked(self, state: TurnState, approval: ApprovalId) -> None:
        """A turn of a job waits for that request."""
        ...

    def closing(self, end: Finished) -> JobEnd:
        """A turn of a job is about to be written down: what is written with it."""
        ...


class NoJobs:
    """Where no jobs run."""

    def resumed(self, state: TurnState) -> None:
        """Nothing."""

    def parked(self, state: TurnState, approval: ApprovalId) -> None:
        """Nothing."""

    def closing(self, end: Finished) -> JobEnd:
        """Nothing to say and nothing to close."""
        del end
        return JobEnd()

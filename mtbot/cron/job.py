"""A job, and what is said when a run of it is over."""

from collections.abc import Sequence
from dataclasses import dataclass

from mtbot.cron.schedule import Schedule
from mtbot.domain.ids import ApprovalId, BotName, ChatId
from mtbot.domain.record import CronStatus
from mtbot.domain.turn import Address, SurfaceName
from mtbot.gateway.jobs import Finished
from mtbot.gateway.leaving import NO_REPLY

SHOWN_CALLS = 12
SHOWN_HINTS = 3


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the configuration compiled it. ``timeout`` is in seconds; ``deliver_to`` None keeps the result in the record."""

    name: str
    schedule: Schedule
    prompt: str
    timeout: float
    ephemeral: bool
    bot: BotName
    deliver_to: Address | None
    enabled: bool = True

    def address(self, due_ms: int) -> Address:
        """The place of its runs; one that forgets has a new one for each."""
        label = f"job:{self.name}" + (f":run-{due_ms}" if self.ephemeral else "")
        return Address(SurfaceName.CRON, self.bot, ChatId(0), label=label)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run stands: its status, and the text that is delivered (empty: nothing to say).

    ``waiting`` is the request that a STARTED run waits for.
    """

    status: CronStatus
    text: str
    waiting: ApprovalId | None = None

    @property
    def error(self) -> str:
        """What the record keeps of a run that went wrong."""
        return "" if self.status is CronStatus.OK else self.text


def words(end: Finished, host: str) -> Ran:
    """The answer, and below it what did not run because nobody could be asked."""
    text = end.text.strip()
    parts = [] if text == NO_REPLY else [text]
    if end.state.refused:
        parts.append(f"Not run, nobody was there to ask: {_listed(end.state.refused)}")
    parts += [f"To permit it, on {host}: `{hint}`" for hint in dict.fromkeys(end.state.permits[:SHOWN_HINTS])]
    if end.state.denied:
        parts.append(f"Not run, refused by policy: {_listed(end.state.denied)}")
    if end.state.ran:
        parts.append(f"Ran by rule: {_listed(end.state.ran)}")
    return Ran(CronStatus.ERROR if end.code else CronStatus.OK, "\n".join(part for part in parts if part))


def _listed(lines: Sequence[str]) -> str:
    """Calls in one line, each set off, at most SHOWN_CALLS of them."""
    shown = ", ".join(f"`{line.replace('`', '´')}`" for line in lines[:SHOWN_CALLS])
    return shown if len(lines) <= SHOWN_CALLS else f"{shown} and {len(lines) - SHOWN_CALLS} more"

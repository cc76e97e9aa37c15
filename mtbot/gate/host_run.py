"""A person runs the call of an open question themselves, in their own terminal at the host.

It passes the same gate as every call: looked at and decided anew, its digest compared, on record as started before its
process exists. The start is the yes and its consumption at once, so that whoever answers the question at the same moment
either came first or comes too late. How it ended is laid beside the parked turn, which goes on where it lives.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from mtbot.domain.again import Keep
from mtbot.domain.call import Call, Decision, Outcome
from mtbot.domain.errors import ConsentError
from mtbot.domain.host_run import Beginning, HostRuns
from mtbot.domain.ids import ApprovalId, SafeText
from mtbot.domain.ports import Desk, Question
from mtbot.domain.record import Approval, ApprovalState, AuditEvent, EventDraft, OutboxItem, Ruling
from mtbot.domain.turn import TurnState
from mtbot.gate.gate import Gate

Announce = Callable[[Approval, Ruling], tuple[EventDraft, OutboxItem]]
"""What the desk writes of a ruling: its event, and the question with how it was decided below it."""


@dataclass(slots=True)
class HostRecord:
    """The record as the gate sees it during such a run: its one start is a ruling too, and its end waits for the outcome."""

    runs: HostRuns
    announce: Announce
    approval: Approval | None = None
    started: AuditEvent | None = None
    ended: EventDraft | None = None

    async def append(self, *drafts: EventDraft) -> tuple[AuditEvent, ...]:
        """Nothing: that a yes did not hold is no event, because nobody has said it yet."""
        del drafts
        return ()

    async def end(self, draft: EventDraft, started: int) -> AuditEvent:
        """Keep it until the outcome is known."""
        assert self.started is not None
        assert self.started.seq == started
        self.ended = draft
        return self.started

    async def start(
        self,
        draft: EventDraft,
        approval: ApprovalId | None,
        grant: ApprovalId | None = None,
        keep: Keep | None = None,
    ) -> AuditEvent:
        """Rule and start, never by a grant. AlreadyDecided, NotUsable, RecordUnavailable: nothing runs."""
        row = self.approval
        if row is None or row.ruling is None or row.id != approval or grant is not None:
            raise ConsentError("nothing is being run here")
        resolved, item = self.announce(row, row.ruling)
        self.approval, self.started = await self.runs.begin(row.id, Beginning(row.ruling, resolved, draft, keep), item)
        return self.started


@dataclass(frozen=True, slots=True)
class HostDesk:
    """The desk as the gate sees it during such a run: it asks nobody, and only what was started has an end to tell of."""

    desk: Desk
    record: HostRecord

    async def ask(self, question: Question, state: TurnState) -> ApprovalId:
        """Nobody is asked again."""
        del question, state
        raise ConsentError("nobody is asked here")

    async def decide(self, approval: ApprovalId, ruling: Ruling) -> Approval:
        """Nothing is decided apart from its start."""
        del approval, ruling
        raise ConsentError("nothing is decided here")

    async def refused(self, call: Call, shown: SafeText, decision: Decision) -> None:
        """Nothing: the person who sits there is told."""

    async def ended(self, approval: Approval, outcome: Outcome) -> None:
        """Say below the question how it ended."""
        if self.record.started is not None:
            await self.desk.ended(approval, outcome)


class HostRun:
    """Runs the call of one question. ``gate`` is built over ``record`` and a ``HostDesk``, and serves nothing else."""

    def __init__(self, gate: Gate, record: HostRecord) -> None:
        self._gate = gate
        self._record = record

    async def standing(self, state: TurnState, approval: Approval, ruling: Ruling) -> str:
        """Why it would not run if ``ruling`` were given now; empty if it would."""
        return await self._gate.standing(state.open_calls[0], state, _ruled(approval, ruling))

    async def run(self, state: TurnState, approval: Approval, ruling: Ruling) -> Outcome:
        """Run it, by ``ruling`` (a yes of the person who sits there), and lay its end beside the turn.

        AlreadyDecided says who was first. ConsentError says why else nothing ran. RecordUnavailable after it ran: then
        the record says that it was started, and nothing of how it ended.
        """
        record = self._record
        record.approval = _ruled(approval, ruling)
        done = await self._gate.resume(state.open_calls[0], state, record.approval)
        if record.started is None or record.ended is None:
            raise ConsentError(str(done.outcome.text))
        await record.runs.end(approval.id, record.ended, done.outcome, record.started.seq)
        return done.outcome


def _ruled(approval: Approval, ruling: Ruling) -> Approval:
    return replace(approval, state=ApprovalState.APPROVED, ruling=ruling)

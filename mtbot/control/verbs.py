"""What may be asked over the control socket, one table; each verb is thin and asks the same desk as every surface.

Only ``approve``, ``deny`` and ``revoke`` decide something, and they need a person's terminal. Who decides is the account
that the kernel names, never what the message says.
"""

import pwd
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from mtbot.control.peer import Peer
from mtbot.control.wire import JsonObject, text_of
from mtbot.domain.errors import AlreadyDecided, ConsentError, ControlError, PeerRefused
from mtbot.domain.ids import ApprovalId
from mtbot.domain.job import Job, JobBook
from mtbot.domain.ports import Clock, Desk
from mtbot.domain.record import Approval, ApprovalState, Ruling, Via
from mtbot.domain.turn import Actor, ActorKind

NEEDS_TERMINAL = "deciding needs a terminal that a person sits at"
TERMINAL_HINT = "run it in a terminal; with ssh use ssh -t"

MOST_TEXT = 5_000
"""Characters of a job's output in one answer: outside ASCII each takes up to twelve bytes of the frame."""

_DECIDES = {"approve": ApprovalState.APPROVED, "deny": ApprovalState.DENIED, "revoke": ApprovalState.REVOKED}


@dataclass(frozen=True, slots=True)
class Doings:
    """What the gateway does for the verbs: tell how it stands, read the configuration anew, look for rulings.

    ``resume`` goes on with the turn of a request that was ruled on; True if this process is the one that serves it.
    """

    status: Callable[[], Awaitable[Mapping[str, object]]]
    reload: Callable[[], Awaitable[Mapping[str, object]]]
    look: Callable[[], Awaitable[None]]
    resume: Callable[[Approval], bool]


class Verbs:
    """The table."""

    def __init__(self, desk: Desk, doings: Doings, clock: Clock, jobs: JobBook) -> None:
        self._desk = desk
        self._jobs = jobs
        self._doings = doings
        self._clock = clock

    async def handle(self, peer: Peer, wanted: JsonObject) -> Mapping[str, object]:
        """Do what is wanted; what is said about it. MtclawError says why not."""
        verb = text_of(wanted, "do")
        if verb in _DECIDES:
            return await self._decide(peer, wanted, _DECIDES[verb])
        if verb == "status":
            return await self._doings.status()
        if verb == "reload":
            return await self._doings.reload()
        if verb == "jobs":
            return {"jobs": [job_facts(job) for job in self._jobs.all()]}
        if verb in ("tail", "kill"):
            return await self._with_job(verb, self._job(wanted))
        if verb == "look":
            await self._doings.look()
            return {}
        raise ControlError(f"this gateway knows no request {verb or '(none)'}", hint="is it of the same version?")

    def _job(self, wanted: JsonObject) -> Job:
        name = text_of(wanted, "id")
        job = self._jobs.find(name)
        if job is None:
            raise ControlError(f"there is no job {name}", hint="`mtclaw jobs list` names them")
        return job

    async def _with_job(self, verb: str, job: Job) -> Mapping[str, object]:
        if verb == "tail":
            return {**job_facts(job), "text": str(self._jobs.tail(job))[-MOST_TEXT:]}
        return {**job_facts(job), "killed": (await self._jobs.kill(job.id)).value}

    async def _decide(self, peer: Peer, wanted: JsonObject, state: ApprovalState) -> Mapping[str, object]:
        if not peer.terminal:
            raise PeerRefused(NEEDS_TERMINAL, hint=TERMINAL_HINT)
        ident = ApprovalId(text_of(wanted, "id").lstrip("#").upper())
        ruling = Ruling(state, person(peer.uid), Via.CLI, self._clock.now_ms(), text_of(wanted, "reason"))
        try:
            row = await self._desk.decide(ident, ruling)
        except AlreadyDecided as lost:
            at = self._clock.clock_text(lost.at_ms)
            raise ConsentError(f"#{ident} was {lost.state} by {lost.decider} {at} already; nothing changed") from lost
        here = self._doings.resume(row)
        return {"id": str(row.id), "state": row.state.value, "here": here}


def job_facts(job: Job) -> JsonObject:
    """A job, ready for JSON; moments in Unix milliseconds, spans in seconds."""
    ended = job.outcome
    return {
        "id": str(job.id),
        "session": str(job.address.session),
        "command": str(job.command),
        "started_ms": job.started_ms,
        "timeout_s": job.timeout,
        "state": "running" if ended is None else ended.status.value,
        "exit_code": None if ended is None else ended.exit_code,
        "duration_ms": None if ended is None else ended.duration_ms,
    }


def person(uid: int) -> Actor:
    """Who that account is."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return Actor(ActorKind.LOCAL, uid, name)

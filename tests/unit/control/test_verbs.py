"""The verbs ask the desk and nobody else, in the name of the account that the kernel named."""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from mtbot.control.peer import Peer
from mtbot.control.verbs import Doings, Verbs, person
from mtbot.domain.call import Outcome, Status
from mtbot.domain.errors import AlreadyDecided, ConsentError, ControlError, NotAllowed, PeerRefused
from mtbot.domain.ids import ApprovalId, CallId, SafeText
from mtbot.domain.job import Job, JobId, Killed
from mtbot.domain.record import Approval, ApprovalState, Ruling, Via
from mtbot.domain.turn import Actor, ActorKind
from tests.unit.approvals.samples import CHIEF, PRIVATE, Clock, approval, safe

AT_A_TERMINAL = Peer(77, os.geteuid(), terminal=True)
NOWHERE = Peer(77, os.geteuid(), terminal=False)


RUNNING = Job(JobId("J7Q2"), CallId("c1"), PRIVATE, CHIEF, safe("sh job.sh"), 5000, 60.0)
OVER = replace(RUNNING, id=JobId("J3XA"), outcome=Outcome(Status.OK, safe("all of it"), 3, 41_000))


@dataclass
class Book:
    """One job that runs, and one that is over."""

    killed: list[JobId] = field(default_factory=list)

    def all(self) -> tuple[Job, ...]:
        """Both."""
        return OVER, RUNNING

    def find(self, name: str) -> Job | None:
        """By name."""
        return next((job for job in self.all() if job.id == name.upper()), None)

    def tail(self, job: Job) -> SafeText:
        """What it wrote."""
        return safe("x" * 9000 + f"\nend of {job.id}\n")

    async def kill(self, job: JobId) -> Killed:
        """End it."""
        self.killed.append(job)
        return Killed.ENDED


@dataclass
class World:
    """A desk and a gateway that note what is asked of them."""

    row: Approval
    fault: Exception | None = None
    ruled: list[tuple[ApprovalId, Ruling]] = field(default_factory=list)
    resumed: list[ApprovalId] = field(default_factory=list)
    looks: int = 0
    ours: bool = True
    jobs: Book = field(default_factory=Book)

    async def decide(self, ident: ApprovalId, ruling: Ruling) -> Approval:
        """Rule."""
        if self.fault is not None:
            raise self.fault
        self.ruled.append((ident, ruling))
        return self.row

    def resume(self, row: Approval) -> bool:
        """Go on."""
        self.resumed.append(row.id)
        return self.ours

    async def look(self) -> None:
        """Look."""
        self.looks += 1

    async def tell(self) -> Mapping[str, object]:
        """How it stands."""
        return {"up": True}

    def verbs(self) -> Verbs:
        """The table over it."""
        doings = Doings(self.tell, self.tell, self.look, self.resume)
        return Verbs(self, doings, Clock(), self.jobs)  # type: ignore[arg-type] # only what verbs may call


@pytest.fixture
def world() -> World:
    """One open question."""
    return World(approval())


@pytest.mark.parametrize(
    ("verb", "state"),
    [("approve", ApprovalState.APPROVED), ("deny", ApprovalState.DENIED), ("revoke", ApprovalState.REVOKED)],
)
async def test_a_person_at_a_terminal_decides(world: World, verb: str, state: ApprovalState) -> None:
    """In their own name, by the road CLI, and the turn goes on at once."""
    said = await world.verbs().handle(AT_A_TERMINAL, {"do": verb, "id": "#k7qd", "reason": "why"})
    who = Actor(ActorKind.LOCAL, os.geteuid(), pwd.getpwuid(os.geteuid()).pw_name)
    assert world.ruled == [(ApprovalId("K7QD"), Ruling(state, who, Via.CLI, Clock().now, "why"))]
    assert world.resumed == [world.row.id]
    assert said == {"id": world.row.id, "state": world.row.state.value, "here": True}


async def test_a_turn_of_another_process_is_said_to_be_one(world: World) -> None:
    """The process that asked sees the ruling by itself."""
    world.ours = False
    assert (await world.verbs().handle(AT_A_TERMINAL, {"do": "approve", "id": "K7QD"}))["here"] is False


@pytest.mark.parametrize("verb", ["approve", "deny", "revoke"])
async def test_without_a_terminal_nothing_is_decided(world: World, verb: str) -> None:
    """Whatever else is known of the peer."""
    with pytest.raises(PeerRefused, match=r"needs a terminal .*ssh -t"):
        await world.verbs().handle(NOWHERE, {"do": verb, "id": "K7QD"})
    assert (world.ruled, world.resumed) == ([], [])


async def test_who_was_late_reads_who_was_first(world: World) -> None:
    """In one sentence; any other refusal is passed on."""
    world.fault = AlreadyDecided("approved", "Chief", 0)
    with pytest.raises(ConsentError, match="#K7QD was approved by Chief 00:00 already; nothing changed"):
        await world.verbs().handle(AT_A_TERMINAL, {"do": "approve", "id": "K7QD"})
    world.fault = NotAllowed("not yours")
    with pytest.raises(NotAllowed, match="not yours"):
        await world.verbs().handle(AT_A_TERMINAL, {"do": "approve", "id": "K7QD"})
    assert world.resumed == []


async def test_looking_needs_no_terminal(world: World) -> None:
    """Nor does reading the configuration anew: a service manager does that."""
    verbs = world.verbs()
    assert await verbs.handle(NOWHERE, {"do": "status"}) == {"up": True}
    assert await verbs.handle(NOWHERE, {"do": "reload"}) == {"up": True}
    assert (await verbs.handle(NOWHERE, {"do": "look"}), world.looks) == ({}, 1)


@pytest.mark.parametrize("wanted", [{}, {"do": "exec"}, {"do": "approve\n"}, {"do": 7}, {"do": "approve", "id": 7}])
async def test_what_is_not_in_the_table_is_refused(world: World, wanted: dict[str, object]) -> None:
    """Also a verb or an id that is no text."""
    with pytest.raises(ControlError, match=r"knows no request|must be a text"):
        await world.verbs().handle(AT_A_TERMINAL, wanted)
    assert world.ruled == []


async def test_jobs_are_told_read_and_ended_without_a_terminal(world: World) -> None:
    """A script may look after them; the end of what one wrote fits into an answer."""
    verbs = world.verbs()
    told = await verbs.handle(NOWHERE, {"do": "jobs"})
    assert told == {
        "jobs": [
            {
                "id": "J3XA",
                "session": "telegram:ops:1001:0",
                "command": "sh job.sh",
                "started_ms": 5000,
                "timeout_s": 60.0,
                "state": "ok",
                "exit_code": 3,
                "duration_ms": 41_000,
            },
            {
                "id": "J7Q2",
                "session": "telegram:ops:1001:0",
                "command": "sh job.sh",
                "started_ms": 5000,
                "timeout_s": 60.0,
                "state": "running",
                "exit_code": None,
                "duration_ms": None,
            },
        ]
    }
    text = str((await verbs.handle(NOWHERE, {"do": "tail", "id": "j7q2"}))["text"])
    assert (len(text), text.endswith("end of J7Q2\n")) == (5000, True)
    assert (await verbs.handle(NOWHERE, {"do": "kill", "id": "J7Q2"}))["killed"] == "ended"
    assert world.jobs.killed == ["J7Q2"]
    with pytest.raises(ControlError, match="there is no job J9"):
        await verbs.handle(NOWHERE, {"do": "kill", "id": "J9"})


def test_an_account_without_a_name_is_told_by_its_number() -> None:
    """The record keeps the number anyway."""
    assert person(4_000_000_000) == Actor(ActorKind.LOCAL, 4_000_000_000, "uid 4000000000")

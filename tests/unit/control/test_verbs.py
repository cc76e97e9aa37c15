"""The verbs ask the desk and nobody else, in the name of the account that the kernel named."""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from mtbot.control.peer import Peer
from mtbot.control.verbs import Doings, Verbs, person
from mtbot.domain.errors import AlreadyDecided, ConsentError, ControlError, NotAllowed, PeerRefused
from mtbot.domain.ids import ApprovalId
from mtbot.domain.record import Approval, ApprovalState, Ruling, Via
from mtbot.domain.turn import Actor, ActorKind
from tests.unit.approvals.samples import Clock, approval

AT_A_TERMINAL = Peer(77, os.geteuid(), terminal=True)
NOWHERE = Peer(77, os.geteuid(), terminal=False)


@dataclass
class World:
    """A desk and a gateway that note what is asked of them."""

    row: Approval
    fault: Exception | None = None
    ruled: list[tuple[ApprovalId, Ruling]] = field(default_factory=list)
    resumed: list[ApprovalId] = field(default_factory=list)
    looks: int = 0
    ours: bool = True

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
        return Verbs(self, doings, Clock())  # type: ignore[arg-type] # only what verbs may call


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


def test_an_account_without_a_name_is_told_by_its_number() -> None:
    """The record keeps the number anyway."""
    assert person(4_000_000_000) == Actor(ActorKind.LOCAL, 4_000_000_000, "uid 4000000000")

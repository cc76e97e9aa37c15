"""In front of the gate: whoever was taken off the list has nothing more done for them, also in a turn that runs already."""

from collections.abc import Callable

from mtbot.domain.call import Outcome, Status
from mtbot.domain.ports import Masker, Names
from mtbot.domain.record import Approval
from mtbot.domain.turn import ToolCall, TurnState
from mtbot.gate.answers import NOT_RUN
from mtbot.gate.gate import Done, Gate, Waiting
from mtbot.policy.people import People

GONE = (
    f"{NOT_RUN}: the person who asked for this is not on the list of this chat any more. Nothing else will run either."
)


class Listed:
    """Implements the loop's CallGate over ``gate``, by the ``people`` of the moment."""

    def __init__(self, gate: Gate, people: Callable[[], People], masker: Masker) -> None:
        self._gate = gate
        self._people = people
        self._masker = masker

    async def submit(self, wanted: ToolCall, state: TurnState, names: Names) -> Done | Waiting:
        """Take a fresh call through the gate, if whoever asked for the turn is still listed."""
        if not self._people().still_welcome(state.requester, state.address):
            return Done(Outcome(Status.REFUSED, self._masker.mask(GONE)))
        return await self._gate.submit(wanted, state, names)

    async def resume(self, wanted: ToolCall, state: TurnState, approval: Approval) -> Done:
        """Go on with a call that a person ruled on; the gate itself looks whether that ruling still counts."""
        return await self._gate.resume(wanted, state, approval)

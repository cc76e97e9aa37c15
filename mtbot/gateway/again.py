"""How a turn begins that asks again for a call which a crash cut off: with that call open, as if it had been proposed.

The model is not asked whether it would propose it once more. From here on it is a call like any other: the gate looks at
it and decides it anew, and the turn goes on with its result.
"""

from dataclasses import replace

from mtbot.domain.again import Standing
from mtbot.domain.ports import Names
from mtbot.domain.turn import Message, Repeats, Role, ToolCall, TurnState

ASKED = "(A call was cut off when the process of the bot ended. I ask for exactly that call again; it follows.)"
"""What the model finds as the words of whoever pressed. It names nothing of the call: what a person writes counts for more
than what a model proposed."""

NOT_KEPT = "That call was dealt with meanwhile. Nothing ran."


def repeating(state: TurnState, standing: Standing | None, start: int, names: Names) -> TurnState | None:
    """``state`` with the kept call of that start as its open call; None if somebody has dealt with it meanwhile."""
    kept = standing.call if standing else None
    if kept is None:
        return None
    call = ToolCall(names.call(), kept.tool, kept.arguments)
    said = Message(Role.ASSISTANT, "", calls=(call,))
    return replace(
        state.say(said),
        open_calls=(call,),
        tainted=state.tainted or kept.tainted,
        repeats=Repeats(start, kept.digest),
    )

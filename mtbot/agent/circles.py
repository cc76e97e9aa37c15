"""Notice a turn that goes in circles, from what was called and what came of it: it costs money and wears people out."""

from collections import Counter, deque
from collections.abc import Iterator

from mtbot.domain.turn import Message, Role, ToolCall, TurnState
from mtbot.gate import answers

IDLE_CALLS = 5
"""So many calls in a row that came to nothing end the turn: the model has lost its way or looks for a way around."""

SAME_CALLS = 5
"""So often the same call may give the same result in a turn."""

DENIED_CALLS = 3
"""So many calls of one turn a person may turn down; then the turn does not ask on."""

_TIMES = "duration_ms: "
_KEPT = "; the whole output is kept"
"""From where on exec's note about a cut output differs each time (tools/exec_words)."""


def circling(state: TurnState) -> str:
    """Why the turn should end, as one sentence for the person; empty if it should go on."""
    results = list(_results(state.messages))
    if _idle_in_a_row(results) >= IDLE_CALLS:
        return "I stopped: nothing of what I tried could be run, again and again."
    if sum(answers.was_denied(content) for _, content in results) >= DENIED_CALLS:
        return f"I stopped: {DENIED_CALLS} of my calls were denied. Say what you would rather have."
    same = Counter((call.name, call.arguments, _without_times(content)) for call, content in results if call)
    if same and max(same.values()) >= SAME_CALLS:
        return f"I stopped: the same call gave the same result {SAME_CALLS} times. Say if I should go on."
    return ""


def _results(messages: tuple[Message, ...]) -> Iterator[tuple[ToolCall | None, str]]:
    """Every result with its call, by position, because providers use ids again."""
    calls: deque[ToolCall] = deque()
    for message in messages:
        if message.role is Role.ASSISTANT:
            calls = deque(message.calls)
        elif message.role is Role.TOOL:
            yield (calls.popleft() if calls else None), message.content


def _idle_in_a_row(results: list[tuple[ToolCall | None, str]]) -> int:
    """How many of the last calls, without a gap, came to nothing."""
    count = 0
    for _, content in reversed(results):
        if not answers.came_to_nothing(content):
            break
        count += 1
    return count


def _without_times(content: str) -> str:
    """A result without how long it took and what its output is called, which differ where nothing else does."""
    lines = (line.partition(_KEPT)[0] for line in content.split("\n") if not line.startswith(_TIMES))
    return "\n".join(lines)

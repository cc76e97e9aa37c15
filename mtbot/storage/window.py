"""From stored entries to a history that every model accepts, whatever lies in the database.

A crash, a /stop or a hand-edited row leaves calls without results or results without calls, and a model then refuses
every later request. So pairs are checked by position (providers repeat call ids), in both directions, on every load.
"""

from collections.abc import Sequence
from itertools import groupby

from mtbot.domain.turn import Message, Role, ToolCall

NO_RESULT = "(no result of this call is on record)"
NOT_SHOWN = "(this result is too long to be shown again)"

Entry = tuple[str, Message]
"""The turn that an entry belongs to, and the entry."""


def window(entries: Sequence[Entry], turns: int, max_bytes: int) -> tuple[Message, ...]:
    """The newest whole turns of ``entries`` (oldest first) within both limits, mended, beginning with USER.

    When the newest turn alone is too large, its tool results are left out, oldest first; if that does not help there
    is no history at all, which is better than half a turn.
    """
    chosen: list[tuple[Message, ...]] = []
    size = 0
    for _, group in reversed([(turn, list(group)) for turn, group in groupby(entries, key=lambda one: one[0])]):
        mended = mend([message for _, message in group])
        if not chosen:
            mended = _shortened(mended, max_bytes)
        size += weight(mended)
        if len(chosen) == turns or size > max_bytes:
            break
        chosen.append(mended)
    flat = [message for turn in reversed(chosen) for message in turn]
    first = next((place for place, message in enumerate(flat) if message.role is Role.USER), len(flat))
    # what follows the cut is whole turns or the rest of one, after its first person spoke; a result may have lost its call
    return mend(flat[first:])


def mend(messages: Sequence[Message]) -> tuple[Message, ...]:
    """``messages`` with an answer right behind every call, in order, and without answers that no call asked for."""
    mended: list[Message] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role is Role.TOOL or _says_nothing(message):
            continue
        if message.role is not Role.ASSISTANT:
            mended.append(message if not message.calls else Message(message.role, message.content))
            continue
        answers: list[Message] = []
        while at < len(messages) and messages[at].role is Role.TOOL:
            answers.append(messages[at])
            at += 1
        mended.append(message)
        mended.extend(_answered(message.calls, answers))
    return tuple(mended)


def weight(messages: Sequence[Message]) -> int:
    """How many bytes of a model's input these entries are: content and arguments."""
    return sum(
        len(message.content.encode()) + sum(len(call.arguments.encode()) for call in message.calls)
        for message in messages
    )


def _says_nothing(message: Message) -> bool:
    return message.role is Role.ASSISTANT and not message.content and not message.calls


def _answered(calls: Sequence[ToolCall], answers: list[Message]) -> list[Message]:
    found = []
    for call in calls:
        place = next((at for at, answer in enumerate(answers) if answer.call_id == call.id), None)
        if place is None:
            found.append(Message(Role.TOOL, NO_RESULT, call_id=call.id, tool_name=call.name))
        else:
            found.append(answers.pop(place))
    return found


def _shortened(messages: tuple[Message, ...], max_bytes: int) -> tuple[Message, ...]:
    kept = list(messages)
    for at, message in enumerate(messages):
        if weight(kept) <= max_bytes:
            break
        if message.role is Role.TOOL and len(message.content) > len(NOT_SHOWN):
            kept[at] = Message(Role.TOOL, NOT_SHOWN, call_id=message.call_id, tool_name=message.tool_name)
    return tuple(kept)

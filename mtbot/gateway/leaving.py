"""What a turn says when it is over, besides its answer: what ran unasked, and what did not run and was not told yet."""

from mtbot.domain.ports import Masker
from mtbot.domain.record import Card, CardKind, OutboxItem, OutKind
from mtbot.domain.turn import SurfaceName, TurnState
from mtbot.gate.gate import TOLD_REFUSALS

NO_REPLY = "NO_REPLY"
SHOWN_RUNS = 12


def items_of(state: TurnState, text: str, masker: Masker, *, attended: bool) -> tuple[OutboxItem, ...]:
    """What the turn says in its own place; a job's words are put together by cron, which knows where they go."""
    if state.address.surface is SurfaceName.CRON:
        return ()
    mask = masker.mask
    items = [
        OutboxItem(OutKind.NOTICE, state.address, card=Card(CardKind.NOTICE, mask(line), mask(""), (), silent=True))
        for line in _unrun_lines(state, attended)
    ]
    ran = [ran_line(state.ran)] if state.ran else []
    granted = [granted_line(state.granted)] if state.granted else []
    for line in (*ran, *granted):
        card = Card(CardKind.NOTICE, mask(line), mask(""), (), silent=True)
        items.append(OutboxItem(OutKind.NOTICE, state.address, card=card, silent=True))
    if text and text.strip() != NO_REPLY:
        items.append(OutboxItem(OutKind.REPLY, state.address, text=mask(text), quote=state.ref.message))
    return tuple(items)


def _unrun_lines(state: TurnState, attended: bool) -> list[str]:
    """What did not run and was not told yet: an attended place has heard of the first refusals one by one."""
    lines = []
    denied = state.denied[TOLD_REFUSALS if attended else 0 :]
    if denied:
        lines.append(f"⛔ Not run, refused by policy: {_some(denied)}")
    if state.refused:
        lines.append(f"⛔ Not run, nobody could be asked: {_some(state.refused)}")
    return lines


def _some(lines: tuple[str, ...]) -> str:
    shown = ", ".join(lines[:SHOWN_RUNS])
    return f"{shown} and {len(lines) - SHOWN_RUNS} more" if len(lines) > SHOWN_RUNS else shown


def ran_line(ran: tuple[str, ...]) -> str:
    """What ran without a question, in one line: ``Ran 3 commands by rule: docker ps, ...``."""
    if len(ran) == 1:
        return f"Ran by rule: {ran[0]}"
    return f"Ran by rule, {len(ran)} calls: {_some(ran)}"


def granted_line(granted: tuple[str, ...]) -> str:
    """What ran because a person had allowed it for a while, each with the question that was answered so."""
    return f"Approved before, so run without a question: {_some(granted)} · /grants"

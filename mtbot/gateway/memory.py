"""What the model is shown of a conversation beside its turns: the summary of older ones, and what people pinned.

Before a turn begins, older turns are summed up where they take too much room; the chat is told in one line. Whatever
goes wrong in it, the turn goes on with the window as it is, and the next few turns do not try again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from mtbot.agent.compaction import Attempt, Part, Reach, due, may_be_due
from mtbot.agent.context import Past
from mtbot.agent.notes import kept_notes
from mtbot.domain.errors import StorageError
from mtbot.domain.ids import CallId, SessionId
from mtbot.domain.live import Live, Running
from mtbot.domain.memory import Keeps, Memories, Summary, TurnSize, tainted_by
from mtbot.domain.ports import Clock, History, Masker
from mtbot.domain.record import Card, CardKind, OutboxItem, OutKind
from mtbot.domain.turn import Actor, Address, Message, Role, SurfaceName, TurnState

HISTORY_BYTES = 262_144
"""The most of a conversation that is shown, whatever the model could take."""

REST_TURNS = 10
"""So many turns go by before an attempt that came to nothing is repeated."""

TOLD = "Older messages were summed up to save room. /new starts afresh."
TOLD_AT_TERMINAL = "Older messages were summed up to save room. --new starts afresh."
DOING = "summing up older messages"

_log = structlog.get_logger()


class Summarizer(Protocol):
    """The agent, as far as it sums up (agent/loop)."""

    too_long: Callable[[SessionId], None]

    def reach(self, address: Address) -> Reach:
        """How much of a conversation is shown there as it is."""
        ...

    async def sum_up(self, state: TurnState, before: Summary | None, entries: Sequence[Message], part: Part) -> Attempt:
        """A summary. StorageError."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryFrame:
    """What surrounds it: time, masking, who shows what is done, and who is on the list of a place."""

    clock: Clock
    masker: Masker
    live: Live
    listed: Callable[[Actor, Address], bool]


class Recall:
    """Says what was before a turn, and keeps it within bounds. ``turns`` says how many turns a session is shown."""

    def __init__(
        self,
        agent: Summarizer,
        history: History,
        memories: Memories,
        frame: MemoryFrame,
        turns: Callable[[SessionId], int],
    ) -> None:
        self._agent = agent
        self._history = history
        self._memories = memories
        self._frame = frame
        self._turns = turns
        self._rests: dict[SessionId, int] = {}
        self._too_long: set[SessionId] = set()
        self.wake: Callable[[], None] = lambda: None
        agent.too_long = self._too_long.add

    async def past(self, address: Address) -> Past:
        """What was before. StorageError."""
        return await self._past(address, await self._memories.look(address.session))

    async def begin(self, state: TurnState) -> tuple[TurnState, Past]:
        """What was before a turn that begins, older turns summed up where they take too much room. StorageError.

        The state comes back with what that took. Jobs sum nothing up: what one page said would mark all their later runs,
        and nobody is there who could begin afresh.
        """
        session = state.session
        keeps = await self._memories.look(session)
        past = await self._past(state.address, keeps)
        turns, part = await self._due(state, keeps, past)
        if part is None or self._is_resting(session, turns):
            return state, past
        self._too_long.discard(session)
        running = Running(CallId(f"sum-{state.id}"), state.address, DOING)
        self._frame.live.begins(running)
        try:
            state, done = await self._sum_up(state, keeps, part)
        finally:
            await self._frame.live.ends(running)
        if not done:
            self._rests[session] = turns[-1].last
            return state, past
        self._rests.pop(session, None)
        return state, await self.past(state.address)

    async def _due(self, state: TurnState, keeps: Keeps, past: Past) -> tuple[Sequence[TurnSize], Part | None]:
        """What is to be summed up, and the turns that it is a part of, as far as they were looked at."""
        if not past.history:
            # another conversation by now: nothing of it was too long yet
            self._too_long.discard(state.session)
        reach, too_long = self._agent.reach(state.address), state.session in self._too_long
        if state.address.surface is SurfaceName.CRON or not (too_long or may_be_due(past.history, reach)):
            return (), None
        turns = await self._memories.sizes(state.session)
        return turns, due(keeps.summary, turns, reach, too_long=too_long)

    async def _past(self, address: Address, keeps: Keeps) -> Past:
        """With masks that may be no more written back than those of today, and without notes of who was taken off the list."""
        session = address.session
        history = await self._history.load(session, self._turns(session), HISTORY_BYTES)
        pins = tuple(pin for pin in keeps.pins if self._frame.listed(pin.by, address))
        notes = kept_notes(replace(keeps, pins=pins))
        for message in (*notes, *history):
            if message.role is Role.TOOL:
                self._frame.masker.recall(message.content)
        return Past(history, notes)

    async def _sum_up(self, state: TurnState, keeps: Keeps, part: Part) -> tuple[TurnState, bool]:
        before = keeps.summary
        entries = await self._memories.entries(state.session, part.first, part.last)
        attempt = await self._agent.sum_up(state, before, entries, part)
        state = replace(state, spent=state.spent + attempt.usage)
        text = str(self._frame.masker.mask(attempt.text))
        if not text:
            _log.warning("history.not_summed_up", session=state.session, turns=part.turns)
            return state, False
        turns = part.turns + (before.turns if before is not None else 0)
        # also by what was passed over because it was out of sight: what was made of it then may be in these entries
        tainted = tainted_by(before, entries) or await self._memories.marked(state.session, part.last)
        summary = Summary(text, part.last, turns, tainted)
        try:
            done = await self._memories.sum_up(state.session, summary, self._notice(state), self._frame.clock.now_ms())
        except StorageError as error:
            _log.error("history.not_summed_up", session=state.session, error=str(error))
            return state, False
        self.wake()
        return state, done

    def _notice(self, state: TurnState) -> OutboxItem:
        mask = self._frame.masker.mask
        told = TOLD_AT_TERMINAL if state.address.surface is SurfaceName.TERMINAL else TOLD
        card = Card(CardKind.NOTICE, mask(told), mask(""), (), silent=True)
        return OutboxItem(OutKind.NOTICE, state.address, card=card, silent=True)

    def _is_resting(self, session: SessionId, turns: Sequence[TurnSize]) -> bool:
        """Whether an attempt came to nothing a few turns ago; numbers that run backwards are a new conversation's."""
        since = self._rests.get(session)
        if since is None or turns[-1].last < since:
            return False
        return sum(turn.first > since for turn in turns) < REST_TURNS

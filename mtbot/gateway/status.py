"""Signs of life: one silent message a turn that says what runs, for how long and what it last wrote, with a Stop button.

It is shown when something takes longer than a moment, changed every few seconds at most, and gone when the turn rests.
What a person approved says it below its own question instead. Nothing waits for it; which messages stand is noted only so
that the next start can take away what a killed process left.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field

import structlog

from mtbot.approvals.card import Cards
from mtbot.domain.errors import Ambiguous, ChannelError, StorageError, Throttled, TokenRejected, Unreachable
from mtbot.domain.ids import BotName, CallId, SafeText, SessionId
from mtbot.domain.live import Running, StatusNotes, StatusWay, Verbosity
from mtbot.domain.ports import Signs
from mtbot.domain.record import Card
from mtbot.domain.turn import Address, SurfaceName
from mtbot.policy.people import People

FIRST_SECONDS = 2.0
"""What is over by then is not shown."""

EVERY_SECONDS = 3.0
THINKING_SECONDS = 5.0
LAST_EDIT_SECONDS = 0.5
"""How long the end of a call waits for a change of its question that is on its way."""

_log = structlog.get_logger()

_SHOWN_ON = (SurfaceName.PRIVATE, SurfaceName.GROUP)


@dataclass(frozen=True, slots=True)
class StatusFrame:
    """What surrounds status messages. ``tail`` is the masked end of what a call wrote so far, ``now`` monotonic seconds."""

    cards: Cards
    people: Callable[[], People]
    tail: Callable[[CallId], SafeText]
    now: Callable[[], float]
    token: Callable[[], str]
    verbosity: Callable[[Address], Verbosity]
    notes: StatusNotes


@dataclass(slots=True)
class _Turn:
    address: Address
    token: str
    verbosity: Verbosity
    since: float
    began: float
    running: Running | None = None
    message: int | None = None
    drawn: Card | None = None
    drawn_at: float = float("-inf")
    hold_until: float = float("-inf")
    written_until: float = float("-inf")
    mute: bool = False
    over: bool = False
    stir: asyncio.Event = field(default_factory=asyncio.Event)
    drawing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Statuses:
    """Implements Live and Signs over ``way``; ``typing`` is the lesser sign, which every turn has."""

    def __init__(self, way: StatusWay, typing: Signs, frame: StatusFrame) -> None:
        self._way = way
        self._typing = typing
        self._frame = frame
        self._turns: dict[SessionId, _Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def working(self, address: Address) -> None:
        """A turn is worked on there."""
        self._typing.working(address)
        if address.surface not in _SHOWN_ON or address.session in self._turns:
            return
        verbosity = self._frame.verbosity(address)
        if verbosity is Verbosity.QUIET:
            return
        now = self._frame.now()
        turn = _Turn(address, self._frame.token(), verbosity, now, now)
        self._turns[address.session] = turn
        self._begin(self._watch(turn))

    def resting(self, address: Address) -> None:
        """It is not any more."""
        self._typing.resting(address)
        turn = self._turns.pop(address.session, None)
        if turn is not None:
            turn.over = True
            turn.stir.set()

    def begins(self, running: Running) -> None:
        """A call begins."""
        turn = self._turns.get(running.address.session)
        if turn is not None:
            turn.running, turn.began = running, self._frame.now()
            turn.stir.set()

    async def ends(self, running: Running) -> None:
        """It ended; a change of its question that is on its way gets a moment, or it would undo the final one."""
        turn = self._turns.get(running.address.session)
        if turn is None or turn.running is not running:
            return
        turn.running, turn.began = None, self._frame.now()
        turn.stir.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_EDIT_SECONDS), turn.drawing:
                return

    def written(self, address: Address) -> None:
        """The answer was just shown as far as it is written: that the model thinks need not be said for a while."""
        turn = self._turns.get(address.session)
        if turn is not None:
            turn.written_until = self._frame.now() + THINKING_SECONDS

    def place_of(self, token: str) -> Address | None:
        """Where the turn is that the Stop button with that token belongs to; None when it is over."""
        return next((turn.address for turn in self._turns.values() if turn.token == token), None)

    def sweep(self, bots: Collection[BotName]) -> None:
        """Take away what an earlier process left in chats of these bots; the start does not wait for it."""
        self._begin(self._sweep(tuple(bots)))

    async def _sweep(self, bots: Collection[BotName]) -> None:
        try:
            left = await self._frame.notes.left(bots)
        except StorageError as error:
            _log.warning("status.not_swept", error=str(error))
            return
        for address, message in left:
            await self._remove(address, message)

    async def _remove(self, address: Address, message: int) -> None:
        """Take a message away; one that could not be reached is left to the next start."""
        try:
            await self._way.remove(address, message)
        except (Ambiguous, Throttled, Unreachable, TokenRejected):
            return
        except ChannelError as error:
            if error.status >= 500:
                return
            # otherwise it is gone, or nobody can take it away any more
        with contextlib.suppress(StorageError):
            await self._frame.notes.gone(address, message)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self, seconds: float) -> None:
        """Let the messages that are still shown be taken away, as far as that goes."""
        for turn in self._turns.values():
            turn.over = True
            turn.stir.set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()

    async def _watch(self, turn: _Turn) -> None:
        """Draw when it is due, until the turn rests; then take the message away."""
        while not turn.over:
            due = self._due(turn)
            wait = None if due is None else max(0.0, due - self._frame.now())
            try:
                async with asyncio.timeout(wait):
                    await turn.stir.wait()
                turn.stir.clear()
            except TimeoutError:
                await self._draw(turn)
        if turn.message is not None:
            await self._remove(turn.address, turn.message)

    def _due(self, turn: _Turn) -> float | None:
        """When the turn is to be shown next; None if nothing has to be shown as things stand."""
        if turn.mute:
            return None
        again = max(turn.drawn_at + EVERY_SECONDS, turn.hold_until)
        if turn.running is not None:
            return max(turn.began + FIRST_SECONDS, again)
        again = max(again, turn.written_until)
        if turn.message is not None:
            return again
        return max(turn.began + THINKING_SECONDS, again) if turn.verbosity is Verbosity.VERBOSE else None

    async def _draw(self, turn: _Turn) -> None:
        async with turn.drawing:
            running, now, due = turn.running, self._frame.now(), self._due(turn)
            if turn.over or due is None or due > now:
                return  # its call ended while this waited
            turn.drawn_at = now
            place, card, message = self._card(turn, running, now)
            if card == turn.drawn:
                return
            try:
                shown = await self._way.show(place, card, message)
            except Throttled as error:
                turn.hold_until = self._frame.now() + error.retry_after
            except Unreachable:
                return
            except ChannelError:
                turn.mute = True  # it may have arrived, or is gone: a second one would be worse than none
            else:
                if shown is not None:
                    turn.drawn = card
                    if message is None:
                        turn.message = shown
                        with contextlib.suppress(StorageError):
                            await self._frame.notes.stands(turn.address, shown)

    def _card(self, turn: _Turn, running: Running | None, now: float) -> tuple[Address, Card, int | None]:
        """What to show, where, and in place of which message."""
        cards = self._frame.cards
        if running is None:
            return turn.address, cards.working("thinking", now - turn.began, (), turn.token), turn.message
        lines = [line for line in str(self._frame.tail(running.call)).splitlines() if line.strip()]
        lines = lines[-8 if turn.verbosity is Verbosity.VERBOSE else -1 :]
        asked = running.approval
        if asked is not None and asked.message is not None and asked.ruling is not None:
            name = self._frame.people().name(asked.ruling.decider)
            token = turn.token if asked.place == turn.address else ""
            card = cards.running(asked, name, now - turn.began, lines[-1] if lines else "", token)
            return asked.place, card, asked.message
        return turn.address, cards.working(running.shown, now - turn.began, lines, turn.token), turn.message

"""One step at a time per session, fair between sessions; a lane whose turn waits for a person rests.

A lane holds what is to be done for its session. It runs one item, and while the turn is parked only a ``Resume`` is
taken; whatever else comes is kept. No worker, slot or lock is held by a lane that rests.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mtbot.domain.ids import ApprovalId, SessionId
from mtbot.domain.turn import Inbound

QUEUE_LIMIT = 8
"""Messages that a lane keeps beside the one it works on."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with the parked turn behind that request; ``stopped``: only to end it, a yes counts no more."""

    approval: ApprovalId
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Rest:
    """What a step answers when its turn was parked."""

    approval: ApprovalId


Item = Inbound | Resume
Step = Callable[[SessionId, Item], Awaitable[Rest | None]]


class Offered(StrEnum):
    """What became of an offered message."""

    STARTED = "started"
    QUEUED = "queued"
    KEPT = "kept"
    FULL = "full"
    DROPPED = "dropped"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Halted:
    """What a stop found: whether a step was running, the messages that were dropped, the approved that won't run.

    ``resumed`` is the request that the running step went on from; whether its call had begun, the record knows.
    """

    running: bool
    dropped: tuple[Inbound, ...] = ()
    withdrawn: tuple[ApprovalId, ...] = ()
    resumed: ApprovalId | None = None


@dataclass(slots=True)
class _Lane:
    """Lists and no deques: they are short, and an empty one of a turn that waits for a person takes nothing."""

    items: list[Inbound] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    rests_on: ApprovalId | None = None
    worker: asyncio.Task[None] | None = None
    current: Item | None = None
    in_step: bool = False
    full_told: bool = False
    halted: bool = False


class Lanes:
    """All lanes of a process. ``step`` does one item and must not raise; at most ``slots`` steps run at once.

    ``dropped`` is told of every message that was accepted and will not be worked on here.
    """

    def __init__(self, step: Step, slots: int) -> None:
        self._step = step
        self._slots = asyncio.Semaphore(slots)
        self._lanes: dict[SessionId, _Lane] = {}
        self._closed = False
        self.dropped: Callable[[Inbound], None] = lambda _inbound: None

    def offer(self, session: SessionId, inbound: Inbound) -> Offered:
        """Queue a message. FULL is answered once per burst, then DROPPED; CLOSED: nothing is taken in any more."""
        if self._closed:
            return Offered.CLOSED
        lane = self._lanes.setdefault(session, _Lane())
        if len(lane.items) >= QUEUE_LIMIT:
            told, lane.full_told = lane.full_told, True
            return Offered.DROPPED if told else Offered.FULL
        lane.full_told = False
        lane.items.append(inbound)
        if lane.rests_on is not None:
            return Offered.KEPT
        busy = lane.worker is not None
        self._wake(session, lane)
        return Offered.QUEUED if busy else Offered.STARTED

    def resume(self, session: SessionId, approval: ApprovalId) -> None:
        """Have the lane go on with the turn that waits for ``approval``; a second call for the same one is dropped."""
        if self._closed:
            return
        lane = self._lanes.setdefault(session, _Lane())
        known = [item.approval for item in (*lane.resumes, lane.current) if isinstance(item, Resume)]
        if approval not in known:
            lane.resumes.append(Resume(approval))
        self._wake(session, lane)

    def rest(self, session: SessionId, approval: ApprovalId) -> None:
        """A turn of that session was found parked (after a restart): keep the lane closed for it."""
        self._lanes.setdefault(session, _Lane()).rests_on = approval

    def resting(self, session: SessionId) -> ApprovalId | None:
        """The request that the session's turn waits for."""
        lane = self._lanes.get(session)
        return lane.rests_on if lane else None

    def rests(self) -> tuple[tuple[SessionId, ApprovalId], ...]:
        """Every session whose turn waits for a request, and that request."""
        return tuple((name, lane.rests_on) for name, lane in self._lanes.items() if lane.rests_on is not None)

    def free(self, session: SessionId, approval: ApprovalId) -> None:
        """That request is gone, and the turn that waited for it: go on with what came behind it."""
        lane = self._lanes.get(session)
        if lane is None or lane.rests_on != approval or lane.worker is not None:
            return
        lane.rests_on = None
        if self._more(lane) and not self._closed:
            self._wake(session, lane)
        elif not self._more(lane):
            self._lanes.pop(session, None)

    def waits(self, session: SessionId, message: int) -> bool:
        """Whether that message of the session is queued and not begun with."""
        lane = self._lanes.get(session)
        return lane is not None and any(one.ref.message == message for one in self._unbegun(lane))

    def works_on(self, session: SessionId, message: int) -> bool:
        """Whether a step has begun with that message and is not over."""
        lane = self._lanes.get(session)
        if lane is None or not lane.in_step or not isinstance(lane.current, Inbound):
            return False
        return lane.current.ref.message == message

    def withdraw(self, session: SessionId) -> tuple[Inbound, ...]:
        """Drop the messages that are queued behind the one that is worked on; which they were."""
        lane = self._lanes.get(session)
        if lane is None:
            return ()
        dropped = tuple(lane.items)
        lane.items.clear()
        for inbound in dropped:
            self.dropped(inbound)
        return dropped

    def halt(self, session: SessionId) -> Halted:
        """Cancel the step that runs and drop what is queued, also what only waits for a slot; never waits itself.

        A resting lane goes on resting: its question has to be ruled on. A turn whose yes had not been acted on yet is
        only ended.
        """
        lane = self._lanes.get(session)
        if lane is None:
            return Halted(running=False)
        dropped, running = tuple(lane.items), lane.in_step
        lane.items.clear()
        if lane.worker is not None and lane.current is not None:
            lane.halted = True
            lane.worker.cancel()
            if isinstance(lane.current, Resume) and not running:
                lane.resumes.insert(0, lane.current)
            elif isinstance(lane.current, Inbound) and not running:
                dropped = (lane.current, *dropped)
        withdrawn = tuple(item.approval for item in lane.resumes)
        lane.resumes = [replace(item, stopped=True) for item in lane.resumes]
        for inbound in dropped:
            self.dropped(inbound)
        resumed = lane.current.approval if running and isinstance(lane.current, Resume) else None
        return Halted(running, dropped, withdrawn, resumed)

    async def settle(self, session: SessionId, seconds: float) -> bool:
        """Wait until the session's lane is at rest; False if that took too long."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (lane := self._lanes.get(session)) is not None and lane.worker is not None:
            left = deadline - asyncio.get_running_loop().time()
            _, late = await asyncio.wait([lane.worker], timeout=max(0.0, left))
            if late:
                return False
        return True

    @property
    def running(self) -> int:
        """How many steps run or wait for a slot."""
        return sum(1 for lane in self._lanes.values() if lane.worker is not None)

    async def drain(self, seconds: float) -> bool:
        """Take nothing more, cancel what runs, wait for it to be written down; False if that took too long."""
        self._closed = True
        workers = [lane.worker for lane in self._lanes.values() if lane.worker is not None]
        left = [inbound for lane in self._lanes.values() for inbound in self._unbegun(lane)]
        for worker in workers:
            worker.cancel()
        for inbound in left:
            self.dropped(inbound)
        if not workers:
            return True
        _, late = await asyncio.wait(workers, timeout=seconds)
        return not late

    @staticmethod
    def _unbegun(lane: _Lane) -> tuple[Inbound, ...]:
        """The messages of a lane that no step has begun with."""
        if isinstance(lane.current, Inbound) and not lane.in_step:
            return (lane.current, *lane.items)
        return tuple(lane.items)

    def _wake(self, session: SessionId, lane: _Lane) -> None:
        if lane.worker is None:
            lane.worker = asyncio.create_task(self._work(session, lane))

    async def _work(self, session: SessionId, lane: _Lane) -> None:
        """Take items until there is nothing that may be taken; the lane is forgotten when it is empty."""
        try:
            while not self._closed:
                item = self._take(lane)
                if item is None:
                    break
                lane.current = item
                async with self._slots:
                    lane.in_step = True
                    rest = await self._step(session, item)
                lane.in_step = False
                lane.current = None
                lane.rests_on = rest.approval if rest else None
                if _is_cancelled():
                    break
        except asyncio.CancelledError:
            # halted while it waited for a slot, or the process ends: what to do next is in the lane, not in here
            pass
        finally:
            # after a halt a fresh worker goes on; a cancelled one would pass the cancellation on to an innocent item
            ends = self._closed or (_is_cancelled() and not lane.halted)
            lane.worker, lane.current, lane.in_step, lane.halted = None, None, False, False
            if not ends and self._more(lane):
                self._wake(session, lane)
            elif lane.rests_on is None and not lane.items and not lane.resumes:
                self._lanes.pop(session, None)

    @staticmethod
    def _take(lane: _Lane) -> Item | None:
        if lane.resumes:
            return lane.resumes.pop(0)
        if lane.items and lane.rests_on is None:
            return lane.items.pop(0)
        return None

    @staticmethod
    def _more(lane: _Lane) -> bool:
        return bool(lane.resumes or (lane.items and lane.rests_on is None))


def _is_cancelled() -> bool:
    """Whether this task was cancelled, also by somebody who is no lane: then the whole process ends."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
